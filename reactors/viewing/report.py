"""What came of a run, as one file that any browser shows without a network.

Curves, the graph in the colours of its load, where the time went, what limits the program, what more workers would
give, a part of the run as a timeline, and the facts that make it possible to run it again.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import DrawingError, TraceError
from reactors.names.indices import without_indices
from reactors.time import measured
from reactors.tracing.accounting import accounts
from reactors.tracing.capacity import Machine
from reactors.tracing.load import Load
from reactors.tracing.model import Model
from reactors.tracing.placing import best
from reactors.tracing.remedies import diagnosis
from reactors.viewing.picture import diagram
from reactors.viewing.timeline import timeline

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from reactors.tracing.trace import Spans, Trace

    Points = Sequence[tuple[float, float]]

_HERE = Path(__file__).parent
_POINTS = 500  # of a curve
_REACTIONS = 48
_MODELLED = 20_000  # executions: a report has six searches to make
_WORKERS = (2, 4, 8, 16, 64)  # for which it is said what they would give


def write(file: str | os.PathLike[str], data: Mapping[str, Any]) -> Path:
    """Write the page with this data in it. Raises `OSError`."""
    page = (_HERE / "page.html").read_text()
    style, script = (_HERE / "page.css").read_text(), (_HERE / "page.js").read_text()
    # What stands in a script is read as text of the page first: no "</script>", no "<!--" may be in it.
    content = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    page = page.replace('<link rel="stylesheet" href="page.css">', f"<style>\n{style}</style>")
    page = page.replace(
        '<script src="page.js"></script>',
        f'<script type="application/json" id="data">{content}</script>\n<script>\n{script}</script>',
    )
    path = Path(file)
    path.write_text(page, encoding="utf-8")
    return path


def contents(
    title: str,
    said: Sequence[str],
    trace: Trace | None,
    *,
    reactions: Sequence[Sequence[str]] = (),
    workers: Sequence[Mapping[str, Any]] = (),
    graph: str = "",
    tables: Mapping[str, Sequence[Sequence[str]]] | None = None,
    curves: Mapping[str, Mapping[str, Points]] | None = None,
    facts: Mapping[str, Mapping[str, object]] | None = None,
) -> dict[str, Any]:
    """What the page shows; without a trace, what can be said without one.

    `tables` have their header first, `curves` are points by name and run.
    """
    of_trace: dict[str, Any] = {
        "graph": graph, "workers": [*workers], "limits": [], "predicted": [], "assumed": [],
        "timeline": None, "reactions": [[*row] for row in reactions],
    }  # fmt: skip
    if trace is not None:
        of_trace |= _of_trace(trace)
    return {
        "title": title,
        "said": [*said],
        "tables": [
            [name, [*rows[0]], [[*row] for row in rows[1:]]] for name, rows in (tables or {}).items() if rows[1:]
        ],
        "curves": [
            [name, [[run, thinned(points)] for run, points in runs.items()]]
            for name, runs in (curves or {}).items()
            if any(len(points) > 1 for points in runs.values())
        ],
        "facts": [[name, [[str(k), str(v)] for k, v in rows.items()]] for name, rows in (facts or {}).items() if rows],
        **of_trace,
    }


def _of_trace(trace: Trace) -> dict[str, Any]:
    by_worker = trace.by_worker()
    found: dict[str, Any] = {
        "graph": picture(trace),
        "workers": [worker(each.worker, each.wall, each.reactions, each.waits) for each in accounts(trace, by_worker)],
        "timeline": timeline(trace, by_worker),
        "reactions": _reactions(trace, by_worker),
    }
    try:
        return found | _predicted(trace, by_worker)
    except TraceError as error:  # nothing ran
        return found | {"limits": [str(error)]}


def _reactions(trace: Trace, by_worker: Sequence[Spans]) -> list[list[str]]:
    """Count, total, mean, and share of the time of its workers, of those that took most; members of banks are one."""
    alike: dict[str, list[int]] = {}
    for number in range(len(trace.reactions)):
        alike.setdefault(without_indices(trace.name(number)), []).append(number)
    rows = np.concatenate([spans.reactions for spans in by_worker])
    count = np.bincount(rows["reaction"], minlength=len(trace.reactions))
    seconds = np.bincount(rows["reaction"], (rows["end"] - rows["start"]) / 1e9, len(trace.reactions))
    wall = max((int(spans.rows["end"].max(initial=1)) for spans in by_worker), default=1) / 1e9
    found = []
    for name, members in alike.items():
        runs, spent = int(count[members].sum()), float(seconds[members].sum())
        workers = len({trace.reactions[each]["worker"] for each in members})
        mean = measured(spent / runs if runs else 0.0)
        found.append((spent, [name, f"{runs:,}", measured(spent), mean, f"{spent / wall / workers:.1%}"]))
    return [row for _, row in sorted(found, key=lambda each: (-each[0], each[1][0]))[:_REACTIONS]]


def worker(number: int, wall: float, reactions: float, waits: Mapping[str, float]) -> dict[str, Any]:
    """A bar: which part of the time of a worker was in reactions, in waits, and the engine's own."""
    waited = sum(waits.values())
    ran = min(reactions, max(0.0, wall - waited))
    parts = [("reactions", ran), *waits.items(), ("engine", max(0.0, wall - waited - ran))]
    return {"worker": number, "parts": [[name, seconds / (wall or 1.0)] for name, seconds in parts]}


def picture(trace: Trace) -> str:
    """The graph as SVG, coloured; nothing where there is no `dot`."""
    from reactors.drawing.draw import rendered
    from reactors.drawing.heat import show

    drawn = diagram(trace.header)
    show(drawn, Load.of(trace))
    try:
        return rendered(drawn)
    except DrawingError:
        return ""


def _predicted(trace: Trace, by_worker: Sequence[Spans]) -> dict[str, Any]:
    """What limits it, and what other numbers of workers would give."""
    model, workers = Model(trace, _MODELLED, by_worker), sorted({trace.workers, *_WORKERS})
    machine = Machine.here(*workers, 2 * trace.workers)
    now = model.predicted([int(each["worker"]) for each in trace.reactors], trace.workers, machine).seconds
    rows = []
    for n in workers:
        placed = best(model, n, machine).prediction
        seconds = placed.seconds or 1e-9
        rows.append([n, f"{seconds:.4g}", f"{now / seconds:.2f}", f"{sum(placed.busy) / n / seconds:.0%}"])
    return {
        "limits": diagnosis(trace, model, machine).lines(),
        "predicted": rows,
        "assumed": model.assumed(machine, workers),
    }


def thinned(points: Points) -> list[tuple[float, float]]:
    """As many points as a picture can show; what is not finite is left out."""
    finite = [(float(x), float(y)) for x, y in points if math.isfinite(x) and math.isfinite(y)]
    step = max(1, -(-len(finite) // _POINTS))
    return finite[::step] if (len(finite) - 1) % step == 0 else [*finite[::step], finite[-1]]
