"""Which part of a trace is shown as a timeline, and how is it written for a page?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.names.indices import without_indices
from reactors_runtime._core import lib
from reactors_runtime.waits import WAITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reactors.tracing.trace import Spans, Trace

_MOST = 6_000  # spans of all workers


def timeline(trace: Trace, by_worker: Sequence[Spans]) -> dict[str, Any]:
    """Spans from the middle of a run, a flat list a worker: five numbers a span, which keeps the page small.

    They are the name, an index into `names`; the start and the length in ns; and the tag, time and microstep.
    """
    window = _window(by_worker)
    names: dict[str, int] = {}
    rows = []
    for spans in by_worker:
        kinds = spans.rows["kind"]
        inside = (spans.rows["end"] >= window[0]) & (spans.rows["start"] <= window[1]) & (kinds <= lib.RX_WAITED_END)
        flat: list[int] = []
        for row in spans.rows[inside]:
            ran = row["kind"] <= lib.RX_RAN_LATE
            name = without_indices(trace.name(row["reaction"])) if ran else f"waits for {WAITS[int(row['kind'])]}"
            flat += [
                names.setdefault(name, len(names)), int(row["start"]) - window[0], int(row["end"] - row["start"]),
                int(row["tag"]["time"]), int(row["tag"]["microstep"]),
            ]  # fmt: skip
        rows.append(flat)
    return {"names": [*names], "from": window[0], "length": window[1] - window[0], "workers": rows}


def _window(by_worker: Sequence[Spans]) -> tuple[int, int]:
    """From when to when, in the middle, there are as many spans as a page shows."""
    shown = [spans.rows[spans.rows["kind"] <= lib.RX_WAITED_END] for spans in by_worker]
    starts = np.sort(np.concatenate([np.zeros(0, np.int64), *(rows["start"] for rows in shown)]))
    starts = starts[starts >= 0]
    if not len(starts):
        return 0, 1
    last = max(int(rows["end"].max(initial=1)) for rows in shown)
    if len(starts) <= _MOST:
        return int(starts[0]), last
    first = (len(starts) - _MOST) // 2
    return int(starts[first]), int(starts[first + _MOST - 1])
