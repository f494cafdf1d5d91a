"""Environments that pass PettingZoo's own tests, in which agents come late and die at random, at once or by turns."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pettingzoo


class Visitors(pettingzoo.ParallelEnv[Any, Any, Any]):
    """Each of `n` agents comes at some time, and stays until it dies, or for `patience` steps; one is always there.

    An observation says how long it has been there, who it is, and a random number; a reward is what it did. With
    `masked`, an observation has a mask beside that.
    """

    metadata: dict[str, Any] = {"name": "visitors_v0", "render_modes": []}  # noqa: RUF012 - as PettingZoo has it
    render_mode = None

    def __init__(self, n: int = 4, patience: int = 6, *, masked: bool = False) -> None:
        self.possible_agents = [f"visitor_{i}" for i in range(n)]
        self.agents: list[str] = []
        self.patience, self.masked = patience, masked
        seen: Any = gym.spaces.Box(-99, 99, (3,), np.float32)
        if masked:
            seen = gym.spaces.Dict({"observation": seen, "action_mask": gym.spaces.Box(0, 1, (3,), np.int8)})
        self.seen, self.done = seen, gym.spaces.Discrete(3)
        self.random = np.random.default_rng(0)

    def observation_space(self, agent: str) -> gym.Space[Any]:
        return self.seen

    def action_space(self, agent: str) -> gym.Space[Any]:
        return self.done

    def state(self) -> Any:
        return np.array([self.age.get(agent, -1) for agent in self.possible_agents], np.float32)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        if seed is not None:
            self.random = np.random.default_rng(seed)
        self.agents, self.outside, self.age = [], [*self.possible_agents], {}
        self.let_in()
        return {agent: self.look(agent) for agent in self.agents}, {agent: {} for agent in self.agents}

    def let_in(self) -> list[str]:
        """Who comes now."""
        come = [agent for agent in self.outside if self.random.random() < 0.3]
        if not come and not self.agents:
            come = self.outside[:1]
        self.outside = [agent for agent in self.outside if agent not in come]
        self.agents += come
        self.age |= dict.fromkeys(come, 0)
        return come

    def look(self, agent: str) -> Any:
        seen = np.array([self.age[agent], self.possible_agents.index(agent), self.random.normal()], np.float32)
        if not self.masked:
            return seen
        mask = (self.random.random(3) < 0.5).astype(np.int8)
        mask[self.age[agent] % 3] = 1
        return {"observation": seen, "action_mask": mask}

    def step(self, actions: Any) -> Any:
        acted = self.agents
        assert {*actions} == {*acted}
        for agent in acted:
            self.age[agent] += 1
        dead = {agent: self.random.random() < 0.2 for agent in acted}
        tired = {agent: not dead[agent] and self.age[agent] == self.patience for agent in acted}
        self.agents = [agent for agent in acted if not dead[agent] and not tired[agent]]
        come = self.let_in()
        new: dict[str, bool] = dict.fromkeys(come, False)
        return (
            {agent: self.look(agent) for agent in (*acted, *come)},
            {agent: float(actions[agent]) for agent in acted} | dict.fromkeys(come, 0.0),
            dead | new,
            tired | new,
            {agent: {} for agent in (*acted, *come)},
        )


class Lingering(Visitors):
    """`Visitors` that stay listed when they have ended, until all have, and are given something all the time."""

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.ghosts: list[str] = []
        return super().reset(seed, options)

    def step(self, actions: Any) -> Any:
        self.agents = [agent for agent in self.agents if agent not in self.ghosts]
        observations, rewards, terminated, truncated, infos = super().step(actions)
        given = {agent: np.full(3, 50, np.float32) for agent in self.ghosts}
        rewards |= dict.fromkeys(self.ghosts, 7.0)
        self.ghosts += [agent for agent in actions if terminated[agent] or truncated[agent]]
        self.agents = [*self.agents, *self.ghosts]
        return {**observations, **given}, rewards, terminated, truncated, infos


class TurnsOfVisitors(pettingzoo.AECEnv):  # type: ignore[misc]  # PettingZoo ships no types
    """As `Visitors`, one after the other: with each turn, any of them may die, and others come to the end of the row.

    A reward is what it did, less what the one before did.
    """

    metadata: dict[str, Any] = {"name": "turns_of_visitors_v0", "render_modes": [], "is_parallelizable": False}  # noqa: RUF012
    render_mode = None

    def __init__(self, n: int = 4, length: int = 20, *, masked: bool = False) -> None:
        super().__init__()
        self.inner, self.length = Visitors(n, masked=masked), length
        self.possible_agents = self.inner.possible_agents

    def observation_space(self, agent: str) -> gym.Space[Any]:
        return self.inner.seen

    def action_space(self, agent: str) -> gym.Space[Any]:
        return self.inner.done

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.inner.reset(seed)
        self.at, self.before = 0, 0
        self.agents: list[str] = []
        self.rewards: dict[str, float] = {}
        self._cumulative_rewards: dict[str, float] = {}
        self.terminations: dict[str, bool] = {}
        self.truncations: dict[str, bool] = {}
        self.infos: dict[str, dict[str, Any]] = {}
        self.sees: dict[str, Any] = {}
        self.welcome(self.inner.agents)
        self.agent_selection = self.agents[0]

    def welcome(self, come: list[str]) -> None:
        for agent in come:
            self.agents.append(agent)
            self.rewards[agent] = self._cumulative_rewards[agent] = 0.0
            self.terminations[agent] = self.truncations[agent] = False
            self.infos[agent] = {}
            self.sees[agent] = self.inner.look(agent)

    def observe(self, agent: str) -> Any:
        return self.sees[agent]

    def render(self) -> None:
        """There is nothing to be seen."""

    def close(self) -> None:
        """Nor to be closed."""

    def step(self, action: Any) -> None:
        agent, inner = self.agent_selection, self.inner
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self.at += 1
        inner.age[agent] += 1
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self.rewards[agent], self.before = float(action - self.before), int(action)
        living = [each for each in self.agents if not self.terminations[each]]
        for each in living:
            if inner.random.random() < 0.1:
                self.terminations[each] = True
            self.sees[each] = inner.look(each)
        inner.agents = [each for each in living if not self.terminations[each]]
        self.welcome(inner.let_in())
        if self.at == self.length:
            self.truncations = {each: not self.terminations[each] for each in self.agents}
        self._accumulate_rewards()
        at = self.agents.index(agent) + 1
        others = [*self.agents[at:], *self.agents[:at]]
        left = [each for each in others if not self.terminations[each] and not self.truncations[each]]
        self.agent_selection = (left or others)[0]
        self._deads_step_first()
