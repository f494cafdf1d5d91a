"""Luo et al., "IMPACT", 2020 (arXiv 1912.00167), whose loss RLlib's APPO has as well: IMPALA's V-trace, PPO's clip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from tests.rl.algorithms.reference.impala import vtrace
from tests.rl.algorithms.reference.networks import ActorCritic, Step, gradient, vector
from tests.rl.algorithms.reference.optimizers import Adam, clipped

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Target:
    """The parameters of the target network, and how many updates there were."""

    theta: Any
    updates: int = 0


def learn(
    net: ActorCritic, theta: Any, target: Target, batch: Any, config: Any, adam: Adam, left: float
) -> Iterator[Step]:
    """Algorithm 1: batches are learned from several times, and theta is copied into the target now and then."""
    for first in range(0, batch["reward"].shape[1], config.fragments):
        part = {name: each[:, first : first + config.fragments] for name, each in batch.items()}
        shape = part["reward"].shape
        s, a = torch.tensor(part["obs"]).flatten(0, 1), torch.tensor(part["choice"]).flatten(0, 1)
        log_mu = torch.tensor(part["log_prob"]).flatten()
        for _ in range(config.passes):
            x = vector(theta)
            log_pi, entropy = net.log_pi(x, s, a)
            v = net.v(x, s)
            with torch.no_grad():
                log_pi_target = net.log_pi(vector(target.theta), s, a)[0]
                v_next = net.v(x, torch.tensor(part["next_obs"]).flatten(0, 1)).view(shape).numpy()
                ratio = torch.exp(log_pi_target - log_mu).view(shape).numpy()
                targets, found = vtrace(part, ratio, v.view(shape).numpy(), v_next, config)
            A = torch.tensor(found).flatten()  # noqa: N806 - the paper's name
            # section 3.2: min(beta, mu / pi_target) pi / mu, which is pi / pi_target unless beta truncates it
            weight = torch.clip(torch.exp(log_mu - log_pi_target), max=config.most)
            r = weight * torch.exp(log_pi - log_mu)
            surrogate = torch.minimum(r * A, torch.clip(r, 1 - config.clip, 1 + config.clip) * A).mean()
            value = ((v - torch.tensor(targets).flatten()) ** 2).mean()
            g = gradient(config.value / config.value_scale**2 * value - surrogate - config.entropy * entropy, x)
            theta = adam.step(theta, clipped(g, config.max_grad_norm), config.learning_rate * left)
            target.updates += 1
            if target.updates % config.target_every == 0:
                target.theta = theta
            losses = {"policy_loss": -surrogate.item(), "value_loss": value.item(), "entropy": entropy.item()}
            yield Step(losses, g, theta)
