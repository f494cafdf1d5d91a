"""Networks that remember, row by row as Cho et al. define them: "Learning Phrase Representations", 2014 (1406.1078).

The other pages give a network observations, and know nothing of what came before them. Here they give it the numbers of
rows in the place of observations, and it looks up what led there: rows are (steps, environments), counted so, and the
observations that follow them are counted on from there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from tests.rl.algorithms.reference.networks import ActorCritic, Tensor, layers, pieces


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
class RecurrentActorCritic(ActorCritic):
    """theta is (a layer of tanh, GRU, actor, log sigma, critic); `batch` has what rows are.

    Sequences are `length` steps, and begin with the state that the actor had there, `state` of the batch.
    """

    batch: dict[str, Any]
    length: int

    @property
    def whole(self) -> RecurrentActorCritic:
        """The same network on sequences that are as long as the batch."""
        return replace(self, length=len(self.batch["reward"]))

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
        seen = torch.tensor(batch["next_obs" if after else "obs"][t, i])
        known[number] = cell(torch.tanh(layers(seen[None], weights[:2], torch.tanh))[0], before, weights[2:])
        return known[number]

    def features(self, theta: Tensor, s: Tensor) -> Tensor:
        weights, known = pieces(theta, self.shapes)[:6], dict[int, Tensor]()
        return torch.stack([self.h(weights, int(number), known) for number in s])

    def v(self, theta: Tensor, s: Tensor) -> Tensor:
        return layers(self.features(theta, s), pieces(theta, self.shapes)[9:], torch.tanh)[:, 0]

    def outputs(self, theta: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        parts = pieces(theta, self.shapes)
        return layers(self.features(theta, s), parts[6:8], torch.tanh), parts[8]
