"""Classes that derive from others and do not go together with them.

The numbers are rows of the table of bad programs; what the `@marks` are is said in `messages.py`.
"""

from collections.abc import Callable
from typing import Any

import pytest

import reactors as rx
from tests.messages import Source, refused


def test_several_bases_are_linearised() -> None:
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
    ("make", "error", "words"),
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
    make: Callable[[], object], error: type[rx.ReactorError], words: str
) -> None:
    assert refused(error, make) == words


@pytest.mark.parametrize(
    ("declare", "words"),
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
def test_reaction_that_overrides_one_and_names_something_else(declare: Callable[[], Any], words: str) -> None:
    def program() -> None:
        class Other(Wider):
            @declare()  # @again
            def start(self) -> None: ...

    assert refused(rx.DeclarationError, program) == (
        f"Other.start (@again) overrides Source.start (@start), and has {words}; a reaction that overrides another "
        "names the same ones in the same order"
    )


class Wider(Source):
    inp = rx.Input(int)
    calm = rx.Mode(initial=True)
