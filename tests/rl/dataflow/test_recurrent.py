"""What a policy remembers begins and ends with an episode, wherever actions are chosen, and goes on over rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest
import torch

from reactors import rl
from reactors.rl.algorithms.a2c import A2CLearning
from reactors.rl.estimates.returns import Course
from reactors.rl.networks.recurrent import Stretch

if TYPE_CHECKING:
    from pathlib import Path

ENVS, HORIZON, WIDTH = 4, 6, 5
BATCHES: list[dict[str, torch.Tensor]] = []


class Odd(gym.Env[Any, Any]):
    """Episodes of 1 to 9 steps, half of which are truncated; observations count them."""

    observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.left = int(self.np_random.integers(1, 10))
        return self.seen(), {}

    def seen(self) -> Any:
        return self.np_random.uniform(-1, 1, 2).astype(np.float32)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.left -= 1
        cut = bool(self.np_random.integers(2))
        return self.seen(), float(action), not self.left and not cut, not self.left and cut, {}


class OddNumbers(Odd):
    """Likewise, with numbers for actions."""

    action_space: Any = gym.spaces.Box(-1, 1, (1,), np.float32)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return super().step(action[0])


def env_of(name: str) -> Any:
    return OddNumbers if name == "SAC" else Odd


class Unmoved(A2CLearning):
    """Keeps the batches, and learns nothing."""

    def learn(self, batch: Any) -> Any:
        BATCHES.append({name: each.clone() for name, each in batch.items()})
        yield from ()
        return {}


@dataclass(frozen=True, kw_only=True)
class Watched(rl.A2C):
    name: ClassVar[str] = "watched"

    def learning(self, observation_space: Any, action_space: Any, seed: int, device: str = "cpu") -> Any:
        return Unmoved(self, observation_space, action_space, seed, device)


ALGORITHM = Watched(num_envs=ENVS, horizon=HORIZON, hidden=(8,), recurrent=WIDTH)


@pytest.mark.parametrize("how", ["actors", "central", "in halves"])
def test_states_go_on_over_rounds_and_begin_with_zeros_where_an_episode_has_ended(how: str) -> None:
    BATCHES.clear()
    where: dict[str, Any] = {} if how == "actors" else {"inference": "central", "double_buffer": how == "in halves"}
    done = rl.train(ALGORITHM, Odd, total_steps=ENVS * HORIZON * 8, seed=2, actors=2, **where)
    learning: Any = ALGORITHM.learning(*done.spaces, 2)
    assert (learning.weights() == done.weights).all()
    states, ends = torch.zeros(ENVS, WIDTH), [0, 0]
    for batch in BATCHES:
        course = Course.of(batch)
        seen = Stretch(batch["obs"].flatten(0, 1), states, course.going)
        with torch.no_grad():
            after = learning.net.features(seen).view(HORIZON, ENVS, WIDTH)
        kept = after * course.going[..., None]
        before = torch.cat([states[None], kept[:-1]])
        torch.testing.assert_close(batch["state"], before, atol=1e-5, rtol=1e-4)
        over = batch["terminated"] | batch["truncated"]
        assert not batch["state"][1:][over[:-1]].any()
        states = kept[-1]
        ends = [n + int(batch[name].sum()) for n, name in zip(ends, ("terminated", "truncated"), strict=True)]
    assert len(BATCHES) == 8
    assert min(ends) > 5


SMALL: dict[str, Any] = {"num_envs": ENVS, "horizon": 8, "hidden": (8,), "recurrent": WIDTH}
BY_SEQUENCES: dict[str, Any] = {
    "sequence": 5, "burn_in": 3, "learning_starts": 32, "batch_size": 4, "capacity": 100, "updates_per_step": 0.1,
    "prioritized": True, "n_step": 2,
}  # fmt: skip
CASES: dict[str, Any] = {
    "PPO": rl.PPO(**SMALL, epochs=2, batch_size=8, sequence=4),
    "A2C": rl.A2C(**SMALL, normalise_observations=True),
    "IMPALA": rl.IMPALA(**SMALL, fragments=2, replay_slots=6, replay_proportion=0.5),
    "APPO": rl.APPO(**SMALL, fragments=2, passes=2, ring=2),
    "DQN": rl.DQN(**SMALL, **BY_SEQUENCES),
    "SAC": rl.SAC(**SMALL, **BY_SEQUENCES),
}


@pytest.mark.usefixtures("bare_runs")
@pytest.mark.parametrize("name", CASES)
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(name: str, tmp_path: Path) -> None:
    given: dict[str, Any] = {"env": env_of(name), "total_steps": 32 * 6, "seed": 4, "actors": 2, "mode": "pipelined"}
    given["inference"] = "central" if name in {"A2C", "IMPALA"} else "actors"
    whole = rl.train(CASES[name], **given, workers=2, out=tmp_path / "whole", checkpoint_every=3)
    middle = min((tmp_path / "whole" / "checkpoints").iterdir())
    again = rl.train(CASES[name], **given, out=tmp_path / "again", resume=middle)
    assert again.digest == whole.digest
    assert again.weights.tobytes() == whole.weights.tobytes()
    assert again.evaluate(3) == rl.load(tmp_path / "whole").evaluate(3)


@pytest.mark.parametrize("name", CASES)
def test_results_do_not_depend_on_workers(name: str) -> None:
    for where in ({}, {"inference": "central"}, {"inference": "central", "double_buffer": True}):
        given: dict[str, Any] = {"env": env_of(name), "total_steps": 32 * 4, "seed": 4, "actors": 2, **where}
        one = rl.train(CASES[name], **given)
        assert rl.train(CASES[name], **given, workers=2, backend="process").digest == one.digest
