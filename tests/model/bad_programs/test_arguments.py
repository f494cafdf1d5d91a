"""Wrong arguments of what declares reactors, ports and reactions."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import reactors as rx
from tests.messages import Relay, Source, refused, refused_class

# Arguments


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: rx.reaction(5),  # type: ignore[arg-type]  # @five
            rx.ArgumentError,
            (
                "rx.reaction (@five): triggers has 5, of type int; there can be a port, a timer, an action, "
                "rx.startup, rx.shutdown or rx.reset"
            ),
        ),
        (
            lambda: rx.reaction(rx.Input),  # type: ignore[arg-type]  # @uncalled
            rx.ArgumentError,
            (
                "rx.reaction (@uncalled): triggers has rx.Input itself; declare one, name = rx.Input(...), and name "
                "that; there can be a port, a timer, an action, rx.startup, rx.shutdown or rx.reset"
            ),
        ),
        (
            lambda: rx.reaction(rx.stop),  # type: ignore[arg-type]  # @stoptrigger
            rx.ArgumentError,
            (
                "rx.reaction (@stoptrigger): triggers has rx.stop, which belongs in effects; there can be a port, a "
                "timer, an action, rx.startup, rx.shutdown or rx.reset"
            ),
        ),
        (
            lambda: rx.reaction(rx.startup, effects=rx.startup),  # type: ignore[arg-type]  # @starteffect
            rx.ArgumentError,
            (
                "rx.reaction (@starteffect): effects has rx.startup, which cannot be written; there can be a port, an "
                "action, a mode or rx.stop"
            ),
        ),
        (
            lambda: rx.reaction(rx.startup, uses=rx.startup),  # type: ignore[arg-type]  # @startuse
            rx.ArgumentError,
            (
                "rx.reaction (@startuse): uses has rx.startup, which cannot be read; there can be a port, a timer or "
                "an action"
            ),
        ),
        (
            lambda: rx.reaction(rx.startup, effects=(rx.stop, rx.stop.after(1))),  # @twostops
            rx.ArgumentError,
            (
                "rx.reaction (@twostops): effects has rx.stop and rx.stop.after(1); a reaction has one way to stop "
                "the program"
            ),
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
                'the period of rx.Timer (@float) is 0.1, of type float; write a string such as "10 ms", a '
                "datetime.timedelta, or a whole number of nanoseconds"
            ),
        ),
        (
            lambda: rx.Timer(True),  # @bool
            rx.DurationError,
            (
                'the offset of rx.Timer (@bool) is True, of type bool; write a string such as "10 ms", a '
                "datetime.timedelta, or a whole number of nanoseconds"
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
            (
                "rx.connect (@string): the target is 'inp', of type str; it has to be a port, a bank's ports, or a "
                "list of these"
            ),
        ),
        (
            lambda: rx.connect(Source().out, Relay().inp, physical="yes"),  # type: ignore[arg-type]  # @yes
            rx.ArgumentError,
            "physical of rx.connect (@yes) is 'yes', of type str; write True or False",
        ),
        (
            lambda: rx.connect(Source().out, Relay().inp, after="1 lag"),  # @lag
            rx.DurationError,
            (
                "the delay (after) of rx.connect (@lag) is '1 lag': 'lag' is no unit; there are ns, us, ms, s, min, h, "
                "d, week"
            ),
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
def test_wrong_argument(call: Callable[[], object], error: type[rx.ReactorError], words: str) -> None:
    """Argument, function, what was expected and what came."""
    assert refused(error, call) == words


@pytest.mark.parametrize("wrap", [lambda method: method, partial], ids=["itself", "partial"])
def test_method_of_a_port_as_the_body_of_a_reaction(wrap: Callable[[Any], Any]) -> None:
    class Wrong(rx.Reactor):
        again = rx.LogicalAction()  # @again

        def __init__(self) -> None:
            self.add_reaction(rx.startup, wrap(self.again.schedule), effects=self.again)  # @bodyofport

    assert refused(rx.DeclarationError, Wrong) == (
        "Wrong.add_reaction (@bodyofport): body is schedule of the logical action Wrong.again (@again), which another "
        "object stands for while the program runs; write a method or a function that calls it "
        "(self.again.schedule(...)), and give that"
    )


def test_method_of_a_port_decorated() -> None:
    def program() -> None:
        class Wrong(rx.Reactor):
            again = rx.LogicalAction()  # @againtoo
            step = rx.reaction(rx.startup, effects=again)(again.schedule)  # @decorated

    assert refused(rx.DeclarationError, program) == (
        "rx.reaction (@decorated) decorates schedule of the logical action Wrong.again (@againtoo), which another "
        "object stands for while the program runs; write a method or a function that calls it, and give that"
    )


def test_body_that_was_called_already() -> None:
    words = refused(rx.ArgumentError, lambda: Source().add_reaction(rx.startup, print()))  # type: ignore[func-returns-value, arg-type]  # @called
    assert words == (
        "Source.add_reaction (@called): body is None, of type NoneType, and has to be callable; name the method "
        "without calling it"
    )


def test_body_that_takes_arguments() -> None:
    def body(value: int) -> None: ...  # @body

    words = refused(rx.DeclarationError, lambda: Source().add_reaction(rx.startup, body))  # type: ignore[arg-type]  # @taking
    assert words.startswith("Source.add_reaction (@taking): body <function ")
    assert words.endswith(
        "is called without arguments (missing a required argument: 'value'); give a bound method, or a function that "
        "closes over what it needs"
    )


def test_arguments_of_wrong_kind_are_type_errors_and_durations_value_errors() -> None:
    """Python's own words for it hold too."""
    with pytest.raises(TypeError):
        rx.Input(5)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="negative"):
        rx.Timer(-1)


def test_arguments_for_a_class_without_init() -> None:
    """They used to vanish."""

    class Bare(rx.Reactor): ...

    assert refused(rx.ArgumentError, lambda: Bare(5, tau=0.1)) == (  # type: ignore[call-arg]  # @surplus
        "Bare (@surplus) has no __init__ that takes arguments, and is given 5, tau=0.1; write one, or leave them out"
    )


@pytest.mark.parametrize(("kind", "word"), [("Input", "input"), ("Output", "output"), ("Mode", "mode")])
def test_what_lies_in_no_mode_in_the_with_of_one(kind: str, word: str) -> None:
    """In the class, and in __init__, whether or not the mode is declared there; a contained reactor has what it has."""
    remedy = f"{word}s belong to the whole reactor; declare it outside of that"
    text = f"class Wrong(rx.Reactor):\n on = rx.Mode(initial=True)\n with on:\n  inside = rx.{kind}()"
    assert refused_class(rx.DeclarationError, text) == (
        f"Wrong.inside (wrong.py:5) is declared in the `with` of the mode Wrong.on (wrong.py:3), but {remedy}"
    )

    class Main(rx.Reactor):
        on = rx.Mode(initial=True)  # @on

        def __init__(self, *, own: bool) -> None:
            with self.on:
                self.child = rx.Reactor() if own else Child()
                if own:
                    self.inside = getattr(rx, kind)()  # @inside

    class Child(rx.Reactor):
        def __init__(self) -> None:
            self.inside = rx.Mode(initial=True) if kind == "Mode" else getattr(rx, kind)()

    assert refused(rx.DeclarationError, lambda: rx.Graph(Main(own=True))) == (
        f"main.inside (@inside) is declared in the `with` of the mode main.on (@on), but {remedy}"
    )
    rx.Graph(Main(own=False))
