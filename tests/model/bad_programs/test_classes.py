"""Classes whose ports, names and reactions cannot be as they stand."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import reactors as rx
from tests.messages import Source, graph_of, refused, refused_class

# Classes


def test_port_without_parentheses() -> None:
    def program() -> None:
        class Wrong(rx.Reactor):  # @wrongclass
            count = rx.Output

    assert refused(rx.DeclarationError, program) == (
        "Wrong.count (@wrongclass) is the class rx.Output itself; write count = rx.Output(...)"
    )


def test_port_without_parentheses_in_init() -> None:
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
    ("lines", "words"),
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
def test_declaration_in_init_that_is_none(lines: str, words: str) -> None:
    """With the line of `__init__`."""
    assert refused(rx.DeclarationError, in_init(lines, "b = rx.Output(); c = lambda self: None")) == words


def test_attribute_that_would_replace_a_reaction() -> None:
    body = "b = rx.reaction(rx.startup)(lambda self: None)"
    assert refused(rx.DeclarationError, in_init("self.b = rx.Output()", body)) == (
        "Wrong.__init__ (wrong.py:5): self.b is assigned to, which would replace the reaction declared at wrong.py:3; "
        "choose another name"
    )


def test_port_that_no_attribute_holds_in_a_reaction() -> None:
    lines = "self.add_reaction(rx.startup, lambda: None, effects=rx.Output())"
    assert refused(rx.UndeclaredAccessError, in_init(lines)) == (
        "main.reaction1 (wrong.py:5): effects has the output <output> (wrong.py:5), but it belongs to no reactor; "
        "assign it to an attribute: self.x = ..."
    )


def test_misspelt_option_of_a_port() -> None:
    """As Python's own error it is a TypeError."""
    assert issubclass(rx.ArgumentError, TypeError)
    assert refused(rx.ArgumentError, lambda: rx.Output(wdth=3)) == (  # type: ignore[call-overload]  # @misspelt
        "rx.Output (@misspelt) has no parameter 'wdth'; did you mean 'width'?"
    )


@pytest.mark.parametrize(
    ("body", "words"),
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
def test_duplicate_or_reserved_name(body: str, words: str) -> None:
    assert refused_class(rx.DeclarationError, f"class Wrong(rx.Reactor):\n    {body}") == words


def test_port_replaced_from_outside() -> None:
    """Where no code of the class does it."""

    def build(self: Any) -> None:
        self.a = Source()  # @made
        vars(self.a)["out"] = 5

    assert refused(rx.DeclarationError, graph_of(build)) == (
        "main.a (made at @made): its output 'out', declared at @out, has been replaced by 5; give that another "
        "name, or send it in a reaction with .out.set(...)"
    )


@pytest.mark.parametrize(
    ("head", "words"),
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
def test_reaction_of_the_wrong_form(head: str, words: str) -> None:
    text = f"class Wrong(rx.Reactor):\n    @rx.reaction(rx.startup)\n    {head}"
    assert refused_class(rx.DeclarationError, text) == f"Wrong.f (wrong.py:3) {words}"


def test_reaction_without_parentheses() -> None:
    def program() -> None:
        class Wrong(rx.Reactor):
            @rx.reaction  # type: ignore[arg-type]  # @naked
            def step(self) -> None: ...

    assert refused(rx.DeclarationError, program) == (
        "Wrong.step (@naked): @rx.reaction without triggers; write @rx.reaction(trigger, ...)"
    )


def test_reaction_decorated_twice() -> None:
    def program() -> None:
        class Wrong(rx.Reactor):
            @rx.reaction(rx.startup)  # type: ignore[arg-type]
            @rx.reaction(rx.shutdown)
            def step(self) -> None: ...

    words = refused(rx.DeclarationError, program)
    assert words.endswith("is a reaction already; name all its triggers in one @rx.reaction")


def test_deadline_declared_twice() -> None:
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
    def program() -> None:
        class Wrong(Source):
            @Source.start.deadline("1 ms")  # type: ignore[arg-type]
            def late(self) -> None: ...

    assert refused(rx.DeclarationError, program) == (
        "Source.start (@start) belongs to a class that is complete; declare its deadline in the same class, below it"
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
    ("before", "after", "words"),
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
def test_a_decorator_that_decorates_nothing(before: str, after: str, words: str) -> None:
    """It would be lost: no reaction, or no deadline."""
    text = DECORATING.format(before=before, after=after)
    assert refused_class(rx.DeclarationError, text) == f"Wrong: {words}"


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
