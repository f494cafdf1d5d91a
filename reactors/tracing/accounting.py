"""Where did the time of each worker go?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reactors_runtime.waits import WAITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reactors.tracing.trace import Spans, Trace


@dataclass(frozen=True)
class Account:
    """The time of a worker, in seconds: `reactions`, waits by what they were for, and the rest, the engine's own."""

    worker: int
    wall: float
    reactions: float
    waits: dict[str, float]

    @property
    def engine(self) -> float:
        """What was neither in reactions nor in waits."""
        return self.wall - self.reactions - sum(self.waits.values())


def accounts(trace: Trace, by_worker: Sequence[Spans] | None = None) -> list[Account]:
    """One for each worker, from the first tag to the end of the run."""
    by_worker = by_worker or trace.by_worker()
    ends = [int(spans.rows["end"].max(initial=0)) for spans in by_worker]
    finished = [0] * trace.workers if trace.end is None else trace.end["finished"]
    wall = max((*ends, *finished))
    return [_account(spans, wall) for spans in by_worker]


def _account(spans: Spans, wall: int) -> Account:
    ran, waited = spans.reactions, spans.waits
    start, end = np.maximum(waited["start"], 0), np.maximum(waited["end"], 0)
    waits = {name: float((end - start)[waited["kind"] == kind].sum()) / 1e9 for kind, name in WAITS.items()}
    last = int(spans.rows["end"].max(initial=0))
    waits["the end of others"] += (wall - last) / 1e9
    busy = float((ran["end"] - ran["start"]).sum()) / 1e9
    return Account(spans.worker, wall / 1e9, busy, {name: seconds for name, seconds in waits.items() if seconds})
