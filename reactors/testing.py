"""How does one test a program of reactors?

`trace` says what ran, in order; `assert_deterministic` runs a program on several numbers of workers and compares;
`nothing_left` sees to it that nothing stays behind; `values` makes random values for a port; `check_env` tells whether
a reactor keeps the contract of environments (`reactors.rl`). `rx.VirtualClock` does the
rest.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reactors.clock import VirtualClock
from reactors.graph import Graph
from reactors.ports import Port
from reactors.run import run
from reactors_runtime import workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hypothesis.strategies import SearchStrategy

    from reactors.reactor import Reactor
    from reactors.rl.checker import check_env  # noqa: F401 - found by __getattr__
    from reactors.time import Tag


def __getattr__(name: str) -> Any:
    """`check_env`, which needs gymnasium, when somebody asks for it."""
    if name == "check_env":
        from reactors.rl.checker import check_env

        return check_env
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Step(NamedTuple):
    """One execution of a reaction."""

    tag: Tag
    reactor: str  # its path
    reaction: str
    late: bool  # its deadline was missed, and the other method ran
    written: dict[str, Any]  # the ports that it set, by path, with their values


def trace(main: Reactor, **options: Any) -> list[Step]:
    """Run a program in this thread and return what it did; `options` are those of `rx.run`.

    `clock` may also be a function that makes a `VirtualClock` for the program that it is given.

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
    graph, steps = Graph(main), list[Step]()
    for number, reaction in enumerate(graph.program.reactions):
        ports = [graph.elements[e] for e in reaction.effects if isinstance(graph.elements[e], Port)]
        reactor = graph.reactors[reaction.reactor]
        for bodies, late in ((graph.bodies, False), (graph.late, True)):
            body: Any = bodies[number]
            if callable(body):
                bodies[number] = _traced(body, reactor, reaction.name, ports, steps, late=late)
    run(graph, backend="inline", **_clocked(options, main))
    return steps


def _clocked(options: dict[str, Any], main: Reactor) -> dict[str, Any]:
    clock = options.get("clock")
    return options if clock is None or isinstance(clock, VirtualClock) else {**options, "clock": clock(main)}


def _traced(
    body: Callable[[], object], reactor: Reactor, name: str, ports: list[Any], steps: list[Step], *, late: bool
) -> Callable[[], None]:
    def traced() -> None:
        body()
        written = {port.path: _kept(port.value) for port in ports if port.is_present}
        steps.append(Step(reactor.tag, reactor.path, name, late, written))

    return traced


def _kept(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def assert_deterministic(
    program: Callable[[], Reactor],
    *,
    workers: Sequence[int] = (1, 2, 4),
    backends: Sequence[str] = ("thread", "process"),
    outcome: Callable[[Any], object] | None = None,
    **options: Any,
) -> None:
    """Run a program in this thread and on each number of workers, and compare digests, and outcomes.

    `program` makes a new one for each run; `outcome` is given the reactor when the run is over, and what it returns (a
    learned table, a log) has to be equal. `options` are those of `rx.run`; `clock` may be a function that makes one for
    the program that it is given. Raises `AssertionError`.

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
    ways = [("inline", 1), *((backend, number) for backend in backends for number in workers)]
    for backend, number in ways:
        main = program()
        result = run(main, workers=number, backend=backend, **_clocked(options, main))  # type: ignore[arg-type]  # run says what is wrong
        found = f"{number} workers ({backend})", result.digest, None if outcome is None else outcome(main)
        if first is None:
            first = found
        if found[1] != first[1]:
            raise AssertionError(f"the digest is {first[1]} with {first[0]} and {found[1]} with {found[0]}")
        if not _equal(found[2], first[2]):
            raise AssertionError(f"the outcome is {first[2]!r} with {first[0]} and {found[2]!r} with {found[0]}")


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f")
    if isinstance(a, list | tuple) and type(a) is type(b):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(_equal(a[key], b[key]) for key in a)
    return bool(a == b)


# ---- what is left behind ----

PROC = Path("/proc")


@contextmanager
def nothing_left(*, seconds: float = 5.0, ignored: tuple[str, ...] = ()) -> Iterator[None]:
    """Raise `AssertionError` if what is done within leaves a process, a thread, a descriptor or shared memory.

    What ends within `seconds` is not counted, nor files in /dev/shm whose names begin with one of `ignored`. As a
    pytest fixture for all tests, in conftest.py:

        @pytest.fixture(autouse=True)
        def clean():
            with nothing_left():
                yield
    """
    before = _processes(), _descriptors(), _shared_memory(ignored), set(threading.enumerate())
    yield
    deadline = time.monotonic() + seconds
    while left := _left(before, ignored):
        if time.monotonic() > deadline:
            raise AssertionError(f"left behind: {', '.join(left)}")
        time.sleep(0.01)


def _left(
    before: tuple[set[str], dict[int, str], set[str], set[threading.Thread]], ignored: tuple[str, ...]
) -> list[str]:
    return [
        *(f"process {each}" for each in sorted(_processes() - before[0])),
        *(f"descriptor {fd}: {what}" for fd, what in _descriptors().items() if fd not in before[1]),
        *(f"/dev/shm/{name}" for name in sorted(_shared_memory(ignored) - before[2])),
        *(f"{thread}" for thread in threading.enumerate() if thread not in before[3]),
    ]


def _processes() -> set[str]:
    """Children of this process and of the idle server, which itself may stay."""
    server = workers.idle_server()
    mine = {pid for pid in children(os.getpid()) if server is None or pid != server.pid}
    return {str(pid) for pid in mine} | {
        f"{pid}, a child of the server" for pid in children(server.pid if server else -1)
    }


def children(pid: int) -> set[int]:
    """The processes that `pid` has started and that are still there, waited for or not."""
    return {int(entry.name) for entry in PROC.iterdir() if entry.name.isdecimal() and _parent(entry) == pid}


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):  # gone meanwhile
        return 0


def _descriptors() -> dict[int, str]:
    """What this process has open; what belongs to the idle server is not counted."""
    server = workers.idle_server()
    found = {}
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found[int(entry.name)] = str(entry.readlink())
        except OSError:  # the one with which we looked
            continue
    return {fd: what for fd, what in found.items() if server is None or fd not in server.descriptors()}


def _shared_memory(ignored: tuple[str, ...]) -> set[str]:
    return {entry.name for entry in Path("/dev/shm").iterdir() if not entry.name.startswith(ignored or ("\0",))}


# ---- random values ----


def values(port: Port[Any]) -> SearchStrategy[Any]:
    """A Hypothesis strategy for what may be set on a port: arrays of its shape and dtype, or objects of its type.

    Raises `LookupError` where the type of objects is none that Hypothesis knows how to make.
    """
    from hypothesis import strategies
    from hypothesis.errors import ResolutionFailed
    from hypothesis.extra import numpy

    if port.dtype is not None:
        return numpy.arrays(port.dtype, port.shape or ())
    kind = port._carried().type
    if kind is None:
        return strategies.none() | strategies.integers() | strategies.floats(allow_nan=False) | strategies.text()
    try:
        made: SearchStrategy[Any] = strategies.from_type(kind)  # type: ignore[arg-type]  # it takes unions, too
        made.validate()
    except ResolutionFailed:
        raise LookupError(
            f"{port.where()} takes {kind}, of which Hypothesis can make none; register a strategy"
        ) from None
    return made
