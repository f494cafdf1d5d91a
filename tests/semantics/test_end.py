"""How a program starts and ends: startup, shutdown, timeout, request_stop, starvation (catalogue, section 3)."""

from collections.abc import Callable
from typing import Any

import pytest

import reactors as real
from tests.oracle.ways import TOGETHER, WAYS, Way, note, trace
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
    """The end 4: startup and shutdown share the only tag (row 24 of the bad programs)."""
    assert trace(clocks((4,)), timeout=0) == {"main.every_4": [(0, 0, "tick"), (0, 0, "end")]}


def test_what_is_set_with_shutdown_travels_but_what_is_scheduled_does_not() -> None:
    """The end 3: outputs of shutdown reactions arrive at the stop tag; beyond it there is nothing."""

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


def test_a_physical_action_keeps_a_program_alive_unless_it_is_told_otherwise() -> None:
    """The end 8: nobody may have scheduled it yet; a physical connection alone does not wait for anything."""

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


def test_shutdown_reactions_are_ordered_with_the_others_of_their_tag() -> None:
    """The end 3, one tag 3: by declaration in one reactor, and by ports between reactors, of which some only read."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out, tick = rx.Output(str), rx.Timer(0, 3)

            @rx.reaction(rx.shutdown, effects=out)
            def end(self) -> None:
                note(self, "end")
                self.out.set("last words")

            @rx.reaction(tick, effects=out)
            def go(self) -> None:
                note(self, self.out.value)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source = Source()
                self.add_reaction(rx.shutdown, self.end, uses=self.source.out)

            def end(self) -> None:
                note(self, self.source.out.value)

        return Main()

    assert trace(program, timeout=3) == {
        "main.source": [(0, 0, None), (3, 0, "end"), (3, 0, "last words")],
        "main": [(3, 0, "last words")],
    }


def test_startup_and_shutdown_share_the_only_tag_of_a_timeout_of_zero() -> None:
    """The end 4: one reaction with both triggers runs once.

    Values set there arrive, actions and delayed messages do not.
    """

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out, act = rx.Output(int), rx.LogicalAction()

            @rx.reaction(rx.startup, rx.shutdown, effects=(out, act))
            def both(self) -> None:
                note(self, "both")
                self.out.set(1)
                self.act.schedule()

            @rx.reaction(act)
            def never(self) -> None:
                note(self, "never")

        class Sink(rx.Reactor):
            now, soon = rx.Input(int), rx.Input(int)

            @rx.reaction(now, soon)
            def see(self) -> None:
                note(self, self.now.value, self.soon.value)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.sink = Source(), Sink()
                rx.connect(self.source.out, self.sink.now)
                rx.connect(self.source.out, self.sink.soon, after=0)

        return Main()

    assert trace(program, timeout=0) == {"main.source": [(0, 0, "both")], "main.sink": [(0, 0, 1, None)]}


@pytest.mark.parametrize("fails", ["before", "first", "third", "last"])
@pytest.mark.parametrize("way", TOGETHER, ids=str)
def test_shutdown_reactions_run_once_though_a_reaction_fails_at_the_stop_tag(way: Way, fails: str) -> None:
    """The end 9: those that have run do not run again, be it they that failed; those that have not run still do."""

    class Ending(real.Reactor):
        tick = real.Timer(0, 1)

        def __init__(self, name: str) -> None:
            self.name, self.ends = name, 0

        @real.reaction(tick, real.shutdown)  # often enough before to be run with others, and not alone
        def step(self) -> None:
            if self.tag.time < 50:
                return
            self.ends += 1
            if self.name == fails:
                raise ValueError(fails)

        @real.reaction(real.shutdown)
        def end(self) -> None:
            note(self, "end")

    class Main(real.Reactor):
        last = real.Timer(50)

        def __init__(self) -> None:
            self.all = [Ending(name) for name in ("first", "second", "third", "fourth", "last")]

        @real.reaction(last)
        def fail(self) -> None:
            if fails == "before":
                raise ValueError(fails)

        @real.reaction(real.shutdown)
        def end(self) -> None:
            note(self, "end")

    main = Main()
    paths = ["main", *(f"main.all[{k}]" for k in range(5))]
    with pytest.raises(real.ReactionError, match=rf"at 50 ns raised ValueError: {fails}"):
        way.run(main, paths, timeout=50)
    assert main.log == [(50, 0, "end")]  # type: ignore[attr-defined]
    assert [each.ends for each in main.all] == [1] * 5
    assert [each.log for each in main.all] == [[(50, 0, "end")]] * 5  # type: ignore[attr-defined]


@pytest.mark.parametrize("way", TOGETHER, ids=str)
def test_an_exception_ends_the_program_with_its_shutdown_reactions(way: Way) -> None:
    """The end 9: what else was to happen at its tag does not; shutdown follows a microstep later, then the error."""

    class Main(real.Reactor):
        tick = real.Timer(0, 2)

        @real.reaction(tick)
        def go(self) -> None:
            note(self, "go")
            if self.tag.time == 2:
                raise ValueError("enough")

        @real.reaction(tick)
        def follow(self) -> None:
            note(self, "follow")

        @real.reaction(real.shutdown)
        def end(self) -> None:
            note(self, "end")

    main = Main()
    with pytest.raises(real.ReactionError, match=r"main.go at 2 ns raised ValueError: enough") as caught:
        way.run(main, ["main"])
    assert isinstance(caught.value.__cause__, ValueError)
    assert main.log == [(0, 0, "go"), (0, 0, "follow"), (2, 0, "go"), (2, 1, "end")]  # type: ignore[attr-defined]
