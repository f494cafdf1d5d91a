"""Classes that extend others (catalogue, section 11).

Where a class has several bases, the reference is left out: it knows the order of Python's methods only, which is not
that of the reactions (bases from left to right).
"""

from dataclasses import dataclass
from typing import Any

import reactors as real
from tests.oracle.ways import note, trace
from tests.semantics.alone import trace_alone


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


def test_reactions_that_a_base_declares_by_call_come_before_those_of_its_subclasses() -> None:
    """Classes 5: whatever way they are declared in, and whenever the subclass calls the `__init__` of its base."""

    def program(rx: Any) -> Any:
        class Base(rx.Reactor):
            tick = rx.Timer(1)

            def __init__(self) -> None:
                self.add_reaction(self.tick, self.by_call)
                self.add_more()

            @rx.reaction(tick)
            def decorated(self) -> None:
                note(self, "base, decorated")

            def by_call(self) -> None:
                note(self, "base, by call")

            def add_more(self) -> None:
                for k in range(2):
                    self.add_reaction(self.tick, lambda k=k: note(self, f"base, by call of a method, {k}"))

        class Between(Base):
            @rx.reaction(Base.tick)
            def of_a_class_without_init(self) -> None:
                note(self, "between, decorated")

        class Child(Between):
            def __init__(self) -> None:
                self.add_reaction(self.tick, lambda: note(self, "child, by call"))
                super().__init__()
                self.other = Base()  # is in no way part of this

            @rx.reaction(Base.tick)
            def decorated_too(self) -> None:
                note(self, "child, decorated")

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.child = child = Child()
                child.add_reaction(child.tick, lambda: note(child, "by call from outside"))

        return Main()

    base = ["base, decorated", "base, by call", *(f"base, by call of a method, {k}" for k in range(2))]
    child = ["between, decorated", "child, decorated", "child, by call", "by call from outside"]
    assert trace(program) == {
        "main.child": [(1, 0, words) for words in base + child],
        "main.child.other": [(1, 0, words) for words in base],
    }


def test_reactions_that_a_base_declares_by_call_come_first_however_it_is_written() -> None:
    """Classes 5: in `__new__`, in an `__init__` that keeps `self` elsewhere, or after that of a dataclass."""

    def program() -> Any:
        rx = real

        def add(reactor: Any, words: str) -> None:
            reactor.add_reaction(rx.startup, lambda: note(reactor, words))

        class InNew(rx.Reactor):
            def __new__(cls, *args: Any, **kwargs: Any) -> Any:
                self = super().__new__(cls, *args, **kwargs)
                add(self, "base")
                return self

        class OfArguments(rx.Reactor):
            def __init__(*args: Any) -> None:
                add(args[0], "base")

        class Renaming(rx.Reactor):
            def __init__(self) -> None:
                it, self = self, None  # noqa: PLW0642
                add(it, "base")

        @dataclass(eq=False)
        class Data(rx.Reactor):
            n: int = 0

            def __post_init__(self) -> None:
                add(self, "base")

        def derived(base: Any) -> Any:
            class Derived(base):  # type: ignore[misc]
                def __init__(self) -> None:
                    add(self, "derived")
                    super().__init__()

            return Derived()

        @dataclass(eq=False)
        class DerivedData(Data):
            m: int = 0

            def __post_init__(self) -> None:
                add(self, "derived")
                super().__post_init__()

        class Whole(rx.Reactor):
            def __init__(self) -> None:
                self.all = [derived(InNew), derived(OfArguments), derived(Renaming), DerivedData()]

        return Whole()

    assert trace_alone(program) == {f"main.all[{k}]": [(0, 0, "base"), (0, 0, "derived")] for k in range(4)}


def test_a_reaction_that_overrides_one_of_a_base_has_its_place() -> None:
    """Classes 5: it may call the one it overrides, and has its deadline unless it declares one."""

    def program(rx: Any) -> Any:
        class Base(rx.Reactor):
            tick, act, out = rx.Timer(1), rx.LogicalAction(int), rx.Output(str)

            @rx.reaction(tick, act, uses=act, effects=(out, act))
            def first(self) -> None:
                note(self, "base, first")

            @first.deadline(0)
            def late(self) -> None:
                note(self, "late")

            @rx.reaction(tick)
            def second(self) -> None:
                note(self, "base, second")

            @rx.reaction(tick)
            def third(self) -> None:
                note(self, "base, third")

        class Child(Base):
            @rx.reaction(Base.tick)
            def fourth(self) -> None:
                note(self, "child, fourth")

            @rx.reaction(Base.tick)
            def second(self) -> None:
                note(self, "child, second")
                super().second()

            @rx.reaction(Base.tick, Base.act, uses=Base.act, effects=(Base.out, Base.act))
            def first(self) -> None:
                note(self, "never: the deadline is missed")

        class Grandchild(Child):
            @rx.reaction(Base.tick)
            def second(self) -> None:
                note(self, "grandchild, second")

            @second.deadline(0)
            def second_late(self) -> None:
                note(self, "grandchild, second, late")

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.child, self.grandchild = Child(), Grandchild()

        return Main()

    rest = [(1, 0, "base, third"), (1, 0, "child, fourth")]
    assert trace(program) == {
        "main.child": [(1, 0, "late"), (1, 0, "child, second"), (1, 0, "base, second"), *rest],
        "main.grandchild": [(1, 0, "late"), (1, 0, "grandchild, second, late"), *rest],
    }


def test_a_method_for_a_missed_deadline_is_overridden_as_any_other() -> None:
    """Classes 5: also where the reaction is overridden without a deadline of its own, and by a class in between."""

    def program(rx: Any) -> Any:
        class Base(rx.Reactor):
            out = rx.Output(str)

            @rx.reaction(rx.startup, effects=out)
            def go(self) -> None:
                note(self, "never")

            @go.deadline(0)
            def late(self) -> None:
                note(self, "base")

        class Method(Base):
            def late(self) -> None:
                note(self, "method")
                super().late()
                self.out.set("it may do what the reaction may")

        class Both(Base):
            @rx.reaction(rx.startup, effects=Base.out)
            def go(self) -> None:
                note(self, "never")

            def late(self) -> None:
                note(self, "both")

        class Reaction(Method):
            @rx.reaction(rx.startup, effects=Base.out)
            def go(self) -> None:
                note(self, "never")

        class Deadline(Both):
            @rx.reaction(rx.startup, effects=Base.out)
            def go(self) -> None:
                note(self, "never")

            @go.deadline(0)
            def other(self) -> None:
                note(self, "other")

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.base, self.method, self.both = Base(), Method(), Both()
                self.reaction, self.deadline = Reaction(), Deadline()

        return Main()

    assert trace(program) == {
        "main.base": [(0, 0, "base")],
        "main.method": [(0, 0, "method"), (0, 0, "base")],
        "main.both": [(0, 0, "both")],
        "main.reaction": [(0, 0, "method"), (0, 0, "base")],
        "main.deadline": [(0, 0, "other")],
    }


def test_of_several_bases_the_left_one_comes_first() -> None:
    """Classes 5: each base with its own bases before it; then the class itself."""

    def program() -> Any:
        rx: Any = real

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


def test_a_reaction_of_two_bases_is_declared_again_where_they_join_and_may_call_both() -> None:
    """Classes 5: at the place of the one that both override."""

    def program() -> Any:
        rx: Any = real

        class Root(rx.Reactor):
            @rx.reaction(rx.startup)
            def go(self) -> None:
                note(self, "root")

        class Left(Root):
            @rx.reaction(rx.startup)
            def go(self) -> None:
                note(self, "left")

        class Right(Root):
            @rx.reaction(rx.startup)
            def go(self) -> None:
                note(self, "right")

        class Main(Left, Right):
            @rx.reaction(rx.startup)
            def go(self) -> None:
                Left.go(self)
                Right.go(self)
                note(self, "main")

        class Whole(rx.Reactor):
            def __init__(self) -> None:
                self.one = Main()

        return Whole()

    assert trace_alone(program) == {"main.one": [(0, 0, name) for name in ("left", "right", "main")]}


def test_a_base_that_is_inherited_twice_is_there_once() -> None:
    """Classes 5: a diamond: one input, one timer and one run of each reaction, deepest first and then left to right."""

    def program() -> Any:
        rx: Any = real

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
