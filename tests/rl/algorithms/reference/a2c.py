"""Clemente et al., "Efficient Parallel Methods for Deep Reinforcement Learning", 2017 (arXiv 1705.04862)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tests.rl.algorithms.reference.networks import ActorCritic, Step, gradient, vector
from tests.rl.algorithms.reference.optimizers import RMSProp, clipped

if TYPE_CHECKING:
    from collections.abc import Iterator


def returns(batch: Any, v_next: Any, gamma: float) -> Any:
    """Algorithm 1, lines 11 to 15: R = 0 for terminal s_{t+1}, else V(s_{t+1}); then R = r_t + gamma R, backwards."""
    steps, envs = batch["reward"].shape
    found = np.zeros((steps, envs))
    for i in range(envs):
        r = v_next[-1, i]
        for t in reversed(range(steps)):
            if batch["truncated"][t, i]:
                r = v_next[t, i]  # the paper knows no truncation: the episode would have gone on
            if batch["terminated"][t, i]:
                r = 0.0
            r = found[t, i] = batch["reward"][t, i] + gamma * r
    return found


def learn(net: ActorCritic, theta: Any, batch: Any, config: Any, rmsprop: RMSProp, left: float) -> Iterator[Step]:
    """Algorithm 1, lines 16 to 19: one update from all steps of all environments."""
    s, a = torch.tensor(batch["obs"]).flatten(0, 1), torch.tensor(batch["choice"]).flatten(0, 1)
    s_next = torch.tensor(batch["next_obs"]).flatten(0, 1)
    x = vector(theta)
    with torch.no_grad():
        v_next = net.v(x, s_next).view(batch["reward"].shape).numpy()
    rewards = np.clip(batch["reward"], -config.reward_clip, config.reward_clip)
    target = torch.tensor(returns({**batch, "reward": rewards}, v_next, config.gamma)).flatten()
    log_pi, entropy = net.log_pi(x, s, a)
    v = net.v(x, s)
    actor = (log_pi * (target - v.detach())).mean()  # equation 10: its gradient is the policy's, with the bonus
    critic = ((target - v) ** 2).mean()  # equation 11
    loss = -(actor + config.entropy * entropy) + config.value / config.value_scale**2 * critic
    g = gradient(config.loss_scale * loss, x)
    theta = rmsprop.step(theta, clipped(g, config.max_grad_norm), config.learning_rate * left)
    yield Step({"policy_loss": -actor.item(), "value_loss": critic.item(), "entropy": entropy.item()}, g, theta)
