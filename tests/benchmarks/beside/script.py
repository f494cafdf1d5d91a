"""PPO in one loop, as CleanRL writes it, on frames, with one thread."""

from __future__ import annotations

import time
from typing import Any

import gymnasium as gym
import torch
from beside.task import Learned, Task, Watch, evaluate
from scripted_ppo import Settings, orthogonal, ppo
from torch import nn
from torch.distributions import Categorical

from reactors.rl.networks.layers import torso


class Heads(nn.Module):
    """Our torso, which divides bytes by 255, and a linear layer each for actions and values."""

    def __init__(self, envs: Any) -> None:
        super().__init__()
        made: Any = torso(None, envs.single_observation_space)
        made.orthogonal()
        self.torso = made
        self.actor = orthogonal(nn.Linear(made.features, envs.single_action_space.n), 0.01)
        self.critic = orthogonal(nn.Linear(made.features, 1), 1.0)

    def value(self, obs: torch.Tensor) -> torch.Tensor:
        return self(obs)[1]

    def forward(self, obs: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
        features = self.torso(obs)
        return Categorical(logits=self.actor(features)), self.critic(features)[:, 0]


def run(task: Task) -> Learned:
    """With our settings, where it has them: the frames are as they are."""
    torch.set_num_threads(1)
    torch.manual_seed(task.seed)
    ours, watch = task.settings, Watch(task)
    settings = Settings(**{name: getattr(ours, name) for name in Settings.__dataclass_fields__})
    began, worked = time.perf_counter(), time.process_time()
    envs = gym.vector.SyncVectorEnv([task.make] * settings.num_envs)
    net, steps = Heads(envs), 0
    for steps, returns in ppo(task.seed, envs, net, settings):
        watch.ended(steps, returns)
        if steps >= task.steps:
            break
    seconds, processor = time.perf_counter() - began, time.process_time() - worked

    def choose(obs: Any) -> Any:
        with torch.no_grad():
            return int(net(torch.as_tensor(obs)[None])[0].sample())

    return Learned(steps, seconds, processor, watch.curve[-1][1], *evaluate(task, choose), watch.curve)
