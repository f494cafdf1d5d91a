"""Kapturowski et al., "Recurrent Experience Replay in Distributed Reinforcement Learning", ICLR 2019.

Sections 2.3 and 3: stored states, burn-in, n-step double Q-learning inside of sequences, their priorities. Without the
paper's rescaling of values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tests.rl.algorithms.reference.networks import Step, gradient, layers, pieces, vector
from tests.rl.algorithms.reference.optimizers import Adam, clipped
from tests.rl.algorithms.reference.recurrent import History

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.rl.algorithms.reference.networks import Tensor


def q(theta: Tensor, shapes: Sequence[Sequence[int]], history: History, numbers: Any, *, dueling: bool) -> Tensor:
    """Q(s, .) after the observations of these numbers; theta is (a layer of ReLU, GRU, a layer)."""
    parts = pieces(theta, shapes)
    outputs = layers(history.features(parts[:6], numbers), parts[6:], torch.relu)
    if not dueling:
        return outputs
    v, advantage = outputs[:, :1], outputs[:, 1:]
    return v + advantage - advantage.mean(1, keepdim=True)


def learn(
    shapes: Sequence[Sequence[int]], theta: Any, target: Any, start: int, batches: Iterable[Any], config: Any
) -> Iterator[Step]:
    """An update for each batch (steps, sequences), whose first `burn_in` steps are not learned from."""
    adam, gamma = Adam(eps=1e-8), config.gamma
    for updates, batch in enumerate(batches, 1):
        steps, n = batch["reward"].shape
        history = History(batch, steps, torch.relu, config.burn_in)
        ends, x = batch["terminated"] | batch["truncated"], vector(theta)
        mine = np.arange(config.burn_in * n, steps * n)
        following = np.arange(steps * n, 2 * steps * n)
        with torch.no_grad():
            worth = q(vector(target), shapes, history, following, dueling=config.dueling)
            judge = q(x, shapes, history, following, dueling=config.dueling) if config.double else worth
            best = worth.gather(1, judge.argmax(1, keepdim=True)).view(steps, n).numpy()
        y = np.zeros((steps, n))
        for t in range(config.burn_in, steps):
            for i in range(n):
                for k in range(t, min(t + config.n_step, steps)):
                    y[t, i] += gamma ** (k - t) * batch["reward"][k, i]
                    last = k == min(t + config.n_step, steps) - 1
                    if ends[k, i] or last:
                        y[t, i] += gamma ** (k - t + 1) * best[k, i] * (not batch["terminated"][k, i])
                        break
        found = q(x, shapes, history, mine, dueling=config.dueling)
        chosen = torch.tensor(batch["action"].flatten()[mine]) - start
        error = torch.stack([found[k, chosen[k]] for k in range(len(mine))]).view(-1, n) - torch.tensor(
            y[config.burn_in :]
        )
        huber = torch.where(error.abs() <= 1, 0.5 * error**2, error.abs() - 0.5)
        w = torch.tensor(batch["weights"]) if config.prioritized else 1.0
        loss = (w * huber).mean()
        g = gradient(loss, x)
        theta = adam.step(theta, clipped(g, config.max_grad_norm), config.learning_rate)
        if updates % config.target_every == 0:
            target = theta
        wrong = error.abs().detach().numpy()
        priorities = config.eta * wrong.max(0) + (1 - config.eta) * wrong.mean(0)
        yield Step({"td_loss": loss.item(), **{f"error {k}": p for k, p in enumerate(priorities)}}, g, theta)
