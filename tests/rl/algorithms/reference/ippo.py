"""de Witt et al., "Is Independent Learning All You Need?", 2020 (arXiv 2011.09533): PPO for each agent's own steps.

With what MAPPO's code adds (arXiv 2103.01955): values are learned in units of the returns so far. A central critic sees
another vector than the actor does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from tests.rl.algorithms.reference.networks import gradient, layers, pieces, vector
from tests.rl.algorithms.reference.recurrent import cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.rl.algorithms.reference.networks import Tensor


class Stretch(NamedTuple):
    """Own steps of an agent that belong to one episode."""

    steps: list[dict[str, Any]]
    how: str
    """What comes after them: "terminated"; "next", which is what it saw in step `end`; "again", where that is not known
    and what it saw at its last own step stands for it; "waits", where the agent has not acted since that one."""
    end: int


def stretches(batch: Any, e: int, i: int) -> list[Stretch]:
    """Those of agent i in environment e."""
    found: list[Stretch] = []
    steps: list[dict[str, Any]] = []
    for t in range(len(batch["acted"])):
        if batch["acted"][t, e, i]:
            steps.append({"t": t, "reward": 0.0})
        if steps:
            steps[-1]["reward"] += float(batch["rewards"][t, e, i])
        sees = batch["next_acted"][t, e, i]
        if batch["terminations"][t, e, i]:
            found.append(Stretch(steps, "terminated", t))
            steps = []
        elif batch["truncations"][t, e, i]:
            found.append(Stretch(steps, "next" if sees else "again", t))
            steps = []
        elif t == len(batch["acted"]) - 1:
            found.append(Stretch(steps, "next" if sees else "waits", t))
    return [each for each in found if each.steps]


class Plain:
    """Actor and critic by parameters theta, for what agents saw in `batch`: places are (step, environment, agent)."""

    def __init__(self, theta: Tensor, shapes: Sequence[Sequence[int]], batch: Any, config: Any, n: int) -> None:
        self.parts, self.batch, self.config, self.n = pieces(theta, shapes), batch, config, n

    def sees(self, t: int, e: int, i: int, which: str = "") -> Any:
        """An actor."""
        return np.concatenate([self.batch[f"{which}obs"][t, e, i], np.eye(self.n)[i]])

    def central(self, t: int, e: int, i: int, which: str = "") -> Any:
        """A central critic."""
        return np.concatenate([self.batch[f"{which}state"][t, e], np.eye(self.n)[i]])

    def value(self, t: int, e: int, i: int) -> float:
        """The value of an own step."""
        return self.v([(self.central if "state" in self.batch else self.sees)(t, e, i)]).item()

    def beyond(self, steps: Any, end: int, e: int, i: int) -> float:
        """The value of what these own steps led to in step `end`."""
        del steps
        return self.v([(self.central if "state" in self.batch else self.sees)(end, e, i, "next_")]).item()

    def v(self, s: Any) -> Tensor:
        """Values of what the critic sees."""
        return layers(torch.tensor(np.stack(s), dtype=torch.float64), self.parts[5:], torch.tanh)[:, 0]

    def learned(self, places: Any) -> tuple[Tensor, Tensor]:
        """Outputs of the actor, and values, by which is learned."""
        seen = [self.sees(*place) for place in places]
        by_critic = [self.central(*place) for place in places] if "state" in self.batch else seen
        return layers(torch.tensor(np.stack(seen)), self.parts[:4], torch.tanh), self.v(by_critic)


class Remembering(Plain):
    """One layer, a GRU and two heads; each agent remembers its own steps, and waits in between.

    Values go on from the first own step of a round, what is learned from every `sequence`-th one.
    """

    def h(self, t: int, e: int, i: int, length: int, seen: Any = None) -> Tensor:
        """What is remembered after the own step t, in sequences of this length; or after it and what is `seen` then."""
        batch = self.batch
        acted = np.flatnonzero(batch["acted"][:, e, i])
        place = acted.tolist().index(t)
        if seen is not None:
            return self.cell(seen, self.h(t, e, i, length))
        if place % length == 0:
            return self.cell(self.sees(t, e, i), torch.tensor(batch["memory"][t, e, i], dtype=torch.float64))
        before = acted[place - 1]
        over = (batch["terminations"] | batch["truncations"])[before:t, e, i].any()
        return self.cell(self.sees(t, e, i), self.h(before, e, i, length) * (not over))

    def cell(self, seen: Any, h: Tensor) -> Tensor:
        """The state after what is seen."""
        return cell(torch.tanh(self.parts[0] @ torch.tensor(seen) + self.parts[1]), h, self.parts[2:6])

    def judge(self, h: Tensor, state: Any) -> Tensor:
        """A value: of what is remembered, and of what a central critic sees beside that."""
        x = h if state is None else torch.cat([h, torch.tensor(state, dtype=torch.float64)])
        return layers(x[None], self.parts[9:], torch.tanh)[0, 0]

    def whole(self, t: int, e: int, i: int, which: str = "") -> Any:
        """What a central critic sees, None of another."""
        return self.central(t, e, i, which) if "state" in self.batch else None

    def value(self, t: int, e: int, i: int) -> float:
        return self.judge(self.h(t, e, i, len(self.batch["acted"])), self.whole(t, e, i)).item()

    def beyond(self, steps: Any, end: int, e: int, i: int) -> float:
        h = self.h(steps[-1]["t"], e, i, len(self.batch["acted"]), self.sees(end, e, i, "next_"))
        return self.judge(h, self.whole(end, e, i, which="next_")).item()

    def learned(self, places: Any) -> tuple[Tensor, Tensor]:
        states = [self.h(t, e, i, self.config.sequence) for t, e, i in places]
        values = [self.judge(h, self.whole(*place)) for h, place in zip(states, places, strict=True)]
        return layers(torch.stack(states), self.parts[6:8], torch.tanh), torch.stack(values)


def loss(theta: Any, shapes: Sequence[Sequence[int]], batch: Any, config: Any, n: int) -> tuple[dict[str, float], Any]:
    """Of one minibatch of all steps: figures, and the gradient. Observations are vectors, of which `n` numbers."""
    x = vector(theta)
    net = (Remembering if config.recurrent else Plain)(x, shapes, batch, config, n)
    rows = []
    for e in range(batch["acted"].shape[1]):
        for i in range(n):
            for steps, how, end in stretches(batch, e, i):
                values = [net.value(each["t"], e, i) for each in steps]
                after = values[-1]
                if how == "waits":  # what its last step led to is not known
                    steps.pop()
                    values.pop()
                elif how != "again":
                    after = 0.0 if how == "terminated" else net.beyond(steps, end, e, i)
                nexts = [*values, after][1:]
                advantage = 0.0
                for each, now, then in reversed([*zip(steps, values, nexts, strict=True)]):
                    delta = each["reward"] + config.gamma * then - now
                    advantage = delta + config.gamma * config.lam * (advantage if each is not steps[-1] else 0.0)
                    rows.append((each["t"], e, i, advantage, advantage + now))
    advantages = np.array([row[3] for row in rows])
    returns = np.array([row[4] for row in rows])
    normal = torch.tensor((advantages - advantages.mean()) / (advantages.std(ddof=1) + 1e-8))
    at = tuple(np.array([row[:3] for row in rows]).T)
    actor, values = net.learned([row[:3] for row in rows])
    if "masks" in batch:
        actor = actor.masked_fill(~torch.tensor(batch["masks"][at]), -torch.inf)
    pi = actor.exp() / actor.exp().sum(1, keepdim=True)
    log_pi = pi[torch.arange(len(rows)), torch.tensor(batch["action"][at])].log()
    entropy = -torch.where(pi > 0, pi * torch.where(pi > 0, pi, 1.0).log(), 0.0).sum(1).mean()
    r = (log_pi - torch.tensor(batch["log_prob"][at])).exp()
    l_clip = torch.minimum(r * normal, r.clip(1 - config.clip, 1 + config.clip) * normal).mean()
    mean, deviation = returns.mean(), np.sqrt(returns.var() + 1e-5)
    l_vf = ((values - torch.tensor((returns - mean) / deviation)) ** 2).mean()
    objective = l_clip - config.value * l_vf + config.entropy * entropy
    figures = {
        "policy_loss": -l_clip.item(), "value_loss": l_vf.item() * deviation**2, "entropy": entropy.item()
    }  # fmt: skip
    return figures, gradient(-objective, x)
