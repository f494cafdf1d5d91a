"""What does this machine give to several workers at once?

Two processes rarely do twice the work of one: cores share caches, memory, and what executes instructions, or belong to
a machine that others use, too. A prediction that did not know would promise what no placement can keep.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from reactors.errors import TraceError
from reactors_runtime._core import lib

LATENCY_NS = 60_000  # from a machine to another, by TCP on one: docs/machines.md
HOP_NS = 2_000  # from a worker to another that looks on: docs/decisions/speed.md
_NS = 20_000_000


@dataclass
class Machine:
    """What a prediction assumes: how fast each of so many workers is, where one alone is 1, and ns between two.

    Where workers are shared out to several `machines`, a message between two takes `latency` ns. Nothing was measured
    for numbers of workers that `shares` lacks.
    """

    shares: dict[int, float] = field(default_factory=dict)
    hop: int = HOP_NS
    machines: int = 1
    latency: int = LATENCY_NS

    def share(self, workers: int) -> float:
        """Of what one worker alone would do, each of so many on one machine does that much."""
        return self.shares.get(workers, 1.0)

    def machine_of(self, workers: int) -> list[int]:
        """The machine of each of so many workers."""
        return [worker * self.machines // workers for worker in range(workers)]

    @classmethod
    def here(cls, *workers: int) -> Machine:
        """This one, measured by as many threads as there are workers for some 40 ms each, as far as it has cores."""
        most = len(os.sched_getaffinity(0))
        wanted = sorted({n for n in workers if 1 < n <= most})
        if not wanted:
            return cls()
        one = _rounds(1)
        return cls({n: min(1.0, _rounds(n) / n / one) for n in wanted})


def _rounds(threads: int) -> int:
    """The work that so many threads do in a while; the better of two tries."""
    found = max(lib.rx_work(threads, _NS) for _ in range(2))
    if found <= 0:
        raise TraceError(f"{threads} threads cannot be started here, to measure what the machine gives them")
    return int(found)
