"""rl.VectorEnv is called as Gymnasium's and Stable-Baselines3's own vector environments are."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AsyncVectorEnv
from gymnasium.wrappers import TimeLimit

import reactors as rx
from reactors import rl
from reactors.rl import sb3
from tests.rl.vector.echo import BOTH, PAIR, Count, Echo, N, described

# ---- before the first reset ----


def test_a_step_before_the_first_reset_is_for_the_environment_to_refuse() -> None:
    for workers in (1, 2):
        envs = rl.VectorEnv([Count] * 4, workers=workers)
        assert envs.step([0] * 4)[1].tolist() == [1.0] * 4
        envs.close()
        envs = rl.VectorEnv("CartPole-v1", num_envs=2, workers=workers)
        with pytest.raises(rl.SimulationError) as caught:
            envs.step([0, 0])
        assert isinstance(caught.value.__cause__, ResetNeeded)
        envs.close()


# ---- seeds ----


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("wrong", [[], [1, 2], "abc", "", 1.5, [1, "b", 3], [1, 2, -3], -7, np.array(4)])
def test_seeds_that_are_none_are_refused_and_the_environments_go_on(wrong: Any, workers: int) -> None:
    envs = rl.VectorEnv("CartPole-v1", num_envs=3, workers=workers, oversubscribe=True)
    before = envs.reset(seed=1)[0]
    for reset in (envs.reset, envs.reset_async):
        with pytest.raises(rx.ArgumentError, match=r"seed of rl.VectorEnv is .*; give a whole number, 0 or more, or 3"):
            reset(seed=wrong)
    assert (envs.reset(seed=1)[0] == before).all()
    envs.close()


def test_seeds_may_be_an_array() -> None:
    for envs in (rl.VectorEnv("CartPole-v1", num_envs=3, workers=1), rl.VectorEnv("CartPole-v1", num_envs=3)):
        expected = envs.reset(seed=[3, 1, 2])[0]
        seeds: Any = np.array([3, 1, 2])
        assert (envs.reset(seed=seeds)[0] == expected).all()
        envs.close()


# ---- as AsyncVectorEnv is called ----


def test_the_order_of_arguments_is_that_of_async_vector_env() -> None:
    makers = [Count] * 2
    arguments = False, False, None, True, None, "different", gym.vector.AutoresetMode.SAME_STEP, 1
    ours, theirs = rl.VectorEnv(makers, *arguments), AsyncVectorEnv(makers, *arguments)
    assert ours.metadata == theirs.metadata
    assert (ours.copy, ours.observation_mode, ours.workers) == (False, "different", 1)
    assert equal_steps(ours, theirs)
    assert equal_steps(rl.VectorEnv(env_fns=makers, workers=1), AsyncVectorEnv(env_fns=makers, shared_memory=False))


def equal_steps(ours: Any, theirs: Any) -> bool:
    seen = []
    for envs in (ours, theirs):
        envs.reset(seed=1)
        seen.append([part.tolist() for part in envs.step([1, 0])[1:4]])
        envs.close()
    return bool(seen[0] == seen[1])


def test_gymnasium_makes_one_where_its_own_is_exchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gym.vector, "AsyncVectorEnv", rl.VectorEnv)
    envs = gym.make_vec("CartPole-v1", 3, "async", wrappers=[TimeLimitOf(5)], vector_kwargs={"copy": False})
    assert isinstance(envs.unwrapped, rl.VectorEnv)
    assert envs.spec is not None
    assert envs.spec.id == "CartPole-v1"
    envs.reset(seed=1)
    assert [envs.step([0, 1, 0])[3].all() for _ in range(5)] == [False] * 4 + [True]
    envs.close()


class TimeLimitOf:
    def __init__(self, steps: int) -> None:
        self.steps = steps

    def __call__(self, env: Any) -> Any:
        return TimeLimit(env, self.steps)


# ---- Stable-Baselines3 ----


@pytest.mark.parametrize("space", [BOTH, PAIR, Discrete(5), Box(-1, 1, (2,), np.float32)], ids=str)
def test_stable_baselines_actions_are_one_for_each(space: Any) -> None:
    space.seed(3)
    actions = [space.sample() for _ in range(N)]
    envs = sb3.VecEnv([partial(Echo, space)] * N, workers=2)
    envs.reset()
    assert [info["got"] for info in envs.step(actions)[3]] == [described(action) for action in actions]
    envs.close()


def test_stable_baselines_indices_may_count_from_the_end() -> None:
    envs = sb3.VecEnv([Count] * 4, workers=2)
    envs.reset()
    envs.set_attr("steps", 7, indices=-1)
    assert envs.get_attr("steps") == [0, 0, 0, 7]
    assert envs.get_attr("steps", [-1, 0, -4]) == [7, 0, 0]
    for wrong in (4, -5):
        with pytest.raises(IndexError, match=rf"has 4 environments, numbered from 0, and none with index {wrong}$"):
            envs.get_attr("steps", wrong)
    envs.close()


def test_stable_baselines_finds_a_local_wrapper() -> None:
    class Outer(gym.Wrapper[Any, Any, Any, Any]):
        pass

    class Other(Outer):
        pass

    envs = sb3.VecEnv([lambda: Outer(Count()), lambda: Other(Count())] * 2, workers=2)
    assert envs.env_is_wrapped(Outer) == [True] * 4
    assert envs.env_is_wrapped(Other) == [False, True] * 2
    assert envs.env_is_wrapped(TimeLimit) == [False] * 4
    envs.close()
