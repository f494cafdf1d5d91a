"""Timers and logical actions: when they fire, and with what (catalogue, sections 4 and 5)."""

import datetime as dt
from typing import Any

import numpy as np
import pytest

import reactors as rx
from tests.oracle.ways import note, trace


def test_a_timer_fires_at_its_offset_and_then_every_period() -> None:
    """Timers 1, 2, 6: its tags have microstep 0, and none lies beyond the end."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            once, late, often, later = rx.Timer(), rx.Timer(4), rx.Timer(0, 3), rx.Timer(2, 3)

            @rx.reaction(once, late, often, later)
            def tick(self) -> None:
                timers = {"once": self.once, "late": self.late, "often": self.often, "later": self.later}
                note(self, *(name for name, timer in timers.items() if timer.is_present))

        return Main()

    assert trace(program, timeout=8) == {
        "main": [
            (0, 0, "once", "often"),
            (2, 0, "later"),
            (3, 0, "often"),
            (4, 0, "late"),
            (5, 0, "later"),
            (6, 0, "often"),
            (8, 0, "later"),
        ]
    }


def test_timers_of_one_tag_trigger_in_the_order_of_the_reactions() -> None:
    """Timers 4, one tag 5: all events of a tag are there at once; the order of the timers does not matter."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            a, b = rx.Timer(1, 2), rx.Timer(3)

            @rx.reaction(b)
            def first(self) -> None:
                note(self, "first")

            @rx.reaction(a)
            def second(self) -> None:
                note(self, "second")

        return Main()

    assert trace(program, timeout=3) == {"main": [(1, 0, "second"), (3, 0, "first"), (3, 0, "second")]}


def test_an_action_never_fires_at_the_tag_at_which_it_is_scheduled() -> None:
    """Actions 1: without any delay it fires at the next microstep."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            act = rx.LogicalAction()
            tick = rx.Timer(6)

            @rx.reaction(tick, effects=act)
            def ask(self) -> None:
                self.act.schedule()

            @rx.reaction(act)
            def answer(self) -> None:
                note(self)

        return Main()

    assert trace(program) == {"main": [(6, 1)]}


def test_the_delays_of_action_and_call_add_up() -> None:
    """Actions 1: the tag of now plus min_delay plus the delay of the call."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            act = rx.LogicalAction(int, min_delay=10)

            @rx.reaction(rx.startup, effects=act)
            def ask(self) -> None:
                self.act.schedule(1)
                self.act.schedule(2, delay=5)

            @rx.reaction(act)
            def answer(self) -> None:
                note(self, self.act.value)

        return Main()

    assert trace(program) == {"main": [(10, 0, 1), (15, 0, 2)]}


def test_pending_events_of_an_action_coexist_and_fire_in_the_order_of_tags() -> None:
    """Actions 3, 5: each keeps its own value, whatever the order of the calls."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            act = rx.LogicalAction()

            @rx.reaction(rx.startup, effects=act)
            def ask(self) -> None:
                for delay in (100, 50, 75, 0):
                    self.act.schedule([delay], delay=delay)

            @rx.reaction(act)
            def answer(self) -> None:
                note(self, self.act.value)

        return Main()

    assert trace(program) == {"main": [(0, 1, [0]), (50, 0, [50]), (75, 0, [75]), (100, 0, [100])]}


def test_a_second_event_for_the_same_tag_moves_to_the_next_microstep() -> None:
    """Actions 4: all happen, in the order of the calls, also if asked for at different tags."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            act = rx.LogicalAction()
            tick = rx.Timer(3)

            @rx.reaction(rx.startup, effects=act)
            def first(self) -> None:
                for value in "abc":
                    self.act.schedule(value, delay=7)

            @rx.reaction(tick, effects=act)
            def second(self) -> None:
                self.act.schedule("d", delay=4)

            @rx.reaction(act, effects=act)
            def answer(self) -> None:
                note(self, self.act.value)
                if self.act.value == "a":
                    self.act.schedule("e")

        return Main()

    assert trace(program) == {"main": [(7, 0, "a"), (7, 1, "b"), (7, 2, "c"), (7, 3, "d"), (7, 4, "e")]}


def test_an_action_without_a_value_is_present_all_the_same() -> None:
    """Actions 7: and it does not keep the value of an earlier event."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            act = rx.LogicalAction()
            tick = rx.Timer(0, 1)

            @rx.reaction(rx.startup, effects=act)
            def ask(self) -> None:
                self.act.schedule(7, delay=1)
                self.act.schedule(delay=2)
                self.act.schedule(0, delay=3)

            @rx.reaction(tick, act)
            def look(self) -> None:
                note(self, self.act.is_present, self.act.value)

        return Main()

    seen = [(0, 0, False, None), (1, 0, True, 7), (2, 0, True, None), (3, 0, True, 0), (4, 0, False, None)]
    assert trace(program, timeout=4) == {"main": seen}


def test_an_action_that_a_reaction_schedules_and_reads_is_present_only_where_it_fires() -> None:
    """Actions 9, 10: also if it is a trigger of the reaction that schedules it."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            act = rx.LogicalAction(int)

            @rx.reaction(rx.startup, act, effects=act)
            def step(self) -> None:
                before = self.act.is_present
                if self.tag.time < 20:
                    self.act.schedule(self.tag.time, delay=10)
                note(self, before, self.act.is_present, self.act.value)

        return Main()

    assert trace(program) == {"main": [(0, 0, False, False, None), (10, 0, True, True, 0), (20, 0, True, True, 10)]}


def test_an_action_that_nothing_reads_is_an_event_all_the_same() -> None:
    """Actions 10: its tag comes, and the program starves only after it."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            act = rx.LogicalAction()

            @rx.reaction(rx.startup, effects=act)
            def ask(self) -> None:
                self.act.schedule(delay=30)

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self)

        return Main()

    assert trace(program) == {"main": [(30, 1)]}


@pytest.mark.parametrize(("period", "end"), [(None, (3, 1)), (2, (9, 0))])
def test_a_timer_that_nothing_reads_is_an_event_all_the_same(period: int | None, end: tuple[int, int]) -> None:
    """Timers 1, the end 7: the program starves only after it, and never if it is periodic; also in a mode."""

    def program(rx: Any) -> Any:
        class Modal(rx.Reactor):
            on, off = rx.Mode(initial=True), rx.Mode()
            tick, never = rx.Timer(3, period, mode=on), rx.Timer(50, mode=off)

        class Main(rx.Reactor):
            tick = rx.Timer(2)

            def __init__(self) -> None:
                self.modal = Modal()

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self)

        return Main()

    assert trace(program, timeout=9) == {"main": [end]}


@pytest.mark.parametrize(
    ("delays", "end"),
    [((5,), (6, 1)), ((0,), (1, 2)), ((5, 0), (6, 2)), ((0, 5), (6, 1)), ((None, 5), (6, 1)), ((None,), (1, 1))],
)
def test_what_travels_with_a_delay_to_where_nothing_reads_it_is_an_event(
    delays: tuple[int | None, ...], end: tuple[int, int]
) -> None:
    """Ports 12, the end 7: the program starves only when it has arrived, over however many connections."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            tick, out = rx.Timer(1), rx.Output(int)

            @rx.reaction(tick, effects=out)
            def send(self) -> None:
                self.out.set(1)

        class Through(rx.Reactor):
            value = rx.Input(int)

            def __init__(self, delays: tuple[int | None, ...]) -> None:
                if delays:
                    self.inner = Through(delays[1:])
                    rx.connect(self.value, self.inner.value, after=delays[0])

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.through = Source(), Through(delays)
                rx.connect(self.source.out, self.through.value)

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self)

        return Main()

    assert trace(program) == {"main": [end]}


def test_one_that_is_read_earlier_than_it_arrives_elsewhere_ends_with_the_last_arrival() -> None:
    """Ports 12, the end 7: the value is the same, so the memory that holds it is given back only then."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            tick, out = rx.Timer(1, 1), rx.Output(shape=(2,), dtype="i4")

            @rx.reaction(tick, effects=out)
            def send(self) -> None:
                self.out.set([self.tag.time, 0])

        class Sink(rx.Reactor):
            value, unread = rx.Input(shape=(2,), dtype="i4"), rx.Input(shape=(2,), dtype="i4")

            @rx.reaction(value)
            def see(self) -> None:
                note(self, int(self.value.value[0]))

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.sink = Source(), Sink()
                rx.connect(self.source.out, self.sink.value, after=1)
                rx.connect(self.source.out, self.sink.unread, after=30)

        return Main()

    assert trace(program, timeout=40) == {"main.sink": [(t + 1, 0, t) for t in range(1, 40)]}


def test_a_physical_connection_to_where_nothing_reads_it_is_an_event() -> None:
    """Ports 13, the end 7: it arrives when time has passed, and only then the program starves."""

    def program(rx: Any) -> Any:
        class Loop(rx.Reactor):
            out, value = rx.Output(int), rx.Input(int)

            @rx.reaction(rx.startup, effects=out)
            def send(self) -> None:
                self.out.set(1)

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.loop = Loop()
                rx.connect(self.loop.out, self.loop.value, physical=True, after=4)

        return Main()

    assert trace(program, clock=lambda rx, _: rx.VirtualClock()) == {"main.loop": [(4, 1)]}


def test_a_subclass_schedules_the_action_of_its_base() -> None:
    """Actions 11: the reactions of the base come first."""

    def program(rx: Any) -> Any:
        class Base(rx.Reactor):
            act = rx.LogicalAction(int)

            @rx.reaction(act)
            def answer(self) -> None:
                note(self, "base", self.act.value)

        class Main(Base):
            @rx.reaction(rx.startup, Base.act, effects=Base.act)
            def ask(self) -> None:
                note(self, "sub", self.act.value)
                if self.tag.microstep == 0:
                    self.act.schedule(5)

        return Main()

    assert trace(program) == {"main": [(0, 0, "sub", None), (0, 1, "base", 5), (0, 1, "sub", 5)]}


def test_what_is_scheduled_beyond_the_end_does_not_happen() -> None:
    """Actions 6: it is dropped without a word."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            act = rx.LogicalAction(int)

            @rx.reaction(rx.startup, act, effects=act)
            def step(self) -> None:
                note(self, self.act.value)
                for delay in (4, 5, 6):
                    self.act.schedule(delay, delay=delay)

        return Main()

    assert trace(program, timeout=5) == {"main": [(0, 0, None), (4, 0, 4), (5, 0, 5)]}


def spaced(policy: str, calls: list[tuple[int, int]], spacing: int | None = 10, min_delay: int = 0) -> Any:
    """A program that schedules one action by calls (when, delay), each with its number; a call at 0 is at startup."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            act = rx.LogicalAction(int, min_delay=min_delay, min_spacing=spacing, policy=policy)

            def __init__(self) -> None:
                for when in sorted({when for when, _ in calls}):
                    timer = rx.Timer(when)
                    setattr(self, f"at_{when}", timer)
                    self.add_reaction(timer, lambda when=when: self.ask(when), effects=self.act)
                self.add_reaction(self.act, self.see)

            def ask(self, when: int) -> None:
                for k, (moment, delay) in enumerate(calls):
                    if moment == when:
                        self.act.schedule(k, delay=delay)

            def see(self) -> None:
                note(self, self.act.value)

        return Main()

    return program


def test_spacing_defers_what_comes_too_early() -> None:
    """Actions 12: 100, 99 and 101 with a spacing of 10 come at 100, 110 and 120; what is late enough stays."""
    assert trace(spaced("defer", [(0, 100), (0, 99), (0, 101), (0, 130), (0, 145)])) == {
        "main": [(100, 0, 0), (110, 0, 1), (120, 0, 2), (130, 0, 3), (145, 0, 4)]
    }


def test_spacing_counts_from_events_that_are_over_too() -> None:
    """Actions 12: at 3 one wants to come at once, and has to wait for 10 to pass since 0 and a microstep.

    Another, at 30, not.
    """
    assert trace(spaced("defer", [(0, 0), (3, 0), (10, 0), (30, 0)])) == {
        "main": [(0, 1, 0), (10, 0, 1), (20, 0, 2), (30, 1, 3)]
    }


def test_what_is_deferred_to_now_comes_at_the_next_microstep() -> None:
    """Actions 12: the earliest time that the spacing allows is that of the present tag, which has begun."""
    assert trace(spaced("defer", [(0, 1), (11, 0)])) == {"main": [(1, 0, 0), (11, 1, 1)]}


def test_spacing_with_drop_leaves_out_what_comes_too_early() -> None:
    """Actions 13: also where the event before it is over; what is left out puts nothing off."""
    assert trace(spaced("drop", [(0, 5), (0, 6), (0, 14), (8, 6), (8, 7), (16, 0)])) == {
        "main": [(5, 0, 0), (15, 0, 4)]
    }


def test_spacing_with_replace_gives_the_value_to_the_pending_event() -> None:
    """Actions 14: so it comes earlier than asked for; once that is over, an early event is deferred."""
    assert trace(spaced("replace", [(0, 20), (3, 25), (5, 1), (22, 0), (23, 5)])) == {"main": [(20, 0, 2), (30, 0, 4)]}


def test_spacing_with_update_leaves_out_the_pending_event() -> None:
    """Actions 15: the new one keeps its own tag, earlier or later; once the other is over, an early event is deferred.

    Its own tag, even if that is too close to what happened before the one left out: 36 after 28, with a spacing of 10.
    """
    assert trace(spaced("update", [(0, 20), (3, 25), (30, 0)])) == {"main": [(28, 0, 1), (38, 0, 2)]}
    assert trace(spaced("update", [(0, 20), (3, 25), (30, 0), (31, 5)])) == {"main": [(28, 0, 1), (36, 0, 3)]}
    assert trace(spaced("update", [(0, 20), (5, 1)])) == {"main": [(6, 0, 1)]}


def test_of_several_events_pending_at_one_tag_an_update_leaves_out_the_last_accepted() -> None:
    """Actions 15: the second for 10 took the place of that for 30, and gives way itself; the first for 10 stays."""
    assert trace(spaced("update", [(0, 10), (1, 29), (2, 8), (3, 9)])) == {"main": [(10, 0, 0), (12, 0, 3)]}


def test_a_spacing_of_zero_forbids_going_back_and_not_the_same_time() -> None:
    """Actions 12: a second event for a time comes a microstep later, as without.

    One for an earlier time, after the last.
    """
    calls = [(0, 10), (0, 10), (0, 4), (0, 12)]
    assert trace(spaced("defer", calls, 0)) == {"main": [(10, 0, 0), (10, 1, 1), (10, 2, 2), (12, 0, 3)]}
    assert trace(spaced("defer", calls, None)) == {"main": [(4, 0, 2), (10, 0, 0), (10, 1, 1), (12, 0, 3)]}
    assert trace(spaced("drop", calls, 0)) == {"main": [(10, 0, 0), (12, 0, 3)]}


def test_the_delay_of_an_action_is_counted_before_its_spacing() -> None:
    """Actions 12: min_delay 4: asked for at 0 and 5, they would come at 4 and 9."""
    assert trace(spaced("defer", [(0, 0), (5, 0), (20, 0)], 10, 4)) == {"main": [(4, 0, 0), (14, 0, 1), (24, 0, 2)]}
    assert trace(spaced("drop", [(0, 0), (5, 0), (20, 0)], 10, 4)) == {"main": [(4, 0, 0), (24, 0, 2)]}


def test_the_spacing_of_one_action_says_nothing_about_another() -> None:
    """Actions 12: events of two actions for one tag are simultaneous, and one reaction sees both."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            a, b = rx.LogicalAction(int, min_spacing=5), rx.LogicalAction(int, min_spacing=3)

            @rx.reaction(rx.startup, effects=(a, b))
            def ask(self) -> None:
                for k in range(3):
                    self.a.schedule(k)
                    self.b.schedule(k, delay=0 if k == 0 else 1)

            @rx.reaction(a, b)
            def see(self) -> None:
                note(self, self.a.value, self.b.value)

        return Main()

    assert trace(program) == {
        "main": [(0, 1, 0, 0), (3, 0, None, 1), (5, 0, 1, None), (6, 0, None, 2), (10, 0, 2, None)]
    }


def test_a_periodic_timer_has_microstep_zero_though_other_things_happen_in_microsteps() -> None:
    """Timers 1, 3: it counts from its own last firing, whatever went on at that time."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            tick, again = rx.Timer(1, 2), rx.LogicalAction(int)

            @rx.reaction(tick, again, effects=again)
            def step(self) -> None:
                note(self, self.tick.is_present, self.again.value)
                if self.tag.microstep < self.tag.time:
                    self.again.schedule(self.tag.microstep)

        return Main()

    assert trace(program, timeout=5) == {
        "main": [
            (1, 0, True, None),
            (1, 1, False, 0),
            (3, 0, True, None),
            (3, 1, False, 0),
            (3, 2, False, 1),
            (3, 3, False, 2),
            (5, 0, True, None),
        ]
    }


def test_several_reactions_may_schedule_one_action() -> None:
    """Actions 4: in the order in which they run: the tags that are taken go to who comes first."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            act, tick = rx.LogicalAction(str), rx.Timer(0, 4)

            @rx.reaction(tick, effects=act)
            def first(self) -> None:
                self.act.schedule("first")

            @rx.reaction(rx.startup, tick, effects=act)
            def second(self) -> None:
                self.act.schedule("second")

            @rx.reaction(act, uses=tick)
            def see(self) -> None:
                note(self, self.act.value, self.tick.is_present)

        return Main()

    assert trace(program, timeout=5) == {
        "main": [
            (0, 1, "first", False),
            (0, 2, "second", False),
            (4, 1, "first", False),
            (4, 2, "second", False),
        ]
    }


def test_an_action_carries_any_object() -> None:
    """Actions 8: what is given arrives, an array as it was when it was given."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            act = rx.LogicalAction()

            @rx.reaction(rx.startup, effects=act)
            def go(self) -> None:
                row = np.arange(3)
                for value in (7, "seven", {"a": [1, (2, None)]}, 0, row):
                    self.act.schedule(value)

            @rx.reaction(act)
            def see(self) -> None:
                value = self.act.value
                note(self, value.tolist() if isinstance(value, np.ndarray) else value)

        return Main()

    values = [7, "seven", {"a": [1, (2, None)]}, 0, [0, 1, 2]]
    assert trace(program) == {"main": [(0, m, value) for m, value in enumerate(values, 1)]}


def test_delays_are_given_in_every_spelling() -> None:
    """Actions 3: a number of nanoseconds, a text, a timedelta, NumPy's numbers."""

    class Main(rx.Reactor):
        act = rx.LogicalAction(str)

        def __init__(self) -> None:
            self.seen: list[Any] = []

        @rx.reaction(rx.startup, effects=act)
        def begin(self) -> None:
            self.act.schedule("number", 1)
            self.act.schedule("text", "2 us")
            self.act.schedule("timedelta", dt.timedelta(microseconds=3))
            numpys: Any = np.int64(4)
            self.act.schedule("NumPy", numpys)
            self.act.schedule("by name", delay="5 ns")

        @rx.reaction(act)
        def see(self) -> None:
            self.seen.append((*self.tag, self.act.value))

    main = Main()
    rx.run(main, fast=True)
    short = [(1, 0, "number"), (4, 0, "NumPy"), (5, 0, "by name")]
    assert main.seen == [*short, (2000, 0, "text"), (3000, 0, "timedelta")]
