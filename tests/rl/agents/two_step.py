"""The two-step game of QMIX's paper (Rashid et al., 2018, arXiv 1803.11485, section 5.1)."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pettingzoo

PAYOFFS = {1: ((7, 7), (7, 7)), 2: ((0, 1), (1, 8))}
"""Of the state that follows: what both get by the actions of the first and the second."""


class TwoStep(pettingzoo.ParallelEnv[Any, Any, Any]):
    """Two agents see one of three states; by the first one's action they come to a safe game, or to one worth 8."""

    metadata: dict[str, Any] = {"name": "two_step"}  # noqa: RUF012 - as PettingZoo has it
    possible_agents = ["first", "second"]  # noqa: RUF012 - as PettingZoo has it

    def __init__(self) -> None:
        self.agents: list[str] = []
        self.at = 0

    def observation_space(self, agent: str) -> gym.Space[Any]:
        del agent
        return gym.spaces.Box(0, 1, (3,), np.float32)

    def action_space(self, agent: str) -> gym.Space[Any]:
        del agent
        return gym.spaces.Discrete(2)

    def state(self) -> Any:
        return np.eye(3, dtype=np.float32)[self.at]

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        del seed, options
        self.agents, self.at = list(self.possible_agents), 0
        return {agent: self.state() for agent in self.agents}, {agent: {} for agent in self.agents}

    def step(self, actions: Any) -> Any:
        over = self.at > 0
        payoff = PAYOFFS[self.at][actions["first"]][actions["second"]] if over else 0
        if not over:
            self.at = 1 + int(actions["first"])
        there = self.agents
        if over:
            self.agents = []
        return (
            {agent: self.state() for agent in there}, dict.fromkeys(there, payoff / 2), dict.fromkeys(there, over),
            dict.fromkeys(there, False), {agent: {} for agent in there},
        )  # fmt: skip
