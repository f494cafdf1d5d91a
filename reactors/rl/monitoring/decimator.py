"""How do evaluator and viewer get weights less often than there are new ones?"""

from __future__ import annotations

import numpy as np

import reactors as rx
from reactors.rl.rounds import ROUND, round_of


class Decimator(rx.Reactor):
    """Lets weights of every `every`-th round through, so that who reads them may be that much slower than the learner.

    These are rounds 0, `every` and so on, or with `before` so many rounds earlier; where such a round has no new
    weights, those of the next one that has.

    It belongs on the learner's worker: what waits on the way to another one is then only what is wanted there.
    """

    weights = rx.Input(shape="size", dtype=np.float32)
    some = rx.Output(shape="size", dtype=np.float32)

    def __init__(self, size: int, every: int, before: int = 0) -> None:
        self.size, self.every, self.before = size, every, before
        self.first = 0  # what was before it, in ns, is known already

    @rx.reaction(rx.startup)
    def begin(self) -> None:
        """Count from the first round on."""
        self.last = (self.first // ROUND - 1 + self.before) // self.every

    @rx.reaction(weights, effects=some)
    def choose(self) -> None:
        """Let the first weights of every so many rounds through."""
        now = (round_of(self.tag) + self.before) // self.every
        if now > self.last and self.tag.time >= self.first:
            self.last = now
            self.some.set(self.weights.value)
