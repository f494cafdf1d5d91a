"""de Witt et al., "Is Independent Learning All You Need?", 2020 (arXiv 2011.09533): PPO for each agent's own steps.

With what MAPPO's code adds (arXiv 2103.01955): values are learned in units of the returns so far. A central critic sees
another vector than the actor does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tests.rl.algorithms.reference.networks import gradient, layers, pieces, vector

if TYPE_CHECKING:
    from collections.abc import Sequence


def episodes(batch: Any, e: int, i: int) -> list[tuple[list[dict[str, Any]], str, int]]:
    """Own steps of agent i in environment e by episodes, how each ended ("terminated", "truncated", ""), and when."""
    found, steps = [], []
    for t in range(len(batch["acted"])):
        if batch["acted"][t, e, i]:
            steps.append({"t": t, "reward": 0.0})
        if steps:
            steps[-1]["reward"] += float(batch["rewards"][t, e, i])
        for how in ("terminated", "truncated"):
            if batch[f"{how[:-2]}ions"][t, e, i]:
                found.append((steps, how, t))
                steps = []
    if steps:
        found.append((steps, "", steps[-1]["t"]))
    return [each for each in found if each[0]]


def loss(theta: Any, shapes: Sequence[Sequence[int]], batch: Any, config: Any, n: int) -> tuple[dict[str, float], Any]:
    """Of one minibatch of all steps: figures, and the gradient. Observations are vectors, of which `n` numbers."""
    x = vector(theta)

    def v(s: Any) -> Any:
        return layers(torch.tensor(np.stack(s), dtype=torch.float64), pieces(x, shapes)[5:], torch.tanh)[:, 0]

    def sees(t: int, e: int, i: int, which: str = "") -> Any:
        return np.concatenate([batch[f"{which}obs"][t, e, i], np.eye(n)[i]])

    def critic_sees(t: int, e: int, i: int, which: str = "") -> Any:
        if "state" in batch:
            return np.concatenate([batch[f"{which}state"][t, e], np.eye(n)[i]])
        return sees(t, e, i, which)

    def beyond(steps: Any, end: int, e: int, i: int) -> Any:
        if "state" in batch:
            return critic_sees(end, e, i, "next_")
        waits = not (batch["acted"][end, e, i] or batch["next_acted"][end, e, i])  # and so sees nothing any more
        return sees(steps[-1]["t"] if waits else end, e, i, "next_")

    rows = []
    for e in range(batch["acted"].shape[1]):
        for i in range(n):
            for steps, how, end in episodes(batch, e, i):
                values = [v([critic_sees(each["t"], e, i)]).item() for each in steps]
                after = 0.0 if how == "terminated" else v([beyond(steps, end, e, i)]).item()
                nexts = [*values[1:], after]
                advantage = 0.0
                for each, now, then in reversed([*zip(steps, values, nexts, strict=True)]):
                    delta = each["reward"] + config.gamma * then - now
                    advantage = delta + config.gamma * config.lam * (advantage if each is not steps[-1] else 0.0)
                    rows.append((each["t"], e, i, advantage, advantage + now))
    advantages = np.array([row[3] for row in rows])
    returns = np.array([row[4] for row in rows])
    normal = torch.tensor((advantages - advantages.mean()) / (advantages.std(ddof=1) + 1e-8))
    at = tuple(np.array([row[:3] for row in rows]).T)
    actor = layers(torch.tensor(np.stack([sees(*row[:3]) for row in rows])), pieces(x, shapes)[:4], torch.tanh)
    if "masks" in batch:
        actor = actor.masked_fill(~torch.tensor(batch["masks"][at]), -torch.inf)
    pi = actor.exp() / actor.exp().sum(1, keepdim=True)
    log_pi = pi[torch.arange(len(rows)), torch.tensor(batch["action"][at])].log()
    entropy = -torch.where(pi > 0, pi * torch.where(pi > 0, pi, 1.0).log(), 0.0).sum(1).mean()
    r = (log_pi - torch.tensor(batch["log_prob"][at])).exp()
    l_clip = torch.minimum(r * normal, r.clip(1 - config.clip, 1 + config.clip) * normal).mean()
    mean, deviation = returns.mean(), np.sqrt(returns.var() + 1e-5)
    targets = torch.tensor((returns - mean) / deviation)
    l_vf = ((v([critic_sees(*row[:3]) for row in rows]) - targets) ** 2).mean()
    objective = l_clip - config.value * l_vf + config.entropy * entropy
    figures = {
        "policy_loss": -l_clip.item(), "value_loss": l_vf.item() * deviation**2, "entropy": entropy.item()
    }  # fmt: skip
    return figures, gradient(-objective, x)
