"""PPO in one loop, as CleanRL writes it, on frames, with one thread.

It has the settings of the preset, and refuses one that asks for what it has not. What no setting says is different: it
takes an episode that is cut short for one that ends, and learns from the step in which Gymnasium resets one, too.
"""

from __future__ import annotations

import time
from typing import Any

import gymnasium as gym
import torch
from beside.task import Learned, Task, Watch, evaluate
from scripted_ppo import Settings, orthogonal, ppo
from torch import nn
from torch.distributions import Categorical

from reactors.errors import ParameterError
from reactors.rl.networks.layers import torso
from reactors.rl.networks.normalising import normaliser

FIXED = {
    "anneal": False, "value": 0.5, "max_grad_norm": 0.5, "reward_clip": None, "normalise_rewards": False, "torso": None,
    "recurrent": False, "anneal_clip": False, "clip_value": None, "target_kl": None, "normalise": True,
}  # fmt: skip
"""What the loop does, by our names."""


class Heads(nn.Module):
    """Our torso, and a linear layer each for actions and values."""

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
    """With our settings; frames are normalised as ours are."""
    torch.set_num_threads(1)
    torch.manual_seed(task.seed)
    ours, watch = task.settings, Watch(task)
    for name, value in FIXED.items():
        if getattr(ours, name) != value:
            raise ParameterError(f"{name} of {task.env} is {getattr(ours, name)!r}, and the script has {value!r}")
    settings = Settings(**{name: getattr(ours, name) for name in Settings.__dataclass_fields__})
    began, worked = time.perf_counter(), time.process_time()
    envs = gym.vector.SyncVectorEnv([task.make] * settings.num_envs)
    net, steps = Heads(envs), 0
    centre: Any = normaliser(envs.single_observation_space) if ours.normalise_observations else None
    for steps, returns in ppo(task.seed, envs, net, settings, centre):
        watch.ended(steps, returns)
        if steps >= task.steps:
            break
    seconds, processor = time.perf_counter() - began, time.process_time() - worked

    def choose(obs: Any) -> Any:
        with torch.no_grad():
            seen = torch.as_tensor(obs)[None]
            return int(net(seen if centre is None else centre(seen))[0].sample())

    return Learned(steps, seconds, processor, watch.curve[-1][1], *evaluate(task, choose), watch.curve)
