"""Environments that pass PettingZoo's own tests train unchanged, and so do those that it ships."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import mpe2
import numpy as np
import pettingzoo
import pytest
from pettingzoo.utils.conversions import parallel_to_aec
from pettingzoo.utils.wrappers import BaseParallelWrapper

from reactors import rl
from reactors.errors import ParameterError
from reactors.rl.envs.named import named
from tests.rl.agents.visitors import Lingering, TurnsOfVisitors, Visitors

with warnings.catch_warnings(action="ignore"):  # they import environments in a way that is being given up
    from pettingzoo.test import api_test, parallel_api_test
    from pettingzoo.test.example_envs import generated_agents_env_v0, generated_agents_parallel_v0

TrafficJunction = named(f"{Path(__file__).parents[3]}/examples/traffic_junction.py:TrafficJunction", "the tests")

ON_POLICY: dict[str, Any] = {"num_envs": 2, "horizon": 16, "epochs": 1, "hidden": (8,), "batch_size": 16}
REPLAY: dict[str, Any] = {
    "num_envs": 2, "horizon": 16, "hidden": (8,), "batch_size": 8, "capacity": 200, "learning_starts": 32,
}  # fmt: skip
ALGORITHMS = {
    "IPPO": rl.IPPO(**ON_POLICY),
    "MAPPO": rl.MAPPO(**ON_POLICY),
    "VDN": rl.VDN(**REPLAY),
    "QMIX": rl.QMIX(**REPLAY, mixing=8),
    "IDQN": rl.IDQN(**REPLAY),
}


# ---- environments of one's own, which PettingZoo's tests take for right ----


@pytest.mark.parametrize(
    "make", [TrafficJunction, partial(TrafficJunction, cars=10), Visitors, partial(Visitors, masked=True)]
)
def test_agents_that_come_and_go_at_once_are_as_pettingzoo_wants_them(make: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(make(), num_cycles=200)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.filterwarnings("ignore::UserWarning")  # which say that observations with a mask are no arrays
def test_agents_that_come_and_go_by_turns_are_as_pettingzoo_wants_them(masked: bool) -> None:
    api_test(TurnsOfVisitors(masked=masked), num_cycles=200)


def trained(algorithm: Any, make: Any, mode: Any, workers: int, steps: int = 96) -> Any:
    return rl.train(algorithm, make, total_steps=steps, seed=3, mode=mode, actors=2, workers=workers, backend="thread")


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("mode", ["sync", "pipelined"])
@pytest.mark.parametrize("masked", [False, True])
def test_agents_that_come_and_go_train_alike_on_any_number_of_workers(name: str, mode: Any, masked: bool) -> None:
    one, two = (trained(ALGORITHMS[name], partial(Visitors, masked=masked), mode, workers) for workers in (1, 2))
    assert one.digest == two.digest
    assert one.result.digest == two.result.digest
    assert np.isfinite(one.weights).all()
    assert 1 <= one.journal[-1].get("charts/agents", 2) < 4


@pytest.mark.parametrize("name", ALGORITHMS)
def test_agents_that_come_and_go_train_freely(name: str) -> None:
    done = trained(ALGORITHMS[name], Visitors, "free", 2)
    assert np.isfinite(done.weights).all()
    assert done.steps >= 96


def test_agents_that_stay_listed_after_their_end_are_gone() -> None:
    """What they are given counts for nothing, and an episode ends when all have ended."""
    one, two = (trained(ALGORITHMS["IPPO"], make, "sync", 1) for make in (Visitors, Lingering))
    np.testing.assert_array_equal(one.weights, two.weights)
    assert one.evaluate(3).returns == two.evaluate(3).returns


def by_turns() -> Any:
    return parallel_to_aec(Visitors(masked=True))


@pytest.mark.parametrize("make", [TurnsOfVisitors, partial(TurnsOfVisitors, masked=True), by_turns])
@pytest.mark.parametrize("mode", ["sync", "pipelined"])
def test_agents_that_die_between_their_turns_train_alike_on_any_number_of_workers(make: Any, mode: Any) -> None:
    one, two = (trained(ALGORITHMS["IPPO"], make, mode, workers) for workers in (1, 2))
    assert one.digest == two.digest
    assert one.result.digest == two.result.digest
    assert np.isfinite(one.weights).all()
    assert one.journal[-1]["charts/agents"] == 1


@pytest.mark.parametrize("name", ["IPPO", "QMIX"])
def test_cars_of_the_junction_train(name: str) -> None:
    done = trained(ALGORITHMS[name], TrafficJunction, "pipelined", 2)
    assert np.isfinite(done.weights).all()


@pytest.mark.parametrize("make", [generated_agents_env_v0.env, generated_agents_parallel_v0.parallel_env])
def test_agents_that_are_made_up_on_the_way_are_refused_for_nobody_knows_their_spaces(make: Any) -> None:
    with pytest.raises(ParameterError, match="without possible_agents, so that no one knows before it runs"):
        rl.train(rl.IPPO(**ON_POLICY), make, total_steps=32)


# ---- all that ship with PettingZoo and mpe2, and install here ----

SHIPPED = [
    *sorted(
        name
        for name in {*pettingzoo.aec_registry, *pettingzoo.parallel_registry}
        if name.startswith(("classic/", "butterfly/")) and name != "classic/hanabi-v5"  # which needs OpenSpiel
    ),
    *(f"mpe2/{each.name}" for each in pkgutil.iter_modules(mpe2.__path__) if "_v" in each.name),
]
PIXELS = {"butterfly/cooperative_pong-v6": {}, "butterfly/pistonball-v6": {"n_pistons": 3}}


class Coarse(BaseParallelWrapper):  # type: ignore[misc]  # PettingZoo ships no types
    """Every eighth pixel, so that networks are small."""

    def observation_space(self, agent: Any) -> Any:
        return gym.spaces.Box(0, 255, self.env.observation_space(agent).sample()[::8, ::8].shape, np.uint8)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        observations, infos = super().reset(seed, options)
        return {agent: seen[::8, ::8] for agent, seen in observations.items()}, infos

    def step(self, actions: Any) -> Any:
        observations, *others = super().step(actions)
        return {agent: seen[::8, ::8] for agent, seen in observations.items()}, *others


def coarse(name: str) -> Any:
    return Coarse(pettingzoo.make("parallel", name, **PIXELS[name]))


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_two_rounds_of_all_that_is_shipped(name: str) -> None:
    algorithm = rl.IPPO(num_envs=1, horizon=16, epochs=1, hidden=(8,), batch_size=4, share=None)
    env: Any = name.replace("-v", "_v")
    if name in PIXELS:
        env = partial(coarse, name)
    done = rl.train(algorithm, env, total_steps=32, seed=1)
    assert done.steps == 32
    assert np.isfinite(done.weights).all()


def test_all_are_there() -> None:
    assert len(SHIPPED) == 23


@pytest.mark.parametrize("name", [name for name in SHIPPED if name.startswith("mpe2/")])
def test_a_row_of_those_of_mpe2_is_the_environment_itself(name: str) -> None:
    envs = rl.MultiAgentVectorEnv(name, num_envs=1, workers=1)
    env = importlib.import_module(name.replace("/", ".")).parallel_env()
    envs.reset(seed=1)
    env.reset(seed=1)
    for t in range(5):
        actions = {agent: t % int(env.action_space(agent).n) for agent in envs.agents}
        observations, rewards, *_ = envs.step({agent: np.array([action]) for agent, action in actions.items()})
        expected, gained, *_ = env.step(actions)
        for i, agent in enumerate(envs.agents):
            found = observations[agent][0] if isinstance(observations, dict) else observations[0, i]
            np.testing.assert_array_equal(found, expected[agent])
            assert rewards[0, i] == gained[agent]
    envs.close()
    env.close()
