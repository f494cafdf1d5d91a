"""A placement that comes from a file: a trace, from which it is calculated, or TOML, which was written from one.

`placement="profile:run.rxt"` searches as `reactors place` does; `placement="placement.toml"` takes what that has
written, and whatever was changed there since.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reactors.errors import PlacementError
from reactors.tracing.capacity import LATENCY_NS, Machine
from reactors.tracing.model import Model
from reactors.tracing.placing import best
from reactors.tracing.trace import Trace
from reactors_runtime.planning import placement as placements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reactors.tracing.placing import BestPlacement
    from reactors_runtime.program import Program

_PROFILE = "profile:"


def from_file(
    said: str, program: Program, workers: int, machines: int = 1, latency: int = LATENCY_NS
) -> dict[str, int]:
    """Workers by path; a message from machine to machine takes `latency` ns.

    Raises `PlacementError`, and `TraceError` for what is no trace.
    """
    if said.startswith(_PROFILE):
        name = said.removeprefix(_PROFILE)
        if not name:
            raise PlacementError(f"placement {said!r} names no file; write one, as in 'profile:run.rxt'")
        trace = Trace(name)
        if first := another(trace, program):
            raise PlacementError(
                f"placement {said!r} is of another program, {trace.header['program']}, or of other parameters: "
                f"{first}; trace this one"
            )
        machine = replace(Machine.here(workers // machines), machines=machines, latency=latency)
        return entries(trace, best(Model(trace), workers, machine).worker_of, workers)
    if said.endswith(".toml"):
        return _read(said, workers, machines)
    raise PlacementError(
        f'placement of rx.run is {said!r}; write "auto", "profile:run.rxt", a .toml file of reactors place, '
        "a dict, or a function of path -> worker"
    )


def another(trace: Trace, program: Program) -> str:
    """Where a trace is of another program than this one: the first reactor that differs; nothing if it is of this."""
    there, here = ([each.path for each in of.reactors] for of in (trace.program, program))
    if there == here:
        return ""
    return next((path for path, other in zip(there, here, strict=False) if path != other), "one has more reactors")


def entries(trace: Trace, worker_of: Sequence[int], workers: int) -> dict[str, int]:
    """The fewest entries that say the same as a worker for each reactor."""
    reactors = trace.program.reactors
    auto = placements.spread(reactors, workers)
    found: dict[str, int] = {}
    chosen: dict[str, int] = {}  # those that what they contain inherits from
    for number, reactor in enumerate(reactors):
        inherited = chosen.get(reactor.path.rpartition(".")[0])
        differs = worker_of[number] != (auto[number] if inherited is None else inherited)
        if differs:
            found[reactor.path] = worker_of[number]
        if differs or inherited is not None:
            chosen[reactor.path] = worker_of[number]
    return found


def text(trace: Trace, found: Sequence[BestPlacement]) -> str:
    """TOML with a table for each number of workers."""
    lines = [
        f"# Where the reactors of {trace.header['program']} run, from {trace.path.name}.",
        '# rx.run(..., workers=N, placement="FILE.toml") takes the table [workers-N]; on M machines, which share them',
        "# out by their numbers, it is [machines-M-workers-N]. What has no line is where what",
        "# contains it is; else members of banks are spread, and all else is on worker 0.",
    ]
    for placed in found:
        gain = placed.auto.seconds / placed.prediction.seconds if placed.prediction.seconds else 1.0
        lines += ["", f'[{_table(placed.workers, placed.machines)}]  # predicted: {gain:.2f} times as fast as "auto"']
        lines += [f'"{path}" = {worker}' for path, worker in entries(trace, placed.worker_of, placed.workers).items()]
    return "\n".join([*lines, ""])


def _table(workers: int, machines: int) -> str:
    return f"workers-{workers}" if machines == 1 else f"machines-{machines}-workers-{workers}"


def _read(name: str, workers: int, machines: int) -> dict[str, int]:
    try:
        found: dict[str, Any] = tomllib.loads(Path(name).read_text())
    except OSError as error:
        raise PlacementError(f"placement {name!r} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PlacementError(f"placement {name!r} is no TOML: {error}") from None
    wanted = _table(workers, machines)
    table = found.get(wanted)
    if not isinstance(table, dict):
        there = ", ".join(f"[{each}]" for each in found) or "none"
        on = "" if machines == 1 else f" --machines {machines}"
        raise PlacementError(
            f"placement {name!r} has no table [{wanted}]; it has {there}; reactors place --workers {workers}{on} makes "
            "one"
        )
    return table
