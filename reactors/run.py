"""How does a program run?

Elaborated, placed, flattened into an arena, and then handed to one of three backends: this thread alone (`inline`), a
thread per worker, or a process per worker. The core that they run is the same, and so is what comes out.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import resource
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from reactors.elaboration.claim import claimed
from reactors.elaboration.placing import placed
from reactors.elaboration.tree import check_main
from reactors.elaboration.workers import Backend, Workers, where_to_run
from reactors.errors import (
    ArgumentError,
    ContainmentError,
    MemoryTooSmall,
    MicrostepLimitError,
    ReactionError,
    ReactorError,
    ReactorWarning,
    ReplayError,
    RunWhileImported,
    TooManyOpenFiles,
    WorkerStartError,
)
from reactors.execution import recording as logs
from reactors.execution import timeline
from reactors.execution.bare_numbers import warn_of_bare_numbers
from reactors.execution.binding import Binding, Context, settle
from reactors.execution.clock import VirtualClock
from reactors.execution.progress import Progress
from reactors.execution.result import Result, collect
from reactors.execution.spreading import advice
from reactors.graph import Graph
from reactors.model.bank import Bank
from reactors.model.modes import note_states
from reactors.model.reactor import Reactor
from reactors.model.thread_state import Running, executing, not_in_a_reaction
from reactors.names.keywords import spelled_out
from reactors.tag import Tag
from reactors.time import LONGEST, Duration, duration
from reactors_runtime import callers
from reactors_runtime import engine as engines
from reactors_runtime.engine import Engine, NotRecorded, ReactionFailed, Runaway
from reactors_runtime.memory import ROOM, Memory, OutOfMemory
from reactors_runtime.planning import placement as placements
from reactors_runtime.planning.image import Image
from reactors_runtime.planning.options import Options
from reactors_runtime.processes import terminal
from reactors_runtime.processes.interrupts import Interrupts
from reactors_runtime.processes.stuck import Stopping
from reactors_runtime.program import Kind
from reactors_runtime.settings import numeric_threads
from reactors_runtime.settings.value_settings import ValueSettings
from reactors_runtime.spelling import spell
from reactors_runtime.suggestions import suggestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

Placement: TypeAlias = "Literal['auto'] | Mapping[str, int] | Callable[[str], int | None]"

# How long a worker looks before it sleeps. A sleeping core wakes in 12 us on bare metal, in a virtual machine in 50
# to 200, and a round of lock-step simulation, in which half of the workers may have nothing to do, takes up to 1 ms.
SPIN_NS = 2_000_000

E = TypeVar("E", bound=ReactorError)


@spelled_out("rx.run")
def run(
    main: Reactor | Graph,
    *,
    workers: Workers = 1,
    backend: Backend = "auto",
    fast: bool = False,
    timeout: Duration | None = None,
    keepalive: bool | None = None,
    seed: int = 0,
    placement: Placement = "auto",
    clock: VirtualClock | None = None,
    record: str | os.PathLike[str] | None = None,
    replay: str | os.PathLike[str] | None = None,
    trace: str | os.PathLike[str] | None = None,
    progress: bool | Callable[[Tag, float, float | None], None] | None = None,
    debug: bool = False,
    max_microsteps: int | None = None,
) -> Result:
    """Run a program to its end: a timeout, a request to stop, or nothing left to do.

    `workers` run reactions at the same time ("auto": as many as this process may use cores), in this thread if there is
    one, else in processes (`backend`). `fast` does
    not wait for physical time. `timeout` is logical time, and inclusive. `keepalive` waits for physical actions when
    nothing else is left (by default if the program has any). `placement` maps paths of reactors to workers where "auto"
    will not do. With a `clock`, time passes only when nobody has anything to do. `record` names a file for what comes
    from outside, and `replay` one from which that is taken instead. `trace` names a file for a timeline that
    chrome://tracing and Perfetto show. `progress` draws a line, or calls a function with the tag, the seconds since the
    start, and how much of the timeout is over. `debug` checks what is too dear to check every day: types on ports,
    shared values that are changed, globals that reactions set, draws from global random generators, tensors whose graph
    would get lost. `max_microsteps` at one time is an error. Numeric libraries use one thread in each worker, or as
    many as OMP_NUM_THREADS says.

    Raises `ReactorError`: what elaboration finds, `ReactionError` with the exception of a reaction as its cause,
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
    writable(trace, "trace")
    outside_world(fast, clock, record, replay)
    limit = None if timeout is None else duration(timeout, "timeout of rx.run")
    reactor = main.main if isinstance(main, Graph) else whole(main)
    with claimed(reactor):
        check_main(reactor)  # which has become part of another program, perhaps, since a graph was made of it
        graph = main if isinstance(main, Graph) else Graph(reactor, debug=debug)
        way = chosen(backend, workers)
        if way == "process":
            from reactors_runtime.processes import servers

            with contextlib.suppress(servers.ServerDied, OSError):  # what is wrong with it is said when it is needed
                servers.warm_up(("reactors.shipping.parcels",))  # it starts while the image is made
        program = graph.program
        where = placed(graph.program, workers, placement)
        if placement == "auto":
            warn_of_idleness(graph, where, workers)
        physical = any(element.kind == Kind.PHYSICAL_ACTION for element in program.elements)
        options = Options(
            fast=fast,
            keepalive=physical and clock is None if keepalive is None else keepalive,
            timeout=limit,
            spin=SPIN_NS if workers <= len(os.sched_getaffinity(0)) else 0,
            processes=way == "process",
            max_microsteps=max_microsteps or 0,
            trace=1 << 16 if trace is not None else 0,
            epoch=time.time_ns() - time.monotonic_ns(),
            virtual_time=clock is not None,
            virtual_sleep=clock is not None and clock.sleep,
            injections=[] if clock is None else clock.events(graph, plain=record is not None),
        )
        if record is not None:
            options.record = logs.begin(record, graph, seed, fast=fast)
        if replay is not None:
            recorded = logs.read(replay, graph)
            seed, options.replay, options.fast, options.keepalive = recorded.seed, recorded.replay, True, True
        if options.waits:
            warn_of_bare_numbers(graph, timeout)
        image = Image(program, placements.gathered(program, where), workers, options)
        spills = way == "process" or options.plain
        with enough_files(graph.main.path), reserved(graph, image, spills=spills) as memory:
            image.write(memory)
            for each in graph.reactors:
                each._run_seed, each._rng = seed, None
            try:
                with (
                    left_behind(graph, image, memory, trace),
                    Progress(progress, image, memory, way == "inline") as line,
                ):
                    BACKEND[way](graph, image, memory, line, debug)
            except ReactionFailed as failed:
                raise failure(graph, failed, way) from failed.exception
            except Runaway as error:
                raise noted(MicrostepLimitError(runaway(graph, error)), error) from None
            except NotRecorded as error:
                raise noted(ReplayError(f"{graph.main.path}: {error}"), error) from None
            return collect(graph, image, memory, seed, way)


def reserved(graph: Graph, image: Image, *, spills: bool) -> Memory:
    """The memory of a run; `spills`: with room for values that outgrow their places."""
    try:
        return Memory.reserve(image.size, room=ROOM if spills else 0, shares=image.shares)
    except OutOfMemory as error:
        raise MemoryTooSmall(f"{graph.main.path}: {error}") from None


@contextlib.contextmanager
def enough_files(path: str) -> Iterator[None]:
    """Say what is wrong where the run of `path` needs one more file descriptor than there are."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE):
            raise
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        raise TooManyOpenFiles(
            f"{path}: its run needs more open files than are left: this process may have {limit}, a worker process "
            "takes two, and twelve serve all of them; close files, use fewer workers, or allow more (ulimit -n)"
        ) from error


@contextlib.contextmanager
def left_behind(graph: Graph, image: Image, memory: Memory, trace: str | os.PathLike[str] | None) -> Iterator[None]:
    """Write the end of the log and the trace, however the run ends.

    If that fails, it never hides what the run ended with: then it is a note of that. Without a trace a run is as good;
    without the end of its log it is not what was asked for.
    """
    try:
        yield
    except BaseException as error:
        traced = "" if trace is None else timeline.written(trace, graph, image, memory)
        for problem in (logs.finished(image, memory), traced):
            if problem and problem not in str(error):
                error.add_note(problem)
        raise
    problem = logs.finished(image, memory)
    if problem:
        raise ReplayError(f"{graph.main.path}: {problem}")
    if trace is not None and (problem := timeline.written(trace, graph, image, memory)):
        callers.warn(problem, ReactorWarning)


# ---- backends ----


def inline(graph: Graph, image: Image, memory: Memory, line: Progress, debug: bool) -> None:  # noqa: ARG001
    """In this thread, where a debugger can follow."""
    binding = Binding(graph.elements, debug=debug)
    with numeric_threads.limited():
        alone(graph, image, memory, 0, binding, {})


def alone(graph: Graph, image: Image, memory: Memory, worker: int, binding: Binding, shared: dict[int, Any]) -> None:
    """One worker with the user's own objects."""
    engine = Engine(image, worker, memory, shared)
    mine = [reactor for reactor in graph.reactors if image.placement[reactor._index] == worker]
    running = Running()
    try:
        binding.attach(engine)
        context = Context(engine)
        for reactor in mine:
            reactor._engine = context
            settle(reactor)
        executing.run = running
        note_states(engine, mine)
        bodies, late = [graph.bodies[n] for n in engine.reactions], [graph.late[n] for n in engine.reactions]
        engine.run(bodies, late)  # type: ignore[arg-type]  # a native body is never called
    finally:
        executing.run = None
        running.end()
        for reactor in mine:
            reactor._engine = None
        if image.workers == 1:
            binding.detach()
        engine.close()


def in_threads(graph: Graph, image: Image, memory: Memory, line: Progress, debug: bool) -> None:
    """A thread per worker, all with the user's own objects."""
    binding = Binding(graph.elements, debug=debug)
    shared: dict[int, Any] = {}
    failures: dict[int, BaseException] = {}
    values = ValueSettings.now()

    def work(worker: int) -> None:
        try:
            values.accept_in_thread()
            with numeric_threads.limited():
                alone(graph, image, memory, worker, binding, shared)
        except BaseException as error:  # noqa: BLE001 - raised again where they are joined
            failures[worker] = error
            engines.abort(memory, image)
            stopping.begin()

    # What never returns cannot be ended in a thread; as a daemon it ends with the process.
    threads = [
        threading.Thread(target=work, args=(w,), name=f"reactors worker {w}", daemon=True) for w in range(image.workers)
    ]
    stopping = Stopping(image, memory, "Ctrl-C leaves it behind")

    def go_on() -> bool:
        """After a little while: whether there is a worker to wait for. Not after a second Ctrl-C."""
        running = {worker: thread for worker, thread in enumerate(threads) if thread.is_alive()}
        for thread in running.values():
            thread.join(0.02)
        stopping.look(dict.fromkeys(running))
        return bool(running) and interrupts.count < 2

    try:
        # Around all threads: so the last that ends is not the one that puts it back.
        with numeric_threads.limited(), Interrupts() as interrupts, terminal.debug_threads(threads):
            try:
                for worker, thread in enumerate(threads):
                    start(thread, f"worker {worker}")
                while go_on():
                    line.look()
                    if interrupts.count:
                        engines.abort(memory, image, engines.INTERRUPTED)
                        stopping.begin()
            except BaseException:  # from `progress`, a signal handler of the user, or there are no more threads
                engines.abort(memory, image)
                stopping.begin()
                while go_on():
                    pass
                raise
    finally:
        if image.workers > 1:
            binding.detach()
    found = [*([KeyboardInterrupt()] if interrupts.count else []), *failures.values()]
    if found:
        raise first(graph, ((error, is_aftermath(error)) for error in found))


def start(thread: threading.Thread, what: str) -> None:
    """Start a thread; `WorkerStartError` if the system refuses."""
    try:
        thread.start()
    except RuntimeError as error:
        from reactors_runtime.processes import faults

        raise WorkerStartError(str(faults.not_started(what, str(error)))) from error


def in_processes(graph: Graph, image: Image, memory: Memory, line: Progress, debug: bool) -> None:
    """A process per worker; the reactors travel there and their attributes back."""
    from reactors.shipping import parcels
    from reactors_runtime.processes import workers

    binding = Binding(graph.elements, debug=debug)
    parts = {worker: parcels.pack(graph, image, worker, debug=debug) for worker in range(image.workers)}
    binding.attach_caller(image, memory)
    try:
        reports = workers.run(
            image, memory, parts, modules=parcels.modules(parts.values()), on_wait=line.look if line.looks else None
        )
    finally:
        binding.detach()
    parcels.unpack(graph, image, reports)
    failures = [(report.error, report.aftermath) for report in reports if report.error is not None]
    if failures:
        raise first(graph, failures)


BACKEND = {"inline": inline, "thread": in_threads, "process": in_processes}


def first(graph: Graph, failures: Iterable[tuple[BaseException, bool]]) -> BaseException:
    """What ended the program, with notes of all else that went wrong.

    What happened first in logical time, and what has no tag (Ctrl-C, a dead worker) before all others; but nothing that
    is only the `aftermath` of another's failure, as those are of which the second entry is true.
    """

    def when(failure: tuple[BaseException, bool]) -> tuple[bool, int, int, int]:
        error, aftermath = failure
        if isinstance(error, ReactionFailed):
            return aftermath, *error.tag, error.reaction
        if isinstance(error, Runaway):  # it is found before the reactions of its tag
            return aftermath, *error.tag, -1
        return aftermath, -1, 0, 0

    (cause, _), *others = sorted(failures, key=when)
    told = {str(cause)}  # all workers say the same of Ctrl-C, or of the end of what they were forked from
    for other, aftermath in others:
        if str(other) not in told:
            told.add(str(other))
            for note in (engines.besides(graph.program, other, aftermath=aftermath), *getattr(other, "__notes__", ())):
                cause.add_note(note)
    return cause


def is_aftermath(error: BaseException) -> bool:
    """Whether a reaction failed because the program was at its end already, as far as its own worker can say."""
    return isinstance(error, ReactionFailed) and error.aftermath


# ---- arguments and messages ----


def not_while_importing() -> None:
    """Refuse to run what a file runs when all that is wanted of it is what it defines."""
    from reactors_runtime.processes import worker

    if executing.definitions or worker.loading:
        what = "the program's classes are imported by a worker" if worker.loading else "the file is imported"
        raise RunWhileImported(
            f'rx.run while {what}: everything in the file is run then; put this call under if __name__ == "__main__":'
        )


def checked(seed: object, max_microsteps: object) -> None:
    """Refuse what `run` cannot be called with."""
    for name, value, least in (("seed", seed, 0), ("max_microsteps", max_microsteps, 1)):
        if value is None and name == "max_microsteps":
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ArgumentError(f"{name} of rx.run is {value!r}; write a whole number, {least} or more")
        if name == "max_microsteps" and value > LONGEST:
            raise ArgumentError(f"{name} of rx.run is {value}, more than 64 bits hold; leave it out for no limit")


def switches(**given: object) -> None:
    """Refuse what is neither on nor off."""
    for name, value in given.items():
        if not isinstance(value, bool) and not (value is None and name == "keepalive"):
            raise ArgumentError(f"{name} of rx.run is {value!r}, of type {type(value).__name__}; write True or False")


def writable(file: str | os.PathLike[str] | None, what: str) -> None:
    """Refuse before the run what could not be written after it."""
    if file is not None and not (folder := Path(file).parent).is_dir():
        raise ArgumentError(f"{what} of rx.run is {os.fspath(file)!r}, but there is no folder {str(folder)!r}; make it")


def outside_world(fast: bool, clock: object, record: str | os.PathLike[str] | None, replay: object) -> None:
    """Refuse what cannot go together."""
    writable(record, "record")
    if clock is not None and not isinstance(clock, VirtualClock):
        raise ArgumentError(f"clock of rx.run is {clock!r}; give an rx.VirtualClock, or leave it out")
    if clock is not None and fast:
        raise ArgumentError(
            "rx.run with fast=True does not look at the clock, so a VirtualClock has no effect; drop one"
        )
    if replay is not None and (record is not None or clock is not None):
        raise ArgumentError("rx.run with replay= takes everything from the log; leave clock= and record= out")


def warn_of_idleness(graph: Graph, where: list[int], workers: int) -> None:
    """Warn where nothing will happen, or nothing at the same time."""
    program = graph.program
    if not program.reactions and len(where) == 1:
        told = f"main (made at {graph.main._made_at}) has no reactions and contains no reactor; is a self. missing?"
        callers.warn(told, ReactorWarning)
    written = sum(not reactor.relay for reactor in program.reactors)
    if workers > 1 and written > 1 and not any(where):
        callers.warn(
            f"all {written} reactors of {graph.main.path} run on worker 0, and the others have nothing to do: of "
            f"itself, only a bank is spread; {advice(graph, workers)}",
            ReactorWarning,
        )


def chosen(backend: str, workers: int) -> str:
    """The backend that "auto" stands for."""
    if backend == "auto":
        free = not getattr(sys, "_is_gil_enabled", lambda: True)()
        backend = "inline" if workers == 1 else "thread" if free else "process"
    if backend == "inline" and workers != 1:
        raise ArgumentError(f'backend="inline" has one worker, and workers is {workers}; use "thread" or "process"')
    return backend


def whole(main: object) -> Reactor:
    """`main`, if it is a reactor that stands by itself."""
    if isinstance(main, type) and issubclass(main, Reactor):
        raise ContainmentError(
            f"rx.run takes a reactor, and was given the class {main.__qualname__}; write rx.run({main.__qualname__}())"
        )
    if not isinstance(main, Reactor):
        several = isinstance(main, Bank | list | tuple) and len(main)
        raise ArgumentError(
            f"rx.run takes a reactor or an rx.Graph, and was given {main!r}, of type {type(main).__name__}; "
            + (
                "to run several, assign them to attributes of one"
                if several
                else "make one: a class derived from rx.Reactor, called"
            )
        )
    return main


def failure(graph: Graph, failed: ReactionFailed, way: str) -> ReactionError:
    """A reaction's exception, as `run` raises it."""
    cause = failed.exception
    path = graph.program.name(failed.reaction) if failed.reaction >= 0 else "no reaction"
    tag = Tag(*failed.tag)
    said = f": {cause}" if str(cause) else ""
    what = failed.name(graph.program) if failed.reaction >= 0 else path
    error = ReactionError(f"{what} at {tag} raised {type(cause).__name__}{said}{remedy(cause, way)}", path, tag)
    return noted(error, failed)


def noted(error: E, found: BaseException) -> E:
    """An error as the user gets it, with the notes of what was found."""
    for note in getattr(found, "__notes__", ()):
        error.add_note(note)
    return error


def remedy(cause: BaseException, way: str) -> str:
    """What to do about an exception that is Python's or NumPy's, but has its reason here, or in the backend `way`."""
    if more := suggestion(cause):
        return more
    if isinstance(cause, SystemExit):
        return "; to end the program let the reaction declare effects=rx.stop and call self.request_stop()"
    if isinstance(cause, TypeError) and re.search(r"'(Input|Output|LogicalAction|PhysicalAction)'", str(cause)):
        return "; a port or action is no value itself: read it with .value, and write .set(...) or .schedule(...)"
    if isinstance(cause, ValueError) and "read-only" in str(cause):
        return "; arrays that come from a port are read-only: change a copy (port.value.copy())"
    if type(cause).__name__ == "BdbQuit" and terminal.ours() is None:
        if way == "process":
            return (
                "; in a worker process a debugger needs the terminal: run it on one, or with workers=1, "
                "backend='inline'"
            )
        if not terminal.typed():
            return "; a debugger ends where its input does, and standard input is no terminal: run it on one"
    if type(cause).__name__ == "BdbQuit":
        return ": the debugger was left with q, which ends the program; c goes on with it"
    return ""


def runaway(graph: Graph, error: Runaway) -> str:
    """What to say when time stands still."""
    from reactors.execution.standstill import circle

    loop = circle(graph.program, error.reactions)
    names = [graph.names[r] for r in (*loop, *loop[:1])]
    time, microsteps = error.tag
    return (
        f"time stands still at {spell(time)}: after {microsteps:,} microsteps these reactions still trigger one "
        f"another: {' -> '.join(names)}; give a delay in this loop a positive value, or raise max_microsteps"
    )
