"""How are an actor and its critics learned on two devices in free mode?

By two learners, as in the deterministic modes, but neither waits for the other (Spreeze, arXiv 2312.06126): each draws
batches of its own from the memory, and takes the newest weights of the other out of a row that both share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from reactors.rl.learning.free_learner import FreeLearner
from reactors.rl.learning.split_learner import ACTOR, CRITICS, halves, put_weights

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors.rl.learning.latest import Latest
    from reactors.rl.networks.layers import Descent

COUNTS = ("updates", "frames")


class FreeHalfLearner(FreeLearner):
    """The actor's or the critics' learner; each has all networks, and improves its own.

    `rows` have the weights of either half; both are looked at, and written, every `exchange_every` updates. The
    critics, which take more time, find out what suits the machine, where `adapt` asks for it, and the actor takes the
    same batch size.
    """

    def __init__(self, *args: Any, exchange_every: int, rows: tuple[Latest, Latest], **kwargs: Any) -> None:
        self.exchange_every, self.shared, self.halves_made = exchange_every, rows, 0
        super().__init__(*args, **kwargs)

    def open(self) -> None:
        """Also draw noise of its own."""
        super().open()
        self.learning.reseed(self.seed)

    @property
    def prioritizes(self) -> bool:
        """Critics know the errors."""
        return super().prioritizes and self.bank_index == CRITICS

    def round(self) -> Descent:
        """Updates of this half; those that are counted are the critics'."""
        figures = yield from super().round()
        return {name: x for name, x in figures.items() if self.bank_index == CRITICS or name not in COUNTS}

    def learned(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """One update of a half, by the newest of the other."""
        if self.halves_made % self.exchange_every == 0:
            self.exchange_weights()
        self.halves_made += 1
        half = self.learning.improve_actor if self.bank_index == ACTOR else self.learning.improve_critics
        figures: dict[str, Any] = yield from half(batch)
        return figures

    def exchange_weights(self) -> None:
        """Give the weights of this half, and take those of the other, if there are any yet."""
        mine, theirs = halves(self.learning)[self.bank_index], halves(self.learning)[1 - self.bank_index]
        self.shared[self.bank_index].put(np.concatenate([each.fetch() for each in mine]), self.made)
        newest = self.shared[1 - self.bank_index].get()
        if newest is not None:
            put_weights(theirs, torch.from_numpy(newest.weights))
