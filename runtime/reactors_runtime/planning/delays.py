"""What has to wait for what, and how far does each worker see ahead?

The delays of connections are the lookahead of conservative synchronisation: what a worker does now reaches another no
sooner than the least delay on any way there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors_runtime import tables
from reactors_runtime.program import FOREVER, Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reactors_runtime.planning.plan import Offset, Plan

Wait = dict[tuple[int, "Offset"], int]  # worker and offset -> the last of its reactions to wait for


def least(plan: Plan, offset: Offset, *, physical: bool) -> Offset | None:
    """The least that a value is late on its way; None where only the clock of the receiver says."""
    known = plan.options.virtual_time or plan.options.replay is not None
    return offset if known or not physical else None


def between(plan: Plan) -> NDArray[Any]:
    """Tags: D[i][j], the least delay on any way from worker i to worker j; then the least without others between."""
    n = plan.workers
    times = np.full((n, n), FOREVER, np.int64)
    microsteps = np.zeros((n, n), np.uint64)
    for source in (*plan.sources.values(), *(source for source, _ in plan.stops)):
        i = source.worker
        for j, ways in source.ways.items():
            for way in ways:
                delay = least(plan, way.offset, physical=way.physical)
                if i != j and delay is not None and delay < (times[i, j], microsteps[i, j]):
                    times[i, j], microsteps[i, j] = delay
    found = np.zeros((2, n, n), tables.TAG)
    found["time"][1], found["microstep"][1] = times, microsteps
    np.fill_diagonal(times, 0)
    for k in range(n):  # Floyd and Warshall
        through, more = times[:, k, None], times[None, k, :]
        possible = (through < FOREVER) & (more < FOREVER)
        added = np.where(possible, np.minimum(through, FOREVER - 1 - more) + more, FOREVER)
        steps = np.where(more > 0, microsteps[None, k, :], microsteps[:, k, None] + microsteps[None, k, :])
        better = possible & ((added < times) | ((added == times) & (steps < microsteps)))
        times, microsteps = np.where(better, added, times), np.where(better, steps, microsteps)
    found["time"][0], found["microstep"][0] = times, microsteps
    return found


def before_reaction(plan: Plan, worker: int, local: int) -> Wait:
    """What must be complete on other workers before a reaction runs."""
    waits: Wait = {}
    reaction = plan.program.reactions[plan.parts[worker].reactions[local]]
    for element in (*reaction.triggers, *reaction.uses):
        e = plan.program.elements[element]
        source = plan.sources.get(e.source) if e.kind == Kind.PORT else None
        if source is None or source.worker == worker:
            continue
        offset = least(plan, e.offset, physical=e.physical)
        if offset is not None:
            waits[source.worker, offset] = max(waits.get((source.worker, offset), -1), source.writers[-1])
    return waits


def before_tag(plan: Plan, worker: int) -> Wait:
    """What must be complete on other workers before a tag begins: they may ask to stop."""
    waits: Wait = {}
    for source, offset in plan.stops:
        if source.worker != worker:
            waits[source.worker, offset] = max(waits.get((source.worker, offset), -1), source.writers[-1])
    return waits
