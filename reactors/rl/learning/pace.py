"""How many updates may a learner make that has a loop of its own, and how many must it?

The ratio of updates to steps is limited on both sides. Between these limits the learner goes on while actors are busy
with later rounds. When they have left it more rounds than it has taken note of, it sees to those first, so that
samplers need not wait, but not for longer than a share of its time (Spreeze, arXiv 2312.06126: neither waits for the
other).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reactors.rl.replay.buffer import ReplayBuffer

if TYPE_CHECKING:
    from numpy.typing import NDArray

BESIDE = 0.02  # share of the time of updates that may go by without any, while some are allowed


@dataclass
class Pace:
    """Limits of the updates a step, on average, and what is left of them.

    >>> pace = Pace(0.125, 0.1875)
    >>> [pace.due(4) for _ in range(4)], pace.allowed
    ([0, 1, 1, 1], 3.0)
    """

    least: float
    most: float
    owed: float = 0.0
    allowed: float = 0.0
    took: float = 0.0
    """Seconds of the latest update."""
    resting: float = 0.0
    """Since when none was made."""

    def due(self, steps: int) -> int:
        """How many updates a round of so many steps makes necessary; one, if there was none for too long."""
        self.owed += self.least * steps
        self.allowed += self.most * steps
        whole = int(self.owed)
        self.owed -= whole
        if whole == 0 and self.may and time.perf_counter() - self.resting > BESIDE * self.took:
            return 1
        return whole

    def made(self, began: float) -> None:
        """An update that began then."""
        self.took = time.perf_counter() - began
        self.allowed -= 1

    def rest(self) -> None:
        """Updates are over for now, and what came of them is sent."""
        self.resting = time.perf_counter()

    @property
    def may(self) -> bool:
        """Whether one more is allowed."""
        return self.allowed >= 1


class Played:
    """Which rounds actors have begun and ended, in memory that all workers share.

    >>> played = Played(2)
    >>> played.begin(0, 0)
    >>> played.busy, played.all_after(-1)
    (True, False)
    >>> for actor in range(2):
    ...     played.end(actor, 0)
    >>> played.busy, played.all_after(-1)
    (False, True)
    """

    def __init__(self, actors: int) -> None:
        self.memory = ReplayBuffer(actors, {"begun": np.int64, "ended": np.int64})
        self.memory.add(begun=np.full(actors, -1), ended=np.full(actors, -1))

    def begin(self, actor: int, number: int) -> None:
        """This actor begins a round."""
        self.rounds("begun")[actor] = number

    def end(self, actor: int, number: int) -> None:
        """This actor has ended a round."""
        self.rounds("ended")[actor] = number

    def all_after(self, number: int) -> bool:
        """Whether all have ended a later round than this."""
        return bool(self.rounds("ended").min() > number)

    @property
    def busy(self) -> bool:
        """Whether an actor plays."""
        return bool((self.rounds("begun") > self.rounds("ended")).any())

    def rounds(self, which: str) -> NDArray[np.int64]:
        """The latest of every actor."""
        return self.memory.fields[which]
