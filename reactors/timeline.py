"""A trace of a run as a timeline: Chrome trace JSON, which chrome://tracing and Perfetto show."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from reactors.errors import ReactorWarning
from reactors_runtime import tables

if TYPE_CHECKING:
    import os

    from reactors.graph import Graph
    from reactors_runtime.image import Image
    from reactors_runtime.memory import Memory


def write(file: str | os.PathLike[str], graph: Graph, image: Image, memory: Memory) -> None:
    """The spans that the workers kept (the last 65,536 of each), one row per worker, the tag in the arguments."""
    events: list[dict[str, object]] = []
    program = graph.program
    names = [f"{program.reactors[r.reactor].path}.{r.name}" for r in program.reactions]
    for worker, part in enumerate(image.parts):
        events.append({"ph": "M", "pid": 0, "tid": worker, "name": "thread_name", "args": {"name": f"worker {worker}"}})
        at = part.offsets["trace"]
        count = int.from_bytes(memory.map[at : at + 8], "little")
        kept = image.options.trace
        if count > kept:
            warnings.warn(
                f"{file}: of the {count:,} reactions that worker {worker} ran, the trace has the last {kept:,}; "
                "a shorter run (timeout=) is traced whole",
                ReactorWarning,
                stacklevel=3,
            )
        spans = tables.view(memory, at + 64, kept, tables.SPAN)
        for i in range(max(0, count - kept), count):
            tag, start, end, reaction, late = spans[i % kept].tolist()
            events.append({
                "ph": "X", "pid": 0, "tid": worker, "name": names[reaction],
                "ts": start / 1000, "dur": (end - start) / 1000,
                "args": {"time": tag[0], "microstep": tag[1], "late": bool(late)},
            })  # fmt: skip
    with Path(file).open("w", encoding="utf-8") as out:
        json.dump({"traceEvents": events, "displayTimeUnit": "ns"}, out)
