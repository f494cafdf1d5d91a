"""Schulman et al., "Proximal Policy Optimization Algorithms", 2017 (arXiv 1707.06347).

With what the authors' code adds: advantages are normalised in each minibatch, the gradient is clipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tests.rl.algorithms.reference.networks import ActorCritic, Step, gradient, vector
from tests.rl.algorithms.reference.optimizers import Adam, clipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def advantages(batch: Any, v: Any, v_next: Any, gamma: float, lam: float) -> Any:
    """Equation 11: A_t = delta_t + (gamma lambda) delta_{t+1} + ... to the end of the batch, or of the episode."""
    delta = batch["reward"] + gamma * np.where(batch["terminated"], 0, v_next) - v  # equation 12
    steps, envs = delta.shape
    found = np.zeros((steps, envs))
    for i in range(envs):
        for t in range(steps):
            for k in range(t, steps):
                found[t, i] += (gamma * lam) ** (k - t) * delta[k, i]
                if batch["terminated"][k, i] or batch["truncated"][k, i]:
                    break
    return found


def learn(
    net: ActorCritic, theta: Any, batch: Any, minibatches: Iterable[Any], config: Any, adam: Adam, left: float
) -> Iterator[Step]:
    """Algorithm 1's "optimize surrogate L", for minibatches of so many rows; `left` is alpha, which falls to 0."""
    s, a = torch.tensor(batch["obs"]).flatten(0, 1), torch.tensor(batch["choice"]).flatten(0, 1)
    s_next = torch.tensor(batch["next_obs"]).flatten(0, 1)
    log_pi_old = torch.tensor(batch["log_prob"]).flatten()
    with torch.no_grad():
        v, v_next = (net.whole.v(vector(theta), x).view(batch["reward"].shape).numpy() for x in (s, s_next))
    rewards = np.clip(batch["reward"], -config.reward_clip, config.reward_clip)
    found = advantages({**batch, "reward": rewards}, v, v_next, config.gamma, config.lam)
    target, found, v_old = (found + v).flatten(), found.flatten(), torch.tensor(v).flatten()
    epsilon, c1, c2 = config.clip, config.value / config.value_scale**2, config.entropy
    epsilon *= left if config.anneal_clip else 1
    for rows in minibatches:
        advantage = (found[rows] - found[rows].mean()) / (found[rows].std(ddof=1) + 1e-8)
        x = vector(theta)
        log_pi, entropy = net.log_pi(x, s[rows], a[rows])
        r, A = torch.exp(log_pi - log_pi_old[rows]), torch.tensor(advantage)  # noqa: N806 - the paper's name
        l_clip = torch.minimum(r * A, torch.clip(r, 1 - epsilon, 1 + epsilon) * A).mean()  # equation 7
        v_now, v_target = net.v(x, s[rows]), torch.tensor(target[rows])
        error = (v_now - v_target) ** 2
        if config.clip_value is not None:  # of the authors' code
            within = config.clip_value * config.value_scale
            near = torch.clip(v_now, v_old[rows] - within, v_old[rows] + within)
            error = torch.maximum(error, (near - v_target) ** 2)
        l_vf = error.mean()
        objective = l_clip - c1 * l_vf + c2 * entropy  # equation 9, to be maximised
        g = gradient(-objective, x)
        theta = adam.step(theta, clipped(g, config.max_grad_norm), config.learning_rate * left)
        losses = {
            "policy_loss": -l_clip.item(), "value_loss": l_vf.item(), "entropy": entropy.item(),
            "clipfrac": ((r - 1).abs() > epsilon).double().mean().item(),
        }  # fmt: skip
        yield Step(losses, g, theta)
