"""Fujimoto et al., "Addressing Function Approximation Error in Actor-Critic Methods", 2018 (arXiv 1802.09477)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tests.rl.algorithms.reference.networks import Step, critics, gradient, layers, pieces, vector
from tests.rl.algorithms.reference.optimizers import Adam

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.rl.algorithms.reference.networks import Tensor


def learn(
    shapes: dict[str, Any], thetas: dict[str, Any], box: tuple[Any, Any], batches: Iterable[Any], noises: Iterable[Any],
    config: Any,
) -> Iterator[dict[str, Step]]:  # fmt: skip
    """Algorithm 1: critics with every batch, the actor and all targets with every d-th; noises are standard normal."""
    phi, theta = thetas["actor"], thetas["critics"]
    phi_target, theta_target = phi, theta
    adam_actor, adam_critics = Adam(eps=1e-8), Adam(eps=1e-8)
    low, high = (torch.tensor(bound).double() for bound in box)
    gamma, tau, sigma, c, d = config.gamma, config.tau, config.target_noise, config.target_clip, config.policy_delay

    def pi(x: Tensor, s: Tensor) -> Tensor:
        return torch.tanh(layers(s, pieces(x, shapes["actor"]), torch.relu))

    for t, (batch, noise) in enumerate(zip(batches, noises, strict=True), 1):
        s, s_next, r = (torch.tensor(batch[name]) for name in ("obs", "next_obs", "reward"))
        a = 2 * (torch.tensor(batch["action"]) - low) / (high - low) - 1  # from the box to -1 and 1
        with torch.no_grad():
            epsilon = torch.clip(sigma * torch.tensor(noise), -c, c)  # equation 14
            a_next = torch.clip(pi(vector(phi_target), s_next) + epsilon, -1, 1)
            q_next = torch.stack(critics(vector(theta_target), shapes["critics"], s_next, a_next)).min(0).values
            alive = torch.tensor(~batch["terminated"])
            y = r + torch.tensor(batch.get("discount", [gamma] * len(r))) * alive * q_next  # equation 10
        w = torch.tensor(batch["weights"]) if config.prioritized else 1.0
        x = vector(theta)
        errors = [y - q for q in critics(x, shapes["critics"], s, a)]
        loss = torch.stack([(w * error**2).mean() for error in errors]).sum()
        g = gradient(loss, x)
        theta = adam_critics.step(theta, g, config.critic_learning_rate or config.learning_rate)
        error = torch.stack([each.abs() for each in errors]).mean(0)
        stated = {"qf_loss": loss.item(), **{f"error {k}": error[k].item() for k in range(len(r))}}
        steps = {"critics": Step(stated, g, theta)}
        if t % d == 0:
            x = vector(phi)
            actor_loss = -critics(vector(theta), shapes["critics"], s, pi(x, s))[0].mean()
            g = gradient(actor_loss, x)
            phi = adam_actor.step(phi, g, config.learning_rate)
            theta_target = tau * theta + (1 - tau) * theta_target
            phi_target = tau * phi + (1 - tau) * phi_target
            steps["actor"] = Step({"actor_loss": actor_loss.item()}, g, phi)
        steps["target_critics"] = Step({}, g, theta_target)
        steps["target_actor"] = Step({}, g, phi_target)
        yield steps
