"""Tags: how they are ordered, what a delay does to them, what happens at one of them (catalogue, sections 1 and 2)."""

from typing import Any

import reactors as real
from tests.oracle.ways import note, trace


def test_tags_are_ordered_by_time_and_then_by_microstep() -> None:
    """Tags 1: a tag is a pair, and compares as one."""
    assert real.Tag(1, 0) > real.Tag(0, 5) > real.Tag(0, 4)
    assert real.Tag(3, 2) == (3, 2)
    assert min(real.Tag(2, 0), real.Tag(1, 9)) == real.Tag(1, 9)


def test_a_tag_is_printed_as_people_write_times() -> None:
    """Tags 1: its time with a unit, and the microsteps if there are any; as a value it names both."""
    words = {
        real.Tag(0, 0): "0 s",
        real.Tag(1_500_000_000, 0): "1.5 s",
        real.Tag(20_000_000, 1): "20 ms + 1 microstep",
        real.Tag(4_000, 2): "4 us + 2 microsteps",
        real.Tag(7, 2**40): f"7 ns + {2**40} microsteps",
    }
    assert {tag: str(tag) for tag in words} == words
    assert repr(real.Tag(4_000, 2)) == "Tag(time=4000, microstep=2)"
    assert f"{real.Tag(4_000, 0)}" == "4 us"


def test_times_are_relative_to_the_start() -> None:
    """Tags 4: the first tag is (0, 0), whatever the clock says."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            @rx.reaction(rx.startup)
            def begin(self) -> None:
                note(self)

        return Main()

    assert trace(program) == {"main": [(0, 0)]}


def test_a_delay_of_zero_is_a_microstep_and_any_other_drops_it() -> None:
    """Tags 2: g + 0 = (t, m + 1); g + d = (t + d, 0)."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            again = rx.LogicalAction()

            @rx.reaction(rx.startup, again, effects=again)
            def step(self) -> None:
                note(self)
                if self.tag < (7, 2):
                    self.again.schedule(delay=7 if self.tag == (0, 3) else 0)

        return Main()

    assert trace(program) == {"main": [(0, 0), (0, 1), (0, 2), (0, 3), (7, 0), (7, 1), (7, 2)]}


def test_events_are_simultaneous_only_if_time_and_microstep_agree() -> None:
    """Tags 3: a value one microstep later does not meet the one that came at the same time."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out = rx.Output(str)
            tick = rx.Timer(5)

            @rx.reaction(tick, effects=out)
            def send(self) -> None:
                self.out.set("x")

        class Sink(rx.Reactor):
            a, b, c = rx.Input(str), rx.Input(str), rx.Input(str)

            @rx.reaction(a, b, c)
            def see(self) -> None:
                note(self, self.a.value, self.b.value, self.c.value)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.sink = Source(), Sink()
                rx.connect(self.source.out, self.sink.a)
                rx.connect(self.source.out, self.sink.b, after=0)
                rx.connect(self.source.out, self.sink.c)

        return Main()

    assert trace(program) == {"main.sink": [(5, 0, "x", None, "x"), (5, 1, None, "x", None)]}


def test_a_reaction_runs_once_however_many_of_its_triggers_are_present() -> None:
    """One tag 6: a reaction runs at most once at a tag."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            one, two = rx.Timer(0, 4), rx.Timer(0, 6)
            act = rx.LogicalAction(min_delay=4)

            @rx.reaction(rx.startup, one, two, act, effects=act)
            def once(self) -> None:
                note(self, self.one.is_present, self.two.is_present, self.act.is_present)
                if self.tag.time == 0:
                    self.act.schedule()

        return Main()

    assert trace(program, timeout=12) == {
        "main": [
            (0, 0, True, True, False),
            (4, 0, True, False, True),
            (6, 0, False, True, False),
            (8, 0, True, False, False),
            (12, 0, True, True, False),
        ]
    }


def test_presence_is_cleared_between_tags_and_between_microsteps() -> None:
    """One tag 2, ports 5: what was present at one tag is absent at the next, if that is a microstep later."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out = rx.Output(int)
            again = rx.LogicalAction()

            @rx.reaction(rx.startup, again, effects=(out, again))
            def send(self) -> None:
                if self.tag.microstep % 2 == 0:
                    self.out.set(self.tag.microstep)
                if self.tag.microstep < 4:
                    self.again.schedule()

        class Sink(rx.Reactor):
            value = rx.Input(int)
            again = rx.LogicalAction()

            @rx.reaction(rx.startup, again, uses=value, effects=again)
            def look(self) -> None:
                note(self, self.value.is_present, self.value.value)
                if self.tag.microstep < 5:
                    self.again.schedule()

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.sink = Source(), Sink()
                rx.connect(self.source.out, self.sink.value)

        return Main()

    seen = [(0, m, m in (0, 2, 4), m if m in (0, 2, 4) else None) for m in range(6)]
    assert trace(program) == {"main.sink": seen}


def test_the_first_tag_happens_even_if_nothing_does() -> None:
    """One tag 1, the end 7: a program without a single event starts at (0, 0) and starves there."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self)

        return Main()

    assert trace(program) == {"main": [(0, 1)]}


def test_an_event_out_of_reach_of_time_never_happens() -> None:
    """Tags 2: adding delays saturates; what lies there never happens, and keeps no program alive."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            act = rx.LogicalAction(min_delay=2**62)

            @rx.reaction(rx.startup, act, effects=act)
            def go(self) -> None:
                note(self, "go")
                self.act.schedule(delay=2**62)

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self, "end")

        return Main()

    assert trace(program, timeout=9) == {"main": [(0, 0, "go"), (0, 1, "end")]}
