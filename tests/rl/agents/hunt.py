"""A zero-sum game of two groups, whose pictures say how many steps there were."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pettingzoo

HUNT: dict[str, Any] = {"groups": {"hunters": ("hunter_*",), "prey": ("prey",)}}


class Hunt(pettingzoo.ParallelEnv[Any, Any, Any]):
    """Five steps, in each of which two hunters get 1 and 2, and their prey loses 3, whatever they do.

    A picture has as many white rows as there were steps.
    """

    metadata: dict[str, Any] = {"name": "hunt_v0", "render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.possible_agents = ["hunter_0", "prey", "hunter_1"]
        self.agents: list[str] = []
        self.render_mode, self.t = render_mode, 0

    def observation_space(self, agent: str) -> gym.Space[Any]:
        del agent
        return gym.spaces.Box(0, 5, (1,), np.float32)

    def action_space(self, agent: str) -> gym.Space[Any]:
        del agent
        return gym.spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        del seed, options
        self.agents, self.t = [*self.possible_agents], 0
        return self.of_all(np.zeros(1, np.float32)), self.of_all({})

    def step(self, actions: Any) -> Any:
        del actions
        self.t += 1
        over, rewards = self.t == 5, {"hunter_0": 1.0, "prey": -3.0, "hunter_1": 2.0}
        found = self.of_all(np.full(1, self.t, np.float32)), rewards, self.of_all(over), self.of_all(False), {}
        if over:
            self.agents = []
        return found

    def of_all(self, what: Any) -> dict[str, Any]:
        return dict.fromkeys(self.possible_agents, what)

    def render(self) -> Any:
        shown = np.zeros((16, 16, 3), np.uint8)
        shown[: self.t] = 255
        return shown
