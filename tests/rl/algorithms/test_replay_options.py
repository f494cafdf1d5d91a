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
