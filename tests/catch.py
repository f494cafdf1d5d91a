"""A visual task that can be learned in a minute: catch a ball that falls, seen in frames of 42x42 pixels.

The smallest of DeepMind's bsuite, drawn larger: a board of 14 columns and 14 rows, each square 3x3 pixels. The ball
starts in some column of the top row and falls a row a step; the paddle, three columns wide, moves left, stays or moves
right. After 13 steps the reward is 1 if it is below the ball, else 0; before that there is none.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

SQUARES, PIXELS, STACK = 14, 3, 4
SIDE = SQUARES * PIXELS

Frames = NDArray[np.uint8]


class Catch(gym.Env[Frames, np.int64]):
    """Observations are uint8 (4, 42, 42): the last four frames."""

    observation_space = gym.spaces.Box(0, 255, (STACK, SIDE, SIDE), np.uint8)
    action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Frames, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.ball, self.row, self.paddle = int(self.np_random.integers(SQUARES)), 0, SQUARES // 2
        self.frames = np.zeros((STACK, SIDE, SIDE), np.uint8)
        return self.seen(), {}

    def step(self, action: np.int64) -> tuple[Frames, float, bool, bool, dict[str, Any]]:
        self.paddle = min(max(self.paddle + int(action) - 1, 1), SQUARES - 2)
        self.row += 1
        over = self.row == SQUARES - 1
        return self.seen(), float(over and abs(self.paddle - self.ball) <= 1), over, False, {}

    def seen(self) -> Frames:
        """With one frame more."""
        self.frames[:-1] = self.frames[1:]
        board = self.frames[-1]
        board[:] = 0
        for row, first, wide in ((self.row, self.ball, 1), (SQUARES - 1, self.paddle - 1, 3)):
            board[row * PIXELS : (row + 1) * PIXELS, first * PIXELS : (first + wide) * PIXELS] = 255
        return self.frames.copy()


SETTINGS: dict[str, dict[str, Any]] = {
    "A2C": {
        "num_envs": 16, "horizon": 13, "lam": 0.95, "learning_rate": 2e-3, "entropy": 0.01, "normalise": True,
        "torso": "small",
    },
    "PPO": {
        "num_envs": 8, "horizon": 64, "batch_size": 128, "epochs": 4, "gamma": 0.99, "lam": 0.95, "entropy": 0.01,
        "learning_rate": 5e-4, "anneal": True, "clip": 0.2, "anneal_clip": False, "torso": "small",
    },
    "IMPALA": {"learning_rate": 1e-3, "lam": 0.95, "fragments": 8, "passes": 2, "torso": "small"},
    "APPO": {"lam": 0.95, "fragments": 8, "passes": 4, "ring": 1, "torso": "small"},
    "DQN": {
        "num_envs": 4, "horizon": 8, "batch_size": 32, "capacity": 20_000, "updates_per_step": 0.25,
        "learning_rate": 5e-4, "anneal": True, "target_every": 250, "exploration_fraction": 0.3,
        "exploration_final": 0.02, "frame_stack": 4, "torso": "small",
    },
}  # fmt: skip
"""Hyperparameters with which each algorithm learns it, chosen here; what is not said is the default."""
