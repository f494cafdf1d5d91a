"""How does a program run on several machines? As in processes, but that some of these are elsewhere."""

from __future__ import annotations

import contextlib
import warnings
from itertools import combinations
from typing import TYPE_CHECKING

from reactors.errors import MachineError, MachineLost, ReactorWarning
from reactors.execution.binding import Binding
from reactors.reports.failures import first
from reactors.shipping import parcels
from reactors.time import measured
from reactors_runtime.machines import leading
from reactors_runtime.planning.delays import between
from reactors_runtime.processes.faults import ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reactors.graph import Graph
    from reactors.machines.machines import Machines
    from reactors.reports.progress import Progress
    from reactors_runtime.machines.keeping import RunFiles
    from reactors_runtime.machines.leading import Gathering
    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image
    from reactors_runtime.processes.workers import Report


def warn_of_round_trips(graph: Graph, image: Image, seconds: Mapping[int, float]) -> None:
    """Say what waits for each other within a tag, on two machines, so that every tag takes a round trip."""
    delays, of = between(image)[0], image.options.machine_of
    for i, j in combinations(range(image.workers), 2):
        if of[i] == of[j] or delays[i, j].item() != (0, 0) or delays[j, i].item() != (0, 0):
            continue
        here, there = (
            ", ".join(ranges([r for r, at in zip(image.program.reactors, image.placement, strict=True) if at == w]))
            for w in (i, j)
        )
        took = measured(seconds.get(of[i], 0.0) + seconds.get(of[j], 0.0))
        warnings.warn(
            f"{graph.main.path}: at each tag, {here} on machine {of[i]} and {there} on machine {of[j]} wait for each "
            f"other, and a round trip takes {took}; put "
            "them on one machine by placement=, or give a connection between them a delay",
            ReactorWarning,
            stacklevel=5,
        )
        return


def on_machines(
    machines: Machines, files: RunFiles, ready: Gathering | None = None
) -> Callable[[Graph, Image, Memory, Progress, bool], None]:
    """A backend, as the others are: a process for each worker, wherever it is.

    What all machines have kept of the run is in `files` then. The machines may be there already, `ready`.
    """

    def run(graph: Graph, image: Image, memory: Memory, line: Progress, debug: bool) -> None:
        parts = {worker: parcels.pack(graph, image, worker, debug=debug) for worker in range(image.workers)}
        with contextlib.nullcontext(ready) if ready is not None else machines.gathered(image.workers) as gathering:
            warn_of_round_trips(graph, image, {member.machine: member.round_trip / 1e9 for member in gathering.members})
            binding = Binding(graph.elements, debug=debug)
            binding.attach_caller(image, memory)
            came: dict[int, Report] = {}
            try:
                gathering.run(
                    image,
                    memory,
                    parts,
                    modules=parcels.modules(parts.values()),
                    on_wait=line.look if line.looks else None,
                    files=files,
                    reports=came,
                )
            except leading.MachinesMissing as missing:
                raise MachineError(f"{graph.main.path}: {missing}") from None
            finally:
                binding.detach()
                parcels.unpack(graph, image, came.values())
        reports = [*came.values()]
        lost = {report.error.machine for report in reports if isinstance(report.error, leading.LostMachine)}
        for report in reports:
            if isinstance(report.error, leading.LostMachine):
                report.error = MachineLost(str(report.error))
                report.error.machines = frozenset(lost)
            elif isinstance(report.error, leading.MachineInterrupted):
                cause = report.error.__cause__
                report.error = MachineError(str(report.error))
                report.error.__cause__ = cause
        failures = [(report.error, report.aftermath) for report in reports if report.error is not None]
        if failures:
            raise first(graph, failures)

    return run
