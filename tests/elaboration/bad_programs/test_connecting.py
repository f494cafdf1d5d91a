"""Programs whose connections cannot be: causality cycles, two sources of one port, ways across the hierarchy.

The numbers are rows of the table of bad programs; what the `@marks` are is said in `messages.py`.
"""

from typing import Any

import pytest

import reactors as rx
from tests.messages import Main, Relay, Source, graph_of, refused, warned


def test_causality_cycle_is_shown_port_by_port() -> None:
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
    """A reader that stands above the writer."""

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
    """Through the hierarchy, a use, and a reaction declared by call."""

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
    """The remedy."""

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
    """Connections alone, delayed or not, lead nowhere."""

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
    def build(self: Any) -> None:
        self.a, self.b, self.relay = Source(), Source(), Relay()
        rx.connect(self.a.out, self.relay.inp)  # @first
        rx.connect(self.b.out, self.relay.inp)  # @second

    assert refused(rx.WiringError, graph_of(build)) == (
        "main.relay.inp (@inp) has two sources: main.a.out (@out), connected at @first, and main.b.out (@out), "
        "connected at @second; a port has one: remove a connection, or declare a multiport (width=...)"
    )


def test_connection_and_reaction_as_sources_of_one_input() -> None:
    def build(self: Any) -> None:
        self.a, self.relay = Source(), Relay()
        rx.connect(self.a.out, self.relay.inp)  # @wire2
        self.add_reaction(rx.startup, lambda: None, effects=self.relay.inp)  # @added

    assert refused(rx.WiringError, graph_of(build)) == (
        "main.relay.inp (@inp) has two sources: the reaction main.reaction1 (@added) and main.a.out (@out), connected "
        "at @wire2; a port has one: remove either"
    )


def test_same_connection_twice() -> None:
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
    def build(self: Any) -> None:
        self.a, self.b = Source(), Relay()
        self.a.out >> self.b.outp  # @sideways

    assert refused(rx.WiringError, graph_of(build)) == (
        "the connection main.a.out (@out) -> main.b.outp (@outp), made at @sideways, is not possible: the output of "
        f"one reactor leads to the output of its neighbour; {FORMS}"
    )


def test_input_to_the_output_of_a_neighbour() -> None:
    def build(self: Any) -> None:
        self.a, self.b = Relay(), Relay()
        self.a.inp >> self.b.outp  # @inout

    assert refused(rx.WiringError, graph_of(build)) == (
        "the connection main.a.inp (@inp) -> main.b.outp (@outp), made at @inout, is not possible: the input of one "
        f"reactor leads to the output of its neighbour; {FORMS}"
    )


def test_input_to_the_input_of_a_neighbour() -> None:
    def build(self: Any) -> None:
        self.a, self.b = Relay(), Relay()
        self.a.inp >> self.b.inp  # @inin

    assert "the input of one reactor leads to the input of its neighbour" in refused(rx.WiringError, graph_of(build))


def test_container_output_to_the_input_of_what_it_contains() -> None:
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
