"""Timers and logical actions: when they fire, and with what (catalogue, sections 4 and 5)."""

from typing import Any

from tests.ways import note, trace


def test_a_timer_fires_at_its_offset_and_then_every_period() -> None:
    """Its tags have microstep 0, and none lies beyond the end."""

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
    """The order of the timers does not matter."""

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
    """Without any delay it fires at the next microstep."""

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
    """Each keeps its own value, whatever the order of the calls."""

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
    """All happen, in the order of the calls, also if asked for at different tags (row 27 of the bad programs)."""

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
    """And it does not keep the value of an earlier event."""

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


def test_an_action_that_nobody_reads_is_an_event_all_the_same() -> None:
    """Its tag comes, and the program starves only after it."""

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


def test_a_timer_that_nobody_reads_is_no_event() -> None:
    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            tick = rx.Timer(0, 1)

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self)

        return Main()

    assert trace(program) == {"main": [(0, 1)]}


def test_a_subclass_schedules_the_action_of_its_base() -> None:
    """The reactions of the base come first."""

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
