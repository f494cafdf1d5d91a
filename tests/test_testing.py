"""What users test their programs with."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reactors as rx
from reactors.testing import Step, assert_deterministic, nothing_left, trace, values

if TYPE_CHECKING:
    from pathlib import Path


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
    with pytest.raises(AssertionError, match=r"the outcome is 2 with 1 workers \(inline\) and 3 with 2 workers"):
        assert_deterministic(Fickle, workers=(2,), backends=("thread",), outcome=lambda main: main.run)


def test_what_is_left_behind_is_named(tmp_path: Path) -> None:
    def left(leave: Any) -> str:
        with pytest.raises(AssertionError) as caught, nothing_left(seconds=0.05):
            leave()
        return str(caught.value)

    thread_ends = threading.Event()
    thread = threading.Thread(target=thread_ends.wait, name="the one")
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
