"""PPO in one loop on CartPole-v1, as CleanRL writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

N, HORIZON = 8, 32


def net(outputs: int, gain: float) -> nn.Sequential:
    layers = [nn.Linear(4, 64), nn.Linear(64, 64), nn.Linear(64, outputs)]
    for layer, scale in zip(layers, (2**0.5, 2**0.5, gain), strict=True):
        nn.init.orthogonal_(layer.weight, scale)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2])


def ppo(seed: int) -> Iterator[tuple[int, list[float]]]:
    """After each update, for ever: the steps so far, and the returns of the episodes that ended."""
    torch.manual_seed(seed)
    make: Callable[[], Any] = lambda: gym.make("CartPole-v1")  # noqa: E731
    envs = gym.vector.SyncVectorEnv([make] * N)
    actor, critic = net(2, 0.01), net(1, 1.0)
    parameters = [*actor.parameters(), *critic.parameters()]
    adam = torch.optim.Adam(parameters, lr=1e-3, eps=1e-5)
    obs, actions, logs = torch.zeros(HORIZON, N, 4), torch.zeros(HORIZON, N), torch.zeros(HORIZON, N)
    rewards, values, over = torch.zeros(HORIZON, N), torch.zeros(HORIZON, N), torch.zeros(HORIZON + 1, N)
    following = torch.as_tensor(envs.reset(seed=seed)[0])
    totals, steps = np.zeros(N), 0
    while True:
        returns: list[float] = []
        over[0] = over[HORIZON]
        for t in range(HORIZON):
            obs[t] = following
            with torch.no_grad():
                policy = Categorical(logits=actor(following))
                action = policy.sample()
                actions[t], logs[t], values[t] = action, policy.log_prob(action), critic(following)[:, 0]
            seen, reward, terminated, truncated, _ = envs.step(action.numpy())
            following, rewards[t] = torch.as_tensor(seen), torch.as_tensor(reward)
            done = np.logical_or(terminated, truncated)
            over[t + 1] = torch.as_tensor(done)
            totals += reward
            if done.any():
                returns += totals[done].tolist()
                totals[done] = 0
        with torch.no_grad():
            later, carried, found = critic(following)[:, 0], torch.zeros(N), torch.zeros(HORIZON, N)
            for t in reversed(range(HORIZON)):
                going = 1 - over[t + 1]
                found[t] = carried = rewards[t] + 0.98 * going * later - values[t] + 0.98 * 0.8 * going * carried
                later = values[t]
            targets = (found + values).flatten()
        flat = obs.flatten(0, 1), actions.flatten(), logs.flatten(), found.flatten(), targets
        for _ in range(20):
            order = torch.randperm(N * HORIZON)
            o, a, before, gained, wanted = (each[order] for each in flat)
            policy = Categorical(logits=actor(o))
            ratio = (policy.log_prob(a) - before).exp()
            gained = (gained - gained.mean()) / (gained.std() + 1e-8)
            loss = torch.max(-gained * ratio, -gained * ratio.clamp(0.8, 1.2)).mean()
            loss = loss + 0.5 * (critic(o)[:, 0] - wanted).square().mean() - 0.0 * policy.entropy().mean()
            adam.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 0.5)
            adam.step()
        steps += HORIZON * N
        yield steps, returns
