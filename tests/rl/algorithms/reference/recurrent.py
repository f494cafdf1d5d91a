"""Networks that remember, row by row as Cho et al. define them: "Learning Phrase Representations", 2014 (1406.1078).

The other pages give a network observations, and know nothing of what came before them. Here they give it the numbers of
rows in the place of observations, and it looks up what led there: rows are (steps, environments), counted so, and the
observations that follow them are counted on from there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tests.rl.algorithms.reference.networks import ActorCritic, Tensor, layers, pieces

if TYPE_CHECKING:
    from collections.abc import Callable


def cell(x: Tensor, h: Tensor, weights: Any) -> Tensor:
    """Equations 5 to 8, with biases, and r after the matrix, as cuDNN has it; W and U are of r, z and h in turn."""
    w, u, b, b_again = (each.chunk(3) for each in weights)
    r = torch.sigmoid(w[0] @ x + b[0] + u[0] @ h + b_again[0])
    z = torch.sigmoid(w[1] @ x + b[1] + u[1] @ h + b_again[1])
    proposed = torch.tanh(w[2] @ x + b[2] + r * (u[2] @ h + b_again[2]))
    return z * h + (1 - z) * proposed


def numbered(batch: dict[str, Any]) -> dict[str, Any]:
    """The batch, with numbers of rows as observations."""
    rows = np.arange(batch["reward"].size).reshape(batch["reward"].shape)
    return {**batch, "obs": rows, "next_obs": rows.size + rows}


@dataclass(frozen=True)
class History:
    """What led to each row of `batch`: sequences of `length` steps, which begin with the `state` of the batch there.

    Nothing is differentiated through the state after `burn_in` steps. Before the GRU there is one layer.
    """

    batch: dict[str, Any]
    length: int
    activation: Callable[[Tensor], Tensor]
    burn_in: int = 0

    def h(self, weights: Any, number: int, known: dict[int, Tensor]) -> Tensor:
        """The state after the observation of this number; what is `known` already is not computed again."""
        if number in known:
            return known[number]
        batch = self.batch
        after, row = divmod(number, batch["reward"].size)
        t, i = divmod(row, batch["reward"].shape[1])
        begins = bool(batch["terminated"][t - 1, i] or batch["truncated"][t - 1, i])
        if after:
            before = self.h(weights, row, known)
        elif t % self.length == 0:
            before = torch.tensor(batch["state"][t, i])
        else:
            before = self.h(weights, row - batch["reward"].shape[1], known) * (not begins)
        if t == self.burn_in and not after:
            before = before.detach()
        seen = torch.tensor(batch["next_obs" if after else "obs"][t, i])
        known[number] = cell(self.activation(seen @ weights[0].T + weights[1]), before, weights[2:])
        return known[number]

    def features(self, weights: Any, numbers: Any) -> Tensor:
        """Those after these observations, (n, width); weights are of the layer, and of the GRU."""
        known = dict[int, Tensor]()
        return torch.stack([self.h(weights, int(number), known) for number in numbers])


@dataclass(frozen=True)
class RecurrentActorCritic(ActorCritic):
    """theta is (a layer of tanh, GRU, actor, log sigma, critic); `history` has what rows are."""

    history: History

    @property
    def whole(self) -> RecurrentActorCritic:
        """The same network on sequences that are as long as the batch."""
        return replace(self, history=replace(self.history, length=len(self.history.batch["reward"])))

    def v(self, theta: Tensor, s: Tensor) -> Tensor:
        parts = pieces(theta, self.shapes)
        return layers(self.history.features(parts[:6], s), parts[9:], torch.tanh)[:, 0]

    def outputs(self, theta: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        parts = pieces(theta, self.shapes)
        return layers(self.history.features(parts[:6], s), parts[6:8], torch.tanh), parts[8]
