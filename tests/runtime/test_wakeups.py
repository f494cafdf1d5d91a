"""Is every sleeper woken by what it waits for?

A worker that sleeps looks by itself after a while, so a wake-up that is lost costs time and is never noticed. Here that
while is longer than any test, and no worker looks again before it sleeps: a lost wake-up is a run that does not end.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

import reactors as rx
from reactors.execution import arena
from reactors_runtime.planning import image
from tests.execution.test_stepwise import talk, to_the_end
from tests.oracle.random_programs import random_program
from tests.oracle.test_oracle import complaint
from tests.oracle.ways import Way, note, trace

PATIENCE_S = 120


@pytest.fixture(autouse=True)
def no_worker_looks_by_itself(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def lost(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError("the run does not end: a wake-up was lost")

    monkeypatch.setattr(image, "LONGEST_SLEEP_NS", 10**9 * 100 * PATIENCE_S)
    monkeypatch.setattr(arena, "SPIN_NS", 0)
    before = signal.signal(signal.SIGALRM, lost)
    signal.alarm(PATIENCE_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


APART = [
    Way("thread", 2, placed="in turn"),
    Way("thread", 3, fast=False, placed="in turn"),
    Way("process", 2, placed="in turn"),
    Way("process", 3, placed="in turn"),
]
every_way = pytest.mark.parametrize("way", APART, ids=str)


def circle(after: int | None, rounds: int) -> Callable[[Any], Any]:
    """Four reactors that pass a number on, the last one back to the first after a delay."""

    def program(rx: Any) -> Any:
        class Passing(rx.Reactor):
            inp, out = rx.Input(int), rx.Output(int)

            def __init__(self, *, begins: bool) -> None:
                self.add_reaction(
                    (rx.startup, self.inp) if begins else self.inp, self.pass_on, uses=self.inp, effects=self.out
                )

            def pass_on(self) -> None:
                number = (self.inp.value or 0) + 1
                note(self, number)
                if number < rounds:
                    self.out.set(number)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.a, self.b, self.c, self.d = (Passing(begins=k == 0) for k in range(4))
                rx.connect(self.a.out, self.b.inp)
                rx.connect(self.b.out, self.c.inp, after=after)
                rx.connect(self.c.out, self.d.inp)
                rx.connect(self.d.out, self.a.inp, after=0)

        return Main()

    return program


@every_way
@pytest.mark.parametrize("after", [None, 0, 1000])
def test_who_waits_for_a_value_is_woken_when_it_comes(way: Way, after: int | None) -> None:
    seen = trace(circle(after, 400), ways=[way])
    assert sum(map(len, seen.values())) == 400


@every_way
def test_who_waits_for_others_to_pass_is_woken_when_they_have(way: Way) -> None:
    """Nothing is sent but at the end: that a port stays absent, and a tag may begin, is all there is to hear."""

    def program(rx: Any) -> Any:
        class Quiet(rx.Reactor):
            tick, out = rx.Timer(0, 3), rx.Output(int)

            @rx.reaction(tick, effects=out)
            def go(self) -> None:
                if self.tag.time == 600:
                    self.out.set(self.tag.time)

        class Waiting(rx.Reactor):
            tick, now, later, out = rx.Timer(0, 2), rx.Input(int), rx.Input(int), rx.Output(int)

            @rx.reaction(tick, now, later, effects=out)
            def go(self) -> None:
                if self.now.is_present or self.later.is_present:
                    note(self, self.now.value, self.later.value)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.quiet, self.waiting, self.another = Quiet(), Waiting(), Waiting()
                rx.connect(self.quiet.out, self.waiting.now)
                rx.connect(self.quiet.out, self.another.now)
                rx.connect(self.waiting.out, self.another.later, after=1)
                rx.connect(self.another.out, self.waiting.later, after=5)

        return Main()

    assert trace(program, timeout=700, ways=[way]) == {
        "main.waiting": [(600, 0, 600, None)],
        "main.another": [(600, 0, 600, None)],
    }


@pytest.mark.parametrize("way", [Way("thread", 2, placed="in turn"), Way("process", 2, placed="in turn")], ids=str)
def test_who_waits_for_what_was_sent_long_ago_is_woken_when_its_sender_has_got_past_that(way: Way) -> None:
    """The slow one is still at 5 when the other begins 10, where it reads what left the slow one at 5."""

    def program(rx: Any) -> Any:
        class Slow(rx.Reactor):
            tick, inp, out = rx.Timer(0, 5), rx.Input(int), rx.Output(int)

            @rx.reaction(tick)
            def work(self) -> None:
                time.sleep(0.02)

            @rx.reaction(tick, uses=inp, effects=out)
            def go(self) -> None:
                note(self, self.inp.value)

        class Quick(rx.Reactor):
            tick, inp, out = rx.Timer(0, 5), rx.Input(int), rx.Output(int)

            @rx.reaction(tick, uses=inp, effects=out)
            def go(self) -> None:
                self.out.set(self.tag.time)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.slow, self.quick = Slow(), Quick()
                rx.connect(self.slow.out, self.quick.inp, after=5)
                rx.connect(self.quick.out, self.slow.inp)

        return Main()

    assert [each[-1] for each in trace(program, timeout=50, ways=[way])["main.slow"]] == [*range(0, 51, 5)]


def test_ctrl_c_wakes_who_sleeps_though_worker_0_is_busy() -> None:
    """The busy one waits for what the other does in the end."""
    ended = threading.Event()

    class Busy(rx.Reactor):
        @rx.reaction(rx.startup)
        def work(self) -> None:
            time.sleep(0.2)  # by then the others sleep
            signal.raise_signal(signal.SIGINT)
            self.woken = ended.wait(20)

    class Sleeping(rx.Reactor):
        bell = rx.PhysicalAction()

        @rx.reaction(bell)
        def hear(self) -> None: ...

        @rx.reaction(rx.shutdown)
        def end(self) -> None:
            ended.set()

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.busy, self.sleeping = Busy(), Sleeping()

    main = Main()
    with pytest.raises(KeyboardInterrupt):
        rx.run(main, workers=2, backend="thread", placement={"main.sleeping": 1})
    assert main.busy.woken


@every_way
def test_who_waits_for_room_is_woken_when_there_is_some(way: Way) -> None:
    """More is under way than a ring and the slots hold."""

    class Source(rx.Reactor):
        tick, out = rx.Timer(0, "1 ns"), rx.Output(int)

        @rx.reaction(tick, effects=out)
        def go(self) -> None:
            self.out.set(self.tag.time)

    class Sink(rx.Reactor):
        inp = rx.Input(int)

        def __init__(self) -> None:
            self.seen: list[int] = []

        @rx.reaction(inp)
        def see(self) -> None:
            self.seen.append(self.inp.value)

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.source, self.sink = Source(), Sink()
            rx.connect(self.source.out, self.sink.inp, after="3 us")

    main = Main()
    way.run(main, ["main", "main.source", "main.sink"], timeout="5 us")
    assert main.sink.seen == [*range(2001)]


@pytest.mark.parametrize("way", [Way(fast=False), *APART], ids=str)
def test_who_waits_for_the_outside_is_woken_by_it(way: Way) -> None:
    """The second one comes when all that the first one led to is over, and everybody sleeps."""

    class Door(rx.Reactor):
        bell, out, back = rx.PhysicalAction(), rx.Output(int), rx.Input(int)

        def __init__(self) -> None:
            self.rung, self.heard = 0, 0

        @rx.reaction(bell, effects=out)
        def ring(self) -> None:
            self.rung += 1
            self.out.set(self.rung)

        @rx.reaction(back, effects=rx.stop)
        def end(self) -> None:
            self.heard = self.back.value
            if self.heard == 2:
                self.request_stop()

    class Hall(rx.Reactor):
        inp, out = rx.Input(int), rx.Output(int)

        @rx.reaction(inp, effects=out)
        def echo(self) -> None:
            self.out.set(self.inp.value)

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.hall, self.door = Hall(), Door()
            rx.connect(self.door.out, self.hall.inp)
            rx.connect(self.hall.out, self.door.back, after=0)

    main = Main()

    def outside() -> None:
        for _ in range(2):
            while not over.is_set() and not main.door.bell.schedule():
                time.sleep(0.001)  # it has not begun
            over.wait(0.1)

    over = threading.Event()
    postman = threading.Thread(target=outside)
    postman.start()
    try:
        way.run(main, ["main", "main.hall", "main.door"])
    finally:
        over.set()
        postman.join()
    assert main.door.heard == 2


@every_way
def test_in_virtual_time_who_waits_is_woken(way: Way) -> None:
    seen = trace(circle(1000, 200), clock=lambda rx, _: rx.VirtualClock(), ways=[way])
    assert sum(map(len, seen.values())) == 200


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("way", [Way("thread", 3), Way("process", 2, fast=False)], ids=str)
def test_random_programs_end(way: Way, number: int) -> None:
    assert complaint(random_program(number), way) is None


def test_a_program_in_steps_ends() -> None:
    main, run = talk(2)
    to_the_end(run)
    assert main.asking.last == 10


@every_way
def test_who_waits_for_what_may_come_late_is_woken_when_its_sender_has_passed_that(way: Way) -> None:
    """The sender takes long at each tag, and the receiver asks for what it may have sent five nanoseconds before."""

    def program(rx: Any) -> Any:
        class Slow(rx.Reactor):
            tick, out = rx.Timer(0, 5), rx.Output(int)

            @rx.reaction(tick, effects=out)
            def go(self) -> None:
                time.sleep(0.002)
                if self.tag.time == 100:
                    self.out.set(self.tag.time)

        class Waiting(rx.Reactor):
            tick, inp = rx.Timer(0, 5), rx.Input(int)

            @rx.reaction(tick, inp)
            def go(self) -> None:
                if self.inp.is_present:
                    note(self, self.inp.value)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.slow, self.waiting = Slow(), Waiting()
                rx.connect(self.slow.out, self.waiting.inp, after=5)

        return Main()

    assert trace(program, timeout=200, ways=[way]) == {"main.waiting": [(105, 0, 100)]}
