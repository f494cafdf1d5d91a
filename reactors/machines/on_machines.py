"""How does a program run on several machines? As in processes, but that some of these are elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reactors.errors import MachineError, MachineLost
from reactors.execution.binding import Binding
from reactors.reports.failures import first
from reactors.shipping import parcels
from reactors_runtime.machines import leading

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactors.graph import Graph
    from reactors.machines.machines import Machines
    from reactors.reports.progress import Progress
    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image


def on_machines(machines: Machines) -> Callable[[Graph, Image, Memory, Progress, bool], None]:
    """A backend, as the others are: a process for each worker, wherever it is."""

    def run(graph: Graph, image: Image, memory: Memory, line: Progress, debug: bool) -> None:
        parts = {worker: parcels.pack(graph, image, worker, debug=debug) for worker in range(image.workers)}
        with machines.gathered(image.workers) as gathering:
            binding = Binding(graph.elements, debug=debug)
            binding.attach_caller(image, memory)
            try:
                reports = gathering.run(
                    image,
                    memory,
                    parts,
                    modules=parcels.modules(parts.values()),
                    on_wait=line.look if line.looks else None,
                )
            except leading.MachinesMissing as missing:
                raise MachineError(f"{graph.main.path}: {missing}") from None
            finally:
                binding.detach()
        parcels.unpack(graph, image, reports)
        for report in reports:
            if isinstance(report.error, leading.MachineLost):
                report.error = MachineLost(str(report.error))
        failures = [(report.error, report.aftermath) for report in reports if report.error is not None]
        if failures:
            raise first(graph, failures)

    return run
