"""How are an actor and its critics learned on two devices?

By two learners (Spreeze, arXiv 2312.06126): both get the same batches; the first improves the actor by the critics that
it was given last, the second the critics by the actor that it was given last, at the same time. After every so many
updates each gives its weights to the other, which has them a microstep later: nothing depends on which is faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from reactors.rl.learning.learner import Exchange, ReplayLearner, put
from reactors.rl.networks.layers import alone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reactors.rl.algorithms.actor_and_critics import ActorAndCritics
    from reactors.rl.networks.layers import Descent, Flat

ACTOR, CRITICS = 0, 1
"""Indices in the bank of two."""


class HalfLearner(ReplayLearner):
    """The actor's or the critics' learner; each has all networks, and improves its own."""

    def __init__(self, *args: Any, exchange_every: int, **kwargs: Any) -> None:
        self.exchange_every = exchange_every
        super().__init__(*args, **kwargs)

    @property
    def prioritizes(self) -> bool:
        """Critics know the errors."""
        return self.prioritized and self.bank_index == CRITICS

    def round(self) -> Descent:
        """One update of a half for each batch."""
        half = self.learning.improve_actor if self.bank_index == ACTOR else self.learning.improve_critics
        errors, figures = [], {}
        for i, batch in enumerate(self.drawn(), 1):
            figures = alone(half(batch))
            if self.prioritizes:
                errors.append(figures.pop("errors"))
            if i % self.exchange_every == 0:
                yield self.mine[0]
        if self.prioritizes:
            self.errors.set(torch.stack(errors).cpu().numpy())
        return figures | self.counts

    @property
    def mine(self) -> Sequence[Flat]:
        """What the other half has to know."""
        return halves(self.learning)[self.bank_index]

    @property
    def theirs(self) -> Sequence[Flat]:
        """What this half has to know of the other."""
        return halves(self.learning)[1 - self.bank_index]

    def give(self, flat: Flat) -> None:
        """Send the weights of this half to the other."""
        del flat
        loan, at = self.offered.loan(), 0
        for each in self.mine:
            put(each.weights.detach(), loan[at:])
            at += len(each.weights)
        self.offered.set(loan)

    def take(self) -> None:
        """The other half's weights."""
        put_weights(self.theirs, self.received.tensor[0])


def halves(learning: ActorAndCritics) -> tuple[Sequence[Flat], Sequence[Flat]]:
    """What either gives to the other: the actor's half, and the critics'."""
    return learning.of_actor, learning.of_critics


def put_weights(flats: Sequence[Flat], vector: torch.Tensor) -> None:
    """Into networks, one after another, from a vector of all."""
    at = 0
    for flat in flats:
        n = len(flat.weights)
        flat.weights.data.copy_(vector[at : at + n])
        at += n


def exchange_of(learning: ActorAndCritics, index: int) -> Exchange:
    """How much that is."""
    sizes = [sum(len(flat.weights) for flat in flats) for flats in halves(learning)]
    return Exchange(offered=sizes[index], received=sizes[1 - index], width=1)
