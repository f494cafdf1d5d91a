"""Which program is executed again, and from where can that begin?

From its start; a training also from each of its checkpoints, whose tags are those of the run that wrote them.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from reactors.elaboration.claim import claimed
from reactors.elaboration.contents import check_main
from reactors.elaboration.placing import placed
from reactors.errors import ReplayError
from reactors.execution import arena
from reactors.execution.arguments import outside_world, whole
from reactors.graph import Graph
from reactors.reports import recording
from reactors.rewinding.timeline import Timeline
from reactors.time import Duration, duration
from reactors_runtime.planning import placement as placements
from reactors_runtime.planning.image import Image
from reactors_runtime.program import Kind

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from reactors.execution.clock import VirtualClock
    from reactors.model.reactor import Reactor


@dataclass(frozen=True)
class Origin:
    """A beginning of a program: what is executed at tags before `first` is not executed from here.

    Nor is what is later than `ends`, if `cut` says why.
    """

    name: str
    first: int  # ns
    begin: Callable[[], Timeline]
    ends: int = 0  # ns
    cut: str = ""


class CanBegin(Protocol):
    """A place from which a training can begin, as a library on top of this says it."""

    name: str
    first: int
    """Ns, of what is executed from there."""
    seed: int
    ends: int
    """Ns, when the run was over, or what can be executed from there."""
    cut: str
    """Why the run went on after that; empty: it did not."""

    def graph(self) -> Graph:
        """The program as it begins there."""
        ...


def of_folder(folder: str | os.PathLike[str], *, quiet: bool, **given: Any) -> list[Origin]:
    """The origins of the training in a folder; `given` is what `rl.load` takes where a folder does not say enough."""
    again = import_module("reactors.rl.runs.again")  # by name, for no room below `rl` imports it
    found: list[CanBegin] = again.beginnings(folder, **given)

    def origin(beginning: CanBegin) -> Origin:
        def begin() -> Timeline:
            said: dict[str, Any] = {"seed": beginning.seed, "timeout": beginning.ends, "replay": None, "clock": None}
            return of_program(beginning.graph(), **said, quiet=quiet, debug=False).begin()

        return Origin(beginning.name, beginning.first, begin, beginning.ends, beginning.cut)

    return [*map(origin, found)]


def of_program(
    main: Reactor | Graph,
    *,
    seed: int,
    timeout: Duration | None,
    replay: str | os.PathLike[str] | None,
    clock: VirtualClock | None,
    quiet: bool,
    debug: bool,
    first: int = 0,
    name: str = "its start",
) -> Origin:
    """The start of a program, with what `rx.run` was given; `ReplayError` if it may run otherwise the next time."""
    outside_world(False, clock, None, replay)
    limit = None if timeout is None else duration(timeout, "timeout of rx.Replay")
    reactor = main.main if isinstance(main, Graph) else whole(main)
    with claimed(reactor):
        check_main(reactor)
        graph = main if isinstance(main, Graph) else Graph(reactor, debug=debug)
    if replay is None and clock is None:
        _refuse_outside(graph)

    def begin() -> Timeline:
        program = graph.program
        said: dict[str, Any] = {"timeout": limit, "keepalive": False, "fast": clock is None, "values": True}
        run_seed = seed
        if replay is not None:
            recorded = recording.read(replay, graph)
            run_seed = recorded.seed
            said |= {"replay": recorded.replay, "keepalive": True}
        if clock is not None:
            said |= {
                "virtual_time": True, "virtual_sleep": clock.sleep, "injections": clock.events(graph, plain=False)
            }  # fmt: skip
        where = placements.gathered(program, placed(program, 1, "auto"))
        image = Image(program, where, 1, arena.options(1, processes=True, **said))
        with arena.enough_files(graph.main.path):
            memory = arena.filled(graph, image, run_seed, spills=True)
            return Timeline(graph, image, memory, quiet=quiet, debug=debug)

    return Origin(name, first, begin)


def _refuse_outside(graph: Graph) -> None:
    """Refuse what depends on when it happens, where nothing says when it did."""
    found: list[Any] = [
        f"{element.path}, which comes from outside"
        for element in graph.program.elements
        if element.kind == Kind.PHYSICAL_ACTION or element.physical
    ]
    found += [
        f"{name}, which has a deadline"
        for row, name in zip(graph.program.reactions, graph.names, strict=True)
        if row.deadline is not None
    ]
    if found:
        raise ReplayError(
            f"{graph.main.path} has {found[0]}: no second run is like the first; record one with "
            'rx.run(..., record="run.rxlog"), and give rx.Replay that log (replay="run.rxlog"), or a clock'
        )
