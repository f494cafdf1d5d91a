"""Physical time: when reactions run, and what they see of it (catalogue, section 1)."""

import time
from typing import Any

import numpy as np
import pytest

import reactors as rx
from tests.oracle.ways import TOGETHER, WAYS, note, trace
from tests.semantics.test_physical_connections import sleepy


def test_nothing_is_received_before_it_was_sent() -> None:
    """Tags 5: where reactions sleep, a reader of a value is no earlier than its sender was, however it came there."""

    def program(rx: Any, *, dtype: str | None, after: int | None, writers: int) -> Any:
        class Tick(rx.Reactor):
            tick, out = rx.Timer(0, 100), rx.Output()

            @rx.reaction(tick, effects=out)
            def go(self) -> None:
                self.out.set(0)

        class Worker(rx.Reactor):
            inp = rx.Input()
            out = rx.Output(shape=(1,), dtype=dtype) if dtype else rx.Output()

            def __init__(self) -> None:
                for _ in range(writers):
                    self.add_reaction(self.inp, self.go, effects=self.out)

            def go(self) -> None:
                time.sleep(10e-9)
                self.out.set(np.ones(1, dtype) if dtype else 1)

        class Sink(rx.Reactor):
            inp = rx.Input(shape=(1,), dtype=dtype) if dtype else rx.Input()
            out = rx.Output()

            @rx.reaction(inp, effects=out)
            def hear(self) -> None:
                note(self, "in time", self.physical_time)
                self.out.set(2)

            @hear.deadline(12)
            def late(self) -> None:
                note(self, "late", self.physical_time)
                self.out.set(2)

        class Last(rx.Reactor):
            inp = rx.Input()

            @rx.reaction(inp)
            def hear(self) -> None:
                note(self, self.physical_time)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.tick, self.worker, self.sink, self.last = Tick(), Worker(), Sink(), Last()
                rx.connect(self.tick.out, self.worker.inp)
                rx.connect(self.worker.out, self.sink.inp, after=after)
                rx.connect(self.sink.out, self.last.inp)

        return Main()

    def found(*, dtype: str | None = None, after: int | None = None, writers: int = 1) -> Any:
        made = trace(
            lambda rx: program(rx, dtype=dtype, after=after, writers=writers), clock=sleepy, timeout=190, ways=WAYS
        )
        return made["main.sink"], made["main.last"]

    for dtype in (None, "f4"):
        assert found(dtype=dtype) == (
            [(0, 0, "in time", 10), (100, 0, "in time", 110)],
            [(0, 0, 10), (100, 0, 110)],
        )
        assert found(dtype=dtype, writers=2)[0] == [(0, 0, "late", 20), (100, 0, "late", 120)]
        assert found(dtype=dtype, writers=3, after=5)[0] == [(5, 0, "late", 30), (105, 0, "late", 130)]
        assert found(dtype=dtype, writers=3, after=0)[0] == [(0, 1, "late", 30), (100, 1, "late", 130)]


@pytest.mark.parametrize("backend", ["thread", "process"])
def test_only_who_reads_is_as_late_as_the_sender(backend: Any) -> None:
    """Tags 5: sleeps of two workers pass side by side, and it does not matter when a message is found. Ours."""

    class Sender(rx.Reactor):
        tick, out = rx.Timer(0, 10), rx.Output()

        @rx.reaction(tick, effects=out)
        def go(self) -> None:
            time.sleep(25e-9)
            self.out.set(self.physical_time)

    class Receiver(rx.Reactor):
        inp, tick = rx.Input(), rx.Timer(0, 10)

        @rx.reaction(tick)
        def first(self) -> None:
            note(self, "first", self.physical_time)

        @rx.reaction(inp)
        def hear(self) -> None:
            assert self.physical_time >= self.inp.value
            note(self, "hear", self.physical_time)

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.sender, self.receiver = Sender(), Receiver()
            rx.connect(self.sender.out, self.receiver.inp)

    for _ in range(5):
        main = Main()
        options: Any = {"backend": backend, "workers": 2, "placement": {"main.receiver": 1}}
        rx.run(main, clock=rx.VirtualClock(sleep=True), timeout=20, **options)
        assert main.receiver.log == [  # type: ignore[attr-defined]
            (0, 0, "first", 0),
            (0, 0, "hear", 25),
            (10, 0, "first", 25),
            (10, 0, "hear", 50),
            (20, 0, "first", 50),
            (20, 0, "hear", 75),
        ]


def test_physical_time_stands_still_while_reactions_run() -> None:
    """Tags 5: under a virtual clock it is the time of the tag, on every worker, when no reaction sleeps."""

    def program(rx: Any) -> Any:
        class Ticker(rx.Reactor):
            tick = rx.Timer("first", "period")

            def __init__(self, first: int, period: int) -> None:
                self.first, self.period = first, period

            @rx.reaction(tick)
            def go(self) -> None:
                note(self, self.physical_time, self.lag)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.tickers = [Ticker(k, 7 + k) for k in range(4)]

        return Main()

    real = program(rx)
    rx.run(real, workers=2, backend="thread", clock=rx.VirtualClock(), timeout=100)
    for ticker in real.tickers:
        assert ticker.log == [(t, 0, t, 0) for t in range(ticker.first, 101, ticker.period)]


def test_lag_is_in_the_result() -> None:
    """Tags 5: how late tags began, mean and worst, per worker; a rule of our own."""

    class Main(rx.Reactor):
        tick = rx.Timer(0, 1000)

        @rx.reaction(tick)
        def work(self) -> None:
            time.sleep((1500 if self.tag.time == 0 else 0) / 1e9)

    result = rx.run(Main(), clock=rx.VirtualClock(sleep=True), timeout=1000)
    (worker,) = result.workers
    assert worker.max_lag == 500e-9
    assert worker.mean_lag == 250e-9
    assert "  250 ns   500 ns\n" in result.summary()


def test_no_tag_begins_before_its_time_and_with_fast_nothing_waits() -> None:
    """Tags 5, 6: in real time the lag is never negative; fast, logical time runs ahead. The tags are the same."""

    class Main(rx.Reactor):
        tick, act = rx.Timer("1 ms", "2 ms"), rx.LogicalAction()

        def __init__(self) -> None:
            self.found: list[tuple[int, int]] = []
            self.lags: list[int] = []

        @rx.reaction(tick, act, effects=act)
        def see(self) -> None:
            self.found.append(self.tag)
            self.lags.append(self.lag)
            if self.tick.is_present:
                self.act.schedule()

    def run(*, fast: bool, timeout: str) -> Main:
        main = Main()
        rx.run(main, fast=fast, timeout=timeout)
        return main

    real = run(fast=False, timeout="5 ms")
    assert real.found == [(t * 1_000_000, m) for t in (1, 3, 5) for m in (0, 1)][:-1]  # (5 ms, 1) is beyond the end
    assert min(real.lags) >= 0
    fast = run(fast=True, timeout="5 ms")
    assert fast.found == real.found

    class Far(rx.Reactor):
        alarm = rx.Timer("7 h")

        @rx.reaction(alarm)
        def see(self) -> None:
            self.found = self.lag

    far = Far()
    rx.run(far, fast=True)
    assert far.found < 0


def test_logical_time_stands_still_in_a_reaction_while_physical_time_moves() -> None:
    """Tags 7: what it schedules after a while is counted from its tag."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            tick, act = rx.Timer(10), rx.LogicalAction()

            @rx.reaction(tick, effects=act)
            def work(self) -> None:
                note(self, self.physical_time)
                time.sleep(30e-9)
                note(self, self.physical_time)
                self.act.schedule(delay=5)

            @rx.reaction(act)
            def see(self) -> None:
                note(self, self.physical_time)

        return Main()

    assert trace(program, clock=lambda rx, _: rx.VirtualClock(sleep=True), ways=TOGETHER) == {
        "main": [(10, 0, 10), (10, 0, 40), (15, 0, 40)]
    }
