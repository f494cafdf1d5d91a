"""Which worker runs which reactor?

Members of a bank are alike, so a bank is spread over the workers in contiguous blocks, each member with all that it
contains; an outer bank decides for the banks inside it. Everything else stays together on worker 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from reactors_runtime.program import Program, Reactor


def spread(reactors: Sequence[Reactor], workers: int) -> list[int]:
    """A worker for each reactor.

    >>> from reactors_runtime.program import Reactor
    >>> bank = [Reactor(f"main.r[{i}]", ("main.r", i, 4)) for i in range(4)]
    >>> spread([Reactor("main"), *bank, Reactor("main.last")], 2)
    [0, 0, 0, 1, 1, 0]
    """
    placed: list[int] = []
    inside, worker = "", 0  # the bank member that we are in
    for reactor in reactors:
        if not (inside and reactor.path.startswith(inside)):
            inside, worker = "", 0
            if reactor.bank is not None:
                _, index, width = reactor.bank
                inside, worker = reactor.path + ".", index * workers // width
        placed.append(worker)
    return placed


def gathered(program: Program, placed: list[int]) -> list[int]:
    """The same, but whatever lies in a mode is where its modal reactor is: who is active is known there."""
    placed = list(placed)
    for i, reactor in enumerate(program.reactors):
        if reactor.mode >= 0:
            placed[i] = placed[program.modes[reactor.mode].reactor]
    return placed


def overridden(
    reactors: Sequence[Reactor], workers: int, choice: Mapping[str, int] | Callable[[str], object]
) -> list[int]:
    """A worker for each reactor, by a mapping or function of its path.

    What it leaves open (no entry, or None) goes where its container is, or is spread as usual. Raises `ValueError` for
    a worker that there is not, and `KeyError` for an entry that names no reactor.
    """
    placed = spread(reactors, workers)
    if not callable(choice):
        unknown = sorted(set(choice) - {reactor.path for reactor in reactors})
        if unknown:
            raise KeyError(unknown[0])
    chosen: dict[str, int] = {}
    for i, reactor in enumerate(reactors):
        worker: object = choice(reactor.path) if callable(choice) else choice.get(reactor.path)
        container = reactor.path.rpartition(".")[0]
        if worker is None and container in chosen:
            worker = chosen[container]
        if worker is None:
            continue
        if isinstance(worker, bool) or not isinstance(worker, int) or not 0 <= worker < workers:
            raise ValueError(f"{reactor.path}: {worker!r}")
        placed[i] = chosen[reactor.path] = worker
    return placed
