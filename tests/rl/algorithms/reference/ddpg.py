"""Lillicrap et al., "Continuous control with deep reinforcement learning", 2015 (arXiv 1509.02971)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tests.rl.algorithms.reference.networks import Step, critics, gradient, layers, pieces, vector
from tests.rl.algorithms.reference.optimizers import Adam

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.rl.algorithms.reference.networks import Tensor


def learn(
    shapes: dict[str, Any], thetas: dict[str, Any], box: tuple[Any, Any], batches: Iterable[Any], config: Any
) -> Iterator[dict[str, Step]]:
    """Algorithm 1, from "Set y_i" on, for each batch."""
    theta_mu, theta_q = thetas["actor"], thetas["critics"]
    target_mu, target_q = theta_mu, theta_q
    adam_mu, adam_q = Adam(eps=1e-8), Adam(eps=1e-8)
    low, high = (torch.tensor(bound).double() for bound in box)
    tau = config.tau

    def mu(x: Tensor, s: Tensor) -> Tensor:
        return torch.tanh(layers(s, pieces(x, shapes["actor"]), torch.relu))

    def q(x: Tensor, s: Tensor, a: Tensor) -> Tensor:
        return critics(x, shapes["critics"], s, a)[0]

    for batch in batches:
        s, s_next, r = (torch.tensor(batch[name]) for name in ("obs", "next_obs", "reward"))
        a = 2 * (torch.tensor(batch["action"]) - low) / (high - low) - 1  # from the box to -1 and 1
        with torch.no_grad():
            alive = torch.tensor(~batch["terminated"])
            y = r + config.gamma * alive * q(vector(target_q), s_next, mu(vector(target_mu), s_next))
        x = vector(theta_q)
        loss = ((y - q(x, s, a)) ** 2).mean()
        g_q = gradient(loss, x)
        theta_q = adam_q.step(theta_q, g_q, config.critic_learning_rate or config.learning_rate)
        x = vector(theta_mu)
        actor_loss = -q(vector(theta_q), s, mu(x, s)).mean()  # the sampled policy gradient, to be ascended
        g_mu = gradient(actor_loss, x)
        theta_mu = adam_mu.step(theta_mu, g_mu, config.learning_rate)
        target_q = tau * theta_q + (1 - tau) * target_q
        target_mu = tau * theta_mu + (1 - tau) * target_mu
        yield {
            "critics": Step({"qf_loss": loss.item()}, g_q, theta_q),
            "actor": Step({"actor_loss": actor_loss.item()}, g_mu, theta_mu),
            "target_critics": Step({}, g_q, target_q),
            "target_actor": Step({}, g_mu, target_mu),
        }
