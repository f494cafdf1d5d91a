"""How does a program run?

Elaborated, placed, flattened into an arena, and then handed to one of three backends: this thread alone (`inline`), a
thread per worker, or a process per worker. The core that they run is the same, and so is what comes out.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Literal, TypeAlias

from reactors.elaboration.claim import claimed
from reactors.elaboration.contents import check_main
from reactors.elaboration.placing import by_hand, placed
from reactors.elaboration.workers import Backend, Pin, Workers, check_pin, where_to_run
from reactors.errors import (
    ArgumentError,
    MicrostepLimitError,
    ReplayError,
)
from reactors.execution import arena
from reactors.execution.arguments import (
    checked,
    chosen,
    different,
    not_while_importing,
    outside_world,
    several,
    switches,
    to_compare,
    whole,
    writable,
)
from reactors.execution.bare_numbers import warn_of_bare_numbers
from reactors.execution.inline import inline
from reactors.graph import Graph
from reactors.model.thread_state import not_in_a_reaction
from reactors.names.keywords import spelled_out
from reactors.reports.failures import failure, noted, runaway
from reactors.reports.idleness import warn_of_idleness
from reactors.reports.progress import Progress
from reactors.reports.result import Result, collect
from reactors.time import Duration, duration
from reactors_runtime.engine import NotRecorded, ReactionFailed, Runaway
from reactors_runtime.planning import placement as placements
from reactors_runtime.planning.image import Image
from reactors_runtime.program import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reactors.execution.clock import VirtualClock
    from reactors.machines.machines import Machines
    from reactors.model.reactor import Reactor
    from reactors.tag import Tag
    from reactors_runtime.machines.keeping import RunFiles
    from reactors_runtime.machines.leading import Gathering
    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.options import RunOptions

SPANS = 1 << 17  # that wait to be written into a trace, at most, of each worker: 8 MiB
Digest: TypeAlias = Literal["behaviour", "values"]
Live: TypeAlias = "bool | Literal['attach']"
Placement: TypeAlias = "str | Mapping[str, int] | Callable[[str], int | None]"


@spelled_out("rx.run")
def run(
    main: Reactor | Graph,
    *,
    workers: Workers = 1,
    backend: Backend = "auto",
    pin: Pin = "auto",
    fast: bool = False,
    timeout: Duration | None = None,
    keepalive: bool | None = None,
    seed: int = 0,
    placement: Placement = "auto",
    machines: Machines | None = None,
    clock: VirtualClock | None = None,
    record: str | os.PathLike[str] | None = None,
    replay: str | os.PathLike[str] | None = None,
    journal: str | os.PathLike[str] | None = None,
    journal_states: int | None = None,
    digest: Digest = "behaviour",
    trace: str | os.PathLike[str] | None = None,
    live: Live = False,
    progress: bool | Callable[[Tag, float, float | None], None] | None = None,
    debug: bool = False,
    max_microsteps: int | None = None,
) -> Result:
    """Run a program to its end: a timeout, a request to stop, or nothing left to do.

    `workers` run reactions in parallel ("auto": as many as the cores that this process may use): in this thread if
    there is one worker, otherwise in processes (`backend`). With `pin=True`, each stays on its own core; by default, a
    worker only moves off a core on which another one is to run; `False` leaves all of this to the system. `fast` does
    not wait for physical time. `timeout` is logical time, and inclusive. `keepalive` waits for physical actions when
    nothing else is left to do (by default if the program has any).

    `placement` maps paths of reactors to workers where "auto" is not good enough, or names a file: "profile:run.rxt",
    the trace of an earlier run, for which the best placement is searched, or "placement.toml" from `reactors place`.
    `machines` says on which machines the workers run; workers are numbered machine by machine. With a `clock`, time
    passes only when no worker has anything to do.

    `record` names a file for external events, and `replay` one from which they are taken instead. `journal` names a
    file (`run.rxj`) for hashes of everything that reactions write, from which `reactors diff` finds where two runs
    diverge; with `journal_states=N`, also a hash of a reactor's attributes after every N executions of its reactions.
    `digest="values"` gives `Result.value_digest` without a file. `trace` names a file for everything that ran, when and
    where, and for what workers waited: `run.rxt`, which `rx.Trace` reads and `reactors trace` converts for Perfetto, or
    `run.json`, a timeline for chrome://tracing. `live` shows what workers are doing, in a terminal or a notebook, and
    lets `reactors top` and `reactors view` attach; "attach" only allows that. `progress` draws a line, or calls a
    function with the tag, the seconds since the start, and the fraction of the timeout that is over; of several
    machines, this one is looked at.

    `debug` makes checks that are too slow for every day: types on ports, changes of shared values, globals that
    reactions set, draws from global random generators, tensors whose graph would get lost. It is an error if one time
    has `max_microsteps` microsteps. Numeric libraries use one thread in each worker, or as many as OMP_NUM_THREADS
    says.

    Raises `ReactorError`: errors of elaboration, `ReactionError` with the exception of a reaction as its cause,
    `WorkerDied`; and `KeyboardInterrupt` after the shutdown reactions have run.

    >>> import reactors as rx
    >>> class Once(rx.Reactor):
    ...     @rx.reaction(rx.startup)
    ...     def hello(self):
    ...         print("hello at", self.tag)
    >>> rx.run(Once()).reactions
    hello at 0 s
    1
    """
    not_in_a_reaction("rx.run")
    not_while_importing()
    workers = where_to_run(workers, backend, "rx.run")
    checked(seed, max_microsteps)
    switches(fast=fast, keepalive=keepalive, debug=debug)
    if live not in (True, False, "attach"):
        raise ArgumentError(f'live of rx.run is {live!r}; write True, or "attach" to let others look on')
    writable(trace, "trace")
    to_compare(digest, journal, journal_states, machines)
    outside_world(fast, clock, record, replay)
    different(record=record, replay=replay, journal=journal, trace=trace)
    if machines is not None:
        several(machines, backend)
    check_pin(pin, workers, "rx.run", machines)
    limit = None if timeout is None else duration(timeout, "timeout of rx.run")
    reactor = main.main if isinstance(main, Graph) else whole(main)
    with claimed(reactor), contextlib.ExitStack() as stack:
        check_main(reactor)  # which has become part of another program, perhaps, since a graph was made of it
        graph = main if isinstance(main, Graph) else Graph(reactor, debug=debug)
        way = chosen(backend, workers) if machines is None else "process"
        if way == "process":
            from reactors_runtime.processes import servers

            with contextlib.suppress(servers.ServerDied, OSError):  # what is wrong with it is said when it is needed
                servers.warm_up(("reactors.shipping.parcels",))  # it starts while the image is made
        program = graph.program
        if machines is not None:
            placement = machines.numbered(placement, workers)
        machine_of = () if machines is None else machines.machine_of(workers)
        gathering = None
        if machines is not None and isinstance(placement, str) and placement.startswith("profile:"):
            # it needs to know what a message between them takes
            gathering = stack.enter_context(machines.gathered(workers))
        where = placed(program, workers, _read(placement, graph, workers, machines, gathering), machine_of)
        if placement == "auto":
            warn_of_idleness(graph, where, workers)
        physical = any(element.kind == Kind.PHYSICAL_ACTION for element in program.elements)
        options = arena.options(
            workers,
            pin=pin,
            fast=fast,
            keepalive=physical and clock is None if keepalive is None else keepalive,
            timeout=limit,
            processes=way == "process",
            machine_of=machine_of,
            here=None if machines is None else machines.here(workers),
            max_microsteps=max_microsteps or 0,
            trace=SPANS if trace is not None else 0,
            by_hand=by_hand(placement),
            virtual_time=clock is not None,
            virtual_sleep=clock is not None and clock.sleep,
            injections=[] if clock is None else clock.events(graph, plain=record is not None),
        )
        options.values, options.states = journal is not None or digest == "values", journal_states or 0
        seed = _with_files(options, graph, seed, record, replay, journal)
        if options.waits:
            warn_of_bare_numbers(graph, timeout)
        image = Image(program, placements.gathered(program, where), workers, options)
        spills = way == "process" or options.plain
        with arena.enough_files(graph.main.path), arena.filled(graph, image, seed, spills=spills) as memory:
            try:
                with (
                    _left_behind(graph, image, memory, trace, seed, way) as files,
                    _watched(graph, image, memory, live, seed, way),
                    Progress(progress if live is not True else None, image, memory, way == "inline") as line,
                ):
                    _backend(way, machines, files, gathering)(graph, image, memory, line, debug)
            except ReactionFailed as failed:
                raise failure(graph, failed, way) from failed.exception
            except Runaway as error:
                raise noted(MicrostepLimitError(runaway(graph, error)), error) from None
            except NotRecorded as error:
                raise noted(ReplayError(f"{graph.main.path}: {error}"), error) from None
            return collect(graph, image, memory, seed, way, _readable(trace))


def _with_files(
    options: RunOptions,
    graph: Graph,
    seed: int,
    record: str | os.PathLike[str] | None,
    replay: str | os.PathLike[str] | None,
    journal: str | os.PathLike[str] | None,
) -> int:
    """Open the files that workers write, and read what is replayed; returns the seed, which a replay decides."""
    if record is not None or replay is not None:
        from reactors.reports import recording

        if record is not None:
            options.record = recording.begin(record, graph, seed, fast=options.fast)
        if replay is not None:
            recorded = recording.read(replay, graph)
            seed, options.replay, options.fast, options.keepalive = recorded.seed, recorded.replay, True, True
    if journal is not None:
        from reactors.reports import journal_writer

        options.journal = journal_writer.begin(journal)
    return seed


def _watched(
    graph: Graph, image: Image, memory: Memory, live: Live, seed: int, way: str
) -> contextlib.AbstractContextManager[None]:
    """A context in which others can watch the run."""
    if live is False:
        return contextlib.nullcontext()
    from reactors.reports.trace_header import header
    from reactors.viewing.live import live as watched

    return watched(header(graph, image, seed, way), image, memory, show=live is True)


def _readable(trace: str | os.PathLike[str] | None) -> str | None:
    """The trace if `rx.Trace` can read it, which is not so for a timeline."""
    name = None if trace is None else os.fspath(trace)
    return None if name is None or name.endswith(".json") else name


def _read(
    placement: Placement, graph: Graph, workers: int, machines: Machines | None, gathering: Gathering | None
) -> Placement:
    """A placement with a named file replaced by its contents."""
    if not isinstance(placement, str) or placement == "auto":
        return placement
    from reactors.tracing.profile import from_file

    count = 1 if machines is None else machines.count
    return from_file(placement, graph.program, workers, count, *([] if gathering is None else [gathering.latency]))


def _backend(
    way: str, machines: Machines | None, files: RunFiles | None, gathering: Gathering | None
) -> Callable[[Graph, Image, Memory, Progress, bool], None]:
    """The function that runs the workers; imported late, because a single worker does not need it."""
    if machines is not None:
        from reactors.machines.on_machines import on_machines

        assert files is not None
        return on_machines(machines, files, gathering)
    if way == "process":
        from reactors.shipping.processes import in_processes

        return in_processes
    if way == "thread":
        from reactors.execution.in_threads import in_threads

        return in_threads
    return inline


def _left_behind(
    graph: Graph, image: Image, memory: Memory, trace: str | os.PathLike[str] | None, seed: int, way: str
) -> contextlib.AbstractContextManager[RunFiles | None]:
    """A context for the files that a run leaves behind."""
    options = image.options
    if options.record is None and options.journal is None and trace is None and not options.machine_of:
        return contextlib.nullcontext()
    from reactors.reports.files import left_behind

    return left_behind(graph, image, memory, trace, seed, way)
