"""Programs that go wrong before they run: every one has to say what is wrong, where, and what to do.

The numbers are rows of the table of bad programs. Messages are compared whole; where one names a line of this file, the
test has the `@mark` that stands in a comment on that line, so that the right line is checked along with the text.
"""

import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import reactors as rx

LINES = Path(__file__).read_text().splitlines()


def marked(message: object) -> str:
    """The message with each location in this file replaced by the mark on that line."""

    def mark(found: re.Match[str]) -> str:
        marks = re.findall(r"@\w+", LINES[int(found[1]) - 1])
        return marks[-1] if marks else found[0]

    return re.sub(rf"[^\s(]*{Path(__file__).name}:(\d+)", mark, str(message))


def refused(error: type[rx.ReactorError], program: Callable[[], object]) -> str:
    """What `program` is told; the error has to be exactly of that class."""
    with pytest.raises(rx.ReactorError) as caught:
        program()
    assert caught.type is error
    return marked(caught.value)


def warned(program: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program()
    assert all(issubclass(each.category, rx.ReactorWarning) for each in caught)
    assert all(Path(each.filename).name == Path(__file__).name for each in caught)
    return [marked(each.message) for each in caught]


class Source(rx.Reactor):
    out = rx.Output(int)  # @out

    @rx.reaction(rx.startup, effects=out)  # @start
    def start(self) -> None:
        self.out.set(1)


class Relay(rx.Reactor):
    inp = rx.Input(int)  # @inp
    outp = rx.Output(int)  # @outp

    @rx.reaction(inp, effects=outp)  # @relay
    def relay(self) -> None:
        self.outp.set(self.inp.value)


class Main(rx.Reactor):
    def __init__(self, build: Callable[[Any], object]) -> None:
        build(self)


def graph_of(build: Callable[[Any], object]) -> Callable[[], rx.Graph]:
    return lambda: rx.Graph(Main(build))


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


# What a reaction may use


def test_reaction_sets_its_own_input() -> None:
    """Row 7."""

    def program() -> None:
        class Wrong(rx.Reactor):
            inp = rx.Input(int)

            @rx.reaction(inp)
            def step(self) -> None:
                self.inp.set(1)  # @ownset

    assert refused(rx.UndeclaredAccessError, program) == (
        "Wrong.step (@ownset): self.inp.set, but inp is an input of its own, which is set from outside; a reaction "
        "can set outputs of its reactor and inputs of contained reactors"
    )


def test_reaction_declares_its_own_input_as_effect() -> None:
    """Row 7."""

    def program() -> None:
        class Wrong(rx.Reactor):
            inp = rx.Input(int)  # @owninp

            @rx.reaction(rx.startup, effects=inp)  # @owneffect
            def step(self) -> None: ...

    assert refused(rx.UndeclaredAccessError, program) == (
        "Wrong.step (@owneffect) has the input Wrong.inp (@owninp) of its own reactor in effects, but that is set from "
        "outside; it can set outputs of its reactor, inputs of contained reactors, and schedule actions"
    )


def test_reaction_is_triggered_by_its_own_output() -> None:
    """Row 7."""

    def program() -> None:
        class Wrong(rx.Reactor):
            out = rx.Output(int)  # @ownout

            @rx.reaction(out)  # @ontrigger
            def step(self) -> None: ...

    assert refused(rx.UndeclaredAccessError, program) == (
        "Wrong.step (@ontrigger) has the output Wrong.out (@ownout) of its own reactor in triggers, but that is read "
        "outside; it can read inputs of its reactor, outputs of contained reactors, timers and actions"
    )


def test_reaction_is_triggered_by_an_unrelated_port() -> None:
    """Row 7."""

    def program() -> None:
        class Wrong(rx.Reactor):
            @rx.reaction(Relay.inp)  # @unrelated
            def step(self) -> None: ...

    assert refused(rx.UndeclaredAccessError, program) == (
        "Wrong.step (@unrelated) has Relay.inp (@inp) in triggers, which Wrong does not declare; a reaction in a "
        "class can use what its class declares; for ports of contained reactors call self.add_reaction in __init__"
    )


def test_reaction_by_call_sets_the_output_of_another_reactor() -> None:
    """Row 7."""

    def build(self: Any) -> None:
        self.a = Source()
        self.add_reaction(rx.startup, lambda: None, effects=self.a.out)  # @foreign

    assert refused(rx.UndeclaredAccessError, graph_of(build)) == (
        "main.reaction1 (@foreign): effects has the output main.a.out (@out), but a reaction can set its own outputs "
        "and inputs of reactors that its own contains"
    )


def test_reaction_by_call_reads_the_input_of_another_reactor() -> None:
    """Row 7."""

    def build(self: Any) -> None:
        self.a = Relay()
        self.add_reaction(self.a.inp, lambda: None)  # @foreignread

    assert refused(rx.UndeclaredAccessError, graph_of(build)) == (
        "main.reaction1 (@foreignread): triggers has the input main.a.inp (@inp), but a reaction can read its own "
        "inputs and outputs of reactors that its own contains"
    )


def test_reaction_by_call_uses_the_timer_of_another_reactor() -> None:
    """Row 7."""

    class Clock(rx.Reactor):
        tick = rx.Timer()  # @tick

    def build(self: Any) -> None:
        self.clock = Clock()
        self.add_reaction(self.clock.tick, lambda: None)  # @foreigntimer

    assert refused(rx.UndeclaredAccessError, graph_of(build)) == (
        "main.reaction1 (@foreigntimer): triggers has the timer main.clock.tick (@tick), but timers and actions are "
        "those of its own reactor"
    )


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ("self.out.set(1)", "self.out.set, but out is not among the reaction's effects; add effects=out"),
        ("self.out.loan()", "self.out.loan, but out is not among the reaction's effects; add effects=out"),
        ("self.outs[i].set(1)", "self.outs.set, but outs is not among the reaction's effects; add effects=outs"),
        (
            "print(self.inp.value)",
            "self.inp.value, but inp is not among the reaction's triggers and uses; add uses=inp",
        ),
        (
            "(lambda: self.inp.value)()",
            "self.inp.value, but inp is not among the reaction's triggers and uses; add uses=inp",
        ),
        (
            "[self.inp.value for _ in 'x']",
            "self.inp.value, but inp is not among the reaction's triggers and uses; add uses=inp",
        ),
        (
            "self.tick.is_present",
            "self.tick.is_present, but tick is not among the reaction's triggers and uses; add uses=tick",
        ),
        ("self.act.schedule()", "self.act.schedule, but act is not among the reaction's effects; add effects=act"),
        ("self.act.value", "self.act.value, but act is not among the reaction's triggers and uses; add uses=act"),
        (
            "self.button.value",
            "self.button.value, but button is not among the reaction's triggers and uses; add uses=button",
        ),
        ("self.request_stop()", "self.request_stop(), but the reaction does not declare effects=rx.stop; add it"),
        ("self.out.value = 1", "self.out.value is assigned to; write self.out.set(...)"),
    ],
)
def test_reaction_uses_what_it_did_not_declare(use: str, told: str) -> None:
    """Row 7: found in the code of the reaction when the class is made."""
    text = f"""
import reactors as rx
class Wrong(rx.Reactor):
    inp = rx.Input(int)
    out = rx.Output(int)
    outs = rx.Output(int, width=2)
    tick = rx.Timer()
    act = rx.LogicalAction()
    button = rx.PhysicalAction()
    @rx.reaction(rx.startup)
    def step(self):
        i = 0
        {use}
"""
    with pytest.raises(rx.UndeclaredAccessError) as caught:
        exec(compile(text, "wrong.py", "exec"), {"__name__": "wrong"})
    assert str(caught.value) == f"Wrong.step (wrong.py:13): {told}"


def test_late_method_uses_what_its_reaction_did_not_declare() -> None:
    """Row 7."""

    def program() -> None:
        class Wrong(rx.Reactor):
            out = rx.Output(int)

            @rx.reaction(rx.startup)
            def step(self) -> None: ...

            @step.deadline("1 ms")
            def late(self) -> None:
                self.out.set(1)  # @lateset

    assert refused(rx.UndeclaredAccessError, program) == (
        "Wrong.late (@lateset): self.out.set, but out is not among the reaction's effects; add effects=out"
    )


def test_method_added_as_reaction_uses_what_it_did_not_declare() -> None:
    """Row 7: found when the program is elaborated, for only then it is known what the method is used for."""

    class Wrong(rx.Reactor):
        out = rx.Output(int)

        def __init__(self) -> None:
            self.add_reaction(rx.startup, self.step)

        def step(self) -> None:
            self.out.set(1)  # @addedset

    assert refused(rx.UndeclaredAccessError, lambda: rx.Graph(Wrong())) == (
        "main.step (@addedset): self.out.set, but out is not among the reaction's effects; add effects=out"
    )


# Arguments


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (
            lambda: rx.reaction(5),  # type: ignore[arg-type]  # @five
            rx.ArgumentError,
            (
                "rx.reaction (@five): triggers has 5, of type int; there can be a port, a timer, an action, "
                "rx.startup or rx.shutdown"
            ),
        ),
        (
            lambda: rx.reaction(rx.Input),  # type: ignore[arg-type]  # @uncalled
            rx.ArgumentError,
            (
                "rx.reaction (@uncalled): triggers has rx.Input itself; declare one, name = rx.Input(...), and name "
                "that; there can be a port, a timer, an action, rx.startup or rx.shutdown"
            ),
        ),
        (
            lambda: rx.reaction(rx.stop),  # type: ignore[arg-type]  # @stoptrigger
            rx.ArgumentError,
            (
                "rx.reaction (@stoptrigger): triggers has rx.stop, which belongs into effects; there can be a port, a "
                "timer, an action, rx.startup or rx.shutdown"
            ),
        ),
        (
            lambda: rx.reaction(rx.startup, effects=rx.startup),  # type: ignore[arg-type]  # @starteffect
            rx.ArgumentError,
            (
                "rx.reaction (@starteffect): effects has rx.startup, which cannot be written; there can be a port, an "
                "action or rx.stop"
            ),
        ),
        (
            lambda: rx.reaction(rx.startup, uses=rx.startup),  # type: ignore[arg-type]  # @startuse
            rx.ArgumentError,
            "rx.reaction (@startuse): uses has rx.startup, which cannot be read; there can be a port, a timer or an action",
        ),
        (
            lambda: rx.reaction(rx.startup, effects=(rx.stop, rx.stop.after(1))),  # @twostops
            rx.ArgumentError,
            "rx.reaction (@twostops): effects has rx.stop and rx.stop.after(1); a reaction has one way to stop the program",
        ),
        (
            rx.startup,  # @startcall
            rx.ArgumentError,
            "rx.startup is a trigger, no function: write @rx.reaction(rx.startup)",
        ),
        (
            lambda: rx.Timer(period=0.1),  # type: ignore[arg-type]  # @float
            rx.DurationError,
            (
                'the period of rx.Timer (@float) is 0.1, of type float; write a string such as "10 ms", a datetime.timedelta, or '
                "a whole number of nanoseconds"
            ),
        ),
        (
            lambda: rx.Timer(True),  # @bool
            rx.DurationError,
            (
                'the offset of rx.Timer (@bool) is True, of type bool; write a string such as "10 ms", a datetime.timedelta, or '
                "a whole number of nanoseconds"
            ),
        ),
        (
            lambda: rx.Timer(period="100"),  # @unitless
            rx.DurationError,
            "the period of rx.Timer (@unitless) is '100', without a unit; write, say, \"100 ms\"",
        ),
        (
            lambda: rx.LogicalAction(min_delay="5 parsecs"),  # @parsecs
            rx.DurationError,
            (
                "the min_delay of rx.LogicalAction (@parsecs) is '5 parsecs': 'parsecs' is no unit; there are ns, us, "
                "ms, s, min, h, d, week"
            ),
        ),
        (
            lambda: rx.Input(5),  # type: ignore[call-overload]  # @notype
            rx.ArgumentError,
            (
                "rx.Input (@notype) is given 5, of type int, and takes a type, as in rx.Input(int); for arrays write "
                "rx.Input(shape=..., dtype=...)"
            ),
        ),
        (
            lambda: rx.LogicalAction("int"),  # type: ignore[arg-type]  # @notype2
            rx.ArgumentError,
            "rx.LogicalAction (@notype2) is given 'int', of type str, and takes a type, as in rx.LogicalAction(int)",
        ),
        (
            lambda: rx.Output(int, shape=(3,)),  # type: ignore[call-overload]  # @both
            rx.ArgumentError,
            "rx.Output (@both) is given several of a type, a shape with a dtype, and a space; give one",
        ),
        (
            lambda: rx.Output(shape=(3, -1)),  # @negshape
            rx.ArgumentError,
            "the shape of rx.Output (@negshape) is negative (-1); write 0 or more",
        ),
        (
            lambda: rx.Output(dtype="f5"),  # @f5
            rx.ArgumentError,
            "the dtype of rx.Output (@f5) is 'f5', which NumPy does not know; write, say, np.float32",
        ),
        (
            lambda: rx.Output(shape=3, dtype=object),  # @object
            rx.ArgumentError,
            (
                "the dtype of rx.Output (@object) is <class 'object'>, which has no fixed size; leave it out, and the "
                "port carries any object"
            ),
        ),
        (
            lambda: rx.Input(int, width=True),  # @truewidth
            rx.ArgumentError,
            (
                "the width of rx.Input (@truewidth) is True, of type bool; write a whole number, 0 or more, or the "
                "name of an attribute that holds one"
            ),
        ),
        (
            lambda: rx.bank(-1, Source),  # @negbank
            rx.ArgumentError,
            "the size of rx.bank (@negbank) is negative (-1); write 0 or more",
        ),
        (
            lambda: rx.bank(2, int),  # type: ignore[type-var]  # @intbank
            rx.ArgumentError,
            "rx.bank (@intbank) takes a number and a class of reactors, and is given <class 'int'> for the class",
        ),
        (
            lambda: rx.connect(Source(), Relay().inp),  # type: ignore[arg-type]  # @noport
            rx.ArgumentError,
            (
                "rx.connect (@noport): the source is <reactor Source>; name one of its ports; it has to be a port, a "
                "bank's ports, or a list of these"
            ),
        ),
        (
            lambda: rx.connect(Source().out, "inp"),  # type: ignore[arg-type]  # @string
            rx.ArgumentError,
            "rx.connect (@string): the target is 'inp', of type str; it has to be a port, a bank's ports, or a list of these",
        ),
        (
            lambda: rx.connect(Source().out, Relay().inp, physical="yes"),  # type: ignore[arg-type]  # @yes
            rx.ArgumentError,
            "physical of rx.connect (@yes) is 'yes', of type str; write True or False",
        ),
        (
            lambda: rx.connect(Source().out, Relay().inp, after="lag"),  # @lag
            rx.DurationError,
            "the delay (after) of rx.connect (@lag) is 'lag', which is no duration; write a number and a unit, as in \"10 ms\"",
        ),
        (
            lambda: Source().add_reaction(rx.startup, 5),  # type: ignore[arg-type]  # @fivebody
            rx.ArgumentError,
            "Source.add_reaction (@fivebody): body is 5, of type int, and has to be callable",
        ),
        (
            lambda: Source().add_reaction(rx.startup, print, deadline="1 ms"),  # @lonely
            rx.DeclarationError,
            "Source.add_reaction (@lonely): deadline and late go together: how long, and what to run instead",
        ),
        (
            lambda: bool(Source().out),
            rx.ArgumentError,
            "Source.out is neither true nor false; ask for out.is_present or out.value",
        ),
        (
            lambda: len(Source().out),
            rx.ArgumentError,
            "Source.out (@out) is a single port: it has no length; a multiport is declared with width=...",
        ),
    ],
)
def test_wrong_argument(call: Callable[[], object], error: type[rx.ReactorError], told: str) -> None:
    """Row 8: argument, function, what was expected and what came."""
    assert refused(error, call) == told


def test_body_that_takes_arguments() -> None:
    """Row 8."""

    def body(value: int) -> None: ...  # @body

    told = refused(rx.DeclarationError, lambda: Source().add_reaction(rx.startup, body))  # type: ignore[arg-type]  # @taking
    assert told.startswith("Source.add_reaction (@taking): body <function ")
    assert told.endswith(
        "is called without arguments (missing a required argument: 'value'); give a bound method, or a function that "
        "closes over what it needs"
    )


def test_arguments_of_wrong_kind_are_type_errors_and_durations_value_errors() -> None:
    """Row 8: Python's own words for it hold too."""
    with pytest.raises(TypeError):
        rx.Input(5)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="negative"):
        rx.Timer(-1)


# Classes


def test_port_without_parentheses() -> None:
    """Row 9."""

    def program() -> None:
        class Wrong(rx.Reactor):  # @wrongclass
            count = rx.Output

    assert refused(rx.DeclarationError, program) == (
        "Wrong.count (@wrongclass) is the class rx.Output itself; write count = rx.Output(...)"
    )


def test_port_without_parentheses_in_init() -> None:
    """Row 9."""

    def build(self: Any) -> None:
        self.count = rx.Output

    assert refused(rx.DeclarationError, graph_of(build)) == (
        "main.count is the class rx.Output itself; write self.count = rx.Output(...)"
    )


@pytest.mark.parametrize(
    ("misspelt", "told"),
    [
        ("Relay().outpp", "'Relay' object has no attribute 'outpp'. Did you mean: 'outp'?"),
        ("rx.bank(2, Relay).outpp", "the members of <bank of 2 Relay> have no port 'outpp'. Did you mean: 'outp'?"),
    ],
)
def test_misspelt_port_gets_a_suggestion_from_python(misspelt: str, told: str) -> None:
    """Row 10: in what an interpreter prints, where Python has it."""
    program = f"import reactors as rx\nclass Relay(rx.Reactor):\n    outp = rx.Output(int)\n{misspelt}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == f"AttributeError: {told}"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            "a = rx.Input()\n    a = rx.Timer()",
            "Wrong.a is declared twice: as an input (wrong.py:3), and as a timer (wrong.py:4); rename one",
        ),
        (
            "a = rx.Input()\n    def a(self): ...",
            "Wrong.a is declared twice: as an input (wrong.py:3), and as a method (wrong.py:4); rename one",
        ),
        (
            "@rx.reaction(rx.startup)\n    def a(self): ...\n    @rx.reaction(rx.shutdown)\n    def a(self): ...",
            "Wrong.a is declared twice: as a reaction (wrong.py:3), and as a reaction (wrong.py:5); rename one",
        ),
        (
            "a = rx.Input()\n    del a",
            "Wrong.a is declared twice: as an input (wrong.py:3), and is deleted",
        ),
        (
            "a = b = rx.Input()",
            "Wrong.a (wrong.py:3) is declared once more as Wrong.b; declare the two separately",
        ),
        (
            "@rx.reaction(rx.Timer())\n    def a(self): ...",
            "Wrong declares a timer (wrong.py:3) that no attribute holds; give it a name: name = ...",
        ),
        (
            "a = [rx.Input()]",
            (
                "Wrong.a (wrong.py:3) holds several declarations; declare a multiport, a = rx.Input(..., width=...), "
                "or give each its own attribute"
            ),
        ),
        (
            "tag = rx.Input()",
            "Wrong.tag (wrong.py:3): the name 'tag' is reserved: every rx.Reactor has it; choose another",
        ),
        (
            "def seed(self): ...",
            "Wrong.seed (wrong.py:3): the name 'seed' is reserved: every rx.Reactor has it; choose another",
        ),
        (
            "def __init__(self):\n        self.seed = 3",
            (
                "Wrong.__init__ (wrong.py:4): self.seed is assigned to, but the name 'seed' is reserved: every "
                "rx.Reactor has it; choose another"
            ),
        ),
        (
            "a = rx.Output()\n    def __init__(self):\n        self.a = 3",
            (
                "Wrong.__init__ (wrong.py:5): self.a is assigned to, which would replace the output declared at "
                "wrong.py:3; write self.a.set(...)"
            ),
        ),
        (
            "a = rx.Output()\n    @rx.reaction(rx.startup, effects=a)\n    def f(self):\n        self.a += 3",
            (
                "Wrong.f (wrong.py:6): self.a is assigned to, which would replace the output declared at wrong.py:3; "
                "write self.a.set(...)"
            ),
        ),
        (
            "a = rx.LogicalAction()\n    def f(self):\n        self.a = 3",
            (
                "Wrong.f (wrong.py:5): self.a is assigned to, which would replace the logical action declared at "
                "wrong.py:3; write self.a.schedule(...)"
            ),
        ),
    ],
)
def test_duplicate_or_reserved_name(body: str, told: str) -> None:
    """Row 11."""
    with pytest.raises(rx.DeclarationError) as caught:
        exec(
            compile(f"import reactors as rx\nclass Wrong(rx.Reactor):\n    {body}", "wrong.py", "exec"),
            {"__name__": "wrong"},
        )
    assert str(caught.value) == told


def test_port_replaced_from_outside() -> None:
    """Row 11: where no code of the class does it."""

    def build(self: Any) -> None:
        self.a = Source()  # @made
        self.a.out = 5

    assert refused(rx.DeclarationError, graph_of(build)) == (
        "main.a (made at @made): its output 'out', declared at @out, has been replaced by 5; give that another name"
    )


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("def f(self, tag): ...", "takes tag besides self; write def f(self) and read ports as self.<port>"),
        ("def f(self, *args): ...", "takes args besides self; write def f(self) and read ports as self.<port>"),
        ("def f(self, *, x=1): ...", "takes x besides self; write def f(self) and read ports as self.<port>"),
        ("def f(): ...", "takes no self; write def f(self)"),
        (
            "async def f(self): ...",
            (
                "is a coroutine function, and a reaction runs to its end at one tag; write def f(self), and bring "
                "results from outside in through a physical action"
            ),
        ),
        (
            "def f(self): yield",
            (
                "is a generator function, and a reaction runs to its end at one tag; write it without yield, and let "
                "an action start the next step"
            ),
        ),
    ],
)
def test_reaction_of_the_wrong_form(head: str, told: str) -> None:
    """Row 12."""
    text = f"import reactors as rx\nclass Wrong(rx.Reactor):\n    @rx.reaction(rx.startup)\n    {head}"
    with pytest.raises(rx.DeclarationError) as caught:
        exec(compile(text, "wrong.py", "exec"), {"__name__": "wrong"})
    assert str(caught.value) == f"Wrong.f (wrong.py:3) {told}"


def test_reaction_without_parentheses() -> None:
    """Row 12."""

    def program() -> None:
        class Wrong(rx.Reactor):
            @rx.reaction  # type: ignore[arg-type]  # @naked
            def step(self) -> None: ...

    assert refused(rx.DeclarationError, program) == (
        "Wrong.step (@naked): @rx.reaction without triggers; write @rx.reaction(trigger, ...)"
    )


def test_reaction_decorated_twice() -> None:
    """Row 12."""

    def program() -> None:
        class Wrong(rx.Reactor):
            @rx.reaction(rx.startup)
            @rx.reaction(rx.shutdown)  # @inner
            def step(self) -> None: ...

    told = refused(rx.DeclarationError, program)
    assert told.endswith("is a reaction already; name all its triggers in one @rx.reaction")


def test_deadline_declared_twice() -> None:
    """Row 12."""

    def program() -> None:
        class Wrong(rx.Reactor):
            @rx.reaction(rx.startup)  # @twolates
            def step(self) -> None: ...
            @step.deadline("1 ms")
            def late(self) -> None: ...
            @step.deadline("2 ms")
            def later(self) -> None: ...

    assert refused(rx.DeclarationError, program).endswith("(@twolates) has a deadline already; it can have one")


def test_deadline_for_a_reaction_of_another_class() -> None:
    """Row 12."""

    def program() -> None:
        class Wrong(Source):
            @Source.start.deadline("1 ms")
            def late(self) -> None: ...

    assert refused(rx.DeclarationError, program) == (
        "Source.start (@start) belongs to a class that is complete; declare its deadline in the same class, below it"
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

    assert warned(graph_of(build)) == ["main.a is the class Source, no reactor; to contain one, make it: Source(...)"]

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
    with pytest.raises(rx.DeclarationError) as caught:
        exec(compile(f"import reactors as rx\nclass Wrong:\n    {body}", "wrong.py", "exec"), {"__name__": "wrong"})
    assert str(caught.value) == f"{told}; write class Wrong(rx.Reactor)"


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
        "rename one (to vary a base's reaction, let it call a method and override that)"
    )


def test_reaction_of_a_base_overridden() -> None:
    """Row 15."""

    def program() -> None:
        class Wrong(Source):  # @overriding
            def start(self) -> None: ...  # type: ignore[override]  # @override

    assert refused(rx.DeclarationError, program) == (
        "Wrong (@overriding) has two meanings for 'start': a reaction (@start) in Source, and a method (@override) in "
        "Wrong; rename one (to vary a base's reaction, let it call a method and override that)"
    )


# Durations

SIGN = "but time never goes back; write a duration without a sign"
ONCE = "a timer that fires once has no period at all, and one that fires as fast as it can is an action"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: rx.Timer(period=0), f"the period of rx.Timer (@p0) is zero (0): {ONCE}"),  # @p0
        (lambda: rx.Timer(period="0 s"), f"the period of rx.Timer (@p1) is zero ('0 s'): {ONCE}"),  # @p1
        (lambda: rx.Timer(period="-1 ms"), f"the period of rx.Timer (@p2) is negative ('-1 ms'), {SIGN}"),  # @p2
        (lambda: rx.Timer(-5), f"the offset of rx.Timer (@p3) is negative (-5), {SIGN}"),  # @p3
        (
            lambda: rx.LogicalAction(min_delay=-5),
            f"the min_delay of rx.LogicalAction (@p4) is negative (-5), {SIGN}",
        ),  # @p4
        (lambda: rx.stop.after("-1 s"), f"the delay of rx.stop.after (@p5) is negative ('-1 s'), {SIGN}"),  # @p5
        (
            lambda: Source().add_reaction(rx.startup, print, deadline=-1, late=print),  # @p6
            f"the deadline of Source.add_reaction (@p6) is negative (-1), {SIGN}",
        ),
        (
            lambda: rx.connect(Source().out, Relay().inp, after="-4 us"),  # @p7
            f"the delay (after) of rx.connect (@p7) is negative ('-4 us'), {SIGN}",
        ),
    ],
)
def test_zero_or_negative_duration(call: Callable[[], object], told: str) -> None:
    """Row 16: the right word for each."""
    assert refused(rx.DurationError, call) == told


def test_zero_or_negative_duration_in_a_parameter() -> None:
    """Rows 16 and 38."""

    class Clock(rx.Reactor):
        tick = rx.Timer("first", "period")  # @clock
        act = rx.LogicalAction(min_delay="wait")  # @act

        def __init__(self, first: Any = 0, period: Any = 1, wait: Any = 0) -> None:
            self.first, self.period, self.wait = first, period, wait

    assert refused(rx.ParameterError, lambda: rx.Graph(Clock(period="0 s"))) == (
        f"main.tick (@clock): period='period' stands for a period of zero: {ONCE}"
    )
    assert refused(rx.ParameterError, lambda: rx.Graph(Clock(first=-1))) == (
        f"main.tick (@clock): offset='first' stands for self.first: the offset is negative (-1), {SIGN}"
    )
    assert refused(rx.ParameterError, lambda: rx.Graph(Clock(wait="1 eon"))) == (
        "main.act (@act): min_delay='wait' stands for self.wait: the min_delay is '1 eon': 'eon' is no unit; there "
        "are ns, us, ms, s, min, h, d, week"
    )


# At the wrong time


@pytest.mark.parametrize("use", ["value", "is_present", "array", "tensor", "present"])
def test_reading_a_port_outside_of_a_reaction(use: str) -> None:
    """Row 19."""
    assert refused(rx.OutsideReactionError, lambda: getattr(Relay().inp, use)) == (
        f"Relay.inp (@inp): .{use} outside of a reaction; ports hold values only while a reaction that declares them "
        "runs"
    )


def test_writing_a_port_outside_of_a_reaction() -> None:
    """Row 19."""
    told = (
        "Source.out (@out): .{} outside of a reaction; ports hold values only while a reaction that declares them runs"
    )
    assert refused(rx.OutsideReactionError, lambda: Source().out.set(1)) == told.format("set")
    assert refused(rx.OutsideReactionError, Source().out.loan) == told.format("loan")


def test_action_outside_of_a_reaction() -> None:
    """Row 19, and row 33 for physical actions, whose refusal is a value."""

    class Acting(rx.Reactor):
        act = rx.LogicalAction(int)  # @acting
        button = rx.PhysicalAction(int)

    assert refused(rx.OutsideReactionError, lambda: Acting().act.schedule(1)) == (
        "Acting.act (@acting): .schedule outside of a reaction; a logical action can be used only while a reaction "
        "that declares it runs"
    )
    assert Acting().button.schedule(1) is False


@pytest.mark.parametrize("use", ["tag", "physical_time", "lag", "seed", "rng", "request_stop()"])
def test_reactor_outside_of_a_run(use: str) -> None:
    """Row 19."""
    reactor = Source()  # @lonelyreactor
    ask = (reactor.request_stop) if "(" in use else (lambda: getattr(reactor, use))
    wanted = "seed" if use == "rng" else use
    assert refused(rx.OutsideReactionError, ask) == (
        f"Source (made at @lonelyreactor): .{wanted} outside of a reaction; it is known only while the program runs"
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
    """Row 19."""
    assert told_in_a_run(lambda self: rx.connect(self.a.out, self.relay.inp)) == (  # @running
        "the connection main.a.out -> main.relay.inp (@running) is drawn while the program runs; draw it in __init__"
    )


def test_reaction_declared_while_the_program_runs() -> None:
    """Row 19."""
    assert told_in_a_run(lambda self: self.add_reaction(rx.startup, print)) == (  # @adding
        "main.add_reaction (@adding) while the program runs; declare reactions in the class or in __init__"
    )


def test_reactor_made_while_the_program_runs() -> None:
    """Row 28."""
    assert told_in_a_run(lambda self: Source()) == (  # @runtime
        "a Source is made at @runtime while the program runs, but its graph is fixed by then; make it in __init__ and "
        "let it wait for its first input"
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


def test_multiport_with_one_source_is_no_reason_to_warn() -> None:
    """Row 20."""

    class Sum(rx.Reactor):
        terms = rx.Input(int, width=3)

        @rx.reaction(terms)
        def add(self) -> None: ...

    def build(self: Any) -> None:
        self.source, self.sum = Source(), Sum()
        self.source.out >> self.sum.terms[1]

    assert warned(graph_of(build)) == []


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
        "nothing can trigger main.a.again (@again): it triggers only itself; let it be triggered by rx.startup or a "
        "timer"
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
        rx.connect(self.a.out, self.words.words)  # @intostr

    assert refused(rx.MismatchError, graph_of(build)) == (
        "the connection at @intostr: main.a.out (@out) carries int objects, but main.words.words (@words) takes str "
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
        (3, 4, False, ("3 channels (main.a[0].out, main.a[1].out, main.a[2].out) on the left and 4 channels (main.b[0].inp, "
         "main.b[1].inp, main.b[2].inp, main.b[3].inp) on the right; make the widths equal")),
        (1, 2, False, ("1 channel (main.a[0].out) on the left and 2 channels (main.b[0].inp, main.b[1].inp) on the right; to "
         "repeat the left side, write broadcast=True")),
        (2, 3, True, ("2 channels (main.a[0].out, main.a[1].out) on the left and 3 channels (main.b[0].inp, main.b[1].inp, "
         "main.b[2].inp) on the right; a broadcast repeats the left side, so its width has to divide that of the right")),
        (9, 1, False, ("9 channels (main.a[0].out to main.a[8].out, 9 ports) on the left and 1 channel (main.b[0].inp) on the "
         "right; make the widths equal")),
        (0, 2, True, ("0 channels () on the left and 2 channels (main.b[0].inp, main.b[1].inp) on the right; a broadcast "
         "repeats the left side, so its width has to divide that of the right")),
    ],
)  # fmt: skip
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
        ({"shape": "size"}, None, "shape='size', but __init__ of Sized sets no attribute 'size'; did you mean 'sizes'?"),
        (
            {"shape": "n", "dtype": "f4"},
            None,
            "shape='n', but __init__ of Sized sets no attribute 'n' (it sets sizes); set self.n, or give the value itself",
        ),
        ({"shape": "size"}, "x", ("shape='size' stands for self.size, which is 'x', of type str; it has to be a tuple of whole "
         "numbers, each 0 or more")),
        ({"shape": "size"}, (1, -1), ("shape='size' stands for self.size, which is (1, -1), of type tuple; it has to be a "
         "tuple of whole numbers, each 0 or more")),
        ({"shape": (2, "size")}, 1.5, ("shape='size' stands for self.size, which is 1.5, of type float; it has to be a whole "
         "number, 0 or more")),
        ({"width": "size"}, True, ("width='size' stands for self.size, which is True, of type bool; it has to be a whole "
         "number, 0 or more")),
        ({"space": "size"}, 5, "space is 5, of type int, which is no Gymnasium space"),
        ({"space": "size"}, gym.spaces.Dict({}), ("a Dict space has no fixed shape and dtype; Box, Discrete, MultiDiscrete and "
         "MultiBinary have; leave space out, and the port carries any object")),
        ({"space": "size"}, gym.spaces.Text(5), ("a Text space has no fixed shape and dtype; Box, Discrete, MultiDiscrete and "
         "MultiBinary have; leave space out, and the port carries any object")),
    ],
)  # fmt: skip
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
    import cffi

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
