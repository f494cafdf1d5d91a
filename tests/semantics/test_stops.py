"""Requests to stop (catalogue, section 3)."""

from typing import Any

from tests.oracle.ways import note, trace
from tests.semantics.test_end import clocks


def test_a_stop_takes_effect_at_the_next_microstep_everywhere() -> None:
    """The end 5: the tag of the request is finished first, by all reactors."""
    assert trace(clocks((2, 5), stop_at=(4,))) == {
        "main.every_2": [(0, 0, "tick"), (2, 0, "tick"), (4, 0, "tick"), (4, 1, "end")],
        "main.every_5": [(0, 0, "tick"), (4, 1, "end")],
    }


def test_of_several_requests_to_stop_the_earliest_counts() -> None:
    """The end 6: the stop tag only ever moves to an earlier one."""
    assert trace(clocks((3,), stop_at=(5, 4, 9))) == {"main.every_3": [(0, 0, "tick"), (3, 0, "tick"), (4, 1, "end")]}


def test_a_request_does_not_put_off_the_timeout() -> None:
    """The end 6: a request whose stop tag lies beyond the timeout has no effect."""
    assert trace(clocks((3,), stop_at=(8,)), timeout=8) == {
        "main.every_3": [(0, 0, "tick"), (3, 0, "tick"), (6, 0, "tick"), (8, 0, "end")]
    }


def test_what_is_due_at_the_stop_tag_happens_there() -> None:
    """The end 3, 5: events scheduled without a delay in the tag of the request meet the shutdown."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            tick = rx.Timer(2)
            act = rx.LogicalAction(int)

            @rx.reaction(tick, effects=(rx.stop, act))
            def ask(self) -> None:
                self.act.schedule(1)
                self.act.schedule(2)
                self.request_stop()
                self.act.schedule(3, delay=1)

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self, "end")

            @rx.reaction(act, effects=act)
            def on_act(self) -> None:
                note(self, self.act.value)
                self.act.schedule(4)

        return Main()

    assert trace(program) == {"main": [(2, 1, "end"), (2, 1, 1)]}


def test_asking_to_stop_during_shutdown_changes_nothing() -> None:
    """The end 6: what is asked for at the stop tag comes too late."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            @rx.reaction(rx.startup, rx.shutdown, effects=rx.stop)
            def ask(self) -> None:
                note(self)
                self.request_stop()

        return Main()

    assert trace(program) == {"main": [(0, 0), (0, 1)]}


def test_a_stop_may_be_declared_to_take_effect_later() -> None:
    """The end 5: with `rx.stop.after(d)` the stop tag is that of a delay of d; a rule of our own."""

    def program(rx: Any) -> Any:
        class Stopper(rx.Reactor):
            alarm = rx.Timer(2, 2)

            @rx.reaction(alarm, effects=rx.stop.after(5))
            def ask(self) -> None:
                note(self)
                self.request_stop()

        class Clock(rx.Reactor):
            tick = rx.Timer(0, 3)

            @rx.reaction(tick)
            def on_tick(self) -> None:
                note(self)

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self, "end")

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.stopper, self.clock = Stopper(), Clock()

        return Main()

    assert trace(program) == {
        "main.stopper": [(2, 0), (4, 0), (6, 0)],
        "main.clock": [(0, 0), (3, 0), (6, 0), (7, 0, "end")],
    }


def test_to_ask_twice_to_stop_is_to_ask_once() -> None:
    """The end 6: in one reaction, in two of one tag, and again at the stop tag: nothing moves it."""

    def program(rx: Any) -> Any:
        class Stopper(rx.Reactor):
            tick, again = rx.Timer(3), rx.LogicalAction()

            @rx.reaction(tick, again, effects=(rx.stop, again))
            def ask(self) -> None:
                note(self, "ask")
                self.request_stop()
                self.again.schedule()
                self.request_stop()

            @rx.reaction(rx.shutdown, effects=rx.stop)
            def end(self) -> None:
                note(self, "end")
                self.request_stop()

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.one, self.two = Stopper(), Stopper()

        return Main()

    seen = [(3, 0, "ask"), (3, 1, "ask"), (3, 1, "end")]
    assert trace(program) == {"main.one": seen, "main.two": seen}


def test_of_a_later_stop_and_one_at_once_the_earlier_counts() -> None:
    """The end 6: whichever was asked for first; and a stop never ends a program after its timeout."""

    def program(rx: Any) -> Any:
        class Stopper(rx.Reactor):
            def __init__(self, at: int, delay: int) -> None:
                self.alarm = rx.Timer(at)
                self.add_reaction(self.alarm, self.request_stop, effects=rx.stop.after(delay))

        class Clock(rx.Reactor):
            tick = rx.Timer(0, 2)

            @rx.reaction(tick)
            def on_tick(self) -> None:
                note(self)

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self, "end")

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.soon, self.late, self.at_once, self.clock = Stopper(1, 6), Stopper(2, 50), Stopper(4, 0), Clock()

        return Main()

    assert trace(program) == {"main.clock": [(0, 0), (2, 0), (4, 0), (4, 1, "end")]}
    assert trace(program, timeout=3) == {"main.clock": [(0, 0), (2, 0), (3, 0, "end")]}


def test_a_stop_at_a_microstep_is_one_microstep_later() -> None:
    """The end 5: at (2, 2) it is asked for, at (2, 3) the program ends; what was due at 3 never happens."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            tick, again = rx.Timer(2, 1), rx.LogicalAction()

            @rx.reaction(tick, again, effects=(again, rx.stop))
            def step(self) -> None:
                note(self, self.tick.is_present)
                self.again.schedule()
                if self.tag == (2, 2):
                    self.request_stop()

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self, "end")

        return Main()

    assert trace(program) == {"main": [(2, 0, True), (2, 1, False), (2, 2, False), (2, 3, False), (2, 3, "end")]}
