"""RLlib: two actors play in eight environments each, and the driver learns; DQN is all in one process.

Learning rate, value loss, entropy and network (two layers of 256 for policy and value) are those with which RLlib
shows APPO and IMPALA on CartPole-v1 itself; DQN has the hyperparameters of the row `training`.
"""

from __future__ import annotations

from typing import Any

import ray
import torch
from contenders.watch import Answer, Task, Watch
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.dqn import DQNConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from training import DQN, IMPALA


def config(task: Task) -> Any:
    if task.workload == DQN:
        made = (
            DQNConfig()
            .env_runners(num_env_runners=0, num_envs_per_env_runner=8, rollout_fragment_length=32)
            .training(
                lr=2.3e-3, train_batch_size_per_learner=64, training_intensity=32, double_q=False, dueling=False,
                target_network_update_freq=256, num_steps_sampled_before_learning_starts=256,
                epsilon=[(0, 1.0), (8_000, 0.04)],
                replay_buffer_config={"type": "EpisodeReplayBuffer", "capacity": 100_000},
            )
            .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[256, 256], fcnet_activation="relu"))
            .reporting(min_sample_timesteps_per_iteration=256)
        )  # fmt: skip
    else:
        made = (
            (IMPALAConfig() if task.workload == IMPALA else APPOConfig())
            .env_runners(num_env_runners=2, num_envs_per_env_runner=8)
            .training(lr=5e-4, vf_loss_coeff=0.05, entropy_coeff=0.0)
            .rl_module(model_config=DefaultModelConfig(vf_share_layers=True))
            .reporting(min_time_s_per_iteration=1)
        )
    return made.environment("CartPole-v1").learners(num_learners=0).debugging(seed=task.seed, log_level="ERROR")


def run(task: Task, way: str) -> Answer:
    """Looks once a second, and knows no more of the episodes since then than their mean."""
    del way
    torch.set_num_threads(1)
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    algorithm = config(task).build_algo()
    watch = Watch(task)
    over = False
    while not over:
        played = algorithm.train()["env_runners"]
        if episodes := played.get("num_episodes"):
            watch.ended([played["episode_return_mean"]] * int(episodes))
        over = watch.enough(int(played.get("num_env_steps_sampled_lifetime", 0)))
    answer = watch.answer()
    algorithm.stop()
    ray.shutdown()
    return answer
