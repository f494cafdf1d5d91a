"""What is said of a port, an action or a decorator that is called, or written, the wrong way?"""

from __future__ import annotations

from typing import Any

import pytest

import reactors as rx
from tests.messages import Main, graph_of, marked, refused, refused_class, warned

PLAIN = "a reaction is a plain method of its reactor; write def f(self), without @"
VALUE = "a port or action is no value itself: read it with .value, and write .set(...) or .schedule(...)"


class Tool(rx.Reactor):
    out = rx.Output(int)  # @out
    rows = rx.Output(shape=2)  # @rows
    many = rx.Output(int, width=2)  # @many
    ring = rx.LogicalAction(int)  # @ring
    bell = rx.PhysicalAction(int)
    tick = rx.Timer(0)  # @tick

    def __init__(self, code: str) -> None:
        self.code = code

    @rx.reaction(rx.startup, tick, uses=bell, effects=[out, rows, many, ring, bell])
    def start(self) -> None:
        exec(self.code)


CALLS = [
    ("self.out.set()", "ValueMismatchError: main.out (@out): .set is given 0 arguments; write .set(value)"),
    ("self.out.set(1, 2)", "ValueMismatchError: main.out (@out): .set is given 2 arguments; write .set(value)"),
    ("self.out.set(v=1)", "ValueMismatchError: main.out (@out): .set is given an argument 'v'; write .set(value)"),
    ("self.rows.loan(1)", "ValueMismatchError: main.rows (@rows): .loan is given 1 argument; write .loan()"),
    (
        "self.ring.schedule(1, 2, 3)",
        "ValueMismatchError: main.ring (@ring): .schedule is given 3 arguments; write .schedule(value, delay=...)",
    ),
    (
        "self.ring.schedule(after='1 s')",
        (
            "ValueMismatchError: main.ring (@ring): .schedule is given an argument 'after'; write .schedule(value, "
            "delay=...)"
        ),
    ),
    (
        "self.bell.schedule(1, 2, 3)",
        "TypeError: PhysicalAction.schedule() takes from 1 to 3 positional arguments but 4 were given",
    ),
    ("self.many.set(1, 2)", "ValueMismatchError: main.many (@many): .set is given 2 arguments; write .set(value)"),
    ("self.out(3)", f"TypeError: 'Output' object is not callable; {VALUE}"),
    ("self.ring + 1", f"TypeError: unsupported operand type(s) for +: 'LogicalAction' and 'int'; {VALUE}"),
    ("self.many[0] = 1", "ArgumentError: main.many (@many) is assigned to by index; write many[i].set(...)"),
    ("self.out.value = 1", "UndeclaredAccessError: main.out (@out): .value is assigned to; write .set(...)"),
    ("self.many.value = 1", "UndeclaredAccessError: main.many (@many): .value is assigned to; write .set(...)"),
    ("self.ring.value = 1", "UndeclaredAccessError: main.ring (@ring): .value is assigned to; write .schedule(...)"),
    (
        "self.tick.is_present = True",
        (
            "UndeclaredAccessError: main.tick (@tick): .is_present is assigned to; it says what tick is at this tag, "
            "and cannot be changed"
        ),
    ),
]


def told_by(code: str, **options: Any) -> str:
    with pytest.raises(rx.ReactionError) as caught:
        rx.run(Tool(code), timeout=0, **options)
    return marked(caught.value)


@pytest.mark.filterwarnings("ignore::reactors.ReactorWarning")
@pytest.mark.parametrize(("code", "words"), CALLS)
def test_in_a_reaction(code: str, words: str) -> None:
    assert told_by(code) == f"main.start at 0 s raised {words}"


@pytest.mark.filterwarnings("ignore::reactors.ReactorWarning")
@pytest.mark.parametrize("where", [{"backend": "thread", "workers": 2}, {"backend": "process"}, {"debug": True}])
def test_in_the_same_words_elsewhere(where: Any) -> None:
    for code, words in (CALLS[0], CALLS[6], CALLS[8], CALLS[11]):
        if where != {"debug": True} or ".set" not in code:
            assert told_by(code, **where) == f"main.start at 0 s raised {words}"


def test_a_value_is_given_by_name() -> None:
    """As the signature has it."""
    assert (
        rx.run(Tool("self.out.set(value=1); self.ring.schedule(value=2, delay=0)"), timeout=0, fast=True).reactions == 1
    )


def test_input_of_which_the_value_is_assigned_to() -> None:
    words = (
        "wrong.py:6): self.inp.value is assigned to; what is on an input is set from outside; to change a copy of it "
        "declare the input with mutable=True, to keep something else choose another name"
    )
    body = "class Wrong(rx.Reactor):\n    inp = rx.Input(int)\n    @rx.reaction(inp)\n    def f(self):\n        "
    assert refused_class(rx.UndeclaredAccessError, body + "self.inp.value = 1").endswith(words)


# What looks like a declaration, and is none


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("out = rx.Output[int]", "Wrong.out (wrong.py:2) is rx.Output[int], a type; write out = rx.Output(int)"),
        (
            "act = rx.LogicalAction[str]",
            "Wrong.act (wrong.py:2) is rx.LogicalAction[str], a type; write act = rx.LogicalAction(str)",
        ),
        (
            "@rx.reaction(rx.startup)\n    @staticmethod\n    def f(): ...",
            f"Wrong.f (wrong.py:3): {PLAIN}staticmethod",
        ),
        (
            "@staticmethod\n    @rx.reaction(rx.startup)\n    def f(self): ...",
            f"Wrong.f (wrong.py:4): {PLAIN}staticmethod",
        ),
        (
            "@classmethod\n    @rx.reaction(rx.startup)\n    def f(cls): ...",
            f"Wrong.f (wrong.py:4): {PLAIN}classmethod",
        ),
        (
            "@rx.reaction(rx.startup)\n    @property\n    def f(self): ...",
            f"Wrong.f (wrong.py:3): {PLAIN}property",
        ),
    ],
)
def test_no_declaration(body: str, words: str) -> None:
    assert refused_class(rx.DeclarationError, f"class Wrong(rx.Reactor):\n    {body}") == words


def test_types_in_init_and_in_annotations() -> None:
    class Annotated(rx.Reactor):
        inp: rx.Input[int]

    def build(self: Any) -> None:
        self.out = rx.Output[int]

    assert refused(rx.DeclarationError, graph_of(build)) == (
        "main.out (@maker) is rx.Output[int], a type; write self.out = rx.Output(int)"
    )
    assert refused(rx.DeclarationError, lambda: rx.Graph(Annotated())) == (  # @made
        "main (made at @made): inp: rx.Input[int] is an annotation and declares nothing; write inp = rx.Input(int)"
    )


def test_an_annotation_that_init_fills() -> None:
    """That is how the type of a port is said that only `__init__` makes."""

    class Made(rx.Reactor):
        inp: rx.Input[int]

        def __init__(self) -> None:
            self.inp = rx.Input(int)

    assert warned(lambda: rx.Graph(Main(lambda self: setattr(self, "made", Made())))) == []


# What `rx.reaction` is given


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"deadline": "5 ms"},
            (
                "has no parameter 'deadline'; below the method, declare what runs instead when it is late: "
                '@NAME.deadline("5 ms")'
            ),
        ),
        ({"triggers": []}, "has no parameter 'triggers'; name the triggers first: @rx.reaction(a, b, effects=...)"),
        ({"effect": []}, "has no parameter 'effect'; did you mean 'effects'?"),
        ({"colour": 1}, "has no parameter 'colour'; there are triggers, uses=, effects= and mode="),
        (
            {"uses": "imp"},
            (
                ": uses has the string 'imp'; write the name without quotes, because it takes the thing itself; there "
                "can be a port, a timer or an action"
            ),
        ),
    ],
)
def test_reaction_with_a_wrong_argument(arguments: Any, words: str) -> None:
    assert refused(rx.ArgumentError, lambda: rx.reaction(rx.startup, **arguments)) == (  # @call
        f"rx.reaction (@call){'' if words[0] == ':' else ' '}{words}"
    )


# What replaces a port of a contained reactor


class Inner(rx.Reactor):
    inp = rx.Input(int)  # @inner
    out = rx.Output(int)  # @innerout


class Around(rx.Reactor):
    def __init__(self) -> None:
        self.one, self.several = Inner(), rx.bank(2, Inner)
        self.add_reaction(rx.startup, self.act, effects=self.one.inp)

    def act(self) -> None: ...


class ToOne(Around):
    def act(self) -> None:
        self.one.inp = 3  # type: ignore[assignment]  # @toone


class ToSeveral(Around):
    def act(self) -> None:
        self.several[0].out = 3  # type: ignore[assignment]  # @toseveral


class ToOther(Around):
    def act(self) -> None:
        self.one.other = 3  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("ignore::reactors.ReactorWarning")
def test_a_port_of_a_contained_reactor_that_is_assigned_to() -> None:
    assert refused(rx.DeclarationError, lambda: rx.Graph(ToOne())) == (
        "main.act (@toone): .inp of self.one is assigned to, which would replace the input main.one.inp (@inner); to "
        "send a value write .inp.set(...)"
    )
    assert refused(rx.DeclarationError, lambda: rx.Graph(ToSeveral())) == (
        "main.act (@toseveral): .out of self.several is assigned to, which would replace the output "
        "main.several[0].out (@innerout); leave it alone"
    )
    assert rx.Graph(ToOther())
