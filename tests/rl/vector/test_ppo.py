"""A program written for gymnasium.vector, in one file as CleanRL has them, learns the same on rl.VectorEnv."""

from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from torch.distributions import Categorical

from reactors import rl

GAMMA, LAMBDA, CLIP = 0.99, 0.95, 0.2


def net(outputs: int, gain: float) -> torch.nn.Sequential:
    layers = [torch.nn.Linear(4, 32), torch.nn.Linear(32, outputs)]
    for layer, scale in zip(layers, (np.sqrt(2), gain), strict=True):
        torch.nn.init.orthogonal_(layer.weight, scale)
        torch.nn.init.zeros_(layer.bias)
    return torch.nn.Sequential(layers[0], torch.nn.Tanh(), layers[1])


def ppo(envs: Any, updates: int, steps: int = 64, seed: int = 1) -> list[float]:
    """The mean return of the episodes that end in each update."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    n = envs.num_envs
    actor, critic = net(2, 0.01), net(1, 1.0)
    adam = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=3e-3)
    shape = (steps, n)
    obs, actions, chances = torch.zeros(*shape, 4), torch.zeros(shape), torch.zeros(shape)
    rewards, values, overs = torch.zeros(shape), torch.zeros(shape), torch.zeros(steps + 1, n)
    following = torch.as_tensor(envs.reset(seed=seed)[0])
    curve = []
    for _ in range(updates):
        returns = []
        for t in range(steps):
            obs[t] = following
            with torch.no_grad():
                policy = Categorical(logits=actor(obs[t]))
                actions[t] = policy.sample()
                chances[t], values[t] = policy.log_prob(actions[t]), critic(obs[t])[:, 0]
            seen, reward, terminated, truncated, infos = envs.step(actions[t].long().numpy())
            following, rewards[t] = torch.as_tensor(seen), torch.as_tensor(reward)
            overs[t + 1] = torch.as_tensor(terminated | truncated)
            if "episode" in infos:
                returns += infos["episode"]["r"][infos["_episode"]].tolist()
        curve.append(float(np.mean(returns)) if returns else 0.0)
        advantages, carried = torch.zeros(shape), torch.zeros(n)
        with torch.no_grad():
            later = critic(following)[:, 0]
        for t in reversed(range(steps)):
            error = rewards[t] + GAMMA * later * (1 - overs[t + 1]) - values[t]
            advantages[t] = carried = error + GAMMA * LAMBDA * (1 - overs[t + 1]) * carried
            later = values[t]
        targets, flat = (advantages + values).flatten(), advantages.flatten()
        flat = (flat - flat.mean()) / (flat.std() + 1e-8)
        for _ in range(4):
            for rows in torch.randperm(steps * n).chunk(4):
                policy = Categorical(logits=actor(obs.flatten(0, 1)[rows]))
                ratio = (policy.log_prob(actions.flatten()[rows]) - chances.flatten()[rows]).exp()
                gain = torch.min(ratio * flat[rows], ratio.clamp(1 - CLIP, 1 + CLIP) * flat[rows]).mean()
                miss = (critic(obs.flatten(0, 1)[rows])[:, 0] - targets[rows]).square().mean()
                adam.zero_grad()
                (0.5 * miss - gain - 0.01 * policy.entropy().mean()).backward()
                adam.step()
        overs[0] = overs[-1]
    return curve


def test_learning_curves_are_equal_and_rise() -> None:
    makers = [partial(gym.make, "CartPole-v1")] * 8
    curves = []
    for cls in (SyncVectorEnv, partial(rl.VectorEnv, workers=1), partial(rl.VectorEnv, workers=2)):
        envs = RecordEpisodeStatistics(cls(makers, autoreset_mode=AutoresetMode.SAME_STEP))
        curves.append(ppo(envs, updates=12))
        envs.close()
    assert curves[0] == curves[1] == curves[2]
    assert max(curves[0]) > 3 * curves[0][0]
