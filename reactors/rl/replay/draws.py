"""To which rows do priorities belong that come back later?"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from reactors.rl.replay.batch import batch_dtype

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reactors.rl.replay.buffer import ReplayBuffer


class Draws:
    """Draws batches of `n` rows of `buffer` into records of `dtype`; priorities come back in the same order.

    `unanswered` has the row indices of each batch whose priorities have not come back; it stays empty for a buffer that
    samples uniformly.
    """

    def __init__(self, buffer: ReplayBuffer, n: int) -> None:
        self.buffer, self.n = buffer, n
        self.dtype = batch_dtype(buffer.config.fields, n)
        self.unanswered: deque[NDArray[np.int64]] = deque()

    def draw(self, record: NDArray[Any]) -> None:
        """Draw the next batch into this memory."""
        drawn = self.buffer.sample_into(record, self.n)
        if self.buffer.config.prioritized:
            self.unanswered.append(drawn["indices"].copy())

    def answer(self, priorities: NDArray[Any]) -> None:
        """Set the new priorities of the batch that has waited longest."""
        self.buffer.update_priorities(self.unanswered.popleft(), priorities)
