"""Evaluations play other episodes each time, and the same ones in every run."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from reactors import rl

SMALL = rl.PPO(num_envs=2, horizon=4, epochs=1, hidden=(4,))


class Lot(gym.Env[Any, Any]):
    """Episodes of one step, whose reward is drawn when they begin."""

    observation_space, action_space = gym.spaces.Box(-1, 1, (1,)), gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed, options=options)
        self.lot = float(self.np_random.random())
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        return np.zeros(1, np.float32), self.lot, True, False, {}


def evaluations(**options: Any) -> list[tuple[float, float, float]]:
    """Least, mean and greatest return of each."""
    done = rl.train(SMALL, Lot, total_steps=40, eval_every=1, eval_episodes=3, **options)
    return [
        (row["eval/min_return"], row["eval/mean_return"], row["eval/max_return"])
        for row in done.journal
        if "eval/mean_return" in row
    ]


def test_each_evaluation_plays_episodes_of_its_own() -> None:
    found = evaluations(seed=1)
    assert len(found) == 5
    assert len({*found}) == 5
    assert all(least < mean < most for least, mean, most in found)


def test_evaluations_follow_from_the_seed_alone() -> None:
    found = evaluations(seed=1)
    assert found == evaluations(seed=1, workers=2, backend="thread")
    assert not {*found} & {*evaluations(seed=2)}


def test_episodes_of_an_evaluation_by_hand_follow_from_its_seed() -> None:
    done = rl.train(SMALL, Lot, total_steps=8)
    assert done.evaluate(3, seed=1) == done.evaluate(3, seed=1)
    assert done.evaluate(3, seed=1) != done.evaluate(3, seed=2)
