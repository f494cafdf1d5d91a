"""The state that a step leads to is the one that the next step begins with, also where agents come and go."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest

from examples.traffic_junction import TrafficJunction
from reactors import rl
from reactors.rl.dataflow.agents.acting import TeamActing
from reactors.rl.dataflow.agents.rollout import AgentsRollout
from reactors.rl.envs.agents.sources import cast_of
from tests.rl.agents.comers import Comers


class Steady(pettingzoo.ParallelEnv[Any, Any, Any]):
    """All agents are there until an episode ends after seven steps, and write into the arrays that they gave."""

    metadata: dict[str, Any] = {"name": "steady"}  # noqa: RUF012 - as PettingZoo has it

    def __init__(self) -> None:
        self.possible_agents = ["a", "b", "c"]
        self.seen = {agent: np.zeros(2, np.float32) for agent in self.possible_agents}

    def observation_space(self, agent: str) -> gym.Space[Any]:
        return gym.spaces.Discrete(4, start=2) if agent == "c" else gym.spaces.Box(-99, 99, (2,))

    def action_space(self, agent: str) -> gym.Space[Any]:
        return gym.spaces.Discrete(3)

    def told(self) -> dict[str, Any]:
        for i, each in enumerate(self.seen.values()):
            each[:] = self.at, i
        return {**self.seen, "c": 2 + self.at % 4}

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.agents, self.at = [*self.possible_agents], 0
        return self.told(), {}

    def step(self, actions: Any) -> Any:
        self.at += 1
        told, over = self.told(), dict.fromkeys(self.agents, self.at == 7)
        if self.at == 7:
            self.agents = []
        return told, dict.fromkeys(told, 1.0), dict.fromkeys(told, False), over, {}


class Still:
    """Acts for all, and always does the same."""

    opponents = memories = None

    def __init__(self, teams: Any) -> None:
        self.teams = [self] * len(teams)

    def act(self, seen: Any, number: int) -> Any:
        return np.zeros(len(seen), np.int64), {}

    def forget(self, gone: Any) -> None:
        """There is nothing that is remembered."""


ENVIRONMENTS = {
    "comers": lambda: Comers(4),
    "junction": lambda: TrafficJunction(4),
    "turns": lambda: pettingzoo.make("aec", "classic/tictactoe_v3"),
}


@pytest.mark.parametrize("make", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_a_state_of_joined_observations_is_that_of_the_next_step(make: Any) -> None:
    algorithm = rl.MAPPO(num_envs=3, horizon=90, hidden=(8,))
    cast = cast_of(make, "main")
    (team,) = algorithm.teams(cast)
    rollout = AgentsRollout(algorithm, make, 3, 0, cast)
    rollout.open(1, "main")
    learning = algorithm.learning(team, cast.actions[0], 1)
    acting = TeamActing(algorithm, cast, [learning.weights()])
    acting.open(np.random.default_rng(1), 3)
    rows = np.zeros(rollout.shape, rollout.dtypes[0])
    rollout.play(acting, [rows], 0)
    rollout.close()
    goes_on = ~(rows["terminated"] | rows["truncations"].any(2))[:-1]
    assert goes_on.mean() > 0.5
    assert not goes_on.all()
    np.testing.assert_array_equal(rows["next_state"][:-1][goes_on], rows["state"][1:][goes_on])


def test_a_state_is_what_all_see_together_before_and_after_a_step() -> None:
    cast = cast_of(Steady, "main")
    algorithm = rl.QMIX(num_envs=2, horizon=10, groups={"ab": ["a", "b"], "c": ["c"]})
    rollout = AgentsRollout(algorithm, Steady, 2, 0, cast)
    rollout.open(1, "main")
    rows = [np.zeros(rollout.shape, dtype) for dtype in rollout.dtypes]
    for number in range(3):  # rounds of ten steps, over the ends of episodes
        rollout.play(Still(rollout.teams), rows, number)  # type: ignore[arg-type]
        for t in range(10):
            at = (10 * number + t) % 7
            for name, now in (("state", at), ("next_state", at + 1)):
                wanted = [now, 0, now, 1, *np.eye(4)[now % 4]]
                for each in rows:
                    np.testing.assert_array_equal(each[name][t], [wanted, wanted])
    for simulation in rollout.simulations:  # now others go on
        simulation.begin_with(3)
    rollout.play(Still(rollout.teams), rows, 3)  # type: ignore[arg-type]
    assert rows[0]["state"][0, 0, 0] == 0
    rollout.close()
