"""An environment that writes over what it gave."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pettingzoo


class Rewriting(pettingzoo.ParallelEnv[Any, Any, Any]):
    """An agent for three steps, which counts them in arrays that it writes over, within tuples and dicts."""

    metadata: dict[str, Any] = {"name": "rewriting"}  # noqa: RUF012 - as PettingZoo has it
    possible_agents = ["a"]  # noqa: RUF012 - likewise

    def __init__(self) -> None:
        self.at = np.zeros(1, np.float32)

    def observation_space(self, agent: str) -> Any:
        return gym.spaces.Tuple([gym.spaces.Box(0, 9, (1,), np.float32), gym.spaces.Discrete(2)])

    def action_space(self, agent: str) -> Any:
        return gym.spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.at[:], self.agents = 0, ["a"]
        return {"a": (self.at, 1)}, {"a": {"at": self.at}}

    def step(self, actions: Any) -> Any:
        self.at += 1
        over = self.at[0] == 3
        self.agents = [] if over else ["a"]
        return {"a": (self.at, 1)}, {"a": 1.0}, {"a": over}, {"a": False}, {"a": {"at": self.at}}
