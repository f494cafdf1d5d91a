"""An environment for those who remember: a cue at first, and the action that it names some steps later."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from reactors import rl


class Recall(gym.Env[Any, Any]):
    """What is seen first is 1 or -1; after `wait` steps it is asked for, and action 1 or 0 is worth 1, the other -1.

    Without the cue nothing is better than 0 on average. Observations are the cue, and whether it is asked for.
    """

    observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, wait: int = 5) -> None:
        self.wait = wait

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.cue, self.left = int(self.np_random.integers(2)), self.wait
        return np.array([2 * self.cue - 1, 0], np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.left -= 1
        over = self.left < 0
        return np.array([0, not self.left], np.float32), over * (1.0 if action == self.cue else -1.0), over, False, {}


class RecallNumber(Recall):
    """Likewise, where an action is a number from -1 to 1, and worth as much as it points to the cue."""

    action_space: Any = gym.spaces.Box(-1, 1, (1,), np.float32)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        seen, _, over, broken_off, info = super().step(0)
        return seen, over * float(action[0]) * (2 * self.cue - 1), over, broken_off, info


SETTINGS: dict[str, tuple[Any, Any, int]] = {
    "A2C": (partial(rl.A2C, num_envs=16, horizon=16, learning_rate=5e-3, hidden=(16,)), Recall, 12_000),
    "DQN": (
        partial(
            rl.DQN, num_envs=8, horizon=8, batch_size=16, learning_starts=512, learning_rate=3e-3, hidden=(16,),
            sequence=8, burn_in=4, target_every=50, updates_per_step=1 / 16, exploration_fraction=0.4, gamma=0.9,
        ),
        Recall,
        10_000,
    ),
    "SAC": (
        partial(
            rl.SAC, num_envs=8, horizon=8, batch_size=16, learning_starts=256, learning_rate=3e-3, hidden=(16,),
            sequence=8, burn_in=4, updates_per_step=1 / 8, gamma=0.9, temperature=0.05,
        ),
        RecallNumber,
        6_000,
    ),
}  # fmt: skip
"""Hyperparameters with which it is learned, in which environment, and steps that suffice."""
