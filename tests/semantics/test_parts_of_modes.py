"""Reactions, connections, banks, startup and shutdown that belong to modes (catalogue, section 10)."""

from typing import Any

import pytest

import reactors as rx
from tests.oracle.ways import note, trace


def test_connections_of_modes_share_a_port() -> None:
    """Modes 2, ports 9: each carries something while its mode is active; and so may a reaction of a mode."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            tick, late, out = rx.Timer(0, 2), rx.Timer(1, 2), rx.Output()

            def __init__(self, first: int) -> None:
                self.first = first

            @rx.reaction(tick, late, effects=out)
            def go(self) -> None:
                if self.tag.time % 2 == self.first:
                    self.out.set((self.first, self.tag.time))

        class Sink(rx.Reactor):
            inp = rx.Input()

            @rx.reaction(inp)
            def hear(self) -> None:
                note(self, self.inp.value)

        class Main(rx.Reactor):
            a, b, c = rx.Mode(initial=True), rx.Mode(), rx.Mode()
            turn = rx.Timer(4, 4)
            inp = rx.Input()

            def __init__(self) -> None:
                self.even, self.odd, self.sink = Source(0), Source(1), Sink()
                rx.connect(self.even.out, self.sink.inp, mode=self.a)
                with self.b:
                    rx.connect(self.odd.out, self.sink.inp, after=2)
                self.add_reaction(self.odd.out, self.third, effects=self.sink.inp, mode=self.c)

            def third(self) -> None:
                self.sink.inp.set("c")

            @rx.reaction(turn, effects=(a.history, b.history, c.history))
            def switch(self) -> None:
                [self.a, self.b, self.c][self.tag.time // 4 % 3].set()

        return Main()

    assert trace(program, timeout=17) == {
        "main.sink": [
            (0, 0, (0, 0)),
            (2, 0, (0, 2)),
            (4, 0, (0, 4)),
            (7, 0, (1, 5)),
            (9, 0, "c"),
            (11, 0, "c"),
            (14, 0, (0, 14)),
            (16, 0, (0, 16)),
            (17, 0, (1, 7)),
        ]
    }
    # 18 of each source, 9 of the sink, 4 switches, 2 of mode c; what connections do is no reaction
    assert rx.run(program(rx), fast=True, timeout=17).reactions == 51


def test_startup_of_a_mode_happens_once() -> None:
    """Modes 10, 11: at its first activation, however it is entered; shutdown only of modes that were entered."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            a, b, c = rx.Mode(initial=True), rx.Mode(), rx.Mode()
            turn = rx.Timer(1, 1)

            def __init__(self) -> None:
                for mode in (self.a, self.b, self.c):
                    self.add_reaction(rx.startup, self.begins, mode=mode)
                    self.add_reaction(rx.shutdown, self.ends, mode=mode)

            def begins(self) -> None:
                note(self, "begins")

            def ends(self) -> None:
                note(self, "ends")

            @rx.reaction(turn, mode=a, effects=b.reset)
            def go(self) -> None:
                self.b.set()

            @rx.reaction(turn, mode=b, effects=a.reset)
            def come(self) -> None:
                self.a.set()

        return Main()

    assert trace(program, timeout=5) == {"main": [(0, 0, "begins"), (1, 1, "begins"), (5, 0, "ends"), (5, 0, "ends")]}


def test_reactions_of_different_modes_are_in_no_order() -> None:
    """Precedence 7: so they cannot be in a causality cycle with each other."""

    class Echo(rx.Reactor):
        inp, out = rx.Input(int), rx.Output(int)

        @rx.reaction(inp, effects=out)
        def echo(self) -> None:
            self.out.set(1)

    class Main(rx.Reactor):
        a, b = rx.Mode(initial=True), rx.Mode()

        def __init__(self, hears: str, speaks: str) -> None:
            self.echo = Echo()
            modes = {"a": self.a, "b": self.b, "none": None}
            self.add_reaction(self.echo.out, self.hear, mode=modes[hears])
            self.add_reaction(rx.startup, self.speak, effects=self.echo.inp, mode=modes[speaks])

        def hear(self) -> None: ...

        def speak(self) -> None:
            self.echo.inp.set(1)

    rx.Graph(Main("a", "b"))
    for hears, speaks in (("a", "a"), ("a", "none"), ("none", "a"), ("none", "none")):
        with pytest.raises(rx.CausalityError):
            rx.Graph(Main(hears, speaks))


def test_reactions_run_in_textual_order_in_modes_and_outside_of_them() -> None:
    """Modes 13: those of the mode that is current, mixed with those of the reactor as they were declared."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            a, b = rx.Mode(initial=True), rx.Mode()
            tick = rx.Timer(0, 1)

            @rx.reaction(tick)
            def one(self) -> None:
                note(self, "one")

            with a:

                @rx.reaction(tick, effects=b)
                def two(self) -> None:
                    note(self, "two in a")
                    self.b.set()

            @rx.reaction(tick)
            def three(self) -> None:
                note(self, "three")

            with b:

                @rx.reaction(tick)
                def four(self) -> None:
                    note(self, "four in b")

            with a:

                @rx.reaction(tick)
                def five(self) -> None:
                    note(self, "five in a")

            @rx.reaction(tick)
            def six(self) -> None:
                note(self, "six")

        return Main()

    assert trace(program, timeout=1) == {
        "main": [
            *((0, 0, name) for name in ("one", "two in a", "three", "five in a", "six")),
            *((1, 0, name) for name in ("one", "three", "four in b", "six")),
        ]
    }


def test_banks_and_multiports_in_modes() -> None:
    """Modes 16: each member counts while its mode is current.

    The connections of the modes share the multiport of the reactor.
    """

    def program(rx: Any) -> Any:
        class Member(rx.Reactor):
            tick, out = rx.Timer(1, 1), rx.Output(str)

            def __init__(self, name: str) -> None:
                self.label, self.n = name, 0

            @rx.reaction(tick, effects=out)
            def count(self) -> None:
                self.n += 1
                self.out.set(f"{self.label}{self.bank_index}:{self.n}")

        class Switch(rx.Reactor):
            a, b = rx.Mode(initial=True), rx.Mode()
            turn, out = rx.Timer(2, 2), rx.Output(str, width=2)

            def __init__(self) -> None:
                with self.a:
                    self.first = rx.bank(2, Member, "a")
                    rx.connect(self.first.out, self.out)
                with self.b:
                    self.second = rx.bank(2, Member, "b")
                    rx.connect([self.second.out[1], self.second.out[0]], self.out)

            @rx.reaction(turn, mode=a, effects=b.history)
            def to_b(self) -> None:
                self.b.set()

            @rx.reaction(turn, mode=b, effects=a.history)
            def to_a(self) -> None:
                self.a.set()

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.switches = rx.bank(2, Switch)
                self.add_reaction(self.switches.out, self.see)

            def see(self) -> None:
                note(self, " ".join(c.value or "-" for switch in self.switches for c in switch.out))

        return Main()

    found = trace(program, timeout=6)
    rows = ["a0:1 a1:1", "a0:2 a1:2", "b1:1 b0:1", "b1:2 b0:2", "a0:3 a1:3", "a0:4 a1:4"]
    assert found == {"main": [(t, 0, f"{row} {row}") for t, row in enumerate(rows, 1)]}


def test_shutdown_reactions_of_modes_run_after_a_failure_too() -> None:
    """Modes 12: of all modes that were ever entered."""

    class Main(rx.Reactor):
        one, two, never = rx.Mode(initial=True), rx.Mode(), rx.Mode()

        def __init__(self) -> None:
            self.ended: list[str] = []

        @rx.reaction(rx.startup, effects=two, mode=one)
        def leave(self) -> None:
            self.two.set()

        @rx.reaction(rx.reset, mode=two)
        def fail(self) -> None:
            raise ValueError("no")

        @rx.reaction(rx.shutdown, mode=one)
        def end_one(self) -> None:
            self.ended.append("one")

        @rx.reaction(rx.shutdown, mode=two)
        def end_two(self) -> None:
            self.ended.append("two")

        @rx.reaction(rx.shutdown, mode=never)
        def end_never(self) -> None:
            self.ended.append("never")

    main = Main()
    with pytest.raises(rx.ReactionError, match="no"):
        rx.run(main)
    assert main.ended == ["one", "two"]
