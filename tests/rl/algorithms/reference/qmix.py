"""Rashid et al., "QMIX", 2018 (arXiv 1803.11485), beside VDN (arXiv 1706.05296) and independent DQN.

One row after the other, each agent by itself. Independent agents have Huber's loss, as DQN has; a group's is squared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tests.rl.algorithms.reference.dqn import q
from tests.rl.algorithms.reference.networks import gradient, layers, pieces, vector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.rl.algorithms.reference.networks import Tensor


class Team:
    """Q of each of n agents, which share a network and see their number, and Q_tot, by parameters theta."""

    def __init__(self, theta: Tensor, shapes: Sequence[Sequence[int]], config: Any, n: int) -> None:
        own = 2 * len(config.hidden) + 2
        self.theta, self.shapes, self.config, self.n = theta[: _size(shapes[:own])], shapes[:own], config, n
        self.hyper = pieces(theta[len(self.theta) :], shapes[own:])

    def q(self, i: int, seen: Any, mask: Any) -> Tensor:
        """Of agent i, for each action that it may choose; minus infinity for others."""
        x = torch.tensor(np.concatenate([seen, np.eye(self.n)[i]]))[None]
        found = q(self.theta, self.shapes, x, dueling=self.config.dueling)[0]
        return torch.where(torch.tensor(mask), found, -torch.inf)

    def tot(self, values: dict[int, Tensor], state: Any) -> Tensor:
        """Figure 2: weights by hypernetworks, none of them negative; those that are absent add nothing."""
        if self.config.name == "VDN":
            return sum(values.values(), torch.zeros((), dtype=torch.float64))
        s, units = torch.tensor(state, dtype=torch.float64), self.config.mixing
        w1, b1, w2, *last = (self.hyper[k : k + 2] for k in range(0, len(self.hyper), 2))
        into = (w1[0] @ s + w1[1]).abs().view(self.n, units)
        h = b1[0] @ s + b1[1]
        for i, value in values.items():
            h = h + value * into[i]
        h = torch.where(h > 0, h, h.exp() - 1)
        v = layers(s[None], [each for pair in last for each in pair], torch.relu)[0, 0]
        return h @ (w2[0] @ s + w2[1]).abs() + v


def _size(shapes: Sequence[Sequence[int]]) -> int:
    return sum(int(np.prod(shape)) for shape in shapes)


def loss(
    theta: Any, target: Any, shapes: Sequence[Sequence[int]], batch: Any, config: Any, n: int
) -> tuple[Any, Any, Any]:
    """Of a batch, the gradient, and the temporal-difference error of each row.

    A batch has joint transitions, or for independent agents own steps, which have `agent`.
    """
    x = vector(theta)
    net, old = Team(x, shapes, config, n), Team(vector(target), shapes, config, n)
    losses, errors = [], []
    if config.standardise_rewards:  # of all so far, which are this batch
        batch = {**batch, "reward": (batch["reward"] - batch["reward"].mean()) / batch["reward"].std()}
    for k in range(len(batch["reward"])):
        row = {name: value[k] for name, value in batch.items()}
        if config.name == "IDQN":
            i = int(row["agent"])
            acts = then = [i]
            row |= {name: {i: row[name]} for name in ("obs", "next_obs", "masks", "next_masks", "action")}
        else:
            acts, then = np.flatnonzero(row["acted"]).tolist(), np.flatnonzero(row["next_acted"]).tolist()
        best = {}
        for i in [] if row["terminated"] else then:
            worth, judge = (each.q(i, row["next_obs"][i], row["next_masks"][i]) for each in (old, net))
            best[i] = worth[(judge if config.double else worth).argmax()]
        taken = {i: net.q(i, row["obs"][i], row["masks"][i])[row["action"][i]] for i in acts}
        alive = 0.0 if row["terminated"] else row["discount"]
        if config.name == "IDQN":
            found, following = taken[acts[0]], best.get(acts[0], torch.zeros(()))
        else:
            found = net.tot(taken, row.get("state"))
            following = old.tot(best, row.get("next_state")) if alive else torch.zeros(())
        error = found - (row["reward"] + alive * following.detach())
        huber = torch.where(error.abs() <= 1, 0.5 * error**2, error.abs() - 0.5)
        losses.append((row["weights"] if config.prioritized else 1.0) * (huber if config.name == "IDQN" else error**2))
        errors.append(error.abs().item())
    whole = torch.stack(losses).mean()
    return whole.item(), gradient(whole, x), errors
