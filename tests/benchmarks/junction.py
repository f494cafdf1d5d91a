"""Ten cars that have learned to cross the traffic junction of the examples, and the junction for whoever drives them.

What was learned is kept in `results`: the same steps give the same weights, so that any process may make them.
"""

from __future__ import annotations

import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

CARS, STEPS = 10, 40_000
SIZES = (15, 64, 64, 2)
HERE = Path(__file__).resolve().parent
KEPT = HERE / "results" / "junction.npz"


def junction() -> Any:
    """The environment."""
    sys.path.insert(0, str(HERE.parents[1] / "examples"))
    from traffic_junction import TrafficJunction

    return TrafficJunction(CARS)


class Crossing:
    """The junction with a row for each car; one that is not there sees zeros, and what it does counts for nothing."""

    def __init__(self) -> None:
        self.env: Any = junction()
        self.total, self.collisions, self.through = 0, 0, 0
        self.seen = self.rows(self.env.reset(seed=0)[0])

    def rows(self, observations: dict[str, Any]) -> npt.NDArray[np.float32]:
        found = np.zeros((CARS, SIZES[0]), np.float32)
        for i, car in enumerate(self.env.possible_agents):
            if car in observations:
                found[i] = observations[car]
        return found

    def observe(self) -> npt.NDArray[np.float32]:
        return self.seen

    def step(self, actions: npt.NDArray[np.int64]) -> None:
        cars = enumerate(self.env.possible_agents)
        chosen = {car: int(actions[i]) for i, car in cars if car in self.env.agents}
        observations, *_, infos = self.env.step(chosen)
        self.collisions += sum(info.get("collided", False) for info in infos.values())
        self.through += sum(info.get("through", False) for info in infos.values())
        self.total = (self.total * 31 + sum(chosen.values())) % 1_000_003
        self.seen = self.rows(observations if self.env.agents else self.env.reset()[0])


def network() -> nn.Sequential:
    """A car's, with weights that mean nothing."""
    layers = [part for sizes in pairwise(SIZES) for part in (nn.Linear(*sizes), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def load(net: nn.Module, weights: npt.NDArray[np.float32]) -> None:
    nn.utils.vector_to_parameters(torch.from_numpy(weights), net.parameters())


@cache
def learned() -> dict[str, Any]:
    """The weights that all cars share, and what `driven` finds before and after: trained, if need be."""
    if not KEPT.exists():
        from reactors import rl

        torch.set_num_threads(1)
        algorithm = rl.MAPPO(num_envs=8, horizon=50, agent_ids=False, hidden=SIZES[1:-1], activation="relu")
        weights = rl.train(algorithm, junction, total_steps=STEPS, seed=0).weights
        KEPT.parent.mkdir(exist_ok=True)
        part = KEPT.with_suffix(".part.npz")
        np.savez(part, weights=weights, before=driven(0 * weights), after=driven(weights))
        part.replace(KEPT)
    with np.load(KEPT) as kept:
        return dict(kept)


def driven(weights: npt.NDArray[np.float32], steps: int = 2_000) -> tuple[float, float]:
    """Collisions, and cars that come through, in a hundred steps, with actions drawn as in training.

    Where each car does what is likeliest, one that waits for another often waits for ever.
    """
    crossing, net, rng = Crossing(), network(), np.random.default_rng(0)
    load(net, weights)
    for _ in range(steps):
        with torch.inference_mode():
            logits = net(torch.from_numpy(crossing.observe())).numpy()
        crossing.step((logits + rng.gumbel(size=logits.shape)).argmax(1))
    return 100 * crossing.collisions / steps, 100 * crossing.through / steps


def said() -> str:
    """What was learned, in a few words."""
    (collisions, through), (collisions_after, through_after) = (learned()[when] for when in ("before", "after"))
    return (
        f"{collisions:.1f} collisions before training and {collisions_after:.1f} after, "
        f"{through:.1f} cars through and {through_after:.1f}"
    )
