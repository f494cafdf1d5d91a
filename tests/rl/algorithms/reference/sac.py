"""Haarnoja et al., "Soft Actor-Critic Algorithms and Applications", 2018 (arXiv 1812.05905)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tests.rl.algorithms.reference.networks import Step, critics, gradient, layers, pieces, vector
from tests.rl.algorithms.reference.optimizers import Adam

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.rl.algorithms.reference.networks import Tensor


def learn(
    shapes: dict[str, Any], thetas: dict[str, Any], box: tuple[Any, Any], batches: Iterable[Any],
    noises: Iterable[tuple[Any, Any]], config: Any,
) -> Iterator[dict[str, Step]]:  # fmt: skip
    """Algorithm 1 for each batch, with the noise of actions at s' and at s; the temperature by its logarithm."""
    theta, phi, log_alpha = thetas["critics"], thetas["actor"], thetas["temperature"]
    target = theta
    adams = {name: Adam(eps=1e-8) for name in ("critics", "actor", "temperature")}
    low, high = (torch.tensor(bound).double() for bound in box)
    n = len(low)
    wanted = -n if config.target_entropy is None else config.target_entropy  # appendix D

    def f(x: Tensor, noise: Any, s: Tensor) -> tuple[Tensor, Tensor]:
        """The reparameterised policy: actions, and log pi of them (appendix C, equation 26)."""
        outputs = layers(s, pieces(x, shapes["actor"]), torch.relu)
        mean, sigma = outputs[:, :n], torch.clip(outputs[:, n:], -20, 2).exp()
        u = mean + sigma * torch.tensor(noise)
        log_mu = torch.distributions.Normal(mean, sigma).log_prob(u)
        return torch.tanh(u), (log_mu - torch.log(1 - torch.tanh(u) ** 2)).sum(1)

    def q(x: Tensor, s: Tensor, a: Tensor) -> Tensor:
        return torch.stack(critics(x, shapes["critics"], s, a)).min(0).values

    for k, (batch, (noise_next, noise)) in enumerate(zip(batches, noises, strict=True)):
        s, s_next, r = (torch.tensor(batch[name]) for name in ("obs", "next_obs", "reward"))
        a = 2 * (torch.tensor(batch["action"]) - low) / (high - low) - 1  # from the box to -1 and 1
        alpha = float(np.exp(log_alpha[0]))
        with torch.no_grad():
            a_next, log_pi = f(vector(phi), noise_next, s_next)
            v = q(vector(target), s_next, a_next) - alpha * log_pi  # equation 3
            alive = torch.tensor(~batch["terminated"])
            y = r + torch.tensor(batch.get("discount", [config.gamma] * len(r))) * alive * v
        w = torch.tensor(batch["weights"]) if config.prioritized else 1.0
        x = vector(theta)
        errors = [each - y for each in critics(x, shapes["critics"], s, a)]
        loss = torch.stack([(0.5 * w * error**2).mean() for error in errors]).sum()  # equation 5
        g = gradient(loss, x)
        theta = adams["critics"].step(theta, g, config.critic_learning_rate or config.learning_rate)
        error = torch.stack([each.abs() for each in errors]).mean(0)
        stated = {"qf_loss": loss.item(), **{f"error {i}": error[i].item() for i in range(len(r))}}
        if (k + 1) % config.target_every == 0:  # table 1's target update interval
            target = config.tau * theta + (1 - config.tau) * target
        steps = {"critics": Step(stated, g, theta), "target_critics": Step({}, g, target)}

        x = vector(phi)
        actions, log_pi = f(x, noise, s)
        actor_loss = (alpha * log_pi - q(vector(theta), s, actions)).mean()  # equation 7
        g = gradient(actor_loss, x)
        phi = adams["actor"].step(phi, g, config.learning_rate)
        steps["actor"] = Step({"actor_loss": actor_loss.item(), "alpha": alpha}, g, phi)

        if config.temperature is None:
            x = vector(log_alpha)
            g = gradient((-x * (log_pi.detach() + wanted)).mean(), x)  # equation 18
            log_alpha = adams["temperature"].step(
                log_alpha, g, config.temperature_learning_rate or config.learning_rate
            )
            steps["temperature"] = Step({}, g, log_alpha)
        yield steps
