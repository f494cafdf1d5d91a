"""What does a trace say of the program that ran?"""

from __future__ import annotations

import math
import platform
import time
from typing import TYPE_CHECKING, Any

from reactors.tracing.trace import FORMAT
from reactors_runtime.program import Kind

if TYPE_CHECKING:
    from reactors.graph import Graph
    from reactors_runtime.planning.image import Image
    from reactors_runtime.program import Element


def header(graph: Graph, image: Image, seed: int, backend: str) -> dict[str, Any]:
    """All that a reader needs beside the spans: numbers in them are indices into these lists."""
    from importlib.metadata import version

    program = graph.program
    worker_of: dict[int, int] = {}
    worker_of_reactor: dict[int, int] = {}
    for worker, part in enumerate(image.parts):
        worker_of.update(dict.fromkeys(part.reactions, worker))
        worker_of_reactor.update(dict.fromkeys(part.reactors, worker))
    homes: list[int] = []  # who decides where a reactor is: itself, or the modal reactor that it lies in
    for number, row in enumerate(program.reactors):
        homes.append(number if row.mode < 0 else homes[program.modes[row.mode].reactor])
    return {
        "format": FORMAT,
        "reactors_version": version("reactors"),
        "python": platform.python_version(),
        "program": type(graph.main).__name__,
        "seed": seed,
        "backend": backend,
        "workers": image.workers,
        "machine_of": [*(image.options.machine_of or (0,) * image.workers)],
        "fast": image.options.fast,
        "waits": image.options.waits,  # no tag begins before its physical time
        "timeout": image.options.timeout,
        "epoch": image.options.epoch,  # what the monotonic clock lacks of the time since 1970, in ns
        "opened": time.monotonic_ns(),
        "reactors": [
            {
                "path": row.path, "class": type(reactor).__name__, "bank": row.bank,
                "worker": worker_of_reactor[number], "home": homes[number], "relay": row.relay,
                "remedy": getattr(reactor, "__remedy__", None),
            }
            for number, (row, reactor) in enumerate(zip(program.reactors, graph.reactors, strict=True))
        ],
        "by_hand": [*image.options.by_hand],
        "elements": [_element(each) for each in program.elements],
        "reactions": [
            {
                "path": name, "reactor": each.reactor, "level": each.level, "worker": worker_of.get(number, 0),
                "triggers": [*each.triggers], "uses": [*each.uses], "effects": [*each.effects],
                "deadline": each.deadline, "native": each.native is not None, "stop": each.stop,
            }
            for number, (each, name) in enumerate(zip(program.reactions, graph.names, strict=True))
        ],
    }  # fmt: skip


def _element(each: Element) -> dict[str, Any]:
    said: dict[str, Any] = {"path": each.path, "kind": Kind(each.kind).name.lower(), "reactor": each.reactor}
    if each.kind == Kind.PORT:
        said |= {"source": each.source, "offset": [*each.offset], "physical": each.physical}
        if each.dtype is not None:
            said["dtype"], said["shape"] = each.dtype.str, [*(each.shape or ())]
            said["bytes"] = each.dtype.itemsize * math.prod(each.shape or ())
    elif each.kind == Kind.TIMER:
        said |= {"first": each.first, "period": each.period}
    elif each.kind in (Kind.ACTION, Kind.PHYSICAL_ACTION):
        said["min_delay"] = each.min_delay
    return said
