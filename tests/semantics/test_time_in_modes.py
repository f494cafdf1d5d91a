"""What becomes of time, and of what is pending, in modes that are left (catalogue, section 10)."""

from typing import Any

from tests.oracle.ways import note, trace


def test_a_self_transition_renews_what_is_pending() -> None:
    """Modes 12: by reset, also what the active mode itself had scheduled."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            only = rx.Mode(initial=True)
            with only:
                tick = rx.Timer(0, 3)
                act = rx.LogicalAction()

                @rx.reaction(tick, effects=(act, only))
                def go(self) -> None:
                    note(self, "tick")
                    self.act.schedule(delay=2)
                    if self.tag == (3, 0):
                        self.only.set()

                @rx.reaction(act)
                def heard(self) -> None:
                    note(self, "act")

                @rx.reaction(rx.reset)
                def again(self) -> None:
                    note(self, "reset")

        return Main()

    assert trace(program, timeout=7) == {
        "main": [
            (0, 0, "tick"),
            (2, 0, "act"),
            (3, 0, "tick"),
            (3, 1, "tick"),
            (3, 1, "reset"),
            (5, 0, "act"),
            (6, 0, "tick"),
        ]
    }


def test_what_is_due_at_the_tag_of_a_switch_still_happens_before_it() -> None:
    """Modes 7, 9: the mode is left when the tag is over.

    What was to come a microstep later comes, by history, a microstep after the mode is entered again.
    """

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            on, off = rx.Mode(initial=True), rx.Mode()
            leave, back = rx.Timer(4), rx.Timer(9)
            with on:
                tick, act = rx.Timer(0, 2), rx.LogicalAction(str)

                @rx.reaction(leave, effects=(off, act))
                def go(self) -> None:
                    self.off.set()
                    self.act.schedule("at once")
                    self.act.schedule("later", delay=3)

                @rx.reaction(tick, act)
                def see(self) -> None:
                    note(self, self.tick.is_present, self.act.value)

            @rx.reaction(back, effects=on.history)
            def come(self) -> None:
                note(self, "back")
                self.on.set()

        return Main()

    assert trace(program, timeout=12) == {
        "main": [
            (0, 0, True, None),
            (2, 0, True, None),
            (4, 0, True, None),
            (9, 0, "back"),
            (9, 1, False, "at once"),
            (11, 0, True, None),
            (12, 0, False, "later"),
        ]
    }


def test_a_transition_at_the_last_tag_enters_nothing() -> None:
    """Modes 11: the mode was never in force: neither its startup nor its shutdown happens. With a tag more, both do."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            a, b = rx.Mode(initial=True), rx.Mode()
            tick = rx.Timer(3)

            @rx.reaction(tick, effects=b)
            def go(self) -> None:
                note(self, "go")
                self.b.set()

            @rx.reaction(rx.startup, rx.shutdown, mode=b)
            def never(self) -> None:
                note(self, "never")

            @rx.reaction(rx.shutdown, mode=a)
            def end(self) -> None:
                note(self, "end of a")

        return Main()

    assert trace(program, timeout=3) == {"main": [(3, 0, "go"), (3, 0, "end of a")]}
    assert trace(program, timeout=4) == {"main": [(3, 0, "go"), (3, 1, "never"), (3, 2, "never"), (3, 2, "end of a")]}


def test_what_is_due_beyond_the_stop_is_pending_no_longer_than_its_mode_is_active() -> None:
    """Modes 8, the end 3: whoever knew of the stop when it was scheduled, it keeps nothing going that is left."""

    def program(rx: Any) -> Any:
        class Stopper(rx.Reactor):
            @rx.reaction(rx.startup, effects=rx.stop.after(100))
            def ask(self) -> None:
                self.request_stop()

        class Modal(rx.Reactor):
            a, b = rx.Mode(initial=True), rx.Mode()
            with a:
                soon, leave, late = rx.Timer(1), rx.Timer(2), rx.Timer(150)
                act = rx.LogicalAction()

                @rx.reaction(soon, effects=act)
                def schedule(self) -> None:
                    self.act.schedule(delay=150)

                @rx.reaction(leave, effects=b)
                def go(self) -> None:
                    self.b.set()

                @rx.reaction(act, late)
                def never(self) -> None:
                    note(self, "never")

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self, "end")

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.stopper, self.modal = Stopper(), Modal()

        return Main()

    for timeout in (None, 100, 200):
        assert trace(program, timeout=timeout) == {"main.modal": [(2, 1, "end")]}


def test_two_shutdown_reactions_of_modes_write_one_port() -> None:
    """Modes 14, ports 5: they run one after the other, as all reactions of a reactor, however long they take."""

    def program(rx: Any) -> Any:
        class Modal(rx.Reactor):
            out = rx.Output(int)
            a, b = rx.Mode(initial=True), rx.Mode()
            tick, turn = rx.Timer(0, 1), rx.Timer(30)

            @rx.reaction(tick, rx.shutdown, effects=out, mode=a)
            def first(self) -> None:
                self.out.set(1)

            @rx.reaction(turn, effects=b)
            def leave(self) -> None:
                self.b.set()

            @rx.reaction(tick, rx.shutdown, effects=out, mode=b)
            def second(self) -> None:
                self.out.set(2)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.modal, self.heard = Modal(), Heard()
                rx.connect(self.modal.out, self.heard.value)

        class Heard(rx.Reactor):
            value = rx.Input(int)

            @rx.reaction(value)
            def hear(self) -> None:
                note(self, self.value.value)

        return Main()

    assert trace(program, timeout=60) == {"main.heard": [(k, 0, 1 if k <= 30 else 2) for k in range(61)]}


def test_no_tag_comes_after_a_transition_that_needs_none() -> None:
    """Modes 5: the new mode has nothing to do at once: the program starves a microstep after the switch."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            a, b = rx.Mode(initial=True), rx.Mode()

            @rx.reaction(rx.startup, effects=b)
            def go(self) -> None:
                self.b.set()

            @rx.reaction(rx.reset, mode=a)
            def never(self) -> None:
                note(self, "never")

            @rx.reaction(rx.shutdown, mode=b)
            def end(self) -> None:
                note(self, "end")

        return Main()

    assert trace(program) == {"main": [(0, 1, "end")]}


def test_a_reset_forgets_the_spacing_of_actions_and_history_does_not() -> None:
    """Modes 7, 8: by history, an event has to keep its distance from one that waits with the mode."""

    def switching(how: str) -> Any:
        def program(rx: Any) -> Any:
            class Main(rx.Reactor):
                on, off = rx.Mode(initial=True), rx.Mode()
                leave, back, ask = rx.Timer(3), rx.Timer(5), rx.Timer(6)
                with on:
                    act = rx.LogicalAction(str, min_spacing=10)

                    @rx.reaction(rx.startup, effects=act)
                    def begin(self) -> None:
                        self.act.schedule("first", delay=8)

                    @rx.reaction(leave, effects=off)
                    def go(self) -> None:
                        self.off.set()

                    @rx.reaction(ask, effects=act)
                    def again(self) -> None:
                        self.act.schedule("second", delay=1)

                    @rx.reaction(act)
                    def see(self) -> None:
                        note(self, self.act.value)

                @rx.reaction(back, effects=getattr(on, how))
                def come(self) -> None:
                    self.on.set()

            return Main()

        return program

    assert trace(switching("reset")) == {"main": [(7, 0, "second")]}
    assert trace(switching("history")) == {"main": [(10, 0, "first"), (20, 0, "second")]}


def test_what_comes_from_outside_waits_with_its_mode() -> None:
    """Modes 6, 7, 8: so do pending events of physical actions and messages over physical connections.

    By history they come with what was left of their delay, by reset never. What comes while it is not current
    is lost.
    """

    def switching(how: str) -> Any:
        def program(rx: Any) -> Any:
            class Source(rx.Reactor):
                tick, out = rx.Timer(5, 20), rx.Output(int)

                @rx.reaction(tick, effects=out)
                def go(self) -> None:
                    self.out.set(self.tag.time)

            class Sink(rx.Reactor):
                inp = rx.Input(int)

                @rx.reaction(inp)
                def hear(self) -> None:
                    note(self, self.inp.value)

            class Main(rx.Reactor):
                on, off = rx.Mode(initial=True), rx.Mode()
                leave, back = rx.Timer(10), rx.Timer(20)
                with on:
                    bell, slow = rx.PhysicalAction(int), rx.PhysicalAction(int, min_delay=7)

                    @rx.reaction(bell, slow)
                    def hear(self) -> None:
                        note(self, self.bell.value, self.slow.value)

                def __init__(self) -> None:
                    self.source, self.sink = Source(), Sink()
                    rx.connect(self.source.out, self.sink.inp, physical=True, after=7, mode=self.on)

                @rx.reaction(leave, effects=off)
                def go(self) -> None:
                    self.off.set()

                @rx.reaction(back, effects=getattr(on, how))
                def come(self) -> None:
                    self.on.set()

            return Main()

        return program

    def clock(rx: Any, main: Any) -> Any:
        made = rx.VirtualClock()
        for when in (2, 5, 15, 25):
            made.at(when, main.bell, when)
            made.at(when, main.slow, when)
        return made

    before = [(2, 0, 2, None), (5, 0, 5, None), (9, 0, None, 2)]
    after = [(25, 0, 25, None), (32, 0, None, 25)]
    assert trace(switching("history"), clock=clock, timeout=40) == {
        "main": [*before, (22, 0, None, 5), *after],
        "main.sink": [(22, 0, 5), (32, 0, 25)],
    }
    assert trace(switching("reset"), clock=clock, timeout=40) == {
        "main": [*before, *after],
        "main.sink": [(32, 0, 25)],
    }


def test_what_waits_keeps_how_many_microsteps_it_was_away() -> None:
    """Modes 6: an event of the very next microstep comes at the first one after the mode is entered again."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            on, off = rx.Mode(initial=True), rx.Mode()
            begin, back = rx.Timer(3), rx.Timer(9)
            with on:
                first, second, third = rx.LogicalAction(), rx.LogicalAction(), rx.LogicalAction()

                @rx.reaction(begin, effects=first)
                def one(self) -> None:
                    self.first.schedule()

                @rx.reaction(first, effects=second)
                def two(self) -> None:
                    self.second.schedule()

                @rx.reaction(second, effects=(third, off))
                def three(self) -> None:
                    self.third.schedule()
                    self.off.set()

                @rx.reaction(third)
                def four(self) -> None:
                    note(self, "third")

            @rx.reaction(back, effects=on.history)
            def come(self) -> None:
                self.on.set()

        return Main()

    assert trace(program, timeout=20) == {"main": [(9, 1, "third")]}


def test_what_waits_of_one_action_comes_back_in_the_order_of_its_scheduling() -> None:
    """Modes 6: though events of the same time lie in the queue in any order."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            on, off = rx.Mode(initial=True), rx.Mode()
            leave, back = rx.Timer(5), rx.Timer(9)
            with on:
                soon, act = rx.LogicalAction(), rx.LogicalAction(int)

                @rx.reaction(rx.startup, effects=(soon, act))
                def begin(self) -> None:
                    for delay in range(1, 5):  # taken out one by one, they put the rest in disorder
                        self.soon.schedule(delay=delay)
                    for number in range(12):
                        self.act.schedule(number, delay=10)

                @rx.reaction(soon)
                def pass_by(self) -> None:
                    pass

                @rx.reaction(leave, effects=off)
                def go(self) -> None:
                    self.off.set()

                @rx.reaction(act)
                def see(self) -> None:
                    note(self, self.act.value)

            @rx.reaction(back, effects=on.history)
            def come(self) -> None:
                self.on.set()

        return Main()

    assert trace(program, timeout=20) == {"main": [(14, number, number) for number in range(12)]}


def test_a_reset_forgets_what_arrived_over_physical_connections() -> None:
    """Modes 8: what is sent again at the same time keeps no distance from what the reset took away."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            again, out = rx.LogicalAction(), rx.Output(int)

            @rx.reaction(rx.startup, again, effects=(again, out))
            def go(self) -> None:
                self.out.set(self.tag.microstep)
                if self.tag.microstep < 1:
                    self.again.schedule()

        class Sink(rx.Reactor):
            inp = rx.Input(int)

            @rx.reaction(inp)
            def hear(self) -> None:
                note(self, self.inp.value)

        class Main(rx.Reactor):
            on = rx.Mode(initial=True)

            def __init__(self) -> None:
                self.source, self.sink = Source(), Sink()
                rx.connect(self.source.out, self.sink.inp, physical=True, after=10, mode=self.on)

            @rx.reaction(rx.startup, effects=on)
            def restart(self) -> None:
                self.on.set()

        return Main()

    assert trace(program, clock=lambda rx, _: rx.VirtualClock(), timeout=20) == {"main.sink": [(10, 0, 1)]}
