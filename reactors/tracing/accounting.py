"""Where did the time of each worker go?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    if trace.end is None:  # it was cut off
        wall = max(int(spans.rows["end"].max(initial=0)) for spans in by_worker)
    else:
        wall = max(trace.end["finished"])
    return [_account(spans, wall) for spans in by_worker]


def _account(spans: Spans, wall: int) -> Account:
    ran, waited = spans.reactions, spans.waits
    start, end = (waited[name].clip(0, wall) for name in ("start", "end"))
    waits = {name: float((end - start)[waited["kind"] == kind].sum()) / 1e9 for kind, name in WAITS.items()}
    last = min(wall, int(spans.rows["end"].max(initial=0)))
    waits["the end of others"] += (wall - last) / 1e9
    busy = float((ran["end"] - ran["start"]).sum()) / 1e9
    return Account(spans.worker, wall / 1e9, busy, {name: seconds for name, seconds in waits.items() if seconds})
