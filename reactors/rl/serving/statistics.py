"""How long did requests take?"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

LATEST = 100_000


@dataclass(frozen=True, slots=True)
class ServingStatistics:
    """Requests of a server since its program began; seconds from the request to its answer, of the latest 100,000.

    >>> ServingStatistics(answered=30, refused=1, batches=10, largest=8, p50=4e-4, p90=1e-3, p99=2.5e-3).mean_batch
    3.0
    """

    answered: int
    refused: int
    batches: int
    largest: int
    p50: float
    p90: float
    p99: float

    @property
    def mean_batch(self) -> float:
        """Requests in a batch, on average."""
        return self.answered / self.batches if self.batches else 0.0

    def __str__(self) -> str:
        latencies = ", ".join(f"{1e3 * getattr(self, name):.2f} ms ({name})" for name in ("p50", "p90", "p99"))
        return (
            f"{self.answered:,} requests answered and {self.refused:,} refused, in {self.batches:,} batches of "
            f"{self.mean_batch:.1f} on average and {self.largest:,} at most; {latencies}"
        )


class Tally:
    """Counts while it goes on."""

    def __init__(self) -> None:
        self.answered = self.refused = self.batches = self.largest = 0
        self.latencies: deque[float] = deque(maxlen=LATEST)

    def note(self, latencies: list[float]) -> None:
        """A batch was answered."""
        self.answered += len(latencies)
        self.batches += 1
        self.largest = max(self.largest, len(latencies))
        self.latencies.extend(latencies)

    def statistics(self) -> ServingStatistics:
        """What it comes to so far."""
        p50, p90, p99 = np.percentile(self.latencies or [0.0], [50, 90, 99]).tolist()
        return ServingStatistics(self.answered, self.refused, self.batches, self.largest, p50, p90, p99)
