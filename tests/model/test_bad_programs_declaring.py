"""Classes and calls that go wrong: every one has to say what is wrong, where, and what to do.

The numbers are rows of the table of bad programs; what the `@marks` are is said in `told.py`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import reactors as rx
from tests.messages import Relay, Source, graph_of, marked, refused, refused_class

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
        ("self.out.value = 1", "self.out.value is assigned to; to send a value write self.out.set(...)"),
    ],
)
def test_reaction_uses_what_it_did_not_declare(use: str, told: str) -> None:
    """Row 7: found in the code of the reaction when the class is made."""
    text = f"""
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
    assert refused_class(rx.UndeclaredAccessError, text) == f"Wrong.step (wrong.py:13): {told}"


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
                "rx.reaction (@stoptrigger): triggers has rx.stop, which belongs into effects; there can be a port, a "
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
def test_wrong_argument(call: Callable[[], object], error: type[rx.ReactorError], told: str) -> None:
    """Row 8: argument, function, what was expected and what came."""
    assert refused(error, call) == told


@pytest.mark.parametrize("wrap", [lambda method: method, partial], ids=["itself", "partial"])
def test_method_of_a_port_as_the_body_of_a_reaction(wrap: Callable[[Any], Any]) -> None:
    """Row 12."""

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
    """Row 12."""

    def program() -> None:
        class Wrong(rx.Reactor):
            again = rx.LogicalAction()  # @againtoo
            step = rx.reaction(rx.startup, effects=again)(again.schedule)  # @decorated

    assert refused(rx.DeclarationError, program) == (
        "rx.reaction (@decorated) decorates schedule of the logical action Wrong.again (@againtoo), which another "
        "object stands for while the program runs; write a method or a function that calls it, and give that"
    )


def test_body_that_was_called_already() -> None:
    """Row 8."""
    told = refused(rx.ArgumentError, lambda: Source().add_reaction(rx.startup, print()))  # type: ignore[func-returns-value, arg-type]  # @called
    assert told == (
        "Source.add_reaction (@called): body is None, of type NoneType, and has to be callable; name the method "
        "without calling it"
    )


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
        "main.count (@maker) is the class rx.Output itself; write self.count = rx.Output(...)"
    )


def in_init(lines: str, body: str = "pass") -> Callable[[], object]:
    """The elaboration of a reactor with these lines in its `__init__`, which begins at line 4 of wrong.py."""
    text = f"import reactors as rx\nclass Wrong(rx.Reactor):\n    {body}\n    def __init__(self):\n        {lines}"

    def program() -> None:
        names: dict[str, Any] = {"__name__": "wrong"}
        exec(compile(text, "wrong.py", "exec"), names)
        rx.Graph(names["Wrong"]())

    return program


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("self.a = rx.Output", "main.a (wrong.py:5) is the class rx.Output itself; write self.a = rx.Output(...)"),
        (
            "self.a = [rx.Timer]",
            "main.a[0] (wrong.py:5) is the class rx.Timer itself; assign rx.Timer(...) to an attribute of its own",
        ),
        (
            "self.a = [rx.Output()]",
            (
                "main.a[0] (wrong.py:5) is an output that no attribute holds; declare a multiport (width=...), or "
                "assign each to an attribute of its own"
            ),
        ),
        (
            "self.a = {'x': 1, 'y': rx.Timer()}",
            "main.a[y] (wrong.py:5) is a timer that no attribute holds; assign each to an attribute of its own",
        ),
        (
            "self.a = rx.reaction(rx.startup)(lambda self: None)",
            (
                "main.a (wrong.py:5) is a reaction decorated outside of the body of a class; in __init__ write "
                "self.add_reaction(triggers, body, ...)"
            ),
        ),
        (
            "self.a = type(self).b",
            (
                "main.a is the declaration of the class, Wrong.b (wrong.py:3), and no port of this reactor; do not "
                "assign it in __init__"
            ),
        ),
        (
            "self.c = rx.Output()",
            "main.c is declared twice: as an output (wrong.py:5), and as a method of Wrong; rename one",
        ),
    ],
)
def test_declaration_in_init_that_is_none(lines: str, told: str) -> None:
    """Rows 9 and 11: with the line of `__init__`."""
    assert refused(rx.DeclarationError, in_init(lines, "b = rx.Output(); c = lambda self: None")) == told


def test_attribute_that_would_replace_a_reaction() -> None:
    """Row 11."""
    body = "b = rx.reaction(rx.startup)(lambda self: None)"
    assert refused(rx.DeclarationError, in_init("self.b = rx.Output()", body)) == (
        "Wrong.__init__ (wrong.py:5): self.b is assigned to, which would replace the reaction declared at wrong.py:3; "
        "choose another name"
    )


def test_port_that_no_attribute_holds_in_a_reaction() -> None:
    """Row 7."""
    lines = "self.add_reaction(rx.startup, lambda: None, effects=rx.Output())"
    assert refused(rx.UndeclaredAccessError, in_init(lines)) == (
        "main.reaction1 (wrong.py:5): effects has the output <output> (wrong.py:5), but it belongs to no reactor; "
        "assign it to an attribute: self.x = ..."
    )


def test_misspelt_option_of_a_port() -> None:
    """Row 8: as Python's own error it is a TypeError."""
    assert issubclass(rx.ArgumentError, TypeError)
    assert refused(rx.ArgumentError, lambda: rx.Output(wdth=3)) == (  # type: ignore[call-overload]  # @misspelt
        "rx.Output (@misspelt) has no parameter 'wdth'; did you mean 'width'?"
    )


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
            "Wrong.b (wrong.py:3) is Wrong.a by another name; declare the two separately",
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
            "a = rx.bank(2, rx.Reactor)",
            (
                "Wrong.a (wrong.py:2) is <bank of 2 Reactor>, made once for all; make one for each in __init__: "
                "self.a = ..."
            ),
        ),
        (
            "a = rx.Reactor()",
            "Wrong.a (wrong.py:2) is <reactor Bare>, made once for all; make one for each in __init__: self.a = ...",
        ),
        (
            "__slots__ = ('x',)",
            (
                "Wrong (wrong.py:2) has __slots__, and so no room for its ports; leave them out, or name '__dict__' "
                "among them"
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
                "wrong.py:3; to send a value write self.a.set(...)"
            ),
        ),
        (
            "a = rx.Output()\n    @rx.reaction(rx.startup, effects=a)\n    def f(self):\n        self.a += 3",
            (
                "Wrong.f (wrong.py:6): self.a is assigned to, which would replace the output declared at wrong.py:3; "
                "to send a value write self.a.set(...)"
            ),
        ),
        (
            "a = rx.LogicalAction()\n    def f(self):\n        self.a = 3",
            (
                "Wrong.f (wrong.py:5): self.a is assigned to, which would replace the logical action declared at "
                "wrong.py:3; to let it happen write self.a.schedule(...)"
            ),
        ),
    ],
)
def test_duplicate_or_reserved_name(body: str, told: str) -> None:
    """Row 11."""
    assert refused_class(rx.DeclarationError, f"class Wrong(rx.Reactor):\n    {body}") == told


def test_port_replaced_from_outside() -> None:
    """Row 11: where no code of the class does it."""

    def build(self: Any) -> None:
        self.a = Source()  # @made
        vars(self.a)["out"] = 5

    assert refused(rx.DeclarationError, graph_of(build)) == (
        "main.a (made at @made): its output 'out', declared at @out, has been replaced by 5; give that another "
        "name, or send it in a reaction with .out.set(...)"
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
    text = f"class Wrong(rx.Reactor):\n    @rx.reaction(rx.startup)\n    {head}"
    assert refused_class(rx.DeclarationError, text) == f"Wrong.f (wrong.py:3) {told}"


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
            @rx.reaction(rx.startup)  # type: ignore[arg-type]
            @rx.reaction(rx.shutdown)
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
            @Source.start.deadline("1 ms")  # type: ignore[arg-type]
            def late(self) -> None: ...

    assert refused(rx.DeclarationError, program) == (
        "Source.start (@start) belongs to a class that is complete; declare its deadline in the same class, below it"
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
            lambda: rx.LogicalAction(min_delay=-5),  # @p4
            f"the min_delay of rx.LogicalAction (@p4) is negative (-5), {SIGN}",
        ),
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


NAMED = 'as in "10 ms", or the name of an attribute that holds a duration, as in "lag"'


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            lambda: rx.connect(Source().out, Relay().inp, after="s.lag"),  # @dotted
            "the delay (after) of rx.connect (@dotted) is 's.lag', which is no duration; write a number and a unit, ",
        ),
        (
            lambda: rx.Timer(""),  # @nothing
            "the offset of rx.Timer (@nothing) is '', which is no duration; write a number and a unit, ",
        ),
        (
            lambda: rx.stop.after("lag "),  # @blank
            "the delay of rx.stop.after (@blank) is 'lag ', which is no duration; write a number and a unit, ",
        ),
    ],
)
def test_duration_that_is_no_name_either(call: Callable[[], object], told: str) -> None:
    assert refused(rx.DurationError, call) == told + NAMED


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


def test_policies_of_an_action() -> None:
    assert refused(rx.ArgumentError, lambda: rx.LogicalAction(policy="drop")) == (  # @alone
        "rx.LogicalAction (@alone) has the policy 'drop' and no min_spacing to apply it to; give one"
    )
    wrong: Any = "later"
    assert refused(rx.ArgumentError, lambda: rx.PhysicalAction(min_spacing=1, policy=wrong)) == (  # @wrong
        "the policy of rx.PhysicalAction (@wrong) is 'later'; write 'defer', 'drop', 'replace' or 'update'"
    )


def test_delay_of_a_connection_in_a_parameter() -> None:
    def program(slack: object) -> rx.Graph:
        main: Any = rx.Reactor()
        main.a, main.b = Source(), Relay()
        rx.connect(main.a.out, main.b.inp, after="slack")  # @later
        if slack is not None:
            main.slack = slack
        return rx.Graph(main)

    connection = "connection main.a.out -> main.b.inp (@later): after='slack'"
    assert refused(rx.ParameterError, lambda: program(None)) == (
        f"{connection}, but __init__ of Bare sets no attribute 'slack' (it sets a, b); set self.slack, or give the "
        "value itself"
    )
    assert refused(rx.ParameterError, lambda: program("-1 s")) == (
        f"{connection} stands for self.slack: the delay (after) is negative ('-1 s'), {SIGN}"
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


@pytest.mark.parametrize("use", ["tag", "physical_time", "lag", "seed", "rng"])
def test_reactor_outside_of_a_run(use: str) -> None:
    """Row 19."""
    reactor = Source()  # @lonelyreactor
    assert refused(rx.OutsideReactionError, lambda: getattr(reactor, use)) == (
        f"Source (made at @lonelyreactor): .{use} outside of a reaction; it is known only while the program runs: use "
        "it in a reaction, such as one to rx.startup"
    )


def test_stop_outside_of_a_run() -> None:
    """Row 19."""
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
    """Row 19."""
    assert told_in_a_run(lambda self: rx.connect(self.a.out, self.relay.inp)) == (  # @running
        "the connection main.a.out -> main.relay.inp (@running) is drawn while the program runs; draw it in __init__"
    )
    source, relay = Source(), Relay()
    assert told_in_a_run(lambda _: rx.connect(source.out, relay.inp)) == (  # @beside
        "the connection Source.out -> Relay.inp (@beside) is drawn while the program runs; draw it in __init__"
    )


def test_reaction_declared_while_the_program_runs() -> None:
    """Row 19."""
    assert told_in_a_run(lambda self: self.add_reaction(rx.startup, print)) == (  # @adding
        "main.add_reaction (@adding) while the program runs; declare reactions in the class or in __init__"
    )


def test_reactor_made_while_the_program_runs() -> None:
    """Row 28."""
    assert told_in_a_run(lambda self: Source()) == (  # @runtime
        "a Source is made at @runtime inside of a reaction, where nothing nests: the graph of the program is fixed by "
        "then, and no other program runs in it; make it in __init__ and let it wait for its first input, or before or "
        "after this program"
    )


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


NOTHING = "decorates no method; write "


DECORATING = """
class Wrong(rx.Reactor):
    tick = rx.Timer()
    {before}
    def go(self): pass
    {after}
"""


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("@rx.reaction(tick)", 'go.deadline("1 ms")', (f"go.deadline (wrong.py:7) {NOTHING}@go.deadline(...) above the "
         "one that runs instead")),
        ("rx.reaction(tick)", "", (f"rx.reaction (wrong.py:5) {NOTHING}@rx.reaction(...) directly above the one that "
         "runs")),
        ("", "on_tick = rx.reaction(tick)", (f"rx.reaction (wrong.py:7) {NOTHING}@rx.reaction(...) directly above the "
         "one that runs")),
    ],
    ids=["deadline", "reaction", "reaction with a name"],
)  # fmt: skip
def test_a_decorator_that_decorates_nothing(before: str, after: str, told: str) -> None:
    """It would be lost: no reaction, or no deadline."""
    text = DECORATING.format(before=before, after=after)
    assert refused_class(rx.DeclarationError, text) == f"Wrong: {told}"


@pytest.mark.parametrize("kind", [np.int8, np.float32, np.int64])
def test_a_number_type_of_numpy_as_the_type_of_a_port(kind: type) -> None:
    """Objects of it would not be converted: 300 would pass as an int8."""
    name = f"np.{kind.__name__}"
    assert refused(rx.ArgumentError, lambda: rx.Output(kind)) == (  # @numpytype
        f"rx.Output (@numpytype) is given the type {name}, to which nothing would convert what is set; write "
        f"rx.Output(dtype={name})"
    )


def test_types_of_numpy_that_are_no_numbers_of_a_fixed_size() -> None:
    for kind in (np.ndarray, np.integer, np.generic, np.str_):
        assert rx.Output(kind)._type is kind
