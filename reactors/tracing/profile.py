"""A placement that comes from a file: a trace, from which it is calculated, or TOML, which was written from one.

`placement="profile:run.rxt"` searches as `reactors place` does; `placement="placement.toml"` takes what that has
written, and whatever was changed there since.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reactors.errors import PlacementError
from reactors.tracing.capacity import Machine
from reactors.tracing.model import Model
from reactors.tracing.placing import best
from reactors.tracing.trace import Trace
from reactors_runtime.planning import placement as placements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reactors.tracing.placing import BestPlacement
    from reactors_runtime.program import Program

_PROFILE = "profile:"


def from_file(said: str, program: Program, workers: int) -> dict[str, int]:
    """Workers by path. Raises `PlacementError`, and `TraceError` for what is no trace."""
    if said.startswith(_PROFILE):
        trace = Trace(said.removeprefix(_PROFILE))
        paths = [reactor.path for reactor in program.reactors]
        if [each["path"] for each in trace.reactors] != paths:
            first = next((a for a, b in zip_paths(trace, paths) if a != b), "")
            raise PlacementError(
                f"placement {said!r} is of another program, {trace.header['program']}, or of other parameters: "
                f"{first or 'there are more reactors now'}; trace this one"
            )
        model = Model(trace)
        return entries(trace, best(model, workers, Machine.here(workers)).worker_of, workers)
    if said.endswith(".toml"):
        return _read(said, workers)
    raise PlacementError(
        f'placement of rx.run is {said!r}; write "auto", "profile:run.rxt", a .toml file of reactors place, '
        "a dict, or a function of path -> worker"
    )


def zip_paths(trace: Trace, paths: Sequence[str]) -> list[tuple[str, str]]:
    """Those of the trace, and those of the program."""
    return list(zip((each["path"] for each in trace.reactors), paths, strict=False))


def entries(trace: Trace, worker_of: Sequence[int], workers: int) -> dict[str, int]:
    """The fewest entries that say the same as a worker for each reactor."""
    reactors = trace.program.reactors
    auto = placements.spread(reactors, workers)
    found: dict[str, int] = {}
    for number, reactor in enumerate(reactors):
        container = reactor.path.rpartition(".")[0]
        inherited = found.get(container)
        if worker_of[number] != (auto[number] if inherited is None else inherited):
            found[reactor.path] = worker_of[number]
        elif inherited is not None:
            found[reactor.path] = inherited  # what it contains inherits from it
    return {path: worker for path, worker in found.items() if _needed(path, worker, found)}


def _needed(path: str, worker: int, found: dict[str, int]) -> bool:
    container = path.rpartition(".")[0]
    return found.get(container) != worker


def text(trace: Trace, found: Sequence[BestPlacement]) -> str:
    """TOML with a table for each number of workers."""
    lines = [
        f"# Where the reactors of {trace.header['program']} run, from {trace.path.name}.",
        '# rx.run(..., workers=N, placement="FILE.toml") takes the table [workers-N]; what has no line is where',
        '# placement="auto" has it, or where what contains it is.',
    ]
    for placed in found:
        gain = placed.auto.seconds / placed.prediction.seconds if placed.prediction.seconds else 1.0
        lines += ["", f'[workers-{placed.workers}]  # predicted: {gain:.2f} times as fast as "auto"']
        lines += [f'"{path}" = {worker}' for path, worker in entries(trace, placed.worker_of, placed.workers).items()]
    return "\n".join([*lines, ""])


def _read(name: str, workers: int) -> dict[str, int]:
    try:
        found: dict[str, Any] = tomllib.loads(Path(name).read_text())
    except OSError as error:
        raise PlacementError(f"placement {name!r} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PlacementError(f"placement {name!r} is no TOML: {error}") from None
    table = found.get(f"workers-{workers}")
    if not isinstance(table, dict):
        there = ", ".join(each.removeprefix("workers-") for each in found) or "none"
        raise PlacementError(
            f"placement {name!r} has no table [workers-{workers}], only for {there} workers; reactors place "
            f"--workers {workers} makes one"
        )
    return table
