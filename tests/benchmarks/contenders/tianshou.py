"""Tianshou's DQN, with the hyperparameters of the row `training`; for speed alone."""

from __future__ import annotations

import os
from contextlib import suppress

os.environ["TQDM_DISABLE"] = "1"

import gymnasium as gym
import torch
from contenders.watch import Answer, Task, Watch
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net


def run(task: Task, way: str) -> Answer:
    """Looks before each collection."""
    del way
    torch.set_num_threads(1)
    torch.manual_seed(task.seed)
    envs = DummyVectorEnv([lambda: gym.make("CartPole-v1")] * 8)
    space = gym.make("CartPole-v1")
    net = Net(state_shape=4, action_shape=2, hidden_sizes=[256, 256])
    policy = DiscreteQLearningPolicy(model=net, action_space=space.action_space, eps_training=0.04)
    algorithm = DQN(
        policy=policy, optim=AdamOptimizerFactory(lr=2.3e-3), gamma=0.99, target_update_freq=128, is_double=False
    )
    collector = Collector(policy, envs, VectorReplayBuffer(100_000, 8), exploration_noise=True)
    collector.reset()
    watch = Watch(task)

    def look(epoch: int, steps: int) -> None:
        if watch.enough(steps):
            raise StopIteration

    params = OffPolicyTrainerParams(
        training_collector=collector, max_epochs=1, epoch_num_steps=2 * task.steps, collection_step_num_env_steps=256,
        update_step_num_gradient_steps_per_sample=0.5, batch_size=64, verbose=False, show_progress=False,
        training_fn=look,
    )  # fmt: skip
    with suppress(StopIteration):
        algorithm.run_training(params)
    return watch.answer()
