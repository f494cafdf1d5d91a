"""Programs that go wrong as a whole: found before they run, with every port on the way.

The numbers are rows of the table of bad programs; what the `@marks` are is said in `told.py`.
"""

from collections.abc import Callable
from typing import Any

import cffi
import gymnasium as gym
import numpy as np
import pytest

import reactors as rx
from tests.told import Main, Relay, Source, graph_of, marked, refused, refused_class, warned

# Causality and sources


def test_causality_cycle_is_shown_port_by_port() -> None:
    """Row 1."""

    def build(self: Any) -> None:
        self.a, self.b = Relay(), Relay()
        rx.connect(self.a.outp, self.b.inp)  # @there
        rx.connect(self.b.outp, self.a.inp)  # @back

    assert refused(rx.CausalityError, graph_of(build)) == (
        "a causality cycle: within one tag, each of these would have to happen before the next\n"
        "  main.a.relay (@relay) is triggered by main.a.inp\n"
        "    sets main.a.outp -(@there)-> main.b.inp\n"
        "  main.b.relay (@relay) is triggered by main.b.inp\n"
        "    sets main.b.outp -(@back)-> main.a.inp\n"
        "  main.a.relay again\n"
        "delay one of these connections (after=0 is one microstep)"
    )


def test_causality_cycle_through_the_order_of_a_reactor() -> None:
    """Row 1: a reader that stands above the writer."""

    class Loop(rx.Reactor):
        tick = rx.Timer()
        inp = rx.Input(int)
        out = rx.Output(int)

        @rx.reaction(inp)  # @reader
        def read(self) -> None: ...

        @rx.reaction(tick, effects=out)  # @writer
        def write(self) -> None: ...

    def build(self: Any) -> None:
        self.loop = Loop()
        self.loop.out >> self.loop.inp  # @wire

    assert refused(rx.CausalityError, graph_of(build)) == (
        "a causality cycle: within one tag, each of these would have to happen before the next\n  main.loop.read "
        "(@reader) is triggered by main.loop.inp\n    and stands before main.loop.write in the same reactor\n  "
        "main.loop.write (@writer)\n    sets main.loop.out -(@wire)-> main.loop.inp\n  main.loop.read again\ndelay "
        "one of these connections (after=0 is one microstep), or declare the reaction that reads below the one that "
        "writes"
    )


def test_causality_cycle_through_a_container_names_every_port() -> None:
    """Row 1: through the hierarchy, a use, and a reaction declared by call."""

    class Box(rx.Reactor):
        inp = rx.Input(int)
        out = rx.Output(int)

        def __init__(self) -> None:
            self.relay = Relay()
            self.inp >> self.relay.inp  # @down
            self.relay.outp >> self.out  # @up

    def build(self: Any) -> None:
        self.box = Box()
        self.add_reaction(rx.startup, self.close, uses=self.box.out, effects=self.box.inp)  # @close

    class Closing(Main):
        def close(self) -> None: ...

    assert refused(rx.CausalityError, lambda: rx.Graph(Closing(build))) == (
        "a causality cycle: within one tag, each of these would have to happen before the next\n"
        "  main.close (@close) reads main.box.out\n"
        "    sets main.box.inp -(@down)-> main.box.relay.inp\n"
        "  main.box.relay.relay (@relay) is triggered by main.box.relay.inp\n"
        "    sets main.box.relay.outp -(@up)-> main.box.out\n"
        "  main.close again\n"
        "delay one of these connections (after=0 is one microstep)"
    )


@pytest.mark.parametrize("delay", [0, "1 ms"])
def test_delay_cuts_a_cycle(delay: Any) -> None:
    """Row 1, the remedy."""

    def build(self: Any) -> None:
        self.source, self.a, self.b = Source(), Relay(), Relay()
        rx.connect(self.a.outp, self.b.inp)
        rx.connect(self.b.outp, self.a.inp, after=delay)

    assert warned(graph_of(build)) == [
        (
            "nothing can trigger main.a.relay (@relay), main.b.relay (@relay): they trigger only one another; let one "
            "of them be triggered by rx.startup or a timer"
        )
    ]


def test_ports_in_a_circle_without_a_writer() -> None:
    """Row 1: connections alone, delayed or not, lead nowhere."""

    class Through(rx.Reactor):
        inp = rx.Input(int)
        out = rx.Output(int)

        def __init__(self) -> None:
            self.inp >> self.out  # @through

    def build(self: Any) -> None:
        self.a = Through()
        rx.connect(self.a.out, self.a.inp, after=0)  # @around

    assert refused(rx.CausalityError, graph_of(build)) == (
        "these ports are connected in a circle, and no reaction writes any of them:\n"
        "  main.a.out <- main.a.inp (@through)\n"
        "  main.a.inp <- main.a.out (@around)\n"
        "remove one of the connections, or let a reaction write one of the ports"
    )


def test_two_sources_of_one_input() -> None:
    """Row 2."""

    def build(self: Any) -> None:
        self.a, self.b, self.relay = Source(), Source(), Relay()
        rx.connect(self.a.out, self.relay.inp)  # @first
        rx.connect(self.b.out, self.relay.inp)  # @second

    assert refused(rx.WiringError, graph_of(build)) == (
        "main.relay.inp (@inp) has two sources: main.a.out (@out), connected at @first, and main.b.out (@out), "
        "connected at @second; a port has one: remove a connection, or declare a multiport (width=...)"
    )


def test_connection_and_reaction_as_sources_of_one_input() -> None:
    """Row 2."""

    def build(self: Any) -> None:
        self.a, self.relay = Source(), Relay()
        rx.connect(self.a.out, self.relay.inp)  # @wire2
        self.add_reaction(rx.startup, lambda: None, effects=self.relay.inp)  # @added

    assert refused(rx.WiringError, graph_of(build)) == (
        "main.relay.inp (@inp) has two sources: the reaction main.reaction1 (@added) and main.a.out (@out), connected "
        "at @wire2; a port has one: remove either"
    )


def test_same_connection_twice() -> None:
    """Row 3."""

    def build(self: Any) -> None:
        self.a, self.relay = Source(), Relay()
        for _ in range(2):
            self.a.out >> self.relay.inp  # @twice

    assert refused(rx.WiringError, graph_of(build)) == (
        "main.relay.inp (@inp) has two sources: main.a.out (@out), connected at @twice, and main.a.out (@out), "
        "connected at @twice; a port has one: remove a connection, or declare a multiport (width=...)"
    )


# The hierarchy

FORMS = (
    "a connection leads from an output to an input of a reactor in the same container, from an input to an input of a "
    "contained reactor, from an output of a contained reactor to an output, or from an input to an output of one "
    "reactor"
)


def test_connection_that_skips_a_level() -> None:
    """Row 4."""

    class Box(rx.Reactor):
        def __init__(self) -> None:
            self.inner = Relay()

    def build(self: Any) -> None:
        self.a, self.box = Source(), Box()
        self.a.out >> self.box.inner.inp  # @skip

    assert refused(rx.WiringError, graph_of(build)) == (
        "the connection main.a.out (@out) -> main.box.inner.inp (@inp), made at @skip, is not possible: it skips a "
        f"level of the hierarchy; pass it through the ports of the containers in between; {FORMS}"
    )


def test_output_to_the_output_of_a_neighbour() -> None:
    """Row 5."""

    def build(self: Any) -> None:
        self.a, self.b = Source(), Relay()
        self.a.out >> self.b.outp  # @sideways

    assert refused(rx.WiringError, graph_of(build)) == (
        "the connection main.a.out (@out) -> main.b.outp (@outp), made at @sideways, is not possible: the output of "
        f"one reactor leads to the output of its neighbour; {FORMS}"
    )


def test_input_to_the_output_of_a_neighbour() -> None:
    """Row 6."""

    def build(self: Any) -> None:
        self.a, self.b = Relay(), Relay()
        self.a.inp >> self.b.outp  # @inout

    assert refused(rx.WiringError, graph_of(build)) == (
        "the connection main.a.inp (@inp) -> main.b.outp (@outp), made at @inout, is not possible: the input of one "
        f"reactor leads to the output of its neighbour; {FORMS}"
    )


def test_input_to_the_input_of_a_neighbour() -> None:
    """Row 6."""

    def build(self: Any) -> None:
        self.a, self.b = Relay(), Relay()
        self.a.inp >> self.b.inp  # @inin

    assert "the input of one reactor leads to the input of its neighbour" in refused(rx.WiringError, graph_of(build))


def test_container_output_to_the_input_of_what_it_contains() -> None:
    """Row 6."""

    class Box(rx.Reactor):
        out = rx.Output(int)  # @boxed

        def __init__(self) -> None:
            self.relay = Relay()
            self.out >> self.relay.inp  # @inward

    def build(self: Any) -> None:
        self.box = Box()

    assert refused(rx.WiringError, graph_of(build)) == (
        "the connection main.box.out (@boxed) -> main.box.relay.inp (@inp), made at @inward, is not possible: "
        f"main.box.relay.inp is an input of a contained reactor, main.box.out an output of its container; {FORMS}"
    )


# What contains what


def test_class_instead_of_a_reactor() -> None:
    """Row 13."""
    assert refused(rx.ContainmentError, lambda: rx.Graph(Source)) == (  # type: ignore[arg-type]
        "Source is a class of reactors; make one: Source(...)"
    )
    assert refused(rx.ArgumentError, lambda: rx.Graph(5)) == (  # type: ignore[arg-type]
        "the program is 5, of type int; it has to be an rx.Reactor"
    )


def test_port_of_a_class_in_a_connection() -> None:
    """Row 13."""

    def build(self: Any) -> None:
        self.a, self.relay = Source, Relay()
        self.a.out >> self.relay.inp  # @ofclass

    assert refused(rx.WiringError, graph_of(build)) == (
        "rx.connect (@ofclass): Source.out (@out) is the declaration in the class; connect the port of a reactor: "
        "make one (self.x = Source(...)) and write self.x.out"
    )


def test_port_of_a_class_in_a_reaction() -> None:
    """Row 13."""

    def build(self: Any) -> None:
        self.add_reaction(Source.out, lambda: None)  # @classtrigger

    assert refused(rx.UndeclaredAccessError, graph_of(build)) == (
        "main.reaction1 (@classtrigger): triggers has the output Source.out (@out), but it is the declaration in a "
        "class; name the port of a reactor"
    )


def test_class_in_an_attribute_is_warned_of_if_none_is_ever_made() -> None:
    """Row 13."""

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
    """Row 13."""

    def program() -> None:
        rx.bank(3, Source())  # type: ignore[type-var]  # @instance

    assert refused(rx.ContainmentError, program) == (
        "rx.bank (@instance) makes its reactors itself: write rx.bank(3, Source, ...) with the class and its "
        "arguments, instead of the reactor made at @instance"
    )


def test_reactor_contained_twice() -> None:
    """Row 13."""

    def build(self: Any) -> None:
        self.a = Source()  # @shared
        self.b = self.a

    assert refused(rx.ContainmentError, graph_of(build)) == (
        "main.b and main.a are the same Source (made at @shared); a reactor is contained once: make two, or refer to "
        "it by a property"
    )


def test_reactor_that_contains_its_container() -> None:
    """Row 13."""

    class Child(rx.Reactor):
        def __init__(self, parent: rx.Reactor) -> None:
            self.parent = parent

    def build(self: Any) -> None:
        self.child = Child(self)

    assert "main.child.parent and main are the same Main" in refused(rx.ContainmentError, graph_of(build))


def test_reactor_contained_in_two_programs() -> None:
    """Row 13."""
    shared = Source()  # @common
    first, second = Main(lambda self: setattr(self, "a", shared)), Main(lambda self: setattr(self, "b", shared))
    rx.Graph(first)
    assert refused(rx.ContainmentError, lambda: rx.Graph(second)) == (
        "main.b (made at @common) is contained in main, a Main, as well; a reactor is contained once: make two, or "
        "refer to it by a property"
    )


def test_running_a_reactor_that_is_contained_elsewhere() -> None:
    """Row 13."""
    main = Main(lambda self: setattr(self, "a", Source()))  # @inside
    rx.Graph(main)
    assert refused(rx.ContainmentError, lambda: rx.Graph(main.a)) == (  # type: ignore[attr-defined]
        "main.a (made at @inside) is contained in main, a Main; run that, or make another Source"
    )


def test_running_a_reactor_whose_container_has_a_reaction_to_it() -> None:
    """Row 13: the container has not been elaborated, but its reaction would be missing."""

    def build(self: Any) -> None:
        self.a = Source()  # @watched
        self.add_reaction(self.a.out, lambda: None)

    main: Any = Main(build)  # @watcher
    assert refused(rx.ContainmentError, lambda: rx.Graph(main.a)) == (
        "Source (made at @watched) is contained in a Main (made at @watcher); run that, or make another Source"
    )
    rx.Graph(main)  # which may be run as ever


@pytest.mark.parametrize(
    ("hold", "told"),
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
def test_reactors_where_nobody_looks_for_them(hold: Callable[[Any], Any], told: str) -> None:
    """Row 13: and where they are contained besides, these are mere references."""

    def build(self: Any) -> None:
        self.kids = hold(Source())  # @kid

    assert refused(rx.ContainmentError, graph_of(build)) == told

    def build_both(self: Any) -> None:
        self.a = Source()
        self.kids = hold(self.a)

    graph_of(build_both)()


@pytest.mark.parametrize(
    ("thing", "told"),
    [
        (Source, "rx.run takes a reactor, and was given the class Source; write rx.run(Source())"),
        (None, "of type NoneType; make one: a class derived from rx.Reactor, called"),
        ([1, 2], "of type list; to run several, assign them to attributes of one"),
    ],
)
def test_run_of_what_is_no_reactor(thing: Any, told: str) -> None:
    """Row 13."""
    with pytest.raises(rx.ReactorError) as caught:
        rx.run(thing)
    assert str(caught.value).endswith(told)


def test_running_a_reactor_that_is_connected_elsewhere() -> None:
    """Row 13: its container has not been elaborated, but its ports are connected."""

    def build(self: Any) -> None:
        self.a, self.relay = Source(), Relay()  # @neighbour
        self.a.out >> self.relay.inp  # @outward

    main: Any = Main(build)
    assert refused(rx.ContainmentError, lambda: rx.Graph(main.a)) == (
        "the connection at @outward: Relay.inp belongs to a Relay (made at @neighbour) that the program does not "
        "contain; assign it to an attribute of a reactor in it (self.x = Relay(...)), or run the reactor that "
        "contains both"
    )


def test_reactor_contained_nowhere() -> None:
    """Row 13."""

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
    """Row 13."""

    def build(self: Any) -> None:
        self.relay = Relay()
        rx.Output(int) >> self.relay.inp  # @stray

    assert refused(rx.ContainmentError, graph_of(build)) == (
        "the connection at @stray: the output declared at @stray belongs to no reactor; assign it to an attribute of "
        "one"
    )


@pytest.mark.parametrize(
    ("body", "told"),
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
def test_ports_in_a_class_that_is_no_reactor(body: str, told: str) -> None:
    """Row 14: plainly, not as the cause of a RuntimeError."""
    told = f"{told}; write class Wrong(rx.Reactor)"
    assert refused_class(rx.DeclarationError, f"class Wrong:\n    {body}") == told


def test_several_bases_are_linearised() -> None:
    """Row 15."""

    class Base(rx.Reactor):
        tick = rx.Timer()

        @rx.reaction(tick)
        def base(self) -> None: ...

    class Left(Base):
        @rx.reaction(rx.startup)
        def left(self) -> None: ...

    class Right(Base):
        @rx.reaction(rx.startup)
        def right(self) -> None: ...

    class Both(Left, Right):
        @rx.reaction(rx.startup)
        def both(self) -> None: ...

    names = [reaction.name for reaction in sorted(rx.Graph(Both()).program.reactions, key=lambda r: r.number)]
    assert names == ["base", "left", "right", "both"]


def test_clash_of_names_between_bases() -> None:
    """Row 15."""

    class Other(rx.Reactor):
        out = rx.Timer()  # @otherout

    def program() -> None:
        class Wrong(Source, Other):  # @clash
            pass

    assert refused(rx.DeclarationError, program) == (
        "Wrong (@clash) has two meanings for 'out': a timer (@otherout) in Other, and an output (@out) in Source; "
        "rename one (to vary a base's reaction, declare it again with the same triggers, uses and effects, or let it "
        "call a method and override that)"
    )


def test_reaction_of_a_base_overridden() -> None:
    """Row 15."""

    def program() -> None:
        class Wrong(Source):  # @overriding
            def start(self) -> None: ...  # type: ignore[override]  # @override

    assert refused(rx.DeclarationError, program) == (
        "Wrong (@overriding) has two meanings for 'start': a reaction (@start) in Source, and a method (@override) in "
        "Wrong; rename one (to vary a base's reaction, declare it again with the same triggers, uses and effects, or "
        "let it call a method and override that)"
    )


def test_two_bases_that_override_one_reaction() -> None:
    def start(self: Any) -> None: ...

    def program() -> None:
        one = type("One", (Source,), {"start": rx.reaction(rx.startup, effects=Source.out)(start)})  # @one
        two = type("Two", (Source,), {"start": rx.reaction(rx.startup, effects=Source.out)(start)})  # @two
        type("Wrong", (one, two), {})  # @joining

    assert refused(rx.DeclarationError, program) == (
        "Wrong (@joining) has two meanings for 'start': a reaction (@two) in Two, and a reaction (@one) in One; "
        "declare it again in Wrong, with the same triggers, uses and effects (there it may call Two.start(self) and "
        "One.start(self)), or rename one"
    )


class Hurried(rx.Reactor):
    out = rx.Output(int)

    @rx.reaction(rx.startup)  # @hurried
    def go(self) -> None: ...

    @go.deadline("1 ms")
    def late(self) -> None: ...


@pytest.mark.parametrize(
    ("make", "error", "told"),
    [
        (
            lambda: type("Wrong", (Hurried,), {"late": None}),  # @nolate
            rx.DeclarationError,
            (
                "Wrong.late is None (@nolate), but Hurried.late is the method that runs when the deadline of "
                "Hurried.go (@hurried) is missed; write def late(self), or give the other another name"
            ),
        ),
        (
            lambda: type("Wrong", (Hurried,), {"late": rx.reaction(rx.startup)(lambda self: None)}),  # @latego
            rx.DeclarationError,
            (
                "Wrong.late is a reaction (@latego), but Hurried.late is the method that runs when the deadline of "
                "Hurried.go (@hurried) is missed; write def late(self), or give the other another name"
            ),
        ),
        (
            lambda: type("Wrong", (Hurried,), {"late": lambda self, by: None}),  # @by
            rx.DeclarationError,
            "<lambda> (@by) takes by besides self; write def <lambda>(self) and read ports as self.<port>",
        ),
        (
            lambda: type("Wrong", (Hurried,), {"late": lambda self: self.out.set(1)}),  # @sets
            rx.UndeclaredAccessError,
            "Wrong.<lambda> (@sets): self.out.set, but out is not among the reaction's effects; add effects=out",
        ),
    ],
    ids=["nothing", "a reaction", "with a parameter", "undeclared"],
)
def test_what_cannot_stand_for_the_method_of_a_deadline(
    make: Callable[[], object], error: type[rx.ReactorError], told: str
) -> None:
    assert refused(error, make) == told


MANY = "and a program has at most 16,777,216 ports, timers, actions and reactions"


def test_more_than_the_core_tells_apart() -> None:
    """Before they are made: memory would end first."""

    class Wide(rx.Reactor):
        inp = rx.Input(int, width=2**20 + 1)  # @wide

    assert refused(rx.WidthError, lambda: rx.Graph(Wide())) == (
        "main.inp (@wide) has a width of 1,048,577, and a multiport has at most 1,048,576 channels; send an array "
        "through one port (shape=...)"
    )
    assert refused(rx.WidthError, lambda: rx.bank(2**24 + 1, Source)) == (  # @manybank
        f"rx.bank (@manybank) makes 16,777,217 reactors, {MANY}"
    )
    with pytest.raises(rx.ArgumentError, match="more than 64 bits hold; write less"):
        rx.Input(shape=(2**70,))


def test_more_than_there_is_memory_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before they are made, too."""
    monkeypatch.setattr("reactors.layout.available", lambda: 2**30)
    monkeypatch.setattr("reactors.ports.Port._channel", None)

    class Wide(rx.Reactor):
        inp = rx.Input(int, width=2**20)  # @wide

    few = "they need at least 2.0 GiB, and 1.0 GiB are free; send an array through one port (shape=...), or take fewer"
    assert refused(rx.MemoryTooSmall, lambda: rx.Graph(Wide())) == f"main.inp (@wide) has a width of 1,048,576: {few}"
    assert refused(rx.MemoryTooSmall, lambda: rx.bank(2**20, Source)) == (  # @manybank
        f"rx.bank (@manybank) makes 1,048,576 reactors: {few}"
    )


def test_no_channel_is_made_of_more_than_the_core_tells_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reactors.layout.MOST_CELLS", 10)
    monkeypatch.setattr("reactors.ports.Port._channel", None)

    class Wide(rx.Reactor):
        inp = rx.Input(int, width=11)  # @wide

    assert refused(rx.WidthError, lambda: rx.Graph(Wide())) == (
        "main.inp (@wide) is one of 11 ports, timers and actions so far, and a program has at most 10 ports, timers, "
        "actions and reactions"
    )


def test_more_together_than_the_core_tells_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reactors.layout.MOST_CELLS", 10)
    many = "and a program has at most 10 ports, timers, actions and reactions"

    def build(self: Any, members: int) -> None:
        self.members = rx.bank(members, Source)

    assert rx.Graph(Main(lambda self: build(self, 3))).program.reactions
    assert refused(rx.WidthError, graph_of(lambda self: build(self, 4))) == (
        f"main has 12 ports, timers, actions and reactions, {many}"
    )
    assert refused(rx.WidthError, graph_of(lambda self: build(self, 6))) == (
        f"main.members[5].out (@out) is one of 11 ports, timers and actions so far, {many}"
    )


@pytest.mark.parametrize(
    ("declare", "told"),
    [
        (
            lambda: rx.reaction(rx.shutdown, effects=Source.out),
            "triggers rx.shutdown where that has rx.startup",
        ),
        (
            lambda: rx.reaction(rx.startup, effects=Source.out, uses=Wider.inp),
            "uses inp where that has none",
        ),
        (
            lambda: rx.reaction(rx.startup, effects=(Source.out, rx.stop)),
            "effects out, rx.stop where that has out",
        ),
        (
            lambda: rx.reaction(rx.startup, effects=Source.out, mode=Wider.calm),
            "the mode calm where that has none",
        ),
    ],
)
def test_reaction_that_overrides_one_and_names_something_else(declare: Callable[[], Any], told: str) -> None:
    def program() -> None:
        class Other(Wider):
            @declare()  # @again
            def start(self) -> None: ...

    assert refused(rx.DeclarationError, program) == (
        f"Other.start (@again) overrides Source.start (@start), and has {told}; a reaction that overrides another "
        "names the same ones in the same order"
    )


class Wider(Source):
    inp = rx.Input(int)
    calm = rx.Mode(initial=True)


# State


def two_names(main: Any) -> None:
    main.x = main.y = rx.State([])  # @twice


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (
            graph_of(lambda self: setattr(self, "xs", [rx.State(0)])),  # @inlist
            (
                "main.xs[0] (@inlist) is an rx.State that no attribute holds; assign each to an attribute of its own, "
                "or write one for the whole, rx.State([...])"
            ),
        ),
        (
            lambda: type("Listed", (rx.Reactor,), {"xs": [rx.State(0)]}),  # @listed
            (
                "Listed.xs (@listed) holds an rx.State that no attribute holds; assign each to an attribute of its "
                "own, or write one for the whole, rx.State([...])"
            ),
        ),
        (
            graph_of(two_names),
            "main.y (@twice) is the rx.State 'x' by another name; declare the two separately",
        ),
        (
            lambda: type("Twice", (rx.Reactor,), dict.fromkeys("xy", rx.State([]))),  # @both
            "Twice.y (@both) is the rx.State 'x' by another name; declare the two separately",
        ),
        (
            lambda: rx.State(list),  # @ofclass
            (
                "rx.State (@ofclass) is given <class 'list'>, to be called with the reactor, which it cannot be (it is "
                "the class of a value); give the first value itself, which is copied for each reactor, or write "
                "lambda self: ..."
            ),
        ),
    ],
)
def test_state_that_cannot_be_renewed(program: Callable[[], object], told: str) -> None:
    assert refused(rx.DeclarationError, program) == told


def test_state_of_a_function_without_the_reactor() -> None:
    def first() -> list[int]:
        return []

    told = refused(rx.DeclarationError, lambda: rx.State(first))  # type: ignore[arg-type]  # @noself
    assert told.startswith("rx.State (@noself) is given <function ")
    assert told.endswith(
        "to be called with the reactor, which it cannot be (too many positional arguments); give the first value "
        "itself, which is copied for each reactor, or write lambda self: ..."
    )


def test_state_made_in_a_reaction() -> None:
    class Late(rx.Reactor):
        @rx.reaction(rx.startup)
        def go(self) -> None:
            class Imported(rx.Reactor):
                n = rx.State(0)  # as a file does that is imported here

            self.x = rx.State(0)  # @madelate

    with pytest.raises(rx.ReactionError) as caught:
        rx.run(Late(), fast=True)
    assert isinstance(caught.value.__cause__, rx.StructureError)
    assert marked(caught.value.__cause__) == (
        "rx.State (@madelate) is made while the program runs, but which attributes are renewed is fixed by then; "
        "declare it in the class or in __init__, and here assign the value itself"
    )


# What is hardly meant


def test_input_without_a_source() -> None:
    """Row 20."""
    assert warned(graph_of(lambda self: setattr(self, "a", Relay()))) == [
        (
            "main.a.inp (@inp): the reaction relay (@relay) is triggered by it, but no connection leads there and no "
            "reaction sets it; connect it, or remove it there"
        )
    ]


def test_inputs_without_a_source_are_told_once_for_all() -> None:
    """Row 20."""
    assert warned(graph_of(lambda self: setattr(self, "a", rx.bank(10, Relay)))) == [
        (
            "main.a[0].inp, main.a[1].inp, main.a[2].inp and 7 more (@inp): the reaction relay (@relay) is triggered "
            "by it, but no connection leads there and no reaction sets it; connect it, or remove it there"
        )
    ]


def test_input_connected_to_what_nobody_sets() -> None:
    """Row 20."""

    class Idle(rx.Reactor):
        out = rx.Output(int)

    def build(self: Any) -> None:
        self.idle, self.relay = Idle(), Relay()
        self.idle.out >> self.relay.inp

    assert warned(graph_of(build)) == [
        (
            "main.relay.inp (@inp): the reaction relay (@relay) is triggered by it, but no reaction sets "
            "main.idle.out, to which it is connected; let one do so"
        )
    ]


@pytest.mark.parametrize(
    ("connected", "told"),
    [
        ([1], ["channels 0 and 2 of its 3 have no source"]),
        ([0, 1], ["channel 2 of its 3 has no source"]),
        ([0, 1, 2], []),
    ],
)
def test_multiport_of_which_some_channels_have_no_source(connected: list[int], told: list[str]) -> None:
    """Row 20."""

    class Sum(rx.Reactor):
        terms = rx.Input(int, width=3)  # @terms

        @rx.reaction(terms)  # @add
        def add(self) -> None: ...

    def build(self: Any) -> None:
        self.source, self.sum = Source(), Sum()
        for channel in connected:
            self.source.out >> self.sum.terms[channel]

    assert warned(graph_of(build)) == [
        (
            f"main.sum.terms (@terms): the reaction add (@add) is triggered by it, but {each}; connect all, or declare "
            "a smaller width"
        )
        for each in told
    ]


def test_reaction_that_nothing_can_trigger() -> None:
    """Row 20."""

    class Idle(rx.Reactor):
        act = rx.LogicalAction()

        @rx.reaction(act)  # @idle
        def wait(self) -> None: ...

        @rx.reaction()  # @empty
        def never(self) -> None: ...

    assert warned(graph_of(lambda self: setattr(self, "a", Idle()))) == [
        "nothing can trigger main.a.wait (@idle): no reaction schedules main.a.act; name it in the effects of one",
        "nothing can trigger main.a.never (@empty): it has no triggers; name some",
    ]


def test_reactions_that_trigger_only_each_other() -> None:
    """Row 20."""

    class Idle(rx.Reactor):
        act = rx.LogicalAction()

        @rx.reaction(act, effects=act)  # @again
        def again(self) -> None: ...

    assert warned(graph_of(lambda self: setattr(self, "a", Idle()))) == [
        (
            "nothing can trigger main.a.again (@again): it triggers only itself; let it be triggered by rx.startup or "
            "a timer"
        )
    ]


def test_what_follows_from_a_silent_input_is_not_told_again() -> None:
    """Row 20."""

    def build(self: Any) -> None:
        self.a, self.b = Relay(), Relay()
        self.a.outp >> self.b.inp

    assert len(warned(graph_of(build))) == 1


def test_output_that_nobody_reads_is_told_in_debug_mode() -> None:
    """Row 20."""
    main = Main(lambda self: setattr(self, "a", Source()))
    assert warned(lambda: rx.Graph(main)) == []
    assert warned(lambda: rx.Graph(main, debug=True)) == [
        "main.a.out (@out) is set, but nobody reads it; connect it, or remove it"
    ]


# What does not fit


class Words(rx.Reactor):
    words = rx.Input(str)  # @words

    @rx.reaction(words)
    def read(self) -> None: ...


def test_types_that_do_not_fit() -> None:
    """Row 21."""

    def build(self: Any) -> None:
        self.a, self.words = Source(), Words()
        rx.connect(self.a.out, self.words.words)  # type: ignore[misc]  # @intostr

    assert refused(rx.MismatchError, graph_of(build)) == (
        "the connection at @intostr: main.a.out (@out) carries int objects, but main.words.words (@words) takes str "
        "objects; give both ports the same type, or leave it out where the values are read"
    )


def test_type_that_only_some_of_what_is_sent_has() -> None:
    """Row 21: who takes a subclass cannot be given any of its base."""

    class Flags(rx.Reactor):
        flag = rx.Input(bool)  # @flag

        @rx.reaction(flag)
        def read(self) -> None: ...

    def build(self: Any) -> None:
        self.a, self.flags = Source(), Flags()
        rx.connect(self.a.out, self.flags.flag)  # type: ignore[misc]  # @inttobool

    assert refused(rx.MismatchError, graph_of(build)) == (
        "the connection at @inttobool: main.a.out (@out) carries int objects, but main.flags.flag (@flag) takes bool "
        "objects; give both ports the same type, or leave it out where the values are read"
    )


def test_types_that_do_not_fit_at_the_end_of_a_way() -> None:
    """Row 21: ports in between that take anything hide nothing."""

    class Box(rx.Reactor):
        inp = rx.Input()

        def __init__(self) -> None:
            self.words = Words()
            self.inp >> self.words.words  # @boxwire

    def build(self: Any) -> None:
        self.a, self.box = Source(), Box()
        self.a.out >> self.box.inp

    assert refused(rx.MismatchError, graph_of(build)) == (
        "the connection at @boxwire: main.a.out (@out) carries int objects, but main.box.words.words (@words) takes "
        "str objects; give both ports the same type, or leave it out where the values are read"
    )


@pytest.mark.parametrize(
    ("given", "taken", "told"),
    [
        (
            {"shape": 3, "dtype": "f4"},
            {"shape": 4, "dtype": "f4"},
            (
                "arrays of shape (3,) and dtype float32, but main.b.inp (@any) takes arrays of shape (4,) and dtype "
                "float32; give both ports the same shape and dtype"
            ),
        ),
        (
            {"shape": 3, "dtype": "f4"},
            {"shape": 3, "dtype": "f8"},
            (
                "arrays of shape (3,) and dtype float32, but main.b.inp (@any) takes arrays of shape (3,) and dtype "
                "float64; give both ports the same shape and dtype"
            ),
        ),
        (
            {},
            {"shape": 3, "dtype": "f4"},
            (
                "any object, but main.b.inp (@any) takes arrays of shape (3,) and dtype float32; declare the same "
                "shape and dtype on both, or neither on both"
            ),
        ),
        (
            {"shape": 3, "dtype": "f4"},
            {"type": int},
            (
                "arrays of shape (3,) and dtype float32, but main.b.inp (@any) takes int objects; give both ports the "
                "same type, or leave it out where the values are read"
            ),
        ),
    ],
)
def test_shapes_that_do_not_fit(given: dict[str, Any], taken: dict[str, Any], told: str) -> None:
    """Row 21."""

    class Given(rx.Reactor):
        def __init__(self) -> None:
            self.out = rx.Output(**given)  # @any

    class Taken(rx.Reactor):
        def __init__(self) -> None:
            self.inp = rx.Input(**taken)  # @any

    def build(self: Any) -> None:
        self.a, self.b = Given(), Taken()
        self.a.out >> self.b.inp  # @shapes

    assert refused(rx.MismatchError, graph_of(build)) == f"the connection at @shapes: main.a.out (@any) carries {told}"


@pytest.mark.parametrize(
    ("left", "right", "broadcast", "told"),
    [
        (
            3,
            4,
            False,
            (
                "3 channels (main.a[0].out, main.a[1].out, main.a[2].out) on the left and 4 channels (main.b[0].inp, "
                "main.b[1].inp, main.b[2].inp, main.b[3].inp) on the right; make the widths equal"
            ),
        ),
        (
            1,
            2,
            False,
            (
                "1 channel (main.a[0].out) on the left and 2 channels (main.b[0].inp, main.b[1].inp) on the right; to "
                "repeat the left side, write broadcast=True"
            ),
        ),
        (
            2,
            3,
            True,
            (
                "2 channels (main.a[0].out, main.a[1].out) on the left and 3 channels (main.b[0].inp, main.b[1].inp, "
                "main.b[2].inp) on the right; a broadcast repeats the left side, so its width has to divide that of "
                "the right"
            ),
        ),
        (
            9,
            1,
            False,
            (
                "9 channels (main.a[0].out to main.a[8].out, 9 ports) on the left and 1 channel (main.b[0].inp) on the "
                "right; make the widths equal"
            ),
        ),
        (
            0,
            2,
            True,
            (
                "0 channels () on the left and 2 channels (main.b[0].inp, main.b[1].inp) on the right; a broadcast "
                "repeats the left side, so its width has to divide that of the right"
            ),
        ),
    ],
)
def test_widths_that_do_not_match(left: int, right: int, broadcast: bool, told: str) -> None:
    """Row 37."""

    def build(self: Any) -> None:
        self.a, self.b = rx.bank(left, Source), rx.bank(right, Relay)
        rx.connect(self.a.out, self.b.inp, broadcast=broadcast)  # @widths

    assert refused(rx.WidthError, graph_of(build)) == f"the connection at @widths has {told}"


def test_widths_of_multiports_are_spelt_out() -> None:
    """Row 37."""

    class Wide(rx.Reactor):
        inp = rx.Input(int, width=4)

    def build(self: Any) -> None:
        self.a, self.b = Source(), Wide()
        rx.connect([self.a.out, self.a.out], self.b.inp)  # @wide

    assert refused(rx.WidthError, graph_of(build)) == (
        "the connection at @wide has 2 channels (main.a.out, main.a.out) on the left and 4 channels (main.b.inp of "
        "width 4) on the right; to repeat the left side, write broadcast=True"
    )


@pytest.mark.parametrize(
    ("declared", "value", "told"),
    [
        (
            {"shape": "size"},
            None,
            "shape='size', but __init__ of Sized sets no attribute 'size'; did you mean 'sizes'?",
        ),
        (
            {"shape": "n", "dtype": "f4"},
            None,
            (
                "shape='n', but __init__ of Sized sets no attribute 'n' (it sets sizes); set self.n, or give the "
                "value itself"
            ),
        ),
        (
            {"shape": "size"},
            "x",
            (
                "shape='size' stands for self.size, which is 'x', of type str; it has to be a tuple of whole "
                "numbers, each 0 or more"
            ),
        ),
        (
            {"shape": "size"},
            (1, -1),
            (
                "shape='size' stands for self.size, which is (1, -1), of type tuple; it has to be a "
                "tuple of whole numbers, each 0 or more"
            ),
        ),
        (
            {"shape": (2, "size")},
            1.5,
            ("shape='size' stands for self.size, which is 1.5, of type float; it has to be a whole number, 0 or more"),
        ),
        (
            {"width": "size"},
            True,
            ("width='size' stands for self.size, which is True, of type bool; it has to be a whole number, 0 or more"),
        ),
        ({"space": "size"}, 5, "space is 5, of type int, which is no Gymnasium space"),
        (
            {"space": "size"},
            gym.spaces.Dict({}),
            (
                "a Dict space has no fixed shape and dtype; Box, Discrete, MultiDiscrete and "
                "MultiBinary have; leave space out, and the port carries any object"
            ),
        ),
        (
            {"space": "size"},
            gym.spaces.Text(5),
            (
                "a Text space has no fixed shape and dtype; Box, Discrete, MultiDiscrete and "
                "MultiBinary have; leave space out, and the port carries any object"
            ),
        ),
    ],
)
def test_string_that_stands_for_nothing_fit(declared: dict[str, Any], value: object, told: str) -> None:
    """Row 38."""

    class Sized(rx.Reactor):
        inp = rx.Input(**declared)  # @sized

        def __init__(self) -> None:
            self.sizes = np.ones(3)
            if value is not None:
                self.size = value

    assert refused(rx.ParameterError, lambda: rx.Graph(Sized())) == f"main.inp (@sized): {told}"


def test_string_for_a_deadline_or_a_stop() -> None:
    """Row 38."""

    class Late(rx.Reactor):
        @rx.reaction(rx.startup)  # @latestart
        def start(self) -> None: ...

        @start.deadline("limit")
        def late(self) -> None: ...

    assert refused(rx.ParameterError, lambda: rx.Graph(Late())) == (
        "main.start (@latestart): deadline='limit', but __init__ of Late sets no attribute 'limit' (it sets none); set "
        "self.limit, or give the value itself"
    )

    class Stopping(rx.Reactor):
        @rx.reaction(rx.startup, effects=rx.stop.after("slack"))  # @stopping
        def start(self) -> None: ...

    assert refused(rx.ParameterError, lambda: rx.Graph(Stopping())) == (
        "main.start (@stopping): rx.stop.after='slack', but __init__ of Stopping sets no attribute 'slack' (it sets "
        "none); set self.slack, or give the value itself"
    )


def test_native_reaction_with_ports_that_carry_objects() -> None:
    """A C function sees memory, no objects."""

    @cffi.FFI().callback("void(void **, unsigned char *, void *)")
    def nothing(*_: object) -> None: ...

    class Wrong(rx.Reactor):
        act = rx.LogicalAction(int)  # @valued
        out = rx.Output(int)  # @objects

        def __init__(self, *, with_action: bool) -> None:
            effect = self.act if with_action else self.out
            self.add_reaction(rx.startup, rx.native(nothing), effects=effect)  # @native

    assert refused(rx.DeclarationError, lambda: rx.Graph(Wrong(with_action=False))) == (
        "main.reaction1 (@native) is a C function, which cannot use main.out (@objects), for it carries int objects; "
        "declare it with shape and dtype (a single number: dtype alone)"
    )
    assert refused(rx.DeclarationError, lambda: rx.Graph(Wrong(with_action=True))) == (
        "main.reaction1 (@native) is a C function, which cannot use main.act (@valued), for it carries values; "
        "declare the action without a type"
    )
