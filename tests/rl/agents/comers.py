"""Environments in which agents die, join late and wait, at random."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pettingzoo


class Comers(pettingzoo.ParallelEnv[Any, Any, Any]):
    """Each of `n` agents is there or not at any step, dies at random, and the rest is truncated after `length` steps.

    An observation says the step, the agent's number and a random number; a reward is what it did, and of a second
    kind of agent twice that. `log` has what happened in all episodes, as (episode, step, agent, what).
    """

    metadata: dict[str, Any] = {"name": "comers"}  # noqa: RUF012 - as PettingZoo has it

    def __init__(self, n: int = 3, length: int = 7, *, masked: bool = False, kinds: int = 1) -> None:
        self.length, self.masked, self.kinds = length, masked, kinds
        self.possible_agents = [f"{'ab'[i % kinds]}_{i}" for i in range(n)]
        self.agents: list[str] = []
        self.random = np.random.default_rng(0)
        self.at = 0

    def observation_space(self, agent: str) -> gym.Space[Any]:
        return gym.spaces.Box(-9, 99, (3 + (agent[0] == "b"),), np.float32)

    def action_space(self, agent: str) -> gym.Space[Any]:
        return gym.spaces.Discrete(3 + (agent[0] == "b"))

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        if seed is not None:
            self.random = np.random.default_rng(seed)
        self.at = 0
        self.living = {*self.possible_agents}
        self.show()
        return self.told()

    def show(self) -> None:
        """Who is there: at least one of those who live."""
        living = [agent for agent in self.possible_agents if agent in self.living]
        there = [agent for agent in living if self.random.random() < 0.7]
        self.agents = there or living[:1]

    def told(self) -> Any:
        infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        if self.masked:
            for agent in self.agents:
                mask = self.random.random(int(self.action_space(agent).n)) < 0.6  # type: ignore[attr-defined]
                mask[self.at % 3] = True
                infos[agent]["action_mask"] = mask.astype(np.int8)
        return {agent: self.seen(agent) for agent in self.agents}, infos

    def seen(self, agent: str) -> Any:
        number = self.possible_agents.index(agent)
        return np.array([self.at, number, self.random.normal(), *[1] * (agent[0] == "b")], np.float32)

    def step(self, actions: Any) -> Any:
        assert {*actions} == {*self.agents}
        self.at += 1
        acted, over = self.agents, self.at == self.length
        dead = {agent for agent in acted if self.random.random() < 0.15}
        self.living -= dead
        observations = {agent: self.seen(agent) for agent in acted}
        rewards = {agent: float(actions[agent]) * (1 + (agent[0] == "b")) for agent in acted}
        if over or not self.living:
            self.agents, infos = [], {agent: {} for agent in acted}
        else:
            self.show()
            there, infos = self.told()
            observations |= there
        return (
            observations, rewards, {agent: agent in dead for agent in acted},
            {agent: over and agent not in dead for agent in acted}, infos,
        )  # fmt: skip
