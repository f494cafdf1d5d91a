"""How do you test a program of reactors?

`trace` says what ran, in order. `assert_deterministic` runs a program on several numbers of workers, and compares.
`inject` lets something go wrong in one execution of a reaction. `nothing_left` checks that nothing is left behind, and
`nothing_left_behind` does so for every test: it is a pytest fixture. `values` makes random values for a port or an
action, `events` random events from outside. `check_env` says whether a reactor keeps the contract of environments
(`reactors.rl`). `rx.VirtualClock` does the rest. You need pytest, Hypothesis or gymnasium only for the parts that use
them.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from contextlib import contextmanager, suppress
from copy import copy, deepcopy
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, TypeVar, Unpack

import numpy as np

from reactors.errors import ArgumentError
from reactors.execution.arguments import whole
from reactors.execution.clock import VirtualClock
from reactors.graph import Graph
from reactors.launch import run
from reactors.model.native import Native
from reactors.model.ports import Port
from reactors.testing.faults import inject
from reactors.time import duration
from reactors_runtime.processes import workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hypothesis.strategies import SearchStrategy

    from reactors.elaboration.workers import Backend, Pin
    from reactors.launch import Placement
    from reactors.model.actions import Action, PhysicalAction
    from reactors.model.reactor import Reactor
    from reactors.rl.envs.checker import check_env
    from reactors.tag import Tag
    from reactors.time import Duration

    nothing_left_behind: Any

__all__ = [
    "Step",
    "assert_deterministic",
    "check_env",
    "events",
    "inject",
    "nothing_left",
    "nothing_left_behind",
    "trace",
    "values",
]

M = TypeVar("M", bound="Reactor")


class RunArguments(TypedDict, total=False):
    """The options of `rx.run` that programs under test are run with."""

    fast: bool
    timeout: Duration | None
    keepalive: bool | None
    seed: int
    placement: Placement
    clock: VirtualClock | Callable[[Any], VirtualClock] | None
    record: str | os.PathLike[str] | None
    replay: str | os.PathLike[str] | None
    trace: str | os.PathLike[str] | None
    progress: bool | Callable[[Tag, float, float | None], None] | None
    debug: bool
    max_microsteps: int | None


class WayAndArguments(RunArguments, total=False):
    """The same with how many workers run, and where."""

    workers: int
    backend: Backend
    pin: Pin


class Step(NamedTuple):
    """One execution of a reaction."""

    tag: Tag
    reactor: str  # its path
    reaction: str
    late: bool  # its deadline was missed, and the other method ran
    written: dict[str, Any]  # the ports that it set, by path, with their values


def trace(main: Reactor | Graph, *, steps: list[Step] | None = None, **options: Unpack[WayAndArguments]) -> list[Step]:
    """Run a program and return what it did, in the order of a run on one worker; `options` are those of `rx.run`.

    The list is the same for all `workers` and `backend`. `clock` may also be a function that makes a `VirtualClock` for
    the program that it is given. Values are those at the end of the reaction: deep copies, or the objects themselves if
    they cannot be copied. C functions leave no step. If the run fails, the steps until then are in `steps`, if you gave
    a list, and the last of them are in the error's notes.

    >>> import reactors as rx
    >>> class Counter(rx.Reactor):
    ...     tick, count = rx.Timer(0, "1 ms"), rx.Output(int)
    ...     @rx.reaction(tick, effects=count)
    ...     def step(self):
    ...         self.count.set(self.tag.time // 1_000_000)
    >>> for step in trace(Counter(), fast=True, timeout="1 ms"):
    ...     print(step.tag, step.reactor, step.reaction, step.written)
    0 s main step {'main.count': 0}
    1 ms main step {'main.count': 1}
    """
    graph = main if isinstance(main, Graph) else Graph(whole(main), debug=options.get("debug") is True)
    steps = [] if steps is None else steps
    with _traced(graph, steps):
        run(graph, **_clocked({**options}, graph.main))
    return steps


def _clocked(options: dict[str, Any], main: Reactor) -> dict[str, Any]:
    clock = options.get("clock")
    return options if clock is None or isinstance(clock, VirtualClock) else {**options, "clock": clock(main)}


@contextmanager
def _traced(graph: Graph, steps: list[Step]) -> Iterator[None]:
    """Let the reactions of a program record their steps in their reactors, which come back from any process."""
    bodies, late, declarations = graph.bodies.copy(), graph.late.copy(), graph.declarations.copy()
    for number, row in enumerate(graph.program.reactions):
        reactor, body, otherwise = graph.reactors[row.reactor], bodies[number], late[number]
        if graph.program.reactors[row.reactor].relay:
            continue
        vars(reactor)[NOTED] = []
        ports = [(port.path, port) for port in map(graph.elements.__getitem__, row.effects) if isinstance(port, Port)]
        declared = graph.declarations[number] = copy(declarations[number])
        declared._owner = reactor  # as if declared by call: processes are sent its body, not its place in the class
        if not isinstance(body, Native):
            declared.body = graph.bodies[number] = _Traced(body, reactor, number, ports, late=False)
        if otherwise is not None and not isinstance(otherwise, Native):
            declared.late = graph.late[number] = _Traced(otherwise, reactor, number, ports, late=True)
    try:
        yield
    except BaseException as error:
        _collect(graph, steps)
        error.add_note("\n".join(["the last steps were:", *map(str, steps[-5:])]))
        raise
    else:
        _collect(graph, steps)
    finally:
        graph.bodies, graph.late, graph.declarations = bodies, late, declarations


def _collect(graph: Graph, steps: list[Step]) -> None:
    """Take the steps from the reactors, and sort them by tag, and within a tag by precedence."""
    noted = [(*each, reactor.path) for reactor in graph.reactors for each in vars(reactor).pop(NOTED, ())]
    for tag, number, late, written, path in sorted(noted, key=lambda each: each[:2]):
        steps.append(Step(tag, path, graph.program.reactions[number].name, late, written))


NOTED = "steps noted"  # the attribute; no name that a user's could have


class _Traced:
    """The body of a traced reaction."""

    def __init__(
        self,
        body: Callable[[], object],
        reactor: Reactor,
        number: int,
        ports: list[tuple[str, Port[Any]]],
        *,
        late: bool,
    ) -> None:
        self.body, self.reactor, self.number, self.ports, self.late = body, reactor, number, ports, late

    def __call__(self) -> None:
        try:
            self.body()
        finally:
            written = {path: _kept(port.value) for path, port in self.ports if port.is_present}
            vars(self.reactor)[NOTED].append((self.reactor.tag, self.number, self.late, written))


def _kept(value: Any) -> Any:
    try:
        return deepcopy(value)
    except Exception:  # noqa: BLE001 - a class may refuse in any way
        return value


def assert_deterministic(
    program: Callable[[], M],
    *,
    workers: Sequence[int] = (1, 2, 4),
    backends: Sequence[Backend] = ("thread", "process"),
    outcome: Callable[[M], object] | None = None,
    **options: Unpack[RunArguments],
) -> None:
    """Run a program in this thread and on each number of workers, and compare digests and outcomes.

    `program` makes a new program for each run. `outcome` gets the reactor after the run, and returns a value to compare
    (a learned table, a log). NaN is equal to NaN, also in arrays, records, lists, tuples, dicts and dataclasses.
    `options` are those of `rx.run`; `clock` may be a function that makes a clock for the program that it is given.
    Raises `AssertionError`, and `ArgumentError` for outcomes that cannot be compared.

    >>> import reactors as rx
    >>> class Counter(rx.Reactor):
    ...     tick = rx.Timer(0, "1 ms")
    ...     def __init__(self):
    ...         self.n = 0
    ...     @rx.reaction(tick)
    ...     def step(self):
    ...         self.n += 1
    >>> assert_deterministic(Counter, outcome=lambda main: main.n, fast=True, timeout="1 s")
    """
    first: tuple[str, str, object] | None = None
    ways: list[tuple[Backend, int]] = [
        ("inline", 1),
        *((backend, number) for backend in backends for number in workers),
    ]
    for backend, number in ways:
        main = program()
        result = run(main, workers=number, backend=backend, **_clocked({**options}, main))
        found = f"{number} workers ({backend})", result.digest, None if outcome is None else outcome(main)
        if first is None:
            first = found
        if found[1] != first[1]:
            differ = f"the digest is {first[1]} with {first[0]} and {found[1]} with {found[0]}"
            raise AssertionError(differ + _of_deadlines(program(), options))
        if not _equal(found[2], first[2]):
            differ = f"the outcome is {first[2]!r} with {first[0]} and {found[2]!r} with {found[0]}"
            raise AssertionError(differ + _of_deadlines(program(), options))


def _of_deadlines(main: Reactor, options: RunArguments) -> str:
    """That deadlines may be why runs differ, if it has some and no virtual clock decides which are missed."""
    graph = Graph(main)
    having = [name for name, row in zip(graph.names, graph.program.reactions, strict=True) if row.deadline is not None]
    if not having or options.get("clock") is not None:
        return ""
    return f"; {having[0]} has a deadline, which a slow machine misses: give clock=rx.VirtualClock()"


NUMBERS = float, complex, np.inexact  # which may be NaN


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind == b.dtype.kind == "O":
            return a.shape == b.shape and all(map(_equal, a.flat, b.flat))
        if a.dtype.names and a.dtype == b.dtype:
            return a.shape == b.shape and all(_equal(a[name], b[name]) for name in a.dtype.names)
        return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc" and b.dtype.kind in "fc")
    if isinstance(a, list | tuple) and type(a) is type(b):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, NUMBERS) and isinstance(b, NUMBERS) and np.isnan(a) and np.isnan(b):
        return True
    unclear: Exception | None = None
    try:
        if a == b:
            return True
    except Exception as error:  # noqa: BLE001 - of two arrays inside, say, their truth is asked for
        unclear = error
    if is_dataclass(a) and type(a) is type(b) and getattr(type(a), "__dataclass_params__").eq:  # noqa: B009 - no type knows it
        return all(_equal(getattr(a, each.name), getattr(b, each.name)) for each in fields(a) if each.compare)
    if unclear is not None:
        raise ArgumentError(
            f"outcome of assert_deterministic: two of type {type(a).__name__} cannot be compared ({unclear}); return "
            "numbers, strings, arrays, and lists, tuples, dicts or dataclasses of them"
        ) from unclear
    return False


# ---- what is left behind ----

PROC, SHARED = Path("/proc"), Path("/dev/shm")


@contextmanager
def nothing_left(*, seconds: float = 5.0) -> Iterator[None]:
    """Raise `AssertionError` if the code within leaves a process, a thread, a descriptor or shared memory behind.

    What ends within `seconds` does not count. Shared memory is what this process has created in /dev/shm, or has mapped
    from there; that of other processes does not count. To use it for every test, write in conftest.py

        from reactors.testing import nothing_left_behind
    """
    _listen()
    before = _pids(), _descriptors(), {*SHARED.iterdir()}, set(threading.enumerate()), len(_made)
    yield
    deadline, collected = time.monotonic() + seconds, False
    while left := _left(before):
        if time.monotonic() > deadline and collected:
            raise AssertionError(f"left behind: {', '.join(left)}")
        if time.monotonic() > deadline:
            gc.collect()  # what only cycles hold is not in use
            collected = True
        time.sleep(0.01)


if not TYPE_CHECKING:  # type checkers shall know which names there are

    def __getattr__(name: str) -> Any:
        """What needs pytest or gymnasium, when it is asked for."""
        if name == "check_env":
            from reactors.rl.envs.checker import check_env

            return check_env
        if name != "nothing_left_behind":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
        import pytest

        @pytest.fixture(autouse=True, name=name)
        def fixture() -> Iterator[None]:
            """Processes, descriptors, shared memory and threads are after a test as they were before it."""
            with nothing_left():
                yield

        return globals().setdefault(name, fixture)


def _left(before: tuple[set[int], dict[int, str], set[Path], set[threading.Thread], int]) -> list[str]:
    return [
        *(f"process {each}" for each in _processes(_pids() - before[0])),
        *(f"descriptor {fd}: {what}" for fd, what in _descriptors().items() if fd not in before[1]),
        *(f"{file}" for file in sorted(_shared_memory({*SHARED.iterdir()} - before[2], before[4]))),
        *(f"{thread}" for thread in threading.enumerate() if thread not in before[3]),
    ]


def _pids() -> set[int]:
    """All processes on the machine."""
    return {int(each.name) for each in PROC.iterdir() if each.name.isdecimal()}


def _processes(pids: set[int]) -> Iterator[str]:
    """Those among them that are children of this process or of the idle server, which itself may stay."""
    server = workers.idle_server()
    its = server.pid if server else -1
    for pid in sorted(pids - {its}):
        parent = _parent(PROC / str(pid))
        if parent in {os.getpid(), its}:
            yield f"{pid}, a child of the server" if parent == its else str(pid)


def children(pid: int) -> set[int]:
    """The processes that `pid` has started and that still exist, waited for or not."""
    return {each for each in _pids() if _parent(PROC / str(each)) == pid}


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):  # gone meanwhile
        return 0


def _descriptors() -> dict[int, str]:
    """The open descriptors of this process, without those of the idle server."""
    server = workers.idle_server()
    found = {}
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found[int(entry.name)] = str(entry.readlink())
        except OSError:  # the one with which we looked
            continue
    return {fd: what for fd, what in found.items() if server is None or fd not in server.descriptors()}


_made: list[Path] = []  # files, in the order in which they were made; not all of them are in /dev/shm


@cache
def _listen() -> None:
    """Start to record what this process creates in /dev/shm: a closed file does not show whose it is."""
    sys.addaudithook(_note)


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        path, _, flags = arguments
        if isinstance(path, str) and path.startswith(f"{SHARED}/") and flags & os.O_CREAT:
            _made.append(Path(path))
    elif event in {"os.truncate", "mmap.__new__"}:  # shm_open says nothing, but is no use without these
        with suppress(OSError):
            _made.append(Path(f"/proc/self/fd/{arguments[0]}").readlink())


def _shared_memory(files: set[Path], since: int) -> set[Path]:
    """Those of some files in /dev/shm that this process has created since then, or has mapped."""
    if not files:
        return files
    maps = (line.partition(f"{SHARED}/")[2] for line in Path("/proc/self/maps").read_text().splitlines())
    return files.intersection([*_made[since:], *(SHARED / name for name in maps)])


# ---- random values ----


def values(of: Port[Any] | Action[Any]) -> SearchStrategy[Any]:
    """A Hypothesis strategy for values of a port or an action: arrays of its shape and dtype, or objects.

    For a multiport, the values are those of one channel. Raises `LookupError` for a type that Hypothesis cannot make.
    """
    from hypothesis import strategies
    from hypothesis.errors import ResolutionFailed
    from hypothesis.extra import numpy

    if isinstance(of, Port) and of.dtype is not None:
        return numpy.arrays(of.dtype, of.shape or ())
    kind = of._carried().type if isinstance(of, Port) else of._declared._type
    if kind is None:
        return strategies.none() | strategies.integers() | strategies.floats(allow_nan=False) | strategies.text()
    try:
        made: SearchStrategy[Any] = strategies.from_type(kind)  # type: ignore[arg-type]  # it takes unions, too
        made.validate()
    except ResolutionFailed:
        raise LookupError(
            f"{of.where()} takes {kind}, of which Hypothesis can make none; register a strategy"
        ) from None
    return made


def events(
    action: PhysicalAction[Any], *, until: Duration, most: int = 10
) -> SearchStrategy[list[tuple[int, PhysicalAction[Any], Any]]]:
    """A Hypothesis strategy for up to `most` events of a physical action from 0 to `until`: arguments of `clock.at`.

    A test lets them happen, as Hypothesis draws them::

        for event in data.draw(events(main.bell, until="1 s")):
            clock.at(*event)
    """
    from hypothesis import strategies

    times = strategies.integers(0, duration(until, "until of events", action.where()))
    return strategies.lists(strategies.tuples(times, strategies.just(action), values(action)), max_size=most)
