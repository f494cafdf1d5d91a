"""Haarnoja et al., 2018 (arXiv 1812.05905), by sequences with stored states and burn-in as in R2D2 (ICLR 2019).

Actor and critics have a layer of ReLU and a GRU each; what critics remember begins with zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tests.rl.algorithms.reference.networks import Step, critics, gradient, layers, pieces, vector
from tests.rl.algorithms.reference.optimizers import Adam
from tests.rl.algorithms.reference.recurrent import History

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.rl.algorithms.reference.networks import Tensor


def returns(batch: dict[str, Any], following: Any, config: Any) -> Any:
    """Of n steps inside of a sequence behind the burn-in, of which `following` (steps, sequences) says what follows."""
    steps, n = batch["reward"].shape
    ends, y = batch["terminated"] | batch["truncated"], np.zeros((steps, n))
    for t in range(config.burn_in, steps):
        for i in range(n):
            for k in range(t, min(t + config.n_step, steps)):
                y[t, i] += config.gamma ** (k - t) * batch["reward"][k, i]
                if ends[k, i] or k == min(t + config.n_step, steps) - 1:
                    alive = not batch["terminated"][k, i]
                    y[t, i] += config.gamma ** (k - t + 1) * following[k - config.burn_in, i] * alive
                    break
    return y[config.burn_in :]


def learn(
    shapes: dict[str, Any], thetas: dict[str, Any], box: tuple[Any, Any], batches: Iterable[Any],
    noises: Iterable[tuple[Any, Any]], config: Any,
) -> Iterator[dict[str, Step]]:  # fmt: skip
    """An update for each batch (steps, sequences), with the noise of what follows its steps, and of these."""
    theta, phi, log_alpha = thetas["critics"], thetas["actor"], thetas["temperature"]
    target = theta
    adams = {name: Adam(eps=1e-8) for name in ("critics", "actor", "temperature")}
    low, high = (torch.tensor(bound).double() for bound in box)
    actions = len(low)

    def f(x: Tensor, noise: Any, history: History, numbers: Any) -> tuple[Tensor, Tensor]:
        parts = pieces(x, shapes["actor"])
        outputs = layers(history.features(parts[:6], numbers), parts[6:], torch.relu)
        mean, sigma = outputs[:, :actions], torch.clip(outputs[:, actions:], -20, 2).exp()
        u = mean + sigma * torch.tensor(noise)
        log_mu = torch.distributions.Normal(mean, sigma).log_prob(u)
        return torch.tanh(u), (log_mu - torch.log(1 - torch.tanh(u) ** 2)).sum(1)

    def q(x: Tensor, history: History, numbers: Any, a: Tensor) -> Tensor:
        parts = pieces(x, shapes["critics"])
        behind = torch.cat([part.flatten() for part in parts[6:]])
        return torch.stack(critics(behind, shapes["critics"][6:], history.features(parts[:6], numbers), a))

    for batch, (noise_next, noise) in zip(batches, noises, strict=True):
        steps, n = batch["reward"].shape
        mine = np.arange(config.burn_in * n, steps * n)
        following = steps * n + mine
        played = History(batch, steps, torch.relu, config.burn_in)
        judged = History({**batch, "state": np.zeros_like(batch["state"])}, steps, torch.relu, config.burn_in)
        alpha = float(np.exp(log_alpha[0]))
        with torch.no_grad():
            a_next, log_pi = f(vector(phi), noise_next, played, following)
            v = q(vector(target), judged, following, a_next).min(0).values - alpha * log_pi
        y = torch.tensor(returns(batch, v.view(-1, n).numpy(), config))
        a = 2 * (torch.tensor(batch["action"][config.burn_in :]).flatten(0, 1) - low) / (high - low) - 1
        x = vector(theta)
        error = q(x, judged, mine, a).view(-1, *y.shape) - y
        w = torch.tensor(batch["weights"]) if config.prioritized else 1.0
        loss = (0.5 * w * error**2).mean((1, 2)).sum()
        g = gradient(loss, x)
        theta = adams["critics"].step(theta, g, config.critic_learning_rate or config.learning_rate)
        wrong = error.abs().mean(0).detach().numpy()
        priorities = config.eta * wrong.max(0) + (1 - config.eta) * wrong.mean(0)
        stated = {"qf_loss": loss.item(), **{f"error {k}": p for k, p in enumerate(priorities)}}
        target = config.tau * theta + (1 - config.tau) * target
        found = {"critics": Step(stated, g, theta), "target_critics": Step({}, g, target)}

        x = vector(phi)
        a, log_pi = f(x, noise, played, mine)
        actor_loss = (alpha * log_pi - q(vector(theta), judged, mine, a).min(0).values).mean()
        g = gradient(actor_loss, x)
        phi = adams["actor"].step(phi, g, config.learning_rate)
        found["actor"] = Step({"actor_loss": actor_loss.item(), "alpha": alpha}, g, phi)

        x = vector(log_alpha)
        g = gradient((-x * (log_pi.detach() - actions)).mean(), x)
        log_alpha = adams["temperature"].step(log_alpha, g, config.temperature_learning_rate or config.learning_rate)
        found["temperature"] = Step({}, g, log_alpha)
        yield found
