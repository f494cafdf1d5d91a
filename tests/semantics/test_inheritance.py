"""Parameters, state and classes that extend others (catalogue, section 11).

Where a class has several bases, the reference is left out: it knows the order of Python's methods only, which is not
that of the reactions (bases from left to right).
"""

from typing import Any

import reactors as real
from tests.semantics.alone import trace_alone
from tests.ways import TOGETHER, note, trace


def test_reactions_of_bases_come_first_along_the_whole_chain() -> None:
    """Classes 5: whether they are triggered by what is declared here or there; each class adds ports of its own."""

    def program(rx: Any) -> Any:
        class Grandparent(rx.Reactor):
            a, out = rx.Input(int), rx.Output(str)

            @rx.reaction(a, rx.startup, effects=out)
            def from_grandparent(self) -> None:
                self.out.set("grandparent")
                note(self, "grandparent", self.a.value)

        class Parent(Grandparent):
            b = rx.Input(int)

            @rx.reaction(b, Grandparent.a, effects=Grandparent.out)
            def from_parent(self) -> None:
                note(self, "parent", self.a.value, self.b.value)
                self.out.set("parent")

        class Child(Parent):
            @rx.reaction(Grandparent.a, uses=Parent.b)
            def from_child(self) -> None:
                note(self, "child", self.a.value, self.b.value)

        class Source(rx.Reactor):
            tick, out = rx.Timer(1, 1), rx.Output(int)

            @rx.reaction(tick, effects=out)
            def send(self) -> None:
                self.out.set(self.tag.time)

        class Sink(rx.Reactor):
            value = rx.Input(str)

            @rx.reaction(value)
            def see(self) -> None:
                note(self, self.value.value)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.child, self.sink = Source(), Child(), Sink()
                rx.connect(self.source.out, self.child.a)
                rx.connect(self.source.out, self.child.b, after=1)
                rx.connect(self.child.out, self.sink.value)

        return Main()

    assert trace(program, timeout=2) == {
        "main.child": [
            (0, 0, "grandparent", None),
            (1, 0, "grandparent", 1),
            (1, 0, "parent", 1, None),
            (1, 0, "child", 1, None),
            (2, 0, "grandparent", 2),
            (2, 0, "parent", 2, 1),
            (2, 0, "child", 2, 1),
        ],
        "main.sink": [(0, 0, "grandparent"), (1, 0, "parent"), (2, 0, "parent")],
    }


def test_of_several_bases_the_left_one_comes_first() -> None:
    """Classes 5: each base with its own bases before it; then the class itself."""

    def program() -> Any:
        rx = real

        class Left(rx.Reactor):
            @rx.reaction(rx.startup)
            def from_left(self) -> None:
                note(self, "left")

        class Root(rx.Reactor):
            @rx.reaction(rx.startup)
            def from_root(self) -> None:
                note(self, "root")

        class Right(Root):
            @rx.reaction(rx.startup)
            def from_right(self) -> None:
                note(self, "right")

        class Main(Left, Right):
            @rx.reaction(rx.startup)
            def from_main(self) -> None:
                note(self, "main")

        class Whole(rx.Reactor):
            def __init__(self) -> None:
                self.one = Main()

        return Whole()

    assert trace_alone(program) == {"main.one": [(0, 0, name) for name in ("left", "root", "right", "main")]}


def test_a_base_that_is_inherited_twice_is_there_once() -> None:
    """Classes 5: a diamond: one input, one timer and one run of each reaction, deepest first and then left to right."""

    def program() -> Any:
        rx = real

        class Root(rx.Reactor):
            tick, value, out = rx.Timer(2, 2), rx.Input(int), rx.Output(list)

            def __init__(self) -> None:
                self.seen: list[str] = []

            @rx.reaction(tick, value, effects=out)
            def from_root(self) -> None:
                self.seen.append(f"root {self.value.value}")
                self.out.set(list(self.seen))

        class Left(Root):
            @rx.reaction(Root.value, effects=Root.out)
            def from_left(self) -> None:
                self.seen.append(f"left {self.value.value}")
                self.out.set(list(self.seen))

        class Right(Root):
            @rx.reaction(Root.value, effects=Root.out)
            def from_right(self) -> None:
                self.seen.append(f"right {self.value.value}")
                self.out.set(list(self.seen))

        class Bottom(Left, Right):
            @rx.reaction(Root.value, uses=Root.tick, effects=Root.out)
            def from_bottom(self) -> None:
                self.seen.append(f"bottom {self.tick.is_present}")
                self.out.set(list(self.seen))

        class Other(Right, Left):
            pass

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.bottom, self.other = Bottom(), Other()
                for k, reactor in enumerate((self.bottom, self.other)):
                    rx.connect(reactor.out, Sink.of(self, k))
                self.add_reaction(rx.startup, self.send, effects=(self.bottom.value, self.other.value))

            def send(self) -> None:
                self.bottom.value.set(1)
                self.other.value.set(2)

        class Sink(rx.Reactor):
            value = rx.Input(list)

            @staticmethod
            def of(main: Any, k: int) -> Any:
                sink = Sink()
                setattr(main, f"sink_{k}", sink)
                return sink.value

            @rx.reaction(value)
            def see(self) -> None:
                note(self, *self.value.value)

        return Main()

    first, second = ("root 1", "left 1", "right 1", "bottom False"), ("root 2", "right 2", "left 2")
    assert trace_alone(program, timeout=2) == {
        "main.sink_0": [(0, 0, *first), (2, 0, *first, "root None")],
        "main.sink_1": [(0, 0, *second), (2, 0, *second, "root None")],
    }


def test_a_class_may_have_another_default_for_a_parameter_of_its_base() -> None:
    """Classes 1, 5: which the reactions of the base go by; and an instance may have yet another value."""

    def program(rx: Any) -> Any:
        class Base(rx.Reactor):
            def __init__(self, step: int = 2, width: int = 1) -> None:
                self.step = step
                self.out = rx.Output(int, width=width)
                self.tick = rx.Timer(0, step)
                self.add_reaction(self.tick, self.send, effects=self.out)

            def send(self) -> None:
                for k, channel in enumerate(self.out):
                    channel.set(self.step * 10 + k)
                note(self, [channel.value for channel in self.out])

        class Derived(Base):
            def __init__(self, step: int = 3, width: int = 2) -> None:
                super().__init__(step, width)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.base, self.derived, self.instance = Base(), Derived(), Derived(width=3, step=4)

        return Main()

    assert trace(program, timeout=4) == {
        "main.base": [(0, 0, [20]), (2, 0, [20]), (4, 0, [20])],
        "main.derived": [(0, 0, [30, 31]), (3, 0, [30, 31])],
        "main.instance": [(0, 0, [40, 41, 42]), (4, 0, [40, 41, 42])],
    }


def test_what_a_base_contains_and_connects_is_inherited() -> None:
    """Classes 5: a subclass may go on from there: it reads what the contained reactor of its base sends."""

    def program(rx: Any) -> Any:
        class Inner(rx.Reactor):
            value, out = rx.Input(int), rx.Output(int)

            @rx.reaction(value, effects=out)
            def double(self) -> None:
                self.out.set(2 * self.value.value)

        class Base(rx.Reactor):
            def __init__(self, n: int) -> None:
                self.inner = rx.bank(n, Inner)
                rx.connect([self.inner[0].out], [self.inner[1].value])
                self.add_reaction(rx.startup, self.begin, effects=self.inner[0].value)

            def begin(self) -> None:
                self.inner[0].value.set(self.first())

            def first(self) -> int:
                return 1

        class Derived(Base):
            def __init__(self) -> None:
                super().__init__(3)
                rx.connect(self.inner[1].out, self.inner[2].value, after=6)
                self.add_reaction(self.inner[2].out, self.see)

            def see(self) -> None:
                note(self, self.inner[2].out.value)

            def first(self) -> int:
                return 5

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.derived = Derived()

        return Main()

    assert trace(program) == {"main.derived": [(6, 0, 40)]}


def test_modes_of_a_base_are_inherited() -> None:
    """Classes 5: a subclass adds reactions to them, which come after those of the base."""

    def program(rx: Any) -> Any:
        class Base(rx.Reactor):
            off, on = rx.Mode(initial=True), rx.Mode()
            tick = rx.Timer(1, 2)

            @rx.reaction(tick, mode=off, effects=on)
            def switch_on(self) -> None:
                note(self, "base off")
                self.on.set()

        class Main(Base):
            @rx.reaction(Base.tick, mode=Base.on, effects=Base.off)
            def switch_off(self) -> None:
                note(self, "on")
                self.off.set()

            @rx.reaction(Base.tick, mode=Base.off)
            def also(self) -> None:
                note(self, "off")

        return Main()

    assert trace(program, timeout=5) == {
        "main": [(1, 0, "base off"), (1, 0, "off"), (3, 0, "on"), (5, 0, "base off"), (5, 0, "off")]
    }


def test_state_belongs_to_the_instance_and_may_begin_with_a_parameter() -> None:
    """Classes 2, 3: two instances of one class share nothing, not even a list that both were given the same way."""

    def program(rx: Any) -> Any:
        class Counter(rx.Reactor):
            tick = rx.Timer(0, 5)
            seen = rx.State([])
            n = rx.State(lambda self: self.first)

            def __init__(self, first: int) -> None:
                self.first = first

            @rx.reaction(tick)
            def count(self) -> None:
                self.seen.append(self.n)
                self.n *= 2
                note(self, list(self.seen))

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.one, self.two = Counter(1), Counter(5)

        return Main()

    assert trace(program, timeout=10) == {
        "main.one": [(0, 0, [1]), (5, 0, [1, 2]), (10, 0, [1, 2, 4])],
        "main.two": [(0, 0, [5]), (5, 0, [5, 10]), (10, 0, [5, 10, 20])],
    }


def test_parameters_are_handed_down_the_hierarchy() -> None:
    """Classes 1: under other names, computed with, or left at their defaults."""

    def program(rx: Any) -> Any:
        class Inner(rx.Reactor):
            def __init__(self, value: int = 7) -> None:
                self.value = value
                self.add_reaction(rx.startup, self.show)

            def show(self) -> None:
                note(self, self.value)

        class Middle(rx.Reactor):
            def __init__(self, p: int) -> None:
                self.same, self.more, self.default = Inner(p), Inner(value=p + 1), Inner()

        class Main(rx.Reactor):
            def __init__(self, q: int = 20) -> None:
                self.middle = Middle(q)

        return Main()

    assert trace(program) == {
        "main.middle.same": [(0, 0, 20)],
        "main.middle.more": [(0, 0, 21)],
        "main.middle.default": [(0, 0, 7)],
    }


def test_all_durations_may_be_parameters() -> None:
    """Classes 4, timers 5: of timers, actions, their spacing, and connections.

    A subclass that changes the parameter changes them all.
    """

    def program() -> Any:
        rx = real

        class Base(rx.Reactor):
            tick = rx.Timer("first", "period")
            act = rx.LogicalAction(int, min_delay="wait", min_spacing="apart")

            def __init__(self, first: int = 1, period: int = 6, wait: int = 2, apart: int = 3) -> None:
                self.first, self.period, self.wait, self.apart = first, period, wait, apart

            @rx.reaction(tick, effects=act)
            def ask(self) -> None:
                self.act.schedule(1)
                self.act.schedule(2)

            @rx.reaction(act)
            def answer(self) -> None:
                note(self, self.act.value)

        class Derived(Base):
            def __init__(self) -> None:
                super().__init__(first=0, wait=5, apart=1)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.base, self.derived = Base(), Derived()

        return Main()

    assert trace_alone(program, timeout=12) == {
        "main.base": [(3, 0, 1), (6, 0, 2), (9, 0, 1), (12, 0, 2)],
        "main.derived": [(5, 0, 1), (6, 0, 2), (11, 0, 1), (12, 0, 2)],
    }


def test_methods_may_call_themselves_and_take_ports() -> None:
    """Classes 6: methods are Python's: they may recurse, and take ports as arguments."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            out, again = rx.Output(int), rx.LogicalAction(int)

            def fib(self, n: int) -> int:
                return n if n < 2 else self.fib(n - 1) + self.fib(n - 2)

            def put(self, port: Any, value: int) -> None:
                port.set(value)
                note(self, port.value)

            @rx.reaction(rx.startup, again, effects=(out, again))
            def go(self) -> None:
                n = self.again.value or 5
                self.put(self.out, self.fib(n))
                if n < 7:
                    self.again.schedule(n + 1, 3)

        return Main()

    assert trace(program, ways=TOGETHER) == {"main": [(0, 0, 5), (3, 0, 8), (6, 0, 13)]}
