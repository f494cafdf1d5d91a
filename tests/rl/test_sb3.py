"""Stable-Baselines3 trains on rl.sb3.VecEnv as it does on its own DummyVecEnv."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.wrappers import TimeLimit
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecMonitor, VecNormalize

from reactors.rl import sb3


class Told(gym.Env[Any, Any]):
    """Ends after `length` steps, and says so in all ways there are."""

    observation_space = Dict(at=Box(-1, 100, (1,), np.float32), door=Discrete(2))
    action_space = Discrete(2)

    def __init__(self, length: int = 3, render_mode: str | None = "rgb_array") -> None:
        self.length, self.render_mode, self.at, self.level = length, render_mode, 0, 0
        self.obs = {"at": np.zeros(1, np.float32), "door": 1}
        self.reuses = False

    def look(self) -> Any:
        if not self.reuses:
            self.obs = {**self.obs, "at": np.zeros(1, np.float32)}
        self.obs["at"][:] = self.at
        return self.obs

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.at = (options or {}).get("start", 0)
        return self.look(), {"began": self.at, "seed": seed, "options": options}

    def step(self, action: Any) -> Any:
        self.at += 1
        return self.look(), 0.5, self.at >= self.length, False, {"step": self.at} if self.at % 2 else {}

    def render(self) -> Any:
        return np.full((4, 4, 3), self.at, np.uint8)

    def plus(self, x: int, y: int = 0) -> int:
        return self.at + x + y


def limited(length: int) -> Any:
    return TimeLimit(Told(length), 3)


MAKERS = [partial(limited, length) for length in (2, 5, 3, 7)]


@pytest.fixture(params=[1, 2])
def pair(request: pytest.FixtureRequest) -> Any:
    ours, theirs = sb3.VecEnv(MAKERS, workers=request.param), DummyVecEnv(MAKERS)
    yield ours, theirs
    ours.close()
    theirs.close()


def same(a: Any, b: Any) -> None:
    np.testing.assert_equal(a, b)


def test_every_step_is_that_of_dummy_vec_env(pair: Any) -> None:
    ours, theirs = pair
    for envs in pair:
        envs.seed(3)
    same(ours.reset(), theirs.reset())
    same(ours.reset_infos, theirs.reset_infos)
    for _ in range(12):
        first, second = ours.step([0, 1, 0, 1]), theirs.step([0, 1, 0, 1])
        same(first[0], second[0])
        assert first[1].dtype == second[1].dtype == np.float32
        same(first[1:3], second[1:3])
        same(first[3], second[3])
        same(ours.reset_infos, theirs.reset_infos)


def test_terminal_observations_survive_environments_that_reuse_their_memory(pair: Any) -> None:
    ours, _ = pair
    ours.set_attr("reuses", True)
    ours.reset()
    ours.step([0] * 4)
    obs, _, dones, infos = ours.step([0] * 4)
    assert dones.tolist() == [True, False, False, False]
    same(infos[0]["terminal_observation"]["at"], np.array([2], np.float32))
    same(obs["at"][0], np.array([0], np.float32))


@pytest.mark.parametrize("options", [{"start": 1}, [{"start": 1}, {}, {"start": 2}, {}]])
def test_seeds_and_options_are_used_once(pair: Any, options: Any) -> None:
    ours, theirs = pair
    for envs in pair:
        envs.seed(3)
        envs.set_options(options)
    for _ in range(2):
        same(ours.reset(), theirs.reset())
        same(ours.reset_infos, theirs.reset_infos)


class Doomed(Told):
    """Ends its process at its second step, the first time; `file` knows of it."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file

    def step(self, action: Any) -> Any:
        if self.at == 1 and not self.file.exists():
            self.file.touch()
            os._exit(3)
        return super().step(action)


def test_after_a_process_died_the_infos_of_resets_are_those_of_the_episodes_that_began(tmp_path: Path) -> None:
    envs = sb3.VecEnv([Told, partial(Doomed, tmp_path / "once")], workers=1, isolate=True, on_error="restart")
    envs.reset()
    envs.step([0, 0])
    _, _, dones, infos = envs.step([0, 0])
    assert dones.all()
    for info, begun in zip(infos, envs.reset_infos, strict=True):
        assert "ended with exit status 3" in info["restarted"]
        assert info["terminal_observation"]["at"] == 1
        assert (begun["began"], begun["seed"], begun["restarted"]) == (0, None, info["restarted"])
    envs.close()


def test_environments_are_asked_by_index(pair: Any) -> None:
    for envs in pair:
        envs.reset()
        envs.step([0] * 4)
        assert envs.get_attr("length") == [2, 5, 3, 7]
        assert envs.get_attr("length", indices=2) == [3]
        assert envs.get_attr("length", indices=[3, 0]) == [7, 2]
        assert envs.env_method("plus", 1, y=2, indices=[1, 3]) == [4, 4]
        assert envs.env_is_wrapped(TimeLimit) == [True] * 4
        assert envs.env_is_wrapped(Monitor, indices=[0]) == [False]
        assert envs.has_attr("length")
        envs.set_attr("level", 5, indices=[1])
        assert envs.get_attr("level") == [0, 5, 0, 0]
        assert not envs.has_attr("width")


def test_pictures(pair: Any) -> None:
    ours, theirs = pair
    for envs in pair:
        envs.reset()
        assert envs.render_mode == "rgb_array"
    same(ours.get_images(), theirs.get_images())
    same(ours.render(), theirs.render())
    blind = sb3.VecEnv([partial(Told, render_mode=None)], workers=1)
    with pytest.warns(UserWarning, match="rgb_array"):
        assert blind.get_images() == [None]
    blind.close()


def test_wrappers_of_stable_baselines_fit_around_it() -> None:
    ours, theirs = (
        VecNormalize(VecFrameStack(VecMonitor(cls([partial(gym.make, "CartPole-v1")] * 3)), 2))
        for cls in (sb3.VecEnv, DummyVecEnv)
    )
    for envs in (ours, theirs):
        envs.seed(1)
    same(ours.reset(), theirs.reset())
    for _ in range(20):
        same(ours.step(np.array([0, 1, 0]))[:3], theirs.step(np.array([0, 1, 0]))[:3])
    ours.close()
    theirs.close()


@pytest.fixture
def one_thread() -> Any:
    """Torch's threads and the workers would get in each other's way."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def trained(cls: Any, algorithm: Any, **settings: Any) -> list[Any]:
    envs = make_vec_env("CartPole-v1", n_envs=4, seed=1, vec_env_cls=cls, vec_env_kwargs=settings)
    ppo, dqn = {"n_steps": 128, "batch_size": 256, "n_epochs": 4}, {"learning_starts": 100, "train_freq": 32}
    how: Any = ppo if algorithm is PPO else dqn
    model = algorithm("MlpPolicy", envs, seed=1, device="cpu", **how).learn(2048)
    parameters = [each.detach().numpy().copy() for each in model.policy.parameters()]
    episodes = [(each["r"], each["l"]) for each in model.ep_info_buffer or ()]
    envs.close()
    return [parameters, episodes]


@pytest.mark.parametrize(("algorithm", "workers"), [(PPO, 2), (DQN, 1)])
@pytest.mark.usefixtures("one_thread")
def test_what_is_learned_is_the_same_bit_for_bit(algorithm: Any, workers: int) -> None:
    expected = trained(DummyVecEnv, algorithm)
    assert len(expected[1]) > 5
    same(trained(sb3.VecEnv, algorithm, workers=workers), expected)


def test_the_environments_of_these_tests_are_ones() -> None:
    check_env(Told(), warn=False)


def test_it_is_found_without_an_import_of_its_own_and_imported_when_it_is_asked_for() -> None:
    script = (
        "import sys; from reactors import rl; before = 'stable_baselines3' in sys.modules; "
        "print(before, rl.sb3.VecEnv.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "VecEnv"]


def test_one_function_or_an_id_and_a_number_make_environments() -> None:
    sources: list[tuple[Any, dict[str, Any]]] = [(limited, {"length": 5}), ("CartPole-v1", {})]
    for source, settings in sources:
        envs = sb3.VecEnv(source, num_envs=4, workers=1, **settings)
        assert envs.num_envs == 4
        envs.seed(3)
        listed = sb3.VecEnv([partial(limited, 5) if settings else lambda: gym.make("CartPole-v1")] * 4, workers=1)
        listed.seed(3)
        assert repr(envs.reset()) == repr(listed.reset())
        envs.close()
        listed.close()
    envs = sb3.VecEnv(Told)
    assert envs.num_envs == 1
    envs.close()
    with pytest.raises(TypeError, match=r"rl\.sb3\.VecEnv is given 2 environments and num_envs=3; leave num_envs out"):
        sb3.VecEnv([Told, Told], num_envs=3)
