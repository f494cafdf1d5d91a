"""How a program starts and ends: startup, shutdown, timeout, request_stop, starvation (catalogue, section 3)."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.ways import note, trace

Program = Callable[[Any], Any]


def test_startup_and_a_timer_without_offset_fire_together_in_the_order_of_declaration() -> None:
    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            tick = rx.Timer()

            @rx.reaction(tick)
            def first(self) -> None:
                note(self, "tick")

            @rx.reaction(rx.startup)
            def second(self) -> None:
                note(self, "startup")

        return Main()

    assert trace(program) == {"main": [(0, 0, "tick"), (0, 0, "startup")]}


def test_a_startup_reaction_sees_what_another_reactor_sets_at_startup() -> None:
    """Reading the port, without being triggered by it, is enough for the order."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out = rx.Output(int)

            @rx.reaction(rx.startup, effects=out)
            def begin(self) -> None:
                self.out.set(42)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source = Source()
                self.add_reaction(rx.startup, self.begin, uses=self.source.out)

            def begin(self) -> None:
                note(self, self.source.out.value)

        return Main()

    assert trace(program) == {"main": [(0, 0, 42)]}


def clocks(periods: tuple[int, ...], stop_at: tuple[int, ...] = ()) -> Program:
    """A reactor with a timer of each period, and one that asks for the end at these times."""

    def program(rx: Any) -> Any:
        class Clock(rx.Reactor):
            def __init__(self, period: int) -> None:
                self.tick = rx.Timer(0, period)
                self.add_reaction(self.tick, self.on_tick)
                self.add_reaction(rx.shutdown, self.end)

            def on_tick(self) -> None:
                note(self, "tick")

            def end(self) -> None:
                note(self, "end")

        class Stopper(rx.Reactor):
            def __init__(self, at: int) -> None:
                self.alarm = rx.Timer(at)
                self.add_reaction(self.alarm, self.request_stop, effects=rx.stop)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                for period in periods:
                    setattr(self, f"every_{period}", Clock(period))
                for time in stop_at:
                    setattr(self, f"stop_at_{time}", Stopper(time))

        return Main()

    return program


def test_a_timeout_is_inclusive() -> None:
    """Events at exactly the timeout happen, and shutdown with them; there is no microstep after it."""
    assert trace(clocks((2, 3)), timeout=6) == {
        "main.every_2": [(0, 0, "tick"), (2, 0, "tick"), (4, 0, "tick"), (6, 0, "tick"), (6, 0, "end")],
        "main.every_3": [(0, 0, "tick"), (3, 0, "tick"), (6, 0, "tick"), (6, 0, "end")],
    }


def test_a_timeout_ends_a_program_also_where_nothing_else_happens() -> None:
    assert trace(clocks((4,)), timeout=6) == {"main.every_4": [(0, 0, "tick"), (4, 0, "tick"), (6, 0, "end")]}


def test_a_timeout_of_zero_is_zero() -> None:
    """Startup and shutdown share the only tag (row 24 of the bad programs)."""
    assert trace(clocks((4,)), timeout=0) == {"main.every_4": [(0, 0, "tick"), (0, 0, "end")]}


def test_what_is_set_with_shutdown_travels_but_what_is_scheduled_does_not() -> None:
    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out = rx.Output(str)
            later = rx.LogicalAction()

            @rx.reaction(rx.shutdown, effects=(out, later))
            def end(self) -> None:
                self.out.set("bye")
                self.later.schedule()

            @rx.reaction(later)
            def never(self) -> None:
                note(self, "never")

        class Sink(rx.Reactor):
            now, soon = rx.Input(str), rx.Input(str)

            @rx.reaction(now, soon)
            def see(self) -> None:
                note(self, self.now.value, self.soon.value)

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self, "end")

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.sink = Source(), Sink()
                rx.connect(self.source.out, self.sink.now)
                rx.connect(self.source.out, self.sink.soon, after=0)

        return Main()

    assert trace(program) == {"main.sink": [(0, 1, "bye", None), (0, 1, "end")]}


def test_a_stop_takes_effect_at_the_next_microstep_everywhere() -> None:
    """The tag of the request is finished first."""
    assert trace(clocks((2, 5), stop_at=(4,))) == {
        "main.every_2": [(0, 0, "tick"), (2, 0, "tick"), (4, 0, "tick"), (4, 1, "end")],
        "main.every_5": [(0, 0, "tick"), (4, 1, "end")],
    }


def test_of_several_requests_to_stop_the_earliest_counts() -> None:
    assert trace(clocks((3,), stop_at=(5, 4, 9))) == {"main.every_3": [(0, 0, "tick"), (3, 0, "tick"), (4, 1, "end")]}


def test_a_request_does_not_put_off_the_timeout() -> None:
    assert trace(clocks((3,), stop_at=(8,)), timeout=8) == {
        "main.every_3": [(0, 0, "tick"), (3, 0, "tick"), (6, 0, "tick"), (8, 0, "end")]
    }


def test_what_is_due_at_the_stop_tag_happens_there() -> None:
    """Events scheduled without a delay in the tag of the request meet the shutdown; theirs are dropped."""

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
    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            @rx.reaction(rx.startup, rx.shutdown, effects=rx.stop)
            def ask(self) -> None:
                note(self)
                self.request_stop()

        return Main()

    assert trace(program) == {"main": [(0, 0), (0, 1)]}


def test_a_stop_may_be_declared_to_take_effect_later() -> None:
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


def test_with_nothing_left_to_do_a_program_ends_a_microstep_after_its_last_tag() -> None:
    def program(rx: Any) -> Any:
        class One(rx.Reactor):
            late = rx.Timer(5)

            @rx.reaction(late)
            def last(self) -> None:
                note(self)

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self, "end")

        class Two(rx.Reactor):
            early = rx.Timer(1)

            @rx.reaction(early)
            def first(self) -> None:
                note(self)

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self, "end")

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.one, self.two = One(), Two()

        return Main()

    assert trace(program) == {"main.one": [(5, 0), (5, 1, "end")], "main.two": [(1, 0), (5, 1, "end")]}


@pytest.mark.parametrize(("keepalive", "end"), [(False, (0, 1)), (True, (7, 0))])
def test_keepalive_waits_for_the_timeout_where_a_program_would_starve(keepalive: bool, end: tuple[int, int]) -> None:
    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            @rx.reaction(rx.startup)
            def begin(self) -> None:
                note(self, "begin")

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self, "end")

        return Main()

    assert trace(program, timeout=7, keepalive=keepalive) == {"main": [(0, 0, "begin"), (*end, "end")]}


def test_an_event_beyond_the_end_keeps_a_program_from_starving() -> None:
    """It is pending although it will never happen: the program ends at the stop tag, not before."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            far = rx.Timer(100)

            @rx.reaction(far)
            def never(self) -> None:
                note(self, "never")

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self, "end")

        return Main()

    assert trace(program, timeout=7) == {"main": [(7, 0, "end")]}
