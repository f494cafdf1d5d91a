"""How many actors and learners, on how many workers, and in which mode?

What both do alone says what they would do together: on workers of their own the slower of the two sets the pace, and
where they take turns on the same ones their times add up. That much is calculated here, for all that the cores allow;
the best of it is then measured, and of that the best is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reactors.rl.options import Mode

TIE = 0.05
"""Measured rates that differ by less are the same: so much they vary from one run to the next."""


@dataclass(frozen=True)
class Candidate:
    """A way to run a training; `predicted` is in environment steps a second."""

    mode: Mode
    workers: int
    actors: int
    learners: int
    predicted: float

    @property
    def simplicity(self) -> tuple[int, bool, int, int]:
        """What is less is simpler; newer weights are, too."""
        return self.workers, self.mode != "sync", self.learners, self.actors


def candidates(
    acting: Mapping[int, float],
    learning: Mapping[int, float],
    ratio: float,
    cores: int,
    mode: Mode | None = None,
    groups: int | None = None,
) -> list[Candidate]:
    """All that can run on so many cores, the fastest first, and the simpler first of those that are equally fast.

    `acting` has the steps a second of so many actors alone, each on a worker, `learning` the updates a second of so
    many learners, and `ratio` is that of updates to steps. Without a `mode` they are lock-step, and pipelined on
    workers of their own. Of many agents each of the `groups` has a learner, and `learning` is by how many workers they
    are on: in lock-step as many as there are, and otherwise one for each.

    >>> best, *others = candidates({1: 1000.0, 2: 1800.0}, {1: 900.0}, ratio=1.0, cores=2)
    >>> best
    Candidate(mode='pipelined', workers=2, actors=1, learners=1, predicted=900.0)
    >>> [(other.mode, other.workers, round(other.predicted)) for other in others]
    [('sync', 2, 600), ('sync', 1, 474)]
    """

    def in_turns(workers: int, learners: int) -> float:
        return 1 / (1 / acting[workers] + ratio / learning[learners])

    found = []
    if mode in {None, "sync"}:
        found = [
            Candidate("sync", w, w, m, in_turns(w, m))
            for w in acting
            for m in learning
            if max(w, m) == w <= cores and (groups is None or m == min(w, groups))
        ]
    if mode != "sync":
        # On no more workers than there are groups, actors are where they learn, and all take turns.
        shared = [w for w in acting if w <= (groups or 1) and (w > 1 or mode is not None)]
        found += [Candidate(mode or "pipelined", w, w, w, in_turns(w, w)) for w in shared]
        found += [
            Candidate(mode or "pipelined", n + m, n, m, min(acting[n], learning[m] / ratio))
            for n in acting
            for m in learning
            if n + m <= cores and (groups is None or m == groups)
        ]
    return sorted(found, key=lambda each: (-each.predicted, each.simplicity))


def shortlist(found: Sequence[Candidate], few: int) -> list[Candidate]:
    """So many of those that are predicted to be the fastest, among them one of each mode as far as there is room.

    >>> found = candidates({1: 1000.0, 2: 1800.0}, {1: 900.0}, ratio=1.0, cores=2)
    >>> [(each.mode, each.workers) for each in shortlist(found, 2)]
    [('pipelined', 2), ('sync', 2)]
    """
    heads = {each.mode: each for each in reversed(found)}.values()
    chosen = sorted(found, key=lambda each: (each not in heads, found.index(each)))[:few]
    return sorted(chosen, key=found.index)


def best(measured: Iterable[tuple[Candidate, float]]) -> tuple[Candidate, float]:
    """The fastest of those that were measured in steps a second; of those hardly slower than it, the simplest.

    >>> one, two = Candidate("sync", 1, 1, 1, 500.0), Candidate("sync", 2, 2, 1, 600.0)
    >>> best([(one, 590.0), (two, 600.0)])[0].workers, best([(one, 500.0), (two, 600.0)])[0].workers
    (1, 2)
    """
    measured = list(measured)
    fastest = max(rate for _, rate in measured)
    return min((each for each in measured if each[1] >= (1 - TIE) * fastest), key=lambda each: each[0].simplicity)
