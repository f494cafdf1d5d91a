"""A trace as a timeline of the older kind: JSON for chrome://tracing, which Perfetto shows, too."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors_runtime._core import lib
from reactors_runtime.waits import WAITS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reactors.tracing.trace import Spans, Trace


def write(trace: Trace, file: Path) -> int:
    """Write all of a trace; how many reactions there were. Raises `OSError`.

    A row for each worker has reactions and waits; an event that was noted is an instant, a value a counter of its
    reactor.
    """
    reactions = 0
    with file.open("w", encoding="utf-8") as out:
        out.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
        names = [
            {"ph": "M", "pid": machine, "name": "process_name", "args": {"name": f"machine {machine}"}}
            for machine in sorted({*trace.machine_of}) if max(trace.machine_of)
        ] + [
            {"ph": "M", "pid": machine, "tid": worker, "name": "thread_name", "args": {"name": f"worker {worker}"}}
            for worker, machine in enumerate(trace.machine_of)
        ]  # fmt: skip
        out.write(",\n".join(map(json.dumps, names)))
        for piece in trace.pieces():
            for event in _events(trace, piece):
                reactions += event["ph"] == "X" and event["cat"] == "reaction"
                out.write(",\n" + json.dumps(event, allow_nan=False))
        out.write("\n]}\n")
    return reactions


def _events(trace: Trace, piece: Spans) -> Iterator[dict[str, Any]]:
    names = iter(piece.names)
    values = piece.rows["reads"].view(np.float64).tolist()
    for row, value in zip(piece.rows.tolist(), values, strict=True):
        kind, reaction, (time, microstep), start, end, *_ = row
        where: dict[str, Any] = {"pid": trace.machine_of[piece.worker], "tid": piece.worker, "ts": start / 1000}
        span = where | {"ph": "X", "dur": (end - start) / 1000}
        tag = {"time": time, "microstep": microstep}
        if kind <= lib.RX_RAN_LATE:
            args = tag | {"late": kind == lib.RX_RAN_LATE}
            yield span | {"cat": "reaction", "name": trace.name(reaction), "args": args}
        elif kind in WAITS:
            yield span | {"cat": "wait", "name": f"waits for {WAITS[kind]}", "args": tag}
        else:
            name = f"{trace.reactors[trace.reactions[reaction]['reactor']]['path']}.{next(names)}"
            if kind == lib.RX_VALUED:
                yield where | {"ph": "C", "name": name, "args": {"value": _spelled(value)}}
            else:
                yield where | {"ph": "i", "s": "t", "name": name, "args": {"reaction": trace.name(reaction), **tag}}


def _spelled(value: float) -> float | str:
    """A number, or the name of what JSON has no number for, as viewers read it."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
