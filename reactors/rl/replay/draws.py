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
    """Batches of `n` rows of `buffer`, drawn into records of `dtype`; priorities answer them in the same order.

    `unanswered` are the indices of the rows of each batch whose priorities have not come; there are none in a buffer
    that samples uniformly.
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
        """Give the rows of the batch that waits longest their new priorities."""
        self.buffer.update_priorities(self.unanswered.popleft(), priorities)
