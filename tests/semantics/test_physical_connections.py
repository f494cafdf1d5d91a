"""Physical connections, in virtual time (catalogue, section 6)."""

import time
from typing import Any

from tests.oracle.ways import note, trace


def test_a_physical_connection_arrives_later_than_it_was_sent() -> None:
    """Ports 14: at the physical time plus its delay: a microstep later where no time has passed. It breaks cycles."""

    def program(rx: Any) -> Any:
        class Echo(rx.Reactor):
            inp, out = rx.Input(), rx.Output()

            @rx.reaction(inp, effects=out)
            def echo(self) -> None:
                note(self, self.inp.value)
                if self.inp.value < 3:
                    self.out.set(self.inp.value + 1)

        class Source(rx.Reactor):
            tick = rx.Timer(10, 100)
            back = rx.Input()
            out = rx.Output()

            @rx.reaction(tick, back, effects=out)
            def go(self) -> None:
                note(self, self.tick.is_present, self.back.value)
                self.out.set(0 if self.back.value is None else self.back.value)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.echo = Source(), Echo()
                rx.connect(self.source.out, self.echo.inp, physical=True)
                rx.connect(self.echo.out, self.source.back, physical=True, after=5)

        return Main()

    assert trace(program, clock=lambda rx, _: rx.VirtualClock(), timeout=110) == {
        "main.source": [
            (10, 0, True, None),
            (15, 0, False, 1),
            (20, 0, False, 2),
            (25, 0, False, 3),
            (110, 0, True, None),
        ],
        "main.echo": [(10, 1, 0), (15, 1, 1), (20, 1, 2), (25, 1, 3)],
    }


def bursts(rx: Any, rest: int = 0) -> Any:
    """A source that is late and then sends at many microsteps of one time, and what listens to it."""

    class Source(rx.Reactor):
        tick, again, out = rx.Timer(10, 5), rx.LogicalAction(), rx.Output()

        def __init__(self) -> None:
            self.n = 0

        @rx.reaction(tick, again, effects=(again, out))
        def go(self) -> None:
            self.n += 1
            self.out.set(self.n)
            if self.n == 1:
                time.sleep(15e-9)
            if self.tag.time == 25 and self.tag.microstep < 4:
                self.again.schedule()

        @rx.reaction(tick, again)
        def rest(self) -> None:
            time.sleep(rest / 1e9)

    class Sink(rx.Reactor):
        inp = rx.Input()

        @rx.reaction(inp)
        def hear(self) -> None:
            note(self, self.inp.value)

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.source, self.sink = Source(), Sink()
            rx.connect(self.source.out, self.sink.inp, physical=True)

    return Main()


def sleepy(rx: Any, main: Any) -> Any:
    return rx.VirtualClock(sleep=True)


def test_nothing_overtakes_on_a_physical_connection() -> None:
    """Ports 14: what arrives at one time, arrives at microsteps of it, in the order in which it was sent.

    It counts when the reaction that sent it was over, not what others slept after it.
    """
    assert trace(bursts, clock=sleepy, timeout=29) == {"main.sink": [(25, k, k) for k in range(1, 9)]}
    found = trace(lambda rx: bursts(rx, rest=1), clock=sleepy, timeout=30)
    assert found == {"main.sink": [(25 + k, 1, 1 + k) for k in range(5)]}


def test_what_is_behind_a_physical_connection_has_come_over_it() -> None:
    """Ports 14: also what reads at the end of a way that begins with a physical connection."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            tick, out = rx.Timer(10), rx.Output()

            @rx.reaction(tick, effects=out)
            def go(self) -> None:
                time.sleep(15e-9)
                self.out.set(7)

        class Sink(rx.Reactor):
            inp = rx.Input()

            @rx.reaction(inp)
            def hear(self) -> None:
                note(self, self.inp.value)

        class Box(rx.Reactor):
            inp = rx.Input()

            def __init__(self) -> None:
                self.sink, self.late = Sink(), Sink()
                rx.connect(self.inp, self.sink.inp)
                rx.connect(self.inp, self.late.inp, after=5)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.box = Source(), Box()
                rx.connect(self.source.out, self.box.inp, physical=True)

        return Main()

    assert trace(program, clock=sleepy, timeout=50) == {
        "main.box.sink": [(25, 1, 7)],
        "main.box.late": [(30, 0, 7)],
    }


def test_arrivals_that_were_put_aside_are_not_overtaken() -> None:
    """Ports 14, modes: a physical connection of a mode that is left and entered again, with its history or by reset."""

    def program(rx: Any, how: str) -> Any:
        class Source(rx.Reactor):
            tick, out = rx.Timer(0, 10), rx.Output()

            @rx.reaction(tick, effects=out)
            def go(self) -> None:
                time.sleep((0 if self.tag.time else 100) / 1e9)
                if self.tag.time <= 40:
                    self.out.set(self.tag.time)

        class Sink(rx.Reactor):
            inp = rx.Input()

            @rx.reaction(inp)
            def hear(self) -> None:
                note(self, self.inp.value)

        class Main(rx.Reactor):
            on, off = rx.Mode(initial=True), rx.Mode()
            leave, enter = rx.Timer(11), rx.Timer(22)

            def __init__(self) -> None:
                self.source, self.sink = Source(), Sink()
                rx.connect(self.source.out, self.sink.inp, physical=True, after=30, mode=self.on)
                enters = self.on.history if how == "history" else self.on.reset
                self.add_reaction(self.leave, self.go, effects=self.off)
                self.add_reaction(self.enter, self.come, effects=enters)

            def go(self) -> None:
                self.off.set()

            def come(self) -> None:
                self.on.set()

        return Main()

    def found(how: str) -> Any:
        return trace(lambda rx: program(rx, how), clock=sleepy, timeout=150)["main.sink"]

    assert found("history") == [(141, 0, 0), (141, 1, 10), (141, 2, 30), (141, 3, 40)]
    assert found("reset") == [(130, 0, 30), (130, 1, 40)]
