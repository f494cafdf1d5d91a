"""How do actors get the newest weights without waiting for the learner?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reactors.rl.replay.buffer import ReplayBuffer

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALL = 1 << 30
"""As many actors as there are."""


class Newest(NamedTuple):
    """Weights, the round after which they were these, how many actors are to play by them, and which put it was."""

    weights: NDArray[np.float32]
    round: int
    samplers: int
    version: int


NUMBERS = ("round", "samplers", "version")


class Latest:
    """`size` weights in memory that all workers share: one row, which is read whole even while another worker writes.

    >>> latest = Latest(2)
    >>> latest.get() is None
    True
    >>> latest.put(np.array([1, 2], np.float32), 7)
    >>> latest.get()
    Newest(weights=array([1., 2.], dtype=float32), round=7, samplers=1073741824, version=1)
    """

    def __init__(self, size: int) -> None:
        fields: Any = {"vector": ((size,), np.float32), **dict.fromkeys(NUMBERS, np.int64)}
        self.row, self.version = ReplayBuffer(1, fields), 0

    def put(self, weights: NDArray[np.float32], number: int, samplers: int = ALL) -> None:
        """Replace them after round `number`. Only one worker puts."""
        self.version += 1
        numbers = zip(NUMBERS, (number, samplers, self.version), strict=True)
        self.row.add(vector=weights[None], **{name: np.array([x]) for name, x in numbers})

    def get(self) -> Newest | None:
        """The newest, valid until the next call; None before there are any."""
        if not len(self.row):
            return None
        row = self.row.sample(1)
        return Newest(row["vector"][0], *(int(row[name][0]) for name in NUMBERS))
