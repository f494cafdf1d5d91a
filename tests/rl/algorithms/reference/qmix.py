"""Rashid et al., "QMIX", 2018 (arXiv 1803.11485), beside VDN (arXiv 1706.05296) and independent DQN.

One row after the other, each agent by itself. Independent agents have Huber's loss, as DQN has; a group's is squared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tests.rl.algorithms.reference.dqn import q
from tests.rl.algorithms.reference.networks import gradient, layers, pieces, vector
from tests.rl.algorithms.reference.recurrent import cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.rl.algorithms.reference.networks import Tensor


class Team:
    """Q of each of n agents, which share a network and see their number, and Q_tot, by parameters theta."""

    def __init__(self, theta: Tensor, shapes: Sequence[Sequence[int]], config: Any, n: int) -> None:
        own = 2 * len(config.hidden) + 2 + 4 * bool(config.recurrent)
        self.theta, self.shapes, self.config, self.n = theta[: _size(shapes[:own])], shapes[:own], config, n
        self.hyper = pieces(theta[len(self.theta) :], shapes[own:])

    def q(self, i: int, seen: Any, mask: Any) -> Tensor:
        """Of agent i, for each action that it may choose; minus infinity for others."""
        x = torch.tensor(np.concatenate([seen, np.eye(self.n)[i]]))[None]
        found = q(self.theta, self.shapes, x, dueling=self.config.dueling)[0]
        return torch.where(torch.tensor(mask), found, -torch.inf)

    def remembers(self, i: int, seen: Any, h: Tensor) -> Tensor:
        """What agent i remembers after it has seen this; before its GRU is one layer."""
        parts = pieces(self.theta, self.shapes)
        x = torch.tensor(np.concatenate([seen, np.eye(self.n)[i]]))
        return cell(torch.relu(parts[0] @ x + parts[1]), h, parts[2:6])

    def worth(self, h: Tensor, mask: Any) -> Tensor:
        """Of what is remembered, Q for each action that may be chosen; minus infinity for others."""
        found = layers(h[None], pieces(self.theta, self.shapes)[6:], torch.relu)
        if self.config.dueling:
            found = found[:, :1] + found[:, 1:] - found[:, 1:].mean(1, keepdim=True)
        return torch.where(torch.tensor(mask), found[0], -torch.inf)

    def tot(self, values: dict[int, Tensor], state: Any) -> Tensor:
        """Figure 2: weights by hypernetworks, none of them negative; those that are absent add nothing."""
        if self.config.name == "VDN":
            return sum(values.values(), torch.zeros((), dtype=torch.float64))
        s, units = torch.tensor(state, dtype=torch.float64), self.config.mixing
        w1, b1, w2, *last = (self.hyper[k : k + 2] for k in range(0, len(self.hyper), 2))
        into = (w1[0] @ s + w1[1]).abs().view(self.n, units)
        h = b1[0] @ s + b1[1]
        for i, value in values.items():
            h = h + value * into[i]
        h = torch.where(h > 0, h, h.exp() - 1)
        v = layers(s[None], [each for pair in last for each in pair], torch.relu)[0, 0]
        return h @ (w2[0] @ s + w2[1]).abs() + v


def _size(shapes: Sequence[Sequence[int]]) -> int:
    return sum(int(np.prod(shape)) for shape in shapes)


def loss(
    theta: Any, target: Any, shapes: Sequence[Sequence[int]], batch: Any, config: Any, n: int
) -> tuple[Any, Any, Any]:
    """Of a batch, the gradient, and the temporal-difference error of each row.

    A batch has joint transitions, or for independent agents own steps, which have `agent`.
    """
    x = vector(theta)
    net, old = Team(x, shapes, config, n), Team(vector(target), shapes, config, n)
    losses, errors = [], []
    if config.standardise_rewards:  # of all so far, which are this batch
        batch = {**batch, "reward": (batch["reward"] - batch["reward"].mean()) / batch["reward"].std()}
    for k in range(len(batch["reward"])):
        row = {name: value[k] for name, value in batch.items()}
        if config.name == "IDQN":
            i = int(row["agent"])
            acts = then = [i]
            row |= {name: {i: row[name]} for name in ("obs", "next_obs", "masks", "next_masks", "action")}
        else:
            acts, then = np.flatnonzero(row["acted"]).tolist(), np.flatnonzero(row["next_acted"]).tolist()
        best = {}
        for i in [] if row["terminated"] else then:
            worth, judge = (each.q(i, row["next_obs"][i], row["next_masks"][i]) for each in (old, net))
            best[i] = worth[(judge if config.double else worth).argmax()]
        taken = {i: net.q(i, row["obs"][i], row["masks"][i])[row["action"][i]] for i in acts}
        alive = 0.0 if row["terminated"] else row["discount"]
        if config.name == "IDQN":
            found, following = taken[acts[0]], best.get(acts[0], torch.zeros(()))
        else:
            found = net.tot(taken, row.get("state"))
            following = old.tot(best, row.get("next_state")) if alive else torch.zeros(())
        error = found - (row["reward"] + alive * following.detach())
        huber = torch.where(error.abs() <= 1, 0.5 * error**2, error.abs() - 0.5)
        losses.append((row["weights"] if config.prioritized else 1.0) * (huber if config.name == "IDQN" else error**2))
        errors.append(error.abs().item())
    whole = torch.stack(losses).mean()
    return whole.item(), gradient(whole, x), errors


def as_group(row: Any) -> Any:
    """A step of one agent as that of a group in which no other acts; then its own ends are the group's."""
    i = int(row["agent"])
    names = "obs", "next_obs", "masks", "next_masks", "action"
    ends = {"terminations": {i: row["terminated"]}, "truncations": {i: row["truncated"]}}
    return {**row, **{name: {i: row[name]} for name in names}, **ends, "acts": [i], "then": [i]}


def along(net: Team, rows: Any, memory: Any, burn_in: int) -> list[dict[int, tuple[Tensor, Tensor]]]:
    """For each step what each agent remembers, and what it does if its episode has not ended; an absent one waits."""
    h = {i: torch.tensor(memory[i], dtype=torch.float64) for i in range(net.n)}
    found = []
    for t, row in enumerate(rows):
        if t == burn_in:
            h = {i: each.detach() for i, each in h.items()}
        after = {i: net.remembers(i, row["obs"][i], h[i]) if i in row["acts"] else h[i] for i in h}
        ends = {i: bool(row["terminations"].get(i, False) or row["truncations"].get(i, False)) for i in h}
        dies = {i: bool(row["terminations"].get(i, False)) for i in h}
        found.append({i: (after[i], after[i] * (not dies[i])) for i in h})
        h = {i: after[i] * (not ends[i]) for i in h}
    return found


def loss_along(
    theta: Any, target: Any, shapes: Sequence[Sequence[int]], batch: Any, config: Any, n: int
) -> tuple[Any, Any, Any]:
    """As `loss`, of sequences (sequences, steps), of which the first `burn_in` steps are not learned from."""
    x = vector(theta)
    net, old = Team(x, shapes, config, n), Team(vector(target), shapes, config, n)
    losses, errors = [], []
    fields = [name for name in batch if batch[name].ndim > 1 and name != "memory"]
    reward = batch["reward"]
    if config.standardise_rewards:
        learned = reward[:, config.burn_in :]
        reward = (reward - learned.mean()) / learned.std()
    for s in range(len(reward)):
        rows = [{name: batch[name][s, t] for name in fields} for t in range(reward.shape[1])]
        if config.name == "IDQN":
            rows = [as_group(row) for row in rows]
            memory = np.zeros((n, batch["memory"].shape[-1]))
            memory[rows[0]["acts"]] = batch["memory"][s]
        else:
            memory = batch["memory"][s]
            for row in rows:
                row |= {"acts": np.flatnonzero(row["acted"]), "then": np.flatnonzero(row["next_acted"])}
                row |= {name: dict(enumerate(row[name])) for name in ("terminations", "truncations")}
        mine, theirs = (along(each, rows, memory, config.burn_in) for each in (net, old))
        best, found = [], []
        for t, row in enumerate(rows):
            values = {}
            for i in row["then"]:
                seen, mask = row["next_obs"][i], row["next_masks"][i]
                judge, worth = (
                    each.worth(each.remembers(i, seen, states[t][i][1]), mask)
                    for each, states in ((net, mine), (old, theirs))
                )
                values[int(i)] = worth[(judge if config.double else worth).argmax()]
            taken = {int(i): net.worth(mine[t][i][0], row["masks"][i])[row["action"][i]] for i in row["acts"]}
            one = config.name == "IDQN"
            best.append(sum(values.values()) if one else old.tot(values, row.get("next_state")))
            found.append(sum(taken.values()) if one else net.tot(taken, row.get("state")))
        mistakes = []
        for t in range(config.burn_in, len(rows)):
            y, gamma = 0.0, 1.0
            for k in range(t, min(t + config.n_step, len(rows))):
                y += gamma * float(reward[s, k])
                gamma *= config.gamma
                last = k == min(t + config.n_step, len(rows)) - 1
                if rows[k]["terminated"]:
                    break
                if rows[k]["truncated"] or last:
                    y += gamma * best[k].item()
                    break
            mistakes.append(found[t] - y)
        error = torch.stack(mistakes)
        huber = torch.where(error.abs() <= 1, 0.5 * error**2, error.abs() - 0.5)
        mean = (huber if config.name == "IDQN" else error**2).mean()
        losses.append((batch["weights"][s] if config.prioritized else 1.0) * mean)
        wrong = error.abs().detach().numpy()
        errors.append(config.eta * wrong.max() + (1 - config.eta) * wrong.mean())
    whole = torch.stack(losses).mean()
    return whole.item(), gradient(whole, x), errors
