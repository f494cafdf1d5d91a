"""Programs whose reactors are contained in none, in two, in each other, or are no reactors.

The numbers are rows of the table of bad programs; what the `@marks` are is said in `messages.py`.
"""

from collections.abc import Callable
from typing import Any

import pytest

import reactors as rx
from tests.messages import Main, Relay, Source, graph_of, refused, refused_class, warned


def test_class_instead_of_a_reactor() -> None:
    assert refused(rx.ContainmentError, lambda: rx.Graph(Source)) == (  # type: ignore[arg-type]
        "Source is a class of reactors; make one: Source(...)"
    )
    assert refused(rx.ArgumentError, lambda: rx.Graph(5)) == (  # type: ignore[arg-type]
        "the program is 5, of type int; it has to be an rx.Reactor"
    )


def test_port_of_a_class_in_a_connection() -> None:
    def build(self: Any) -> None:
        self.a, self.relay = Source, Relay()
        self.a.out >> self.relay.inp  # @ofclass

    assert refused(rx.WiringError, graph_of(build)) == (
        "rx.connect (@ofclass): Source.out (@out) is the declaration in the class; connect the port of a reactor: "
        "make one (self.x = Source(...)) and write self.x.out"
    )


def test_port_of_a_class_in_a_reaction() -> None:
    def build(self: Any) -> None:
        self.add_reaction(Source.out, lambda: None)  # @classtrigger

    assert refused(rx.UndeclaredAccessError, graph_of(build)) == (
        "main.reaction1 (@classtrigger): triggers has the output Source.out (@out), but it is the declaration in a "
        "class; name the port of a reactor"
    )


def test_class_in_an_attribute_is_warned_of_if_none_is_ever_made() -> None:
    def build(self: Any) -> None:
        self.a = Source

    assert warned(graph_of(build)) == [
        "main.a (@maker) is the class Source, no reactor; to contain one, make it: Source(...)"
    ]

    def build_with(self: Any) -> None:
        self.kind = Source
        self.a = self.kind()

    assert warned(graph_of(build_with)) == []


def test_bank_of_a_reactor_instead_of_a_class() -> None:
    def program() -> None:
        rx.bank(3, Source())  # type: ignore[type-var]  # @instance

    assert refused(rx.ContainmentError, program) == (
        "rx.bank (@instance) makes its reactors itself: write rx.bank(3, Source, ...) with the class and its "
        "arguments, instead of the reactor made at @instance"
    )


def test_reactor_contained_twice() -> None:
    def build(self: Any) -> None:
        self.a = Source()  # @shared
        self.b = self.a

    assert refused(rx.ContainmentError, graph_of(build)) == (
        "main.b and main.a are the same Source (made at @shared); a reactor is contained once: make two, or refer to "
        "it by a property"
    )


def test_reactor_that_contains_its_container() -> None:
    class Child(rx.Reactor):
        def __init__(self, parent: rx.Reactor) -> None:
            self.parent = parent

    def build(self: Any) -> None:
        self.child = Child(self)

    assert "main.child.parent and main are the same Main" in refused(rx.ContainmentError, graph_of(build))


def test_reactor_contained_in_two_programs() -> None:
    shared = Source()  # @common
    first, second = Main(lambda self: setattr(self, "a", shared)), Main(lambda self: setattr(self, "b", shared))
    rx.Graph(first)
    assert refused(rx.ContainmentError, lambda: rx.Graph(second)) == (
        "main.b (made at @common) is contained in main, a Main, as well; a reactor is contained once: make two, or "
        "refer to it by a property"
    )


def test_running_a_reactor_that_is_contained_elsewhere() -> None:
    main = Main(lambda self: setattr(self, "a", Source()))  # @inside
    rx.Graph(main)
    assert refused(rx.ContainmentError, lambda: rx.Graph(main.a)) == (  # type: ignore[attr-defined]
        "main.a (made at @inside) is contained in main, a Main; run that, or make another Source"
    )


def test_running_a_reactor_whose_container_has_a_reaction_to_it() -> None:
    """The container has not been elaborated, but its reaction would be missing."""

    def build(self: Any) -> None:
        self.a = Source()  # @watched
        self.add_reaction(self.a.out, lambda: None)

    main: Any = Main(build)  # @watcher
    assert refused(rx.ContainmentError, lambda: rx.Graph(main.a)) == (
        "Source (made at @watched) is contained in a Main (made at @watcher); run that, or make another Source"
    )
    rx.Graph(main)  # which may be run as ever


@pytest.mark.parametrize(
    ("hold", "words"),
    [
        (
            lambda a: {a},
            (
                "main.kids (@maker) holds a Source (made at @kid) that nothing contains: it is a set; reactors "
                "have an order: write a list or a dict"
            ),
        ),
        (
            lambda a: [[a]],
            (
                "main.kids[0] (@maker) holds a Source (made at @kid) that nothing contains: it is a list "
                "within another; write one list, or a bank or a reactor for each row"
            ),
        ),
    ],
)
def test_reactors_where_no_one_looks_for_them(hold: Callable[[Any], Any], words: str) -> None:
    """And where they are contained besides, these are mere references."""

    def build(self: Any) -> None:
        self.kids = hold(Source())  # @kid

    assert refused(rx.ContainmentError, graph_of(build)) == words

    def build_both(self: Any) -> None:
        self.a = Source()
        self.kids = hold(self.a)

    graph_of(build_both)()


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (Source, "rx.run takes a reactor, and was given the class Source; write rx.run(Source())"),
        (None, "of type NoneType; make one: a class derived from rx.Reactor, called"),
        ([1, 2], "of type list; to run several, assign them to attributes of one"),
    ],
)
def test_run_of_what_is_no_reactor(thing: Any, words: str) -> None:
    with pytest.raises(rx.ReactorError) as caught:
        rx.run(thing)
    assert str(caught.value).endswith(words)


def test_running_a_reactor_that_is_connected_elsewhere() -> None:
    """Its container has not been elaborated, but its ports are connected."""

    def build(self: Any) -> None:
        self.a, self.relay = Source(), Relay()  # @neighbour
        self.a.out >> self.relay.inp  # @outward

    main: Any = Main(build)  # @both
    assert refused(rx.ContainmentError, lambda: rx.Graph(main.a)) == (
        "Source (made at @neighbour) is contained in a Main (made at @both); run that, or make another Source"
    )


class Holding(rx.Reactor):
    """Contains reactors, and has nothing to do with them."""

    def __init__(self) -> None:
        self.one, self.bank = Source(), rx.bank(2, Source)  # @held
        self.row = [Source() for _ in range(2)]  # @held
        self.spare = len([Source()])


@pytest.mark.parametrize("part", [lambda held: held.one, lambda held: held.bank[1], lambda held: held.row[1]])
def test_running_a_reactor_that_was_made_in_its_container(part: Callable[[Holding], Any]) -> None:
    """Which has not been elaborated, and does nothing with it."""
    holding = Holding()  # @holding
    assert refused(rx.ContainmentError, lambda: rx.run(part(holding))) == (
        "Source (made at @held) is contained in a Holding (made at @holding); run that, or make another Source"
    )


def test_running_a_reactor_that_was_assigned_to_one() -> None:
    """And one that was made in a method of a reactor, which does not contain it, runs."""
    main: Any = rx.Reactor()  # @plain
    main.a = Source()  # @assigned
    assert refused(rx.ContainmentError, lambda: rx.run(main.a)) == (
        "Source (made at @assigned) is contained in an rx.Reactor (made at @plain); run that, or make another Source"
    )

    class Making(rx.Reactor):
        def make(self) -> rx.Reactor:
            return Source()

    assert rx.run(Making().make()).reactions == 1


def test_reactor_contained_nowhere() -> None:
    def build(self: Any) -> None:
        a = Source()  # @dangling
        self.relay = Relay()
        a.out >> self.relay.inp  # @nowhere

    assert refused(rx.ContainmentError, graph_of(build)) == (
        "the connection at @nowhere: Source.out belongs to a Source (made at @dangling) that the program does not "
        "contain; assign it to an attribute of a reactor in it (self.x = Source(...)), or run the reactor that "
        "contains both"
    )


def test_port_that_belongs_to_no_reactor() -> None:
    def build(self: Any) -> None:
        self.relay = Relay()
        rx.Output(int) >> self.relay.inp  # @stray

    assert refused(rx.ContainmentError, graph_of(build)) == (
        "the connection at @stray: the output declared at @stray belongs to no reactor; assign it to an attribute of "
        "one"
    )


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("count = rx.Output(int)", "Wrong.count (wrong.py:3) is declared in Wrong, which is no reactor"),
        (
            "@rx.reaction(rx.startup)\n    def f(self): ...",
            "Wrong.f (wrong.py:3) is declared in Wrong, which is no reactor",
        ),
        (
            "tick = rx.Timer()\n    tock = rx.Timer()",
            "Wrong.tick (wrong.py:3) is declared in Wrong, which is no reactor",
        ),
    ],
)
def test_ports_in_a_class_that_is_no_reactor(body: str, words: str) -> None:
    """Plainly, not as the cause of a RuntimeError."""
    words = f"{words}; write class Wrong(rx.Reactor)"
    assert refused_class(rx.DeclarationError, f"class Wrong:\n    {body}") == words
