"""Games of one step for two agents, who see nothing, and share what a matrix says of their actions."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pettingzoo


class Matrix(pettingzoo.ParallelEnv[Any, Any, Any]):
    """`payoff` says what both get together, by the actions of the first and the second."""

    metadata: dict[str, Any] = {"name": "matrix"}  # noqa: RUF012 - as PettingZoo has it
    possible_agents = ["first", "second"]  # noqa: RUF012 - as PettingZoo has it
    payoff: ClassVar[tuple[tuple[float, ...], ...]]

    def __init__(self) -> None:
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> gym.Space[Any]:
        del agent
        return gym.spaces.Box(0, 1, (1,), np.float32)

    def action_space(self, agent: str) -> gym.Space[Any]:
        del agent
        return gym.spaces.Discrete(len(self.payoff))

    def state(self) -> Any:
        return np.ones(1, np.float32)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        del seed, options
        self.agents = list(self.possible_agents)
        return {agent: self.state() for agent in self.agents}, {agent: {} for agent in self.agents}

    def step(self, actions: Any) -> Any:
        there, self.agents = self.agents, []
        got = self.payoff[actions["first"]][actions["second"]]
        return (
            {agent: self.state() for agent in there}, dict.fromkeys(there, got / 2), dict.fromkeys(there, True),
            dict.fromkeys(there, False), {agent: {} for agent in there},
        )  # fmt: skip


class Monotonic(Matrix):
    """A better action is better whatever the other does, but by how much is no sum: QMIX has it, and VDN has not."""

    payoff = ((0, 1, 2), (1, 3, 6), (2, 6, 12))


class Climbing(Matrix):
    """The best pair lies beside the worst ones, which neither has (Son et al., 2019, arXiv 1905.05408, table 1)."""

    payoff = ((8, -12, -12), (-12, 0, 0), (-12, 0, 0))
