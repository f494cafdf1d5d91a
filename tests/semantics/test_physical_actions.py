"""Physical actions, in virtual time and from threads (catalogue, sections 1 and 5)."""

import itertools
import threading
import time
import weakref
from typing import Any

import pytest

import reactors as rx
from tests.oracle.ways import TOGETHER, note, trace


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


TOGETHER_IN_THREADS = [{"workers": 1}, {"workers": 2, "backend": "thread", "placement": {"main.other": 1}}]


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


@pytest.mark.parametrize("policy", ["drop", "replace", "update"])
@pytest.mark.parametrize("options", TOGETHER_IN_THREADS, ids=str)
def test_a_value_that_no_reaction_reads_is_let_go_of_too(options: dict[str, Any], policy: Any) -> None:
    """Actions 7, 13-15: of those that come too early, and of those whose reaction does not look."""

    class Main(rx.Reactor):
        letter = rx.PhysicalAction(Letter, min_spacing="1 s", policy=policy)
        unread = rx.PhysicalAction(Letter)
        enough = rx.LogicalAction()

        def __init__(self) -> None:
            self.other = rx.Reactor()
            self.letters: list[weakref.ref[Letter]] = []

        def send(self, action: Any) -> None:
            letter = Letter()
            self.letters.append(weakref.ref(letter))
            action.schedule(letter)

        @rx.reaction(rx.startup, effects=(letter, unread, enough))
        def begin(self) -> None:
            for _ in range(500):
                self.send(self.letter)
                self.send(self.unread)
            self.enough.schedule(delay="10 ms")

        @rx.reaction(letter, unread)
        def ignore(self) -> None:
            pass

        @rx.reaction(enough)
        def count(self) -> None:
            self.alive = sum(letter() is not None for letter in self.letters)

    main = Main()
    rx.run(main, clock=rx.VirtualClock(), **options)
    assert main.alive < 150


@pytest.mark.parametrize("backend", ["inline", "thread", "process"])
def test_a_reaction_may_schedule_more_than_the_inbox_takes(backend: Any) -> None:
    """Actions 2: its own worker takes them, and no other would."""

    class Main(rx.Reactor):
        heard = rx.PhysicalAction(int)

        def __init__(self) -> None:
            self.values: list[int] = []

        @rx.reaction(rx.startup, effects=heard)
        def begin(self) -> None:
            for i in range(2500):
                assert self.heard.schedule(i)

        @rx.reaction(heard, effects=rx.stop)
        def hear(self) -> None:
            self.values.append(self.heard.value)
            if len(self.values) == 2500:
                self.request_stop()

    main = Main()
    rx.run(main, backend=backend, keepalive=True)
    assert main.values == list(range(2500))


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
    """Actions 2: it is accepted, and no reaction runs."""

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
