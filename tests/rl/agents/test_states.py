"""The state that a step leads to is the one that the next step begins with, also where agents come and go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pettingzoo
import pytest

from examples.traffic_junction import TrafficJunction
from reactors import rl
from reactors.rl.dataflow.agents.acting import TeamActing
from reactors.rl.dataflow.agents.rollout import AgentsRollout
from reactors.rl.envs.agents.sources import cast_of
from tests.rl.agents.comers import Comers

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
