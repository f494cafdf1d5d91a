"""What users test their programs with."""

from __future__ import annotations

import _posixshmem  # pyright: ignore[reportMissingImports]  # what multiprocessing.shared_memory is made of
import itertools
import mmap
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reactors as rx
from reactors.testing import Step, assert_deterministic, events, nothing_left, trace, values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Source(rx.Reactor):
    tick, out = rx.Timer(0, "1 ms"), rx.Output(shape=(2,), dtype="i8")

    @rx.reaction(tick, effects=out)
    def go(self) -> None:
        self.out.set(np.full(2, self.tag.time))


class Sink(rx.Reactor):
    inp = rx.Input(shape=(2,), dtype="i8")

    def __init__(self) -> None:
        self.total = np.zeros(2)

    @rx.reaction(inp)
    def add(self) -> None:
        self.total += self.inp.value
        time.sleep(0.002)

    @add.deadline("1 ms")
    def late(self) -> None: ...


class Main(rx.Reactor):
    def __init__(self) -> None:
        self.source, self.sinks = Source(), rx.bank(2, Sink)
        rx.connect(self.source.out, self.sinks.inp, broadcast=True)


def test_a_trace_has_every_execution_in_order_with_what_it_wrote() -> None:
    steps = trace(Main(), clock=rx.VirtualClock(sleep=True), timeout="1 ms")
    assert [step._replace(written={}) for step in steps] == [
        Step(rx.Tag(0, 0), "main.source", "go", False, {}),
        Step(rx.Tag(0, 0), "main.sinks[0]", "add", False, {}),
        Step(rx.Tag(0, 0), "main.sinks[1]", "add", True, {}),
        Step(rx.Tag(1_000_000, 0), "main.source", "go", False, {}),
        Step(rx.Tag(1_000_000, 0), "main.sinks[0]", "add", False, {}),
        Step(rx.Tag(1_000_000, 0), "main.sinks[1]", "add", True, {}),
    ]
    assert [step.written["main.source.out"].tolist() for step in steps if step.written] == [[0, 0], [1_000_000] * 2]


class Blinker(rx.Reactor):
    """Multiports, deadlines, modes with a connection, reactions by call and a mode that is left."""

    dark, light = rx.Mode(initial=True), rx.Mode()
    turn = rx.Timer("2 ms")

    def __init__(self) -> None:
        self.source, self.sinks = Source(), [Quick(), Quick()]
        rx.connect(self.source.out, self.sinks[0].inp, mode=self.dark, after=0)
        self.add_reaction(self.source.out, self.pass_on, effects=self.sinks[1].inp, mode=self.light)

    def pass_on(self) -> None:
        self.sinks[1].inp.set(2 * self.source.out.value)

    @rx.reaction(turn, effects=light)
    def go(self) -> None:
        self.light.set()

    @go.deadline(0)
    def too_late(self) -> None:
        self.light.set()


def plain(steps: list[Step]) -> list[Any]:
    return [(*step[:4], {path: value.tolist() for path, value in step.written.items()}) for step in steps]


@pytest.mark.parametrize(("workers", "backend"), [(1, "inline"), (2, "thread"), (1, "process"), (3, "process")])
def test_a_trace_is_the_same_wherever_the_program_runs(workers: int, backend: str) -> None:
    ms = 1_000_000
    graph = rx.Graph(Blinker())
    options: Any = {"workers": workers, "backend": backend, "fast": True, "timeout": "3 ms"}
    if workers > 1:
        options["placement"] = {"main": 1}
    expected = [
        ((0, 0), "main.source", "go", False, {"main.source.out": [0, 0]}),
        ((0, 1), "main.sinks[0]", "add", False, {}),
        ((ms, 0), "main.source", "go", False, {"main.source.out": [ms, ms]}),
        ((ms, 1), "main.sinks[0]", "add", False, {}),
        ((2 * ms, 0), "main", "go", True, {}),
        ((2 * ms, 0), "main.source", "go", False, {"main.source.out": [2 * ms, 2 * ms]}),
        ((3 * ms, 0), "main.source", "go", False, {"main.source.out": [3 * ms, 3 * ms]}),
        ((3 * ms, 0), "main", "pass_on", False, {"main.sinks[1].inp": [6 * ms, 6 * ms]}),
        ((3 * ms, 0), "main.sinks[1]", "add", False, {}),
    ]
    digest = rx.run(graph, **options).digest
    assert plain(trace(graph, **options)) == expected
    assert rx.run(graph, **options).digest == digest  # nothing is left of the tracing
    assert set(vars(graph.main)) == {"dark", "light", "turn", "source", "sinks"}


class Failing(rx.Reactor):
    tick, out = rx.Timer(0, "1 ms"), rx.Output(int)

    @rx.reaction(tick, effects=out)
    def go(self) -> None:
        self.out.set(self.tag.time)
        if self.tag.time:
            raise ValueError("no more")

    @rx.reaction(rx.shutdown)
    def end(self) -> None: ...


@pytest.mark.parametrize("backend", ["inline", "thread", "process"])
def test_what_a_program_did_before_it_failed_is_known(backend: Any) -> None:
    steps: list[Step] = []
    with pytest.raises(rx.ReactionError, match="no more") as caught:
        trace(Failing(), steps=steps, backend=backend, fast=True)
    assert [(step.tag, step.reaction, *step.written.values()) for step in steps] == [
        ((0, 0), "go", 0),
        ((1_000_000, 0), "go", 1_000_000),
        ((1_000_000, 1), "end"),
    ]
    assert any(note.endswith(str(steps[-1])) for note in caught.value.__notes__)


def test_a_deterministic_program_is_found_to_be_one() -> None:
    class Plain(Main):
        def __init__(self) -> None:
            self.source, self.sinks = Source(), rx.bank(2, Quick)
            rx.connect(self.source.out, self.sinks.inp, broadcast=True)

    assert_deterministic(
        Plain, outcome=lambda main: [sink.total for sink in main.sinks], workers=(1, 2), fast=True, timeout="3 ms"
    )


class Hearing(rx.Reactor):
    heard = rx.PhysicalAction(int)

    def __init__(self) -> None:
        self.values = list[int]()

    @rx.reaction(heard)
    def hear(self) -> None:
        self.values.append(self.heard.value)


def test_events_from_outside_are_given_for_each_run() -> None:
    def clock(main: Any) -> rx.VirtualClock:
        made = rx.VirtualClock()
        made.at("3 ms", main.heard, 3)
        return made

    assert_deterministic(Hearing, workers=(1, 2), clock=clock, outcome=lambda main: main.values)
    assert [step.tag.time for step in trace(Hearing(), clock=clock)] == [3_000_000]
    made, main = rx.VirtualClock(), Hearing()
    made.at(0, main.heard, threading.Lock())  # type: ignore[arg-type]
    with pytest.raises(rx.ArgumentError, match=r"a lock cannot be sent to main.heard .*; send plain data"):
        rx.run(main, clock=made)


class Quick(rx.Reactor):
    inp = rx.Input(shape=(2,), dtype="i8")

    def __init__(self) -> None:
        self.total = np.zeros(2)

    @rx.reaction(inp)
    def add(self) -> None:
        self.total += self.inp.value


class Hurried(rx.Reactor):
    """Has a deadline, and says something else in each run."""

    tick, out = rx.Timer(0, "1 ms"), rx.Output(int)

    def __init__(self, says: int = 0) -> None:
        self.says = says

    @rx.reaction(tick, effects=out)
    def wait(self) -> None:
        self.out.set(self.says)

    @rx.reaction(tick)
    def work(self) -> None: ...

    @work.deadline("1 h")
    def miss(self) -> None: ...


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "; main.work has a deadline, which a slow machine misses: give clock=rx.VirtualClock"),
        ({"clock": lambda _: rx.VirtualClock()}, r"with 1 workers \(thread\)$"),
    ],
    ids=["no clock", "a virtual clock"],
)
def test_that_deadlines_may_be_why_runs_differ_is_said(options: Any, said: str) -> None:
    numbers = itertools.count()
    with pytest.raises(AssertionError, match=said):
        assert_deterministic(
            lambda: Hurried(next(numbers)), workers=(1,), backends=("thread",), timeout="2 ms",
            outcome=lambda main: main.says % 2, **options,
        )  # fmt: skip


def test_a_program_that_is_not_deterministic_is_found_out() -> None:
    runs = itertools.count()

    class Fickle(rx.Reactor):
        again = rx.LogicalAction()

        def __init__(self) -> None:
            self.run = next(runs)

        @rx.reaction(rx.startup, effects=again)
        def go(self) -> None:
            if self.run == 1:
                self.again.schedule()

        @rx.reaction(again)
        def hear(self) -> None: ...

    with pytest.raises(AssertionError, match=r"the digest is \w+ with 1 workers \(inline\) and \w+ with 2 workers"):
        assert_deterministic(Fickle, workers=(2,), backends=("thread",))
    with pytest.raises(AssertionError, match=r"the outcome is 3 with 1 workers \(inline\) and 4 with 2 workers"):
        assert_deterministic(Fickle, workers=(2,), backends=("thread",), outcome=lambda main: main.run)


class Changing(rx.Reactor):
    """Sends a list that it changes, and something that cannot be copied."""

    tick, out, lock = rx.Timer(0, 1), rx.Output(), rx.Output()

    def __init__(self) -> None:
        self.sent: list[list[int]] = [[]]

    @rx.reaction(tick, effects=(out, lock))
    def go(self) -> None:
        self.sent[0].append(self.tag.time)
        self.out.set(self.sent)
        self.lock.set(threading.Lock())


def test_a_trace_has_values_as_they_were() -> None:
    steps = trace(Changing(), fast=True, timeout=2, backend="inline")
    assert [step.written["main.out"] for step in steps] == [[[0]], [[0, 1]], [[0, 1, 2]]]
    assert not steps[0].written["main.lock"].locked()


@dataclass
class Table:
    name: str
    rows: Any


class Unclear:
    def __eq__(self, other: object) -> bool:
        raise ValueError("who knows")

    __hash__ = None  # type: ignore[assignment]  # equal ones cannot be found


def test_outcomes_are_compared_by_what_they_hold() -> None:
    def compared(*outcomes: Any) -> None:
        made = iter(outcomes)
        assert_deterministic(
            Hearing, workers=(1,), backends=("thread",), outcome=lambda _: next(made), fast=True, timeout=0
        )

    def nan() -> Any:
        return float("nan")

    for make in (
        nan,
        lambda: [nan(), (1, nan())],
        lambda: {"a": nan(), "b": np.float32("nan")},
        lambda: complex(1, nan()),
        lambda: np.array([1, nan()]),
        lambda: np.array([nan(), "x", np.arange(2)], object),
        lambda: np.array([(7, [nan(), 0])], [("row", "i4"), ("value", "f4", 2)]),
        lambda: Table("t", np.array([[1, nan()]])),
        lambda: [Table("t", {"x": (np.arange(3), nan())})],
    ):
        compared(make(), make())
    for one, other in (
        (nan(), 1.0),
        (1.0, nan()),
        ([nan()], [nan(), nan()]),
        ({"a": nan()}, {"b": nan()}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (np.array([1, nan()]), np.array([nan(), 1])),
        (np.array([(1, nan())], "i4, f4"), np.array([(2, nan())], "i4, f4")),
        (Table("t", np.arange(3)), Table("t", np.arange(1, 4))),
        (Table("t", np.arange(3)), Table("u", np.arange(3))),
        (Table("t", np.arange(3)), Table("t", np.arange(4))),
    ):
        with pytest.raises(AssertionError, match="the outcome is"):
            compared(one, other)
    with pytest.raises(rx.ArgumentError, match=r"two of type Unclear cannot be compared \(who knows\); return numbers"):
        compared([Unclear()], [Unclear()])


def test_what_is_left_behind_is_named(tmp_path: Path) -> None:
    def left(leave: Any) -> str:
        with pytest.raises(AssertionError) as caught, nothing_left(seconds=0.05):
            leave()
        return str(caught.value)

    thread_ends = threading.Event()
    thread = threading.Thread(target=thread_ends.wait, name="the one", daemon=True)
    assert "the one" in left(thread.start)
    thread_ends.set()
    thread.join()
    file = tmp_path / "file"
    opened: list[int] = []
    assert f"{file}" in left(lambda: opened.append(os.open(file, os.O_CREAT | os.O_RDWR)))
    os.close(opened[0])
    processes: list[subprocess.Popen[bytes]] = []
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    assert "process " in left(lambda: processes.append(subprocess.Popen(sleep)))
    processes[0].kill()
    processes[0].wait()
    with nothing_left():
        rx.run(Main(), workers=2, fast=True, timeout=0)


@pytest.fixture
def shared() -> Iterator[Path]:
    """A file in /dev/shm that is not there yet."""
    file = Path("/dev/shm") / f"rx-test-{os.getpid()}"
    yield file
    file.unlink(missing_ok=True)


def made_by_python(file: Path) -> object:
    return file.write_bytes(bytes(8))


def made_by_shm_open(file: Path) -> object:
    descriptor = _posixshmem.shm_open(f"/{file.name}", os.O_CREAT | os.O_RDWR, mode=0o600)
    os.ftruncate(descriptor, 8)
    return os.close(descriptor)


def mapped(file: Path) -> object:
    subprocess.run(["sh", "-c", f"printf 12345678 > {file}"], check=True)
    with file.open("rb") as opened:
        return mmap.mmap(opened.fileno(), 8, access=mmap.ACCESS_READ)


@pytest.mark.parametrize("make", [made_by_python, made_by_shm_open, mapped])
def test_shared_memory_of_ours_is_named(make: Callable[[Path], object], shared: Path) -> None:
    kept = []
    with pytest.raises(AssertionError, match=shared.name), nothing_left(seconds=0.05):
        kept.append(make(shared))


def test_shared_memory_of_others_is_theirs(shared: Path) -> None:
    with nothing_left(seconds=0.05):
        subprocess.run(["sh", "-c", f"printf 12345678 > {shared}"], check=True)
        assert shared.read_bytes() == b"12345678"


class Ports(rx.Reactor):
    array = rx.Output(shape=(3,), dtype="f4")
    number = rx.Output(int)
    either: rx.Output[Any] = rx.Output(int | str)  # type: ignore[arg-type]
    anything = rx.Output()


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_values_are_such_as_a_port_takes(data: st.DataObject) -> None:
    main = Ports()
    array = data.draw(values(main.array))
    assert (array.shape, array.dtype) == ((3,), np.float32)
    assert type(data.draw(values(main.number))) is int
    assert type(data.draw(values(main.either))) in (int, str)
    data.draw(values(main.anything))


class Bells(rx.Reactor):
    bell = rx.PhysicalAction(int)

    def __init__(self) -> None:
        self.heard: list[tuple[int, int]] = []

    @rx.reaction(bell)
    def hear(self) -> None:
        self.heard.append((self.tag.time, self.bell.value))


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_events_are_such_as_a_clock_takes(data: st.DataObject) -> None:
    main, clock = Bells(), rx.VirtualClock()
    assert type(data.draw(values(main.bell))) is int
    drawn = data.draw(events(main.bell, until="1 us", most=4))
    for event in drawn:
        clock.at(*event)
    rx.run(main, clock=clock)
    assert main.heard == sorted(((when, value) for when, _, value in drawn), key=lambda event: event[0])


def test_the_fixture_finds_what_a_test_leaves(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from reactors.testing import nothing_left_behind\n")
    (tmp_path / "test_it.py").write_text(
        "import functools, os, reactors.testing\n"
        "reactors.testing.nothing_left = functools.partial(reactors.testing.nothing_left, seconds=0.1)\n"
        "def test_tidy(): pass\n"
        "def test_untidy(): os.open('test_it.py', os.O_RDONLY)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "AssertionError: left behind: descriptor" in done.stdout
    assert "2 passed, 1 error" in done.stdout


def test_pytest_is_needed_for_the_fixture_alone() -> None:
    code = """
import sys
sys.modules["pytest"] = sys.modules["hypothesis"] = None
import reactors.testing
try:
    reactors.testing.nothing_left_behind
except ImportError:
    print("only then")
"""
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "only then\n"
    )
