"""Deadlines: when they are missed, and what runs then (catalogue, section 9)."""

import time
from typing import Any

import pytest

import reactors as rx
from tests.oracle.ways import TOGETHER, note, trace


def sleepy(rx: Any, _: Any) -> Any:
    return rx.VirtualClock(sleep=True)


def idle(rx: Any, _: Any) -> Any:
    return rx.VirtualClock()


def working(seconds: float, deadline: int | str) -> Any:
    """Every 1,000 ns, a reaction that works for so long, and one with that deadline."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            tick = rx.Timer(0, 1000)
            out = rx.LogicalAction(int)

            def __init__(self) -> None:
                self.patience = 300

            @rx.reaction(tick)
            def work(self) -> None:
                time.sleep(seconds)

            @rx.reaction(tick, effects=out)
            def respond(self) -> None:
                note(self, "in time", self.lag)

            @respond.deadline(deadline)
            def too_late(self) -> None:
                note(self, "late", self.lag, self.tick.is_present)
                self.out.schedule(1)

            @rx.reaction(out)
            def after(self) -> None:
                note(self, "heard", self.out.value)

        return Main()

    return program


def test_a_deadline_is_missed_when_physical_time_is_beyond_it_and_not_when_it_is_at_it() -> None:
    """Deadlines 1: the handler runs instead if physical time is beyond t + D, strictly; t + D itself is in time."""
    assert trace(working(200e-9, 200), clock=sleepy, ways=TOGETHER, timeout=0) == {"main": [(0, 0, "in time", 200)]}
    assert trace(working(201e-9, 200), clock=sleepy, ways=TOGETHER, timeout=0) == {"main": [(0, 0, "late", 201, True)]}


def test_what_the_handler_sets_is_seen() -> None:
    """Deadlines 2: the handler has the triggers and effects of the reaction, which does not run."""
    found = trace(working(500e-9, 100), clock=sleepy, ways=TOGETHER, timeout=1000)
    assert found == {
        "main": [
            (0, 0, "late", 500, True),
            (0, 1, "heard", 1),
            (1000, 0, "late", 500, True),
        ]
    }


def test_a_deadline_of_zero_is_always_missed() -> None:
    """Deadlines 1: D = 0 is missed even where no time has passed."""
    assert trace(working(0, 0), clock=idle, timeout=0) == {"main": [(0, 0, "late", 0, True)]}


def test_a_deadline_may_be_a_parameter() -> None:
    """Deadlines 3: D may be a parameter."""
    assert trace(working(300e-9, "patience"), clock=sleepy, ways=TOGETHER, timeout=0) == {
        "main": [(0, 0, "in time", 300)]
    }
    assert trace(working(301e-9, "patience"), clock=sleepy, ways=TOGETHER, timeout=0) == {
        "main": [(0, 0, "late", 301, True)]
    }


def test_lateness_is_kept_until_there_is_time_to_catch_up() -> None:
    """Deadlines 1, tags 5, timers 3: no tag is skipped; tags that should have been over begin at once, and are late."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            tick = rx.Timer(0, 100)

            @rx.reaction(tick)
            def work(self) -> None:
                note(self, self.lag)
                if self.tag.time == 0:
                    time.sleep(250e-9)

        return Main()

    assert trace(program, clock=sleepy, ways=TOGETHER, timeout=400) == {
        "main": [(0, 0, 0), (100, 0, 150), (200, 0, 50), (300, 0, 0), (400, 0, 0)]
    }


def test_check_deadline_runs_what_is_for_that_if_it_is_asked_to() -> None:
    """Deadlines 4: within the reaction, which goes on afterwards; what it sets counts as set by the reaction."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            out = rx.Output(int)

            def __init__(self) -> None:
                self.inner = Inner()
                rx.connect(self.inner.out, self.out)
                self.add_reaction(self.inner.out, self.see)

            def see(self) -> None:
                note(self, self.inner.out.value)

        class Inner(rx.Reactor):
            out = rx.Output(int)

            @rx.reaction(rx.startup, effects=out)
            def work(self) -> None:
                note(self, self.check_deadline(handle=True))
                time.sleep(11e-9)
                note(self, self.check_deadline())
                note(self, self.check_deadline(handle=True))

            @work.deadline(10)
            def late(self) -> None:
                note(self, "late")
                self.out.set(5)

            @rx.reaction(rx.startup)
            def without(self) -> None:
                note(self, self.start_time, self.check_deadline(handle=True))

        return Main()

    assert trace(program, clock=sleepy, ways=TOGETHER) == {
        "main": [(0, 0, 5)],
        "main.inner": [(0, 0, each) for each in (False, True, "late", True)] + [(0, 0, 0, False)],
    }


def test_what_is_for_a_missed_deadline_runs_once_in_each_execution() -> None:
    """Deadlines 4: whether the runtime or the reaction calls it, and however often it asks for that itself."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            tick = rx.Timer(0, 100)

            @rx.reaction(tick)
            def begins_in_time(self) -> None:
                time.sleep(11e-9)
                note(self, "work", self.check_deadline(handle=True), self.check_deadline(handle=True))

            @begins_in_time.deadline(10)
            def late(self) -> None:
                note(self, "late", self.check_deadline(handle=True))

            @rx.reaction(tick)
            def begins_late(self) -> None:
                note(self, "never")

            @begins_late.deadline(0)
            def too_late(self) -> None:
                note(self, "too late", self.check_deadline(handle=True))

        return Main()

    once = [("late", True), ("work", True, True), ("too late", True)]
    assert trace(program, clock=sleepy, ways=TOGETHER, timeout=100) == {
        "main": [(at, 0, *each) for at in (0, 100) for each in once]
    }


def test_check_deadline_looks_again_while_the_reaction_runs() -> None:
    """Deadlines 4: true beyond t + D, never where there is no deadline."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            @rx.reaction(rx.startup)
            def work(self) -> None:
                note(self, self.check_deadline())
                time.sleep(10e-9)
                note(self, self.check_deadline())
                time.sleep(1e-9)
                note(self, self.check_deadline())

            @work.deadline(10)
            def late(self) -> None:
                note(self, "never")

            @rx.reaction(rx.startup)
            def without(self) -> None:
                note(self, "without", self.check_deadline())

        return Main()

    assert trace(program, clock=sleepy, ways=TOGETHER) == {
        "main": [(0, 0, False), (0, 0, False), (0, 0, True), (0, 0, "without", False)]
    }


def test_update_deadline_changes_it_from_now_on() -> None:
    """Deadlines 5: for check_deadline at once, and for the next executions."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            tick = rx.Timer(0, 100)

            @rx.reaction(tick)
            def before(self) -> None:
                time.sleep(20e-9)

            @rx.reaction(tick)
            def work(self) -> None:
                note(self, "in time", self.check_deadline())
                self.update_deadline(10)
                note(self, "now", self.check_deadline())

            @work.deadline(30)
            def late(self) -> None:
                note(self, "late")
                self.update_deadline(20)

        return Main()

    assert trace(program, clock=sleepy, ways=TOGETHER, timeout=200) == {
        "main": [
            (0, 0, "in time", False),
            (0, 0, "now", True),
            (100, 0, "late"),
            (200, 0, "in time", False),
            (200, 0, "now", True),
        ]
    }


@pytest.mark.parametrize("first", [2**63 - 1, 50])
def test_the_longest_deadline_is_one_and_can_be_updated(first: int) -> None:
    """Deadlines 5: also where the new one, or the one before, is the longest duration that there is."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            tick = rx.Timer(0, 100)

            @rx.reaction(tick)
            def before(self) -> None:
                time.sleep(20e-9)

            @rx.reaction(tick)
            def work(self) -> None:
                note(self, "in time", self.check_deadline())
                self.update_deadline(2**63 - 1 if first == 50 and self.tag.time == 0 else 10)

            @work.deadline(first)
            def late(self) -> None:
                note(self, "late")
                self.update_deadline(2**63 - 1)

        return Main()

    events = trace(program, clock=sleepy, ways=TOGETHER, timeout=300)["main"]
    kept = ["in time", "late", "in time"]
    assert [event[2] for event in events] == (["in time", *kept] if first == 50 else [*kept, "late"])


def test_what_must_run_before_a_reaction_with_a_deadline_inherits_it() -> None:
    """Deadlines 6, 7: it runs before what has none, however late that was declared."""

    class Source(rx.Reactor):
        out = rx.Output(int)

        @rx.reaction(rx.startup, effects=out)
        def begin(self) -> None:
            self.out.set(1)

    class Stage(rx.Reactor):
        inp, out = rx.Input(int), rx.Output(int)

        @rx.reaction(inp, effects=out)
        def work(self) -> None:
            time.sleep(100e-9)
            self.out.set(1)

    class Urgent(rx.Reactor):
        inp = rx.Input(int)

        @rx.reaction(inp)
        def respond(self) -> None:
            self.found = self.lag

        @respond.deadline(200)
        def late(self) -> None:
            self.found = -1

    class Main(rx.Reactor):
        def __init__(self, delay: int | None) -> None:
            self.source, self.slow, self.fast, self.urgent = Source(), rx.bank(3, Stage), Stage(), Urgent()
            rx.connect(self.source.out, self.slow.inp, broadcast=True)
            rx.connect(self.source.out, self.fast.inp)
            rx.connect(self.fast.out, self.urgent.inp, after=delay)

    main = Main(None)
    rx.run(main, clock=rx.VirtualClock(sleep=True))
    assert main.urgent.found == 100
    assert rx.Graph(Main(None)).deadlines == {
        "main.source.begin": 200,
        "main.fast.work": 200,
        "main.urgent.respond": 200,
    }
    assert rx.Graph(Main(50)).deadlines == {"main.urgent.respond": 200}  # a delayed connection passes nothing on


def test_what_a_handler_sets_travels_within_the_tag_and_what_it_does_not_set_triggers_nothing() -> None:
    """Deadlines 2: downstream it is not known which of the two has run.

    Nor does a reaction declared below run in its place.
    """

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            tick, out = rx.Timer(0, 1000), rx.Output(str)

            def __init__(self, speaks: bool) -> None:
                self.speaks = speaks

            @rx.reaction(tick)
            def work(self) -> None:
                if self.tag.time != 1000:
                    time.sleep(50e-9)

            @rx.reaction(tick, effects=out)
            def send(self) -> None:
                self.out.set("in time")

            @send.deadline(40)
            def late(self) -> None:
                note(self, "late")
                if self.speaks:
                    self.out.set("late")

        class Sink(rx.Reactor):
            value, soon = rx.Input(str), rx.Input(str)

            @rx.reaction(value, soon)
            def see(self) -> None:
                note(self, self.value.value, self.soon.value)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                for name, speaks in (("one", True), ("two", False)):
                    source, sink = Source(speaks), Sink()
                    setattr(self, f"source_{name}", source)
                    setattr(self, f"sink_{name}", sink)
                    rx.connect(source.out, sink.value)
                    rx.connect(source.out, sink.soon, after=0)

        return Main()

    assert trace(program, clock=sleepy, ways=TOGETHER, timeout=2000) == {
        "main.source_one": [(0, 0, "late"), (2000, 0, "late")],
        "main.sink_one": [
            (0, 0, "late", None),
            (0, 1, None, "late"),
            (1000, 0, "in time", None),
            (1000, 1, None, "in time"),
            (2000, 0, "late", None),
        ],
        "main.source_two": [(0, 0, "late"), (2000, 0, "late")],
        "main.sink_two": [(1000, 0, "in time", None), (1000, 1, None, "in time")],
    }


def test_each_instance_has_a_deadline_of_its_own() -> None:
    """Deadlines 3, 6: by parameter, also in a bank.

    Only the member that leads to a deadline inherits it, not its siblings.
    """

    class Stage(rx.Reactor):
        inp, out = rx.Input(int), rx.Output(int)

        @rx.reaction(inp, effects=out)
        def work(self) -> None:
            self.out.set(1)

    class Urgent(rx.Reactor):
        inp = rx.Input(int)

        def __init__(self, patience: int) -> None:
            self.patience = patience

        @rx.reaction(rx.startup)
        def prepare(self) -> None:
            pass

        @rx.reaction(inp)
        def respond(self) -> None:
            pass

        @respond.deadline("patience")
        def late(self) -> None:
            pass

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.stages, self.urgent = rx.bank(3, Stage), rx.bank(2, Urgent, lambda i: 100 * (i + 1))
            self.add_reaction(rx.startup, self.begin, effects=self.stages.inp)
            rx.connect([self.stages[0].out, self.stages[2].out], self.urgent.inp)

        def begin(self) -> None:
            pass

    assert rx.Graph(Main()).deadlines == {
        "main.begin": 100,
        "main.stages[0].work": 100,
        "main.stages[2].work": 200,
        "main.urgent[0].prepare": 100,
        "main.urgent[0].respond": 100,
        "main.urgent[1].prepare": 200,
        "main.urgent[1].respond": 200,
    }


def test_reactions_with_deadlines_are_late_one_by_one_however_many_are_ready() -> None:
    """Deadlines 2: light ones of one level run together, but not where each has a deadline."""

    def program(rx: Any) -> Any:
        class Part(rx.Reactor):
            tick = rx.Timer(0, 1)

            @rx.reaction(tick)
            def work(self) -> None:
                note(self, "in time")

            @work.deadline(0)
            def late(self) -> None:
                note(self, "late")

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.parts = rx.bank(8, Part)

        return Main()

    found = trace(program, timeout=30)
    assert found == {f"main.parts[{k}]": [(t, 0, "late") for t in range(31)] for k in range(8)}


def test_to_look_for_a_missed_deadline_of_zero_finds_one() -> None:
    """Deadlines 2, 4, 5: though no time has passed."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            @rx.reaction(rx.startup)
            def work(self) -> None:
                note(self, self.check_deadline())
                self.update_deadline(0)
                note(self, self.check_deadline())

            @work.deadline(5)
            def late(self) -> None:
                note(self, "late")

        return Main()

    assert trace(program, clock=idle, ways=TOGETHER) == {"main": [(0, 0, False), (0, 0, True)]}
