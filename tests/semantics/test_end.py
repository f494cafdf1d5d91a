"""How a program starts and ends: startup, timeout, starvation (catalogue, section 3)."""

from collections.abc import Callable
from typing import Any

import pytest

import reactors as real
from tests.oracle.ways import WAYS, note, trace
from tests.semantics.alone import trace_alone

Program = Callable[[Any], Any]


def test_startup_and_a_timer_without_offset_fire_together_in_the_order_of_declaration() -> None:
    """The end 1: startup fires once, at (0, 0), at one tag with timers of offset 0."""

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
    """The end 2: reading the port, without being triggered by it, is enough for the order."""

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
    """The end 4, one tag 8: events at exactly the timeout happen, and shutdown with them; no microstep follows."""
    assert trace(clocks((2, 3)), timeout=6) == {
        "main.every_2": [(0, 0, "tick"), (2, 0, "tick"), (4, 0, "tick"), (6, 0, "tick"), (6, 0, "end")],
        "main.every_3": [(0, 0, "tick"), (3, 0, "tick"), (6, 0, "tick"), (6, 0, "end")],
    }


def test_a_timeout_ends_a_program_also_where_nothing_else_happens() -> None:
    """The end 4: the stop tag is (timeout, 0), whatever else is due."""
    assert trace(clocks((4,)), timeout=6) == {"main.every_4": [(0, 0, "tick"), (4, 0, "tick"), (6, 0, "end")]}


def test_a_timeout_of_zero_is_zero() -> None:
    """The end 4: startup and shutdown share the only tag."""
    assert trace(clocks((4,)), timeout=0) == {"main.every_4": [(0, 0, "tick"), (0, 0, "end")]}


def test_with_nothing_left_to_do_a_program_ends_a_microstep_after_its_last_tag() -> None:
    """The end 7: a program starves when no event is pending anywhere, and (t, m + 1) is its stop tag."""

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
    """The end 8: keepalive switches starvation off."""

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
    """The end 7: it is pending although it will never happen: the program ends at the stop tag, not before."""

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


@pytest.mark.parametrize("virtual", [False, True])
@pytest.mark.parametrize("timeout", [None, 1 << 62])
def test_what_is_due_at_the_end_of_time_never_happens_and_keeps_nothing_alive(
    timeout: int | None, virtual: bool
) -> None:
    """The end 7: 2^63 - 1 ns, at which additions stop, is never: no such timer, event or message is pending."""
    never = (1 << 63) - 1

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            far, once = rx.Timer(never), rx.Timer(0, never)
            spaced, again = rx.LogicalAction(min_spacing=never), rx.LogicalAction(min_delay=1 << 61)
            if virtual:
                bell = rx.PhysicalAction()

            def __init__(self) -> None:
                self.echo = Echo()
                self.add_reaction((self.far, self.bell) if virtual else self.far, self.see)
                self.add_reaction((self.once, self.again), self.begin, effects=(self.echo.value, self.again))
                self.add_reaction(self.once, self.ask, effects=self.spaced)
                self.add_reaction(self.spaced, self.see)

            def begin(self) -> None:
                note(self, "begin")
                self.echo.value.set(1)
                self.again.schedule()
                self.again.schedule(delay=never)

            def ask(self) -> None:
                self.spaced.schedule()
                self.spaced.schedule()

            def see(self) -> None:
                note(self, "see")

        class Echo(rx.Reactor):
            value, out, back, soon = rx.Input(int), rx.Output(int), rx.Input(int), rx.Input(int)

            def __init__(self) -> None:
                rx.connect(self.out, self.back, after=never)
                rx.connect(self.out, self.soon, after=(1 << 63) - 2)

            @rx.reaction(value, effects=out)
            def send(self) -> None:
                self.out.set(self.value.value)

            @rx.reaction(back, soon)
            def see(self) -> None:
                note(self, self.back.value, self.soon.value)

        return Main()

    def clock(rx: Any, main: Any) -> Any:
        made = rx.VirtualClock()
        made.at(never, main.bell)
        return made

    ways = [way for way in WAYS if way.fast]  # the others would take years
    seen = trace(program, timeout=timeout, keepalive=False, clock=clock if virtual else None, ways=ways)
    begins = [(k << 61, 0, "begin") for k in range(3 if timeout else 4)]
    assert seen["main"] == sorted([*begins, (0, 1, "see")])
    assert seen.get("main.echo", []) == ([] if timeout else [((1 << 63) - 2, 0, None, 1)])


def test_a_program_starves_before_its_timeout() -> None:
    """The end 7: a microstep after its last tag, also where that has a microstep.

    Messages on their way are still to come.
    """

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            again = rx.LogicalAction()

            def __init__(self) -> None:
                self.echo = Echo()
                self.add_reaction((rx.startup, self.again), self.step, effects=(self.again, self.echo.value))
                self.add_reaction(rx.shutdown, self.end)

            def step(self) -> None:
                if self.tag.microstep < 2:
                    self.again.schedule()
                else:
                    self.echo.value.set(1)

            def end(self) -> None:
                note(self, "end")

        class Echo(rx.Reactor):
            value, out, back = rx.Input(int), rx.Output(int), rx.Input(int)

            def __init__(self) -> None:
                rx.connect(self.out, self.back, after=4)

            @rx.reaction(value, effects=out)
            def send(self) -> None:
                self.out.set(2)

            @rx.reaction(back)
            def see(self) -> None:
                note(self, self.back.value)

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self, "end")

        return Main()

    assert trace(program, timeout=1000) == {"main": [(4, 1, "end")], "main.echo": [(4, 0, 2), (4, 1, "end")]}


def test_a_physical_action_keeps_a_program_alive_unless_it_is_reported_otherwise() -> None:
    """The end 8: it may not have been scheduled yet; a physical connection alone does not wait for anything."""

    class Main(real.Reactor):
        bell = real.PhysicalAction()

        @real.reaction(bell)
        def ring(self) -> None:
            note(self, "never")

        @real.reaction(real.shutdown)
        def end(self) -> None:
            note(self, "end")

    class Connected(real.Reactor):
        value, out = real.Input(int), real.Output(int)

        def __init__(self) -> None:
            real.connect(self.out, self.value, physical=True)

        @real.reaction(real.startup, effects=out)
        def silent(self) -> None:
            pass

        @real.reaction(value)
        def see(self) -> None:
            note(self, "never")

        @real.reaction(real.shutdown)
        def end(self) -> None:
            note(self, "end")

    assert trace_alone(Main, timeout=7_000_000) == {"main": [(7_000_000, 0, "end")]}
    assert trace_alone(Main, timeout=7_000_000, keepalive=False) == {"main": [(0, 1, "end")]}
    assert trace_alone(Connected, timeout=7_000_000) == {"main": [(0, 1, "end")]}
