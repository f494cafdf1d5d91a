"""Physical actions and connections, in virtual time (catalogue, sections 1, 5 and 6)."""

import itertools
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest

import reactors as rx
from tests.oracle.ways import TOGETHER, WAYS, note, trace


def listener(rx: Any, **action: Any) -> Any:
    class Listener(rx.Reactor):
        heard = rx.PhysicalAction(**action)

        @rx.reaction(heard)
        def listen(self) -> None:
            note(self, self.heard.value)

    return Listener


def test_a_physical_action_has_the_tag_of_the_moment_plus_its_delay() -> None:
    """Actions 2: in whatever order the moments are given; microstep 0."""

    def clock(rx: Any, main: Any) -> Any:
        made = rx.VirtualClock()
        for when in (30, 10, 10_000_000_000):
            made.at(when, main.heard, when)
        return made

    assert trace(lambda rx: listener(rx)(), clock=clock) == {
        "main": [(10, 0, 10), (30, 0, 30), (10_000_000_000, 0, 10_000_000_000)]
    }
    assert trace(lambda rx: listener(rx, min_delay=5)(), clock=clock, timeout=30) == {"main": [(15, 0, 10)]}


def test_two_events_of_one_moment_are_a_microstep_apart() -> None:
    """Actions 2, 4: the order is that in which they were given; another action is simultaneous with the first."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            first, second = rx.PhysicalAction(), rx.PhysicalAction()

            @rx.reaction(first, second)
            def listen(self) -> None:
                note(self, self.first.value, self.second.value)

        return Main()

    def clock(rx: Any, main: Any) -> Any:
        made = rx.VirtualClock()
        made.at(10, main.first, "a")
        made.at(10, main.first, "b")
        made.at(10, main.second, "c")
        return made

    assert trace(program, clock=clock) == {"main": [(10, 0, "a", "c"), (10, 1, "b", None)]}


def test_an_event_from_outside_is_simultaneous_with_what_is_due_then() -> None:
    """Actions 2: a timer of that time, on any worker.

    And what happens at a moment that is over, comes at the next microstep.
    """

    def program(rx: Any) -> Any:
        class Ticker(rx.Reactor):
            tick = rx.Timer(0, 10)
            out = rx.Output()

            @rx.reaction(tick, effects=out)
            def go(self) -> None:
                self.out.set(self.tag.time)

        class Main(rx.Reactor):
            inp, bell = rx.Input(), rx.PhysicalAction()

            @rx.reaction(inp, bell)
            def listen(self) -> None:
                note(self, self.inp.value, self.bell.value)

        class Whole(rx.Reactor):
            def __init__(self) -> None:
                self.ticker, self.main = Ticker(), Main()
                rx.connect(self.ticker.out, self.main.inp)

        return Whole()

    def clock(rx: Any, main: Any) -> Any:
        made = rx.VirtualClock()
        made.at(10, main.main.bell, "x")
        made.at(0, main.main.bell, "y")
        return made

    assert trace(program, clock=clock, timeout=20) == {
        "main.main": [(0, 0, 0, "y"), (10, 0, 10, "x"), (20, 0, 20, None)]
    }


def test_a_reaction_may_schedule_a_physical_action() -> None:
    """Actions 2: at the physical time, plus a microstep where that is the current tag."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            again = rx.PhysicalAction()

            @rx.reaction(rx.startup, again, effects=again)
            def go(self) -> None:
                note(self, self.again.value, self.lag)
                if self.tag.time < 40 and self.tag.microstep < 2:
                    assert self.again.schedule(self.tag.microstep)
                    time.sleep(20e-9)
                    assert self.again.schedule("late", 10)

        return Main()

    found = trace(program, clock=lambda rx, _: rx.VirtualClock(sleep=True), ways=TOGETHER, timeout=45)
    assert found == {
        "main": [
            (0, 0, None, 0),
            (0, 1, 0, 20),
            (20, 0, 1, 20),
            (30, 0, "late", 30),
            (40, 0, 0, 40),
        ]
    }


def test_a_physical_connection_arrives_later_than_it_was_sent() -> None:
    """Ports 14: at the physical time plus its delay: a microstep later where no time has passed. It breaks cycles."""

    def program(rx: Any) -> Any:
        class Echo(rx.Reactor):
            inp, out = rx.Input(), rx.Output()

            @rx.reaction(inp, effects=out)
            def echo(self) -> None:
                note(self, self.inp.value)
                if self.inp.value < 3:
                    self.out.set(self.inp.value + 1)

        class Source(rx.Reactor):
            tick = rx.Timer(10, 100)
            back = rx.Input()
            out = rx.Output()

            @rx.reaction(tick, back, effects=out)
            def go(self) -> None:
                note(self, self.tick.is_present, self.back.value)
                self.out.set(0 if self.back.value is None else self.back.value)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.echo = Source(), Echo()
                rx.connect(self.source.out, self.echo.inp, physical=True)
                rx.connect(self.echo.out, self.source.back, physical=True, after=5)

        return Main()

    assert trace(program, clock=lambda rx, _: rx.VirtualClock(), timeout=110) == {
        "main.source": [
            (10, 0, True, None),
            (15, 0, False, 1),
            (20, 0, False, 2),
            (25, 0, False, 3),
            (110, 0, True, None),
        ],
        "main.echo": [(10, 1, 0), (15, 1, 1), (20, 1, 2), (25, 1, 3)],
    }


def bursts(rx: Any, rest: int = 0) -> Any:
    """A source that is late and then sends at many microsteps of one time, and whoever hears it."""

    class Source(rx.Reactor):
        tick, again, out = rx.Timer(10, 5), rx.LogicalAction(), rx.Output()

        def __init__(self) -> None:
            self.n = 0

        @rx.reaction(tick, again, effects=(again, out))
        def go(self) -> None:
            self.n += 1
            self.out.set(self.n)
            if self.n == 1:
                time.sleep(15e-9)
            if self.tag.time == 25 and self.tag.microstep < 4:
                self.again.schedule()

        @rx.reaction(tick, again)
        def rest(self) -> None:
            time.sleep(rest / 1e9)

    class Sink(rx.Reactor):
        inp = rx.Input()

        @rx.reaction(inp)
        def hear(self) -> None:
            note(self, self.inp.value)

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.source, self.sink = Source(), Sink()
            rx.connect(self.source.out, self.sink.inp, physical=True)

    return Main()


def sleepy(rx: Any, main: Any) -> Any:
    return rx.VirtualClock(sleep=True)


def test_nothing_overtakes_on_a_physical_connection() -> None:
    """Ports 14: what arrives at one time, arrives at microsteps of it, in the order in which it was sent.

    It counts when the reaction that sent it was over, not what others slept after it.
    """
    assert trace(bursts, clock=sleepy, timeout=29) == {"main.sink": [(25, k, k) for k in range(1, 9)]}
    found = trace(lambda rx: bursts(rx, rest=1), clock=sleepy, timeout=30)
    assert found == {"main.sink": [(25 + k, 1, 1 + k) for k in range(5)]}


def test_what_is_behind_a_physical_connection_has_come_over_it() -> None:
    """Ports 14: whoever reads at the end of a way that begins with a physical connection."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            tick, out = rx.Timer(10), rx.Output()

            @rx.reaction(tick, effects=out)
            def go(self) -> None:
                time.sleep(15e-9)
                self.out.set(7)

        class Sink(rx.Reactor):
            inp = rx.Input()

            @rx.reaction(inp)
            def hear(self) -> None:
                note(self, self.inp.value)

        class Box(rx.Reactor):
            inp = rx.Input()

            def __init__(self) -> None:
                self.sink, self.late = Sink(), Sink()
                rx.connect(self.inp, self.sink.inp)
                rx.connect(self.inp, self.late.inp, after=5)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.box = Source(), Box()
                rx.connect(self.source.out, self.box.inp, physical=True)

        return Main()

    assert trace(program, clock=sleepy, timeout=50) == {
        "main.box.sink": [(25, 1, 7)],
        "main.box.late": [(30, 0, 7)],
    }


def test_arrivals_that_were_put_aside_are_not_overtaken() -> None:
    """Ports 14, modes: a physical connection of a mode that is left and entered again, with its history or by reset."""

    def program(rx: Any, how: str) -> Any:
        class Source(rx.Reactor):
            tick, out = rx.Timer(0, 10), rx.Output()

            @rx.reaction(tick, effects=out)
            def go(self) -> None:
                time.sleep((0 if self.tag.time else 100) / 1e9)
                if self.tag.time <= 40:
                    self.out.set(self.tag.time)

        class Sink(rx.Reactor):
            inp = rx.Input()

            @rx.reaction(inp)
            def hear(self) -> None:
                note(self, self.inp.value)

        class Main(rx.Reactor):
            on, off = rx.Mode(initial=True), rx.Mode()
            leave, enter = rx.Timer(11), rx.Timer(22)

            def __init__(self) -> None:
                self.source, self.sink = Source(), Sink()
                rx.connect(self.source.out, self.sink.inp, physical=True, after=30, mode=self.on)
                enters = self.on.history if how == "history" else self.on.reset
                self.add_reaction(self.leave, self.go, effects=self.off)
                self.add_reaction(self.enter, self.come, effects=enters)

            def go(self) -> None:
                self.off.set()

            def come(self) -> None:
                self.on.set()

        return Main()

    def found(how: str) -> Any:
        return trace(lambda rx: program(rx, how), clock=sleepy, timeout=150)["main.sink"]

    assert found("history") == [(141, 0, 0), (141, 1, 10), (141, 2, 30), (141, 3, 40)]
    assert found("reset") == [(130, 0, 30), (130, 1, 40)]


def test_what_a_reaction_schedules_of_a_physical_action_belongs_to_the_mode_it_was_in() -> None:
    """Actions 2, modes: left with the mode, it goes on when that is entered with its history, and is lost by reset."""

    def left(rx: Any) -> Any:
        class Main(rx.Reactor):
            a, b = rx.Mode(initial=True), rx.Mode()
            p, back = rx.PhysicalAction(mode=a), rx.Timer(20, mode=b)

            @rx.reaction(rx.startup, effects=(p, b))
            def go(self) -> None:
                self.p.schedule(1)
                self.b.set()

            @rx.reaction(back, effects=a.history)
            def enter(self) -> None:
                self.a.set()

            @rx.reaction(p)
            def see(self) -> None:
                note(self, self.p.value)

        return Main()

    def renewed(rx: Any) -> Any:
        class Main(rx.Reactor):
            a = rx.Mode(initial=True)
            p, tick = rx.PhysicalAction(mode=a), rx.Timer(0)

            @rx.reaction(tick, effects=(p, a.reset))
            def go(self) -> None:
                self.p.schedule(1)
                self.a.set()

            @rx.reaction(p)
            def see(self) -> None:
                note(self, self.p.value)

        return Main()

    def beside(rx: Any, program: Any) -> Any:
        class Whole(rx.Reactor):
            def __init__(self) -> None:
                self.main, self.other = program(rx), rx.Reactor()

        return Whole()

    def clock(rx: Any, main: Any) -> Any:
        return rx.VirtualClock()

    assert trace(lambda rx: beside(rx, left), clock=clock, timeout=50) == {"main.main": [(20, 1, 1)]}
    assert trace(lambda rx: beside(rx, renewed), clock=clock, timeout=50) == {}
    for options in ({"workers": 1}, {"workers": 2, "placement": {"main.main": 1}}):
        real = beside(rx, renewed)
        rx.run(real, timeout="1 ms", backend="thread", **options)  # type: ignore[arg-type]  # a dict of several kinds
        assert "log" not in vars(real.main)


def test_nothing_is_received_before_it_was_sent() -> None:
    """Tags 5: where reactions sleep, whoever reads a value is no earlier than its sender was, however it came there."""

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
    """Tags 5: under a virtual clock it is the time of the tag, on every worker, when nobody sleeps."""

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


class Letter:
    """What can be let go of."""


def test_a_value_from_outside_is_let_go_of_when_the_next_one_is_read() -> None:
    """Actions 7: nothing keeps what a physical action has brought."""

    class Main(rx.Reactor):
        letter = rx.PhysicalAction(Letter)

        def __init__(self) -> None:
            self.alive: list[bool] = []
            self.last: Any = None

        @rx.reaction(rx.startup, effects=letter)
        def begin(self) -> None:
            for _ in range(3):
                self.letter.schedule(Letter())

        @rx.reaction(letter)
        def read(self) -> None:
            before, self.last = self.last, weakref.ref(self.letter.value)
            if before is not None:
                self.alive.append(before() is not None)

    main = Main()
    rx.run(main, clock=rx.VirtualClock())
    assert main.alive == [False, False]


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


def test_spacing_keeps_events_from_outside_apart() -> None:
    """Actions 12-15: by each policy: the tags that they would have are 10, 12, 13, 40 and 49.

    With "update", 13 takes the place of 12, which was deferred to 20, and keeps its own tag although 10 is so close.
    """

    def clock(rx: Any, main: Any) -> Any:
        made = rx.VirtualClock()
        for when in (10, 12, 13, 40, 49):
            made.at(when, main.heard, when)
        return made

    def found(policy: str) -> Any:
        return trace(lambda rx: listener(rx, min_spacing=10, policy=policy)(), clock=clock)

    assert found("defer") == {"main": [(10, 0, 10), (20, 0, 12), (30, 0, 13), (40, 0, 40), (50, 0, 49)]}
    assert found("drop") == {"main": [(10, 0, 10), (40, 0, 40)]}
    assert found("replace") == {"main": [(10, 0, 10), (20, 0, 13), (40, 0, 40), (50, 0, 49)]}
    assert found("update") == {"main": [(10, 0, 10), (13, 0, 13), (40, 0, 40), (50, 0, 49)]}


def test_no_tag_begins_before_its_time_and_with_fast_nobody_waits() -> None:
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


class Crowd(rx.Reactor):
    """Hears several threads, until each has said None."""

    heard = rx.PhysicalAction()

    def __init__(self, threads: int) -> None:
        self.left = threads
        self.values: list[tuple[int, int | None]] = []
        self.tags: list[rx.Tag] = []

    @rx.reaction(heard, effects=rx.stop)
    def hear(self) -> None:
        self.values.append(self.heard.value)
        self.tags.append(self.tag)
        self.left -= self.heard.value[1] is None
        if not self.left:
            self.request_stop()


@pytest.mark.parametrize("backend", ["inline", "thread", "process"])
def test_several_threads_may_schedule_one_physical_action(backend: Any) -> None:
    """Actions 2, 4: each event that is accepted happens, those of a thread in order, and no two at one tag."""
    main = Crowd(4)
    accepted: list[list[tuple[int, int | None]]] = [[] for _ in range(4)]

    def talk(thread: int) -> None:
        while not main.heard.schedule((thread, -1)):
            time.sleep(0.001)  # the program has not begun
        accepted[thread].append((thread, -1))
        for k in (*range(200), None):
            if main.heard.schedule((thread, k)):
                accepted[thread].append((thread, k))

    threads = [threading.Thread(target=talk, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    rx.run(main, workers=1, backend=backend, timeout="30 s")
    for thread in threads:
        thread.join()
    for k in range(4):
        assert [value for value in main.values if value[0] == k] == accepted[k]
        assert len(accepted[k]) == 202
    assert all(a < b for a, b in itertools.pairwise(main.tags))


def test_an_event_before_the_run_is_not_accepted() -> None:
    """Actions 2: there is no time yet that it could have."""

    class Button(rx.Reactor):
        pressed = rx.PhysicalAction(str)

    assert Button().pressed.schedule("now") is False


@pytest.mark.parametrize("first", ["3 ms", "10 ms"])
def test_virtual_time_goes_to_the_next_thing_that_any_worker_waits_for(first: str) -> None:
    """Timers 1: whichever of the workers that is: no tag begins late."""

    class Ticking(rx.Reactor):
        def __init__(self, offset: str) -> None:
            self.tick, self.late = rx.Timer(offset, "10 ms"), list[int]()
            self.add_reaction(self.tick, self.go)

        def go(self) -> None:
            self.late.append(self.physical_time - self.tag.time)

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.one, self.two, self.three = Ticking(first), Ticking("5 ms"), Ticking("7 ms")

    main = Main()
    where = {"main.two": 1, "main.three": 2}
    rx.run(main, workers=3, backend="thread", placement=where, clock=rx.VirtualClock(), timeout="40 ms")
    assert main.one.late + main.two.late + main.three.late == [0] * 12


def test_an_action_that_triggers_nothing_may_be_scheduled_from_outside() -> None:
    """Actions 2: it is accepted, and nobody hears it."""

    class Main(rx.Reactor):
        bell = rx.PhysicalAction()
        tick = rx.Timer("20 ms")

        def __init__(self) -> None:
            self.took: list[bool] = []

        @rx.reaction(rx.startup)
        def begin(self) -> None:
            self.thread = threading.Thread(target=lambda: self.took.append(self.bell.schedule(1)))
            self.thread.start()
            self.thread.join()
            del self.thread

        @rx.reaction(tick, effects=rx.stop)
        def end(self) -> None:
            self.request_stop()

    main = Main()
    rx.run(main)
    assert main.took == [True]
