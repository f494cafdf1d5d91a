"""Which weights does an actor act by?"""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from reactors import rl
from reactors.rl.dataflow.acting import Acting
from reactors.rl.learning.latest import ALL, Latest


def test_in_free_mode_an_actor_takes_all_weights_that_are_newer_also_of_one_round() -> None:
    algorithm, spaces = rl.DQN(hidden=(4,)), (gym.spaces.Box(-1, 1, (2,)), gym.spaces.Discrete(2))
    weights = algorithm.learning(*spaces, 0).weights()
    newest = Latest(len(weights))
    acting = Acting(algorithm, *spaces, weights, newest=newest)
    acting.open(np.random.default_rng(0), 1)
    assert acting.look() == ALL
    for k, (round_, samplers) in enumerate([(5, 2), (5, 1), (6, 2)], 1):
        newest.put(weights + k, round_, samplers)
        for _ in range(2):
            assert acting.look() == samplers
            np.testing.assert_array_equal(acting.latest, weights + k)
            assert acting.age(7) == 7 - round_
