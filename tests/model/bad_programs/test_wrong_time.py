"""What is asked outside of a reaction, or declared while the program runs; modes that have no name yet."""

from collections.abc import Callable
from typing import Any

import pytest

import reactors as rx
from tests.messages import Relay, Source, marked, refused, refused_class

# At the wrong time


@pytest.mark.parametrize("use", ["value", "is_present", "array", "tensor", "present"])
def test_reading_a_port_outside_of_a_reaction(use: str) -> None:
    assert refused(rx.OutsideReactionError, lambda: getattr(Relay().inp, use)) == (
        f"Relay.inp (@inp): .{use} outside of a reaction; ports hold values only while a reaction that declares them "
        "runs"
    )


def test_writing_a_port_outside_of_a_reaction() -> None:
    words = (
        "Source.out (@out): .{} outside of a reaction; ports hold values only while a reaction that declares them runs"
    )
    assert refused(rx.OutsideReactionError, lambda: Source().out.set(1)) == words.format("set")
    assert refused(rx.OutsideReactionError, Source().out.loan) == words.format("loan")


def test_action_outside_of_a_reaction() -> None:
    """But physical actions, whose refusal is a value."""

    class Acting(rx.Reactor):
        act = rx.LogicalAction(int)  # @acting
        button = rx.PhysicalAction(int)

    assert refused(rx.OutsideReactionError, lambda: Acting().act.schedule(1)) == (
        "Acting.act (@acting): .schedule outside of a reaction; a logical action can be used only while a reaction "
        "that declares it runs"
    )
    assert Acting().button.schedule(1) is False


@pytest.mark.parametrize("use", ["tag", "physical_time", "lag", "seed", "rng"])
def test_reactor_outside_of_a_run(use: str) -> None:
    reactor = Source()  # @lonelyreactor
    assert refused(rx.OutsideReactionError, lambda: getattr(reactor, use)) == (
        f"Source (made at @lonelyreactor): .{use} outside of a reaction; it is known only while the program runs: use "
        "it in a reaction, such as one to rx.startup"
    )


def test_stop_outside_of_a_run() -> None:
    reactor = Source()  # @lonelyreactor
    assert refused(rx.OutsideReactionError, reactor.request_stop) == (
        "Source (made at @lonelyreactor): .request_stop() outside of a reaction; call it in a reaction that declares "
        "effects=rx.stop"
    )


class Meddler(rx.Reactor):
    def __init__(self, meddle: Callable[[Any], object]) -> None:
        self.meddle = meddle
        self.a, self.relay = Source(), Relay()

    @rx.reaction(rx.startup)
    def start(self) -> None:
        self.meddle(self)


def told_in_a_run(meddle: Callable[[Any], object]) -> str:
    with pytest.warns(rx.ReactorWarning, match="main.relay.inp"), pytest.raises(rx.ReactionError) as caught:
        rx.run(Meddler(meddle))
    assert isinstance(caught.value.__cause__, rx.StructureError)
    return marked(caught.value.__cause__)


def test_connection_drawn_while_the_program_runs() -> None:
    assert told_in_a_run(lambda self: rx.connect(self.a.out, self.relay.inp)) == (  # @running
        "the connection main.a.out -> main.relay.inp (@running) is drawn while the program runs; draw it in __init__"
    )
    source, relay = Source(), Relay()
    assert told_in_a_run(lambda _: rx.connect(source.out, relay.inp)) == (  # @beside
        "the connection Source.out -> Relay.inp (@beside) is drawn while the program runs; draw it in __init__"
    )


def test_reaction_declared_while_the_program_runs() -> None:
    assert told_in_a_run(lambda self: self.add_reaction(rx.startup, print)) == (  # @adding
        "main.add_reaction (@adding) while the program runs; declare reactions in the class or in __init__"
    )


def test_reactor_made_while_the_program_runs() -> None:
    assert told_in_a_run(lambda self: Source()) == (  # @runtime
        "a Source is made at @runtime inside of a reaction, where nothing nests: the graph of the program is fixed by "
        "then, and no other program runs in it; make it in __init__ and let it wait for its first input, or before or "
        "after this program"
    )


def test_mode_that_has_no_name_yet() -> None:
    """In the body of a class it has the name there; else its line says which it is."""
    text = """class Wrong(rx.Reactor):
    a, b = rx.Mode(initial=True), rx.Mode()
    tick = rx.Timer(mode=b.history)"""
    assert refused_class(rx.ArgumentError, text) == (
        "rx.Timer (wrong.py:4): mode is <history of <mode Wrong.b>>, of type Transition; it has to be an rx.Mode"
    )
    assert refused(rx.ArgumentError, lambda: rx.Timer(mode=rx.Mode().reset)) == (  # type: ignore[arg-type]  # @unnamed
        "rx.Timer (@unnamed): mode is <reset of <mode (@unnamed)>>, of type Transition; it has to be an rx.Mode"
    )
