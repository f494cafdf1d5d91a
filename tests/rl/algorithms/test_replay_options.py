"""How experience is kept, clipped and drawn: options of all algorithms that learn from replay, and of DQN."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from reactors import rl
from reactors.errors import ArgumentError, ParameterError
from reactors.rl.algorithms.off_policy import memory_of
from reactors.rl.networks.layers import alone
from tests.catch import Catch

pytestmark = pytest.mark.usefixtures("bare_runs")

FRAMES = rl.DQN(
    num_envs=4, horizon=8, batch_size=16, capacity=200, learning_starts=64, updates_per_step=0.25, torso="nips",
    prioritized=True, n_step=3,
)  # fmt: skip


@cache
def weights(algorithm: Any, workers: int = 1) -> Any:
    return rl.train(algorithm, Catch, total_steps=288, seed=2, workers=workers).weights


def test_frames_that_are_kept_once_teach_the_same() -> None:
    """The ring has gone round by the end."""
    whole = weights(FRAMES)
    for workers in (1, 2):
        assert np.array_equal(whole, weights(replace(FRAMES, frame_stack=4), workers=workers))


def test_frames_that_are_kept_once_take_an_eighth_of_the_memory() -> None:
    spaces = Catch.observation_space, Catch.action_space
    large = replace(FRAMES, capacity=4000)
    whole, once = (memory_of(replace(large, frame_stack=stack), *spaces).nbytes for stack in (None, 4))
    assert whole / 8 < once < whole / 6


def test_the_tree_has_the_fanout_that_is_asked_for() -> None:
    assert np.array_equal(weights(replace(FRAMES, fanout=64)), weights(replace(FRAMES, fanout=2)))
    with pytest.raises(ArgumentError, match="fanout of DQN is 3; write 2, 4, 8, 16, 32 or 64"):
        replace(FRAMES, fanout=3)
    buffer = rl.ReplayBuffer(10, {"obs": "f4"}, prioritized=True, fanout=4)
    assert buffer.config.fanout == 4
    with pytest.raises(ArgumentError, match="fanout is 5; write a power of two from 2 to 64"):
        rl.ReplayBuffer(10, {"obs": "f4"}, prioritized=True, fanout=5)
    with pytest.raises(ArgumentError, match="fanout=4 is given to a replay buffer that samples uniformly"):
        rl.ReplayBuffer(10, {"obs": "f4"}, fanout=4)


def test_rewards_are_clipped_before_they_are_added_up() -> None:
    assert np.array_equal(weights(FRAMES), weights(replace(FRAMES, reward_clip=1.0)))
    assert not np.array_equal(weights(FRAMES), weights(replace(FRAMES, reward_clip=0.5)))
    with pytest.raises(ParameterError, match=r"frame_stack of DQN is 3, and the environment's .* shape \(4, 42, 42\)"):
        rl.train(replace(FRAMES, frame_stack=3), Catch, total_steps=320)
    with pytest.raises(ParameterError, match=r"frame_stack of DQN is 4, and the environment's .* shape \(4,\)"):
        rl.train(rl.DQN(frame_stack=4), "CartPole-v1", total_steps=320)


def test_a_target_may_follow_softly() -> None:
    box, two = gym.spaces.Box(-1, 1, (3,)), gym.spaces.Discrete(2)
    learning: Any = rl.DQN(tau=0.25, target_every=2, hidden=(4,), learning_rate=0.1).learning(box, two, 0)
    rows = torch.from_numpy(np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32))
    batch = {
        "obs": rows, "next_obs": rows, "action": torch.zeros(8, dtype=torch.int64), "reward": torch.ones(8),
        "terminated": torch.ones(8, dtype=torch.bool),
    }  # fmt: skip
    before = learning.old.weights.detach().clone()
    for _ in range(2):
        assert torch.equal(learning.old.weights, before)
        for _ in learning.learn(batch):
            pass
    wanted = before + 0.25 * (learning.flat.weights.detach() - before)
    assert torch.allclose(learning.old.weights, wanted, atol=1e-7)


def test_epsilon_may_begin_below_1() -> None:
    config = rl.DQN(exploration_initial=0.0, exploration_final=0.0, hidden=(4,))
    policy = config.policy(gym.spaces.Box(-1, 1, (3,)), gym.spaces.Discrete(2))
    policy.load(np.random.default_rng(0).normal(size=policy.size).astype(np.float32))
    seen = np.random.default_rng(1).normal(size=(200, 3)).astype(np.float32)
    chosen, _ = policy.act(seen, np.random.default_rng(2), 0)
    assert np.array_equal(chosen, policy.greedy(seen))


QUICK: dict[str, Any] = {"num_envs": 4, "horizon": 4, "batch_size": 8, "hidden": (8,), "learning_starts": 16}


@pytest.mark.parametrize("mode", ["sync", "free"])
def test_beta_rises_to_1_over_the_run_if_asked_to(monkeypatch: pytest.MonkeyPatch, mode: Any) -> None:
    """Each batch is drawn with the beta of its step; by default that is always the same."""
    drawn: list[float] = []
    sample, sample_into = rl.ReplayBuffer.sample, rl.ReplayBuffer.sample_into

    def seen_into(self: Any, record: Any, n: int) -> Any:
        drawn.append(self.beta)
        return sample_into(self, record, n)

    def seen(self: Any, n: int, **options: Any) -> Any:
        drawn.extend(options.values())  # rows of weights are drawn without
        return sample(self, n, **options)

    monkeypatch.setattr(rl.ReplayBuffer, "sample_into", seen_into)
    monkeypatch.setattr(rl.ReplayBuffer, "sample", seen)
    way: dict[str, Any] = {"total_steps": 160, "seed": 1, "mode": mode, "workers": 2, "backend": "thread"}
    rl.train(rl.DQN(**QUICK, prioritized=True, beta=0.5), "CartPole-v1", **way)
    assert {*drawn} == {0.5}
    drawn.clear()
    rl.train(rl.DQN(**QUICK, prioritized=True, beta=0.5, anneal_beta=True), "CartPole-v1", **way)
    assert drawn == sorted(drawn)
    assert 0.5 < drawn[0] < 0.7 < drawn[-1] <= 1
    assert drawn[-1] == 1 or mode == "free"  # where the last rounds may find no time to be learned from


def test_beta_begins_where_it_is_said_to_and_ends_at_1() -> None:
    config = rl.DQN(prioritized=True, beta=0.4, anneal_beta=True).scheduled(1_000)
    assert [config.beta_at(steps) for steps in (0, 500, 1_000, 1_016)] == pytest.approx([0.4, 0.7, 1, 1])
    assert config.beta_at(1_016) <= 1
    assert rl.DQN(prioritized=True).scheduled(1_000).beta_at(1_000) == 0.4
    with pytest.raises(ArgumentError, match="anneal_beta of IDQN is True, and replay is sampled uniformly"):
        rl.IDQN(anneal_beta=True)


def test_a_beta_that_rises_is_the_same_on_any_number_of_workers() -> None:
    rising = replace(FRAMES, anneal_beta=True)
    assert np.array_equal(weights(rising), weights(rising, workers=2))
    assert not np.array_equal(weights(rising), weights(FRAMES))


@pytest.mark.parametrize("kind", [rl.SAC, rl.TD3, rl.DDPG])
def test_gradients_of_actor_and_critics_are_scaled_down_each_to_its_own_norm(kind: Any) -> None:
    box = gym.spaces.Box(-1, 1, (3,), np.float32)
    rng = np.random.default_rng(0)
    seen, acted, led_to = (torch.from_numpy(rng.uniform(-1, 1, (8, 3)).astype(np.float32)) for _ in range(3))
    batch = {
        "obs": seen, "action": acted, "next_obs": led_to, "reward": torch.full((8,), 9.0),
        "terminated": torch.zeros(8, dtype=torch.bool),
    }  # fmt: skip
    for most in (None, 1e-3):
        learning = kind(hidden=(8,), max_grad_norm=most).learning(box, box, 0)
        alone(learning.learn(batch))
        found = alone(learning.learn(batch))  # TD3's actor learns at every second
        norms = [float(torch.linalg.vector_norm(learning.flat[each].weights.grad)) for each in ("actor", "critics")]
        told = [float(found[f"losses/{each}_grad_norm"]()) for each in ("actor", "qf")]
        assert min(told) > 2e-3  # figures say what it was
        assert norms == pytest.approx(told if most is None else [most] * 2, rel=0.01)


@pytest.mark.parametrize("kind", [rl.SAC, rl.TD3])
def test_gradients_that_are_scaled_down_are_the_same_on_any_number_of_workers(kind: Any) -> None:
    found = [
        rl.train(kind(**QUICK, max_grad_norm=most), "Pendulum-v1", total_steps=96, seed=1, workers=workers)
        for most, workers in ((0.1, 1), (0.1, 2), (None, 1))
    ]
    assert found[0].digest == found[1].digest != found[2].digest
    assert np.array_equal(found[0].weights, found[1].weights)


def test_a_rate_for_a_temperature_that_is_given_is_refused() -> None:
    for kind in (rl.SAC, rl.ISAC):
        with pytest.raises(ArgumentError, match=r"and temperature is 0\.2, so that it is not learned"):
            kind(temperature=0.2, temperature_learning_rate=1e-3)
