"""A trace of a run as a timeline: Chrome trace JSON, which chrome://tracing and Perfetto show."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reactors.errors import ReactorWarning
from reactors_runtime import callers, tables
from reactors_runtime._core import lib

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from reactors.graph import Graph
    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image


def written(file: str | os.PathLike[str], graph: Graph, image: Image, memory: Memory) -> str:
    """Write what the workers kept: spans of reactions, one row per worker, and what reactions noted, with the tags.

    Of each worker the last 65,536 of either. An event that was noted is an instant, a value a counter of its reactor.
    Why it cannot be written, if it cannot.
    """
    events: list[dict[str, object]] = []
    program = graph.program
    names = graph.names
    for worker, part in enumerate(image.parts):
        events.append({"ph": "M", "pid": 0, "tid": worker, "name": "thread_name", "args": {"name": f"worker {worker}"}})
        where = f"reactions that worker {worker} ran"
        for tag, start, end, reaction, late in _kept(file, image, memory, part.offsets["trace"], tables.SPAN, where):
            events.append({
                "ph": "X", "pid": 0, "tid": worker, "name": names[reaction],
                "ts": start / 1000, "dur": (end - start) / 1000,
                "args": {"time": tag[0], "microstep": tag[1], "late": bool(late)},
            })  # fmt: skip
        where = f"events that reactions of worker {worker} noted"
        for tag, at, reaction, valued, value, name in _kept(file, image, memory, part.marks, tables.MARK, where):
            path = program.reactors[program.reactions[reaction].reactor].path
            noted = (
                {"value": _spelled(value)}
                if valued
                else {"reaction": names[reaction], "time": tag[0], "microstep": tag[1]}
            )
            events.append({
                **({"ph": "C"} if valued else {"ph": "i", "s": "t"}), "pid": 0, "tid": worker,
                "name": f"{path}.{name.decode()}", "ts": at / 1000, "args": noted,
            })  # fmt: skip
    try:
        with Path(file).open("w", encoding="utf-8") as out:
            json.dump({"traceEvents": events, "displayTimeUnit": "ns"}, out, allow_nan=False)
    except OSError as error:
        return f"the trace {os.fspath(file)!r} cannot be written ({error.strerror})"
    return ""


def _spelled(value: float) -> float | str:
    """A number, or the name of what JSON has no number for, as viewers read it."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _kept(
    file: str | os.PathLike[str], image: Image, memory: Memory, at: int, dtype: np.dtype[Any], what: str
) -> Iterator[tuple[Any, ...]]:
    """The rows of a ring, the oldest first; a warning says of which there were more."""
    kept = image.options.trace
    count = int.from_bytes(memory.map[at : at + 8], "little")
    if count > kept:
        callers.warn(
            f"{file}: of the {count:,} {what}, the trace has the last {kept:,}; a shorter run (timeout=) is traced "
            "whole",
            ReactorWarning,
        )
    rows = tables.view(memory, at + lib.RX_LINE, kept, dtype)
    return (rows[i % kept].tolist() for i in range(max(0, count - kept), count))
