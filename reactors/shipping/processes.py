"""Workers in processes of their own: the reactors travel there and their attributes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reactors.execution.binding import Binding
from reactors.reports.failures import first
from reactors.shipping import parcels
from reactors_runtime.processes import workers

if TYPE_CHECKING:
    from reactors.graph import Graph
    from reactors.reports.progress import Progress
    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image
    from reactors_runtime.processes.workers import Report


def in_processes(graph: Graph, image: Image, memory: Memory, line: Progress, debug: bool) -> None:
    """A process for each worker."""
    binding = Binding(graph.elements, debug=debug)
    parts = {worker: parcels.pack(graph, image, worker, debug=debug) for worker in range(image.workers)}
    binding.attach_caller(image, memory)
    came: dict[int, Report] = {}
    try:
        reports = workers.run(
            image,
            memory,
            parts,
            modules=parcels.modules(parts.values()),
            on_wait=line.look if line.looks else None,
            reports=came,
        )
    finally:
        binding.detach()
        parcels.unpack(graph, image, came.values())
    failures = [(report.error, report.aftermath) for report in reports if report.error is not None]
    if failures:
        raise first(graph, failures)
