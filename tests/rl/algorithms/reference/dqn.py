"""Mnih et al., "Human-level control through deep reinforcement learning", 2015; Hessel et al., "Rainbow", 2018.

Rainbow (arXiv 1710.02298), section "Extensions to DQN", has double Q-learning, dueling heads, n-step returns, and
weights of prioritized replay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tests.rl.algorithms.reference.networks import Step, gradient, layers, pieces, vector
from tests.rl.algorithms.reference.optimizers import Adam, clipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.rl.algorithms.reference.networks import Tensor


def q(theta: Tensor, shapes: Sequence[Sequence[int]], s: Tensor, *, dueling: bool) -> Tensor:
    """Q(s, .); of dueling networks (Wang et al., 2016, equation 9) the first output is V, the others are A."""
    outputs = layers(s, pieces(theta, shapes), torch.relu)
    if not dueling:
        return outputs
    v, advantage = outputs[:, :1], outputs[:, 1:]
    return v + advantage - advantage.mean(1, keepdim=True)


def learn(
    shapes: Sequence[Sequence[int]], theta: Any, target: Any, start: int, batches: Iterable[Any], config: Any
) -> Iterator[Step]:
    """Algorithm 1's update for each batch, and the copy into the target network after so many."""
    adam = Adam(eps=1e-8)
    for i, batch in enumerate(batches, 1):
        s, s_next, r = (torch.tensor(batch[name]) for name in ("obs", "next_obs", "reward"))
        a = torch.tensor(batch["action"]) - start
        x, rows = vector(theta), range(len(r))
        with torch.no_grad():
            worth = q(vector(target), shapes, s_next, dueling=config.dueling)
            judge = q(x, shapes, s_next, dueling=config.dueling) if config.double else worth
            best = torch.stack([worth[k, judge[k].argmax()] for k in rows])
            alive = torch.tensor(~batch["terminated"])  # a truncated episode would have gone on
            # the n-step return: its reward is the sum of n, and the value counts for gamma to the n
            y = r + torch.tensor(batch.get("discount", [config.gamma] * len(r))) * alive * best
        found = q(x, shapes, s, dueling=config.dueling)
        error = torch.stack([found[k, a[k]] for k in rows]) - y
        huber = torch.where(error.abs() <= 1, 0.5 * error**2, error.abs() - 0.5)  # the error is clipped to -1 and 1
        w = torch.tensor(batch["weights"]) if config.prioritized else 1.0
        loss = (w * huber).mean()
        g = gradient(loss, x)
        theta = adam.step(theta, clipped(g, config.max_grad_norm), config.learning_rate)
        if i % config.target_every == 0:
            target = theta
        yield Step({"td_loss": loss.item(), **{f"error {k}": error[k].abs().item() for k in rows}}, g, theta)
