"""Which reaction runs before which (catalogue, section 8)."""

from typing import Any

import pytest

import reactors as real
from tests import reference
from tests.oracle.ways import note, trace


def test_the_reactions_of_a_reactor_run_in_the_order_of_their_declaration() -> None:
    """Precedence 2: those of a base class first, and those added by call last."""

    def program(rx: Any) -> Any:
        class Base(rx.Reactor):
            @rx.reaction(rx.startup)
            def z(self) -> None:
                note(self, "base")

        class Main(Base):
            def __init__(self) -> None:
                self.add_reaction(rx.startup, self.b)
                self.add_reaction(rx.startup, self.a)

            def a(self) -> None:
                note(self, "second added")

            def b(self) -> None:
                note(self, "first added")

            @rx.reaction(rx.startup)
            def y(self) -> None:
                note(self, "first")

            @rx.reaction(rx.startup)
            def x(self) -> None:
                note(self, "second")

        return Main()

    order = ["base", "first", "second", "first added", "second added"]
    assert trace(program) == {"main": [(0, 0, name) for name in order]}


def test_what_is_only_used_can_be_read_and_triggers_nothing() -> None:
    """Precedence 1: sources are read where they are present, and start no reaction."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out = rx.Output(int)

            def __init__(self, period: int) -> None:
                self.tick = rx.Timer(0, period)
                self.add_reaction(self.tick, self.send, effects=self.out)

            def send(self) -> None:
                self.out.set(self.tag.time)

        class Sink(rx.Reactor):
            a, b = rx.Input(int), rx.Input(int)

            @rx.reaction(a, uses=b)
            def see(self) -> None:
                note(self, self.a.value, self.b.value)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.sink, self.two, self.three = Sink(), Source(2), Source(3)
                rx.connect(self.two.out, self.sink.a)
                rx.connect(self.three.out, self.sink.b)

        return Main()

    assert trace(program, timeout=6) == {"main.sink": [(0, 0, 0, 0), (2, 0, 2, None), (4, 0, 4, None), (6, 0, 6, 6)]}


def test_a_reader_waits_for_the_last_of_a_diamond() -> None:
    """Precedence 3: all inputs that come of one event are there at once, however long the ways."""

    def program(rx: Any) -> Any:
        class Step(rx.Reactor):
            value = rx.Input(int)
            out = rx.Output(int)

            @rx.reaction(value, effects=out)
            def add(self) -> None:
                self.out.set(self.value.value + 1)

        class Main(rx.Reactor):
            tick = rx.Timer(0, 5)

            def __init__(self) -> None:
                self.steps = rx.bank(6, Step)
                for k in range(5):
                    rx.connect(self.steps[k].out, self.steps[k + 1].value)
                self.add_reaction(self.tick, self.send, effects=self.steps[0].value)
                self.add_reaction((self.steps[0].out, self.steps[5].out), self.see, uses=self.steps[3].out)

            def send(self) -> None:
                self.steps[0].value.set(self.tag.time)

            def see(self) -> None:
                note(self, *(self.steps[k].out.value for k in (0, 3, 5)))

        return Main()

    assert trace(program, timeout=10) == {"main": [(0, 0, 1, 4, 6), (5, 0, 6, 9, 11), (10, 0, 11, 14, 16)]}


def test_a_container_may_compute_with_what_it_contains_within_a_tag() -> None:
    """Precedence 4: its reactions are ordered with those inside by ports alone.

    One before the contained reactor, one after.
    """

    def program(rx: Any) -> Any:
        class Gain(rx.Reactor):
            value = rx.Input(int)
            out = rx.Output(int)

            @rx.reaction(value, effects=out)
            def scale(self) -> None:
                note(self)
                self.out.set(self.value.value * 2)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.gain = Gain()
                self.add_reaction(rx.startup, self.ask, effects=self.gain.value)
                self.add_reaction(self.gain.out, self.answer)

            def ask(self) -> None:
                self.gain.value.set(42)

            def answer(self) -> None:
                note(self, self.gain.out.value)

        return Main()

    assert trace(program) == {"main.gain": [(0, 0)], "main": [(0, 0, 84)]}


def test_feedback_is_legal_where_the_reader_is_declared_after_the_writer() -> None:
    """Precedence 6: and it arrives within the tag."""

    def program(rx: Any) -> Any:
        class Loop(rx.Reactor):
            value = rx.Input(int)
            out = rx.Output(int)

            @rx.reaction(rx.startup, effects=out)
            def send(self) -> None:
                self.out.set(1)

            @rx.reaction(value)
            def see(self) -> None:
                note(self, self.value.value)

        class Pass(rx.Reactor):
            value = rx.Input(int)
            out = rx.Output(int)

            @rx.reaction(value, effects=out)
            def add(self) -> None:
                self.out.set(self.value.value + 1)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.short, self.long, self.other = Loop(), Loop(), Pass()
                rx.connect(self.short.out, self.short.value)
                rx.connect(self.long.out, self.other.value)
                rx.connect(self.other.out, self.long.value)

        return Main()

    assert trace(program) == {"main.short": [(0, 0, 1)], "main.long": [(0, 0, 2)]}


def feedback(rx: Any) -> Any:
    """The reader of the feedback is declared before its writer."""

    class Loop(rx.Reactor):
        value = rx.Input(int)
        out = rx.Output(int)

        @rx.reaction(value)
        def see(self) -> None:
            pass

        @rx.reaction(rx.startup, effects=out)
        def send(self) -> None:
            pass

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.loop = Loop()
            rx.connect(self.loop.out, self.loop.value)

    return Main()


def test_a_cycle_without_a_delay_is_refused_even_if_nothing_would_write() -> None:
    """Precedence 3, 6: declared effects count, whatever the body does."""
    with pytest.raises(reference.CycleError):
        reference.run(feedback(reference))
    with pytest.raises(real.CausalityError, match=r"main\.loop"):
        real.Graph(feedback(real))


def test_reactors_that_do_not_depend_on_each_other_do_the_same_in_any_order() -> None:
    """Precedence 5: two chains of different length, each with its own state, and one that counts both."""

    def program(rx: Any) -> Any:
        class Counter(rx.Reactor):
            out = rx.Output(int)

            def __init__(self, period: int) -> None:
                self.n = 0
                self.tick = rx.Timer(0, period)
                self.add_reaction(self.tick, self.count, effects=self.out)

            def count(self) -> None:
                self.n += 1
                self.out.set(self.n)

        class Sum(rx.Reactor):
            value = rx.Input(int, width=2)

            @rx.reaction(value)
            def add(self) -> None:
                note(self, sum(self.value[k].value for k in self.value.present))

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.quick, self.slow, self.sum = Counter(1), Counter(2), Sum()
                rx.connect([self.quick.out, self.slow.out], self.sum.value)

        return Main()

    assert trace(program, timeout=4) == {"main.sum": [(0, 0, 2), (1, 0, 2), (2, 0, 5), (3, 0, 4), (4, 0, 8)]}


def test_a_reaction_waits_for_a_writer_that_may_write_and_does_not() -> None:
    """Precedence 3: the order is that of the declarations.

    A reads what B might set, on a way through others that only pass it on.
    """

    def program(rx: Any) -> Any:
        class Late(rx.Reactor):
            tick, out = rx.Timer(0, 1), rx.Output(int)

            @rx.reaction(tick, effects=out)
            def may(self) -> None:
                if self.tag.time % 2:
                    self.out.set(self.tag.time)

        class Box(rx.Reactor):
            out = rx.Output(int)

            def __init__(self) -> None:
                self.inner = Late()
                rx.connect(self.inner.out, self.out)

        class Early(rx.Reactor):
            tick, value, out = rx.Timer(0, 1), rx.Input(int), rx.Output(int)

            @rx.reaction(tick, uses=value, effects=out)
            def pass_on(self) -> None:
                self.out.set(-1 if self.value.value is None else self.value.value)

            @rx.reaction(value)
            def also(self) -> None:
                note(self, "also", self.value.value)

        class Main(rx.Reactor):
            tick = rx.Timer(0, 1)

            def __init__(self) -> None:
                self.early, self.box = Early(), Box()
                rx.connect(self.box.out, self.early.value)
                self.add_reaction(self.tick, self.see, uses=(self.early.out, self.box.out))

            def see(self) -> None:
                note(self, self.early.out.value, self.box.out.value)

        return Main()

    assert trace(program, timeout=3) == {
        "main": [(0, 0, -1, None), (1, 0, 1, 1), (2, 0, -1, None), (3, 0, 3, 3)],
        "main.early": [(1, 0, "also", 1), (3, 0, "also", 3)],
    }


def test_an_empty_reaction_counts() -> None:
    """Precedence 9: it does nothing, and is ordered, triggered and counted like any other; its name is its method's."""

    class Main(real.Reactor):
        tick, out = real.Timer(), real.Output(int)

        @real.reaction(tick, effects=out)
        def idle(self) -> None: ...

        def __init__(self) -> None:
            self.add_reaction(self.tick, lambda: None)

    assert real.Graph(Main()).levels == [["main.idle"], ["main.reaction2"]]
    assert real.run(Main(), fast=True).reactions == 2


def test_reactions_of_different_modes_are_in_no_order() -> None:
    """Precedence 7: they never run at one tag, so what the second says may come back to the first without a delay."""

    def program(rx: Any) -> Any:
        class Both(rx.Reactor):
            on, off = rx.Mode(initial=True), rx.Mode()
            go, late = rx.Timer(1), rx.Timer(2)
            back, out = rx.Input(str), rx.Output(str)

            @rx.reaction(back, mode=on)
            def hear(self) -> None:
                note(self, "it came back")

            @rx.reaction(late, mode=off, effects=out)
            def say(self) -> None:
                self.out.set("said")

            @rx.reaction(go, effects=off)
            def leave(self) -> None:
                self.off.set()

        class Echo(rx.Reactor):
            inp, out = rx.Input(str), rx.Output(str)

            @rx.reaction(inp, effects=out)
            def again(self) -> None:
                note(self, self.inp.value)
                self.out.set(self.inp.value)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.both, self.echo = Both(), Echo()
                rx.connect(self.both.out, self.echo.inp)
                rx.connect(self.echo.out, self.both.back)

        return Main()

    assert trace(program) == {"main.echo": [(2, 0, "said")]}
