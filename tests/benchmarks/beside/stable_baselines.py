"""Stable-Baselines3 with the same hyperparameters, networks and number of environments, and one thread."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import stable_baselines3 as sb3
import torch
from beside.task import Learned, Task, Watch, evaluate
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecNormalize

from reactors.rl.networks.layers import torso


class Look(BaseCallback):
    """At episodes that end."""

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self.watch = watch

    def _on_step(self) -> bool:
        self.watch.ended(
            self.num_timesteps, (info["episode"]["r"] for info in self.locals["infos"] if "episode" in info)
        )
        return True


class Torso(BaseFeaturesExtractor):
    """Ours, which makes 0 to 1 of bytes itself."""

    def __init__(self, observation_space: Any, kind: str) -> None:
        made: Any = torso(kind, observation_space)
        super().__init__(observation_space, made.features)
        made.orthogonal()
        self.torso = made

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return self.torso(observations)


def model(task: Task) -> Any:
    """Its own, of our settings."""
    ours = task.settings
    envs: Any = make_vec_env(task.make, n_envs=ours.num_envs, seed=task.seed)
    common: dict[str, Any] = {
        "gamma": ours.gamma, "batch_size": ours.batch_size, "seed": task.seed, "device": "cpu",
    }  # fmt: skip
    if task.algorithm != "PPO":
        common |= {
            "learning_rate": ours.learning_rate, "buffer_size": ours.capacity, "learning_starts": ours.learning_starts,
            "train_freq": ours.horizon, "gradient_steps": round(ours.horizon * ours.num_envs * ours.updates_per_step),
        }  # fmt: skip
        if task.algorithm == "SAC":
            return sb3.SAC("MlpPolicy", envs, tau=ours.tau, policy_kwargs={"net_arch": [*ours.hidden]}, **common)
        zero = np.zeros(envs.action_space.shape)
        return sb3.TD3(
            "MlpPolicy", envs, tau=ours.tau, policy_delay=ours.policy_delay, target_policy_noise=ours.target_noise,
            target_noise_clip=ours.target_clip, action_noise=NormalActionNoise(zero, zero + ours.noise),
            policy_kwargs={"net_arch": [*ours.hidden]}, **common,
        )  # fmt: skip
    if ours.torso is None:
        envs = VecNormalize(envs, gamma=ours.gamma)
        policy, net = "MlpPolicy", {"net_arch": {"pi": [*ours.hidden], "vf": [*ours.hidden]}}
    else:
        policy, net = "CnnPolicy", {
            "features_extractor_class": Torso, "features_extractor_kwargs": {"kind": ours.torso},
            "net_arch": [], "normalize_images": False,
        }  # fmt: skip
    rate: Any = (lambda left: ours.learning_rate * left) if ours.anneal else ours.learning_rate
    return sb3.PPO(
        policy, envs, learning_rate=rate, n_steps=ours.horizon, n_epochs=ours.epochs, gae_lambda=ours.lam,
        clip_range=ours.clip, clip_range_vf=ours.clip_value, ent_coef=ours.entropy, vf_coef=ours.value,
        max_grad_norm=ours.max_grad_norm, policy_kwargs=net, **common,
    )  # fmt: skip


def run(task: Task) -> Learned:
    """Its vector environment is the one without processes, which is its fastest on one core."""
    torch.set_num_threads(1)
    began, worked = time.perf_counter(), time.process_time()
    learner, watch = model(task), Watch(task)
    learner.learn(task.steps, callback=Look(watch))
    seconds, processor = time.perf_counter() - began, time.process_time() - worked
    normalised = learner.get_vec_normalize_env()

    def choose(obs: Any) -> Any:
        seen = obs if normalised is None else normalised.normalize_obs(obs)
        return learner.predict(seen, deterministic=":" not in task.env)[0]

    return Learned(learner.num_timesteps, seconds, processor, watch.curve[-1][1], *evaluate(task, choose), watch.curve)
