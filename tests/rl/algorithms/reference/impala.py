"""Espeholt et al., "IMPALA", 2018 (arXiv 1802.01561)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tests.rl.algorithms.reference.networks import ActorCritic, Step, gradient, vector
from tests.rl.algorithms.reference.optimizers import Adam, clipped

if TYPE_CHECKING:
    from collections.abc import Iterator


def vtrace(batch: Any, ratio: Any, v: Any, v_next: Any, config: Any) -> tuple[Any, Any]:
    """Equation 1 with the lambda of remark 2: targets v_s; and advantages, whose q_s is r_s + gamma v_{s+1} (4.2).

    A sum ends with its episode.
    """
    rho, c = np.minimum(config.rho, ratio), config.lam * np.minimum(config.c, ratio)
    rewards = np.clip(batch["reward"], -config.reward_clip, config.reward_clip)
    v_next = np.where(batch["terminated"], 0, v_next)
    delta = rho * (rewards + config.gamma * v_next - v)
    ends = batch["terminated"] | batch["truncated"]
    steps, envs = ratio.shape
    targets, advantages = v.copy(), np.zeros((steps, envs))
    for i in range(envs):
        for s in range(steps):
            product = 1.0
            for t in range(s, steps):
                targets[s, i] += config.gamma ** (t - s) * product * delta[t, i]
                product *= c[t, i]
                if ends[t, i]:
                    break
    for i in range(envs):
        for s in range(steps):
            q = v_next[s, i]
            if s < steps - 1 and not ends[s, i]:
                q = targets[s + 1, i]
            advantages[s, i] = rho[s, i] * (rewards[s, i] + config.gamma * q - v[s, i])
    return targets, advantages


def learn(net: ActorCritic, theta: Any, batch: Any, config: Any, adam: Adam, left: float) -> Iterator[Step]:
    """Section 4.2: the sum of three gradients, from so many environments at a time."""
    for first in range(0, batch["reward"].shape[1], config.fragments):
        part = {name: each[:, first : first + config.fragments] for name, each in batch.items()}
        shape = part["reward"].shape
        s, a = torch.tensor(part["obs"]).flatten(0, 1), torch.tensor(part["choice"]).flatten(0, 1)
        x = vector(theta)
        log_pi, entropy = net.log_pi(x, s, a)
        v = net.v(x, s)
        with torch.no_grad():
            v_next = net.v(x, torch.tensor(part["next_obs"]).flatten(0, 1)).view(shape).numpy()
            ratio = np.exp(log_pi.view(shape).numpy() - part["log_prob"])
            targets, advantages = vtrace(part, ratio, v.view(shape).numpy(), v_next, config)
        policy = (log_pi * torch.tensor(advantages).flatten()).mean()
        value = ((v - torch.tensor(targets).flatten()) ** 2).mean()
        loss = config.value / config.value_scale**2 * value - policy - config.entropy * entropy
        g = gradient(loss, x)
        theta = adam.step(theta, clipped(g, config.max_grad_norm), config.learning_rate * left)
        yield Step({"policy_loss": -policy.item(), "value_loss": value.item(), "entropy": entropy.item()}, g, theta)
