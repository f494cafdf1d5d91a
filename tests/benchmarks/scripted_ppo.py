"""PPO in one loop, as CleanRL writes it: by default with its network on CartPole-v1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors.rl.networks.normalising import Centre


@dataclass(frozen=True)
class Settings:
    """Those of rl.PPO by the same names."""

    num_envs: int = 8
    horizon: int = 32
    epochs: int = 20
    batch_size: int = 256
    gamma: float = 0.98
    lam: float = 0.8
    learning_rate: float = 1e-3
    clip: float = 0.2
    entropy: float = 0.0


def orthogonal(layer: nn.Module, gain: float = 2**0.5) -> nn.Module:
    nn.init.orthogonal_(layer.weight, gain)  # type: ignore[arg-type]
    nn.init.zeros_(layer.bias)  # type: ignore[arg-type]
    return layer


class TwoNetworks(nn.Module):
    """A network each for actions and values."""

    def __init__(self, envs: Any) -> None:
        super().__init__()
        inputs, outputs = envs.single_observation_space.shape[0], envs.single_action_space.n
        self.actor, self.critic = (
            nn.Sequential(
                orthogonal(nn.Linear(inputs, 64)), nn.Tanh(), orthogonal(nn.Linear(64, 64)), nn.Tanh(),
                orthogonal(nn.Linear(64, size), gain),
            )
            for size, gain in ((outputs, 0.01), (1, 1.0))
        )  # fmt: skip

    def value(self, obs: torch.Tensor) -> torch.Tensor:
        return self.critic(obs)[:, 0]

    def forward(self, obs: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
        return Categorical(logits=self.actor(obs)), self.value(obs)


def ppo(
    seed: int,
    envs: gym.vector.VectorEnv[Any, Any, Any] | None = None,
    network: nn.Module | None = None,
    settings: Settings = Settings(),
    centre: Centre | None = None,
) -> Iterator[tuple[int, list[float]]]:
    """After each update, for ever: the steps so far, and the returns of the episodes that ended.

    With `centre` the network sees frames less the mean of all that were learned from so far.
    """
    torch.manual_seed(seed)
    n, horizon, gamma = settings.num_envs, settings.horizon, settings.gamma
    envs = envs or gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1")] * n)
    net: Any = network or TwoNetworks(envs)
    look: Any = nn.Identity() if centre is None else centre
    mean = None if centre is None else centre.statistics()
    adam = torch.optim.Adam(net.parameters(), lr=settings.learning_rate, eps=1e-5)
    following = torch.as_tensor(envs.reset(seed=seed)[0])
    obs = torch.zeros(horizon, *following.shape, dtype=following.dtype)
    actions, logs, rewards, values = (torch.zeros(horizon, n) for _ in range(4))
    over = torch.zeros(horizon + 1, n)
    totals, steps = np.zeros(n), 0
    while True:
        returns: list[float] = []
        over[0] = over[horizon]
        for t in range(horizon):
            obs[t] = following
            with torch.no_grad():
                policy, values[t] = net(look(following))
                action = policy.sample()
                actions[t], logs[t] = action, policy.log_prob(action)
            seen, reward, terminated, truncated, _ = envs.step(action.numpy())
            following, rewards[t] = torch.as_tensor(seen), torch.as_tensor(reward)
            done = np.logical_or(terminated, truncated)
            over[t + 1] = torch.as_tensor(done)
            totals += reward
            if done.any():
                returns += totals[done].tolist()
                totals[done] = 0
        with torch.no_grad():
            later, carried, found = net.value(look(following)), torch.zeros(n), torch.zeros(horizon, n)
            for t in reversed(range(horizon)):
                going = 1 - over[t + 1]
                found[t] = carried = (
                    rewards[t] + gamma * going * later - values[t] + gamma * settings.lam * going * carried
                )
                later = values[t]
            targets = (found + values).flatten()
        flat = obs.flatten(0, 1), actions.flatten(), logs.flatten(), found.flatten(), targets
        for _ in range(settings.epochs):
            for part in torch.randperm(n * horizon).split(settings.batch_size):
                o, a, before, gained, wanted = (each[part] for each in flat)
                policy, value = net(look(o))
                ratio = (policy.log_prob(a) - before).exp()
                gained = (gained - gained.mean()) / (gained.std() + 1e-8)
                loss = torch.max(-gained * ratio, -gained * ratio.clamp(1 - settings.clip, 1 + settings.clip)).mean()
                loss = loss + 0.5 * (value - wanted).square().mean() - settings.entropy * policy.entropy().mean()
                adam.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 0.5)
                adam.step()
        if centre is not None and mean is not None:
            mean.add(flat[0].numpy())
            centre.follow(mean)
        steps += horizon * n
        yield steps, returns
