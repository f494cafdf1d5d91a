"""Ends that do not fit together: types, shapes, widths, and strings that stand for nothing.

The numbers are rows of the table of bad programs; what the `@marks` are is said in `messages.py`.
"""

from typing import Any

import cffi
import gymnasium as gym
import numpy as np
import pytest

import reactors as rx
from tests.messages import Relay, Source, graph_of, refused


class Words(rx.Reactor):
    words = rx.Input(str)  # @words

    @rx.reaction(words)
    def read(self) -> None: ...


def test_types_that_do_not_fit() -> None:
    def build(self: Any) -> None:
        self.a, self.words = Source(), Words()
        rx.connect(self.a.out, self.words.words)  # type: ignore[misc]  # @intostr

    assert refused(rx.MismatchError, graph_of(build)) == (
        "the connection at @intostr: main.a.out (@out) carries int objects, but main.words.words (@words) takes str "
        "objects; give both ports the same type, or leave it out where the values are read"
    )


def test_type_that_only_some_of_what_is_sent_has() -> None:
    """Who takes a subclass cannot be given any of its base."""

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
    """Ports in between that take anything hide nothing."""

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
    ("given", "taken", "message"),
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
def test_shapes_that_do_not_fit(given: dict[str, Any], taken: dict[str, Any], message: str) -> None:
    class Given(rx.Reactor):
        def __init__(self) -> None:
            self.out = rx.Output(**given)  # @any

    class Taken(rx.Reactor):
        def __init__(self) -> None:
            self.inp = rx.Input(**taken)  # @any

    def build(self: Any) -> None:
        self.a, self.b = Given(), Taken()
        self.a.out >> self.b.inp  # @shapes

    assert (
        refused(rx.MismatchError, graph_of(build)) == f"the connection at @shapes: main.a.out (@any) carries {message}"
    )


@pytest.mark.parametrize(
    ("left", "right", "broadcast", "message"),
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
                "no channels (of an empty bank or list) on the left and 2 channels (main.b[0].inp, main.b[1].inp) on "
                "the right; a broadcast repeats the left side, so its width has to divide that of the right"
            ),
        ),
    ],
)
def test_widths_that_do_not_match(left: int, right: int, broadcast: bool, message: str) -> None:
    def build(self: Any) -> None:
        self.a, self.b = rx.bank(left, Source), rx.bank(right, Relay)
        rx.connect(self.a.out, self.b.inp, broadcast=broadcast)  # @widths

    assert refused(rx.WidthError, graph_of(build)) == f"the connection at @widths has {message}"


def test_members_of_a_bank_without_an_argument_that_they_need() -> None:
    class Numbered(rx.Reactor):
        def __init__(self, number: int) -> None:
            self.number = number

    def build(self: Any) -> None:
        self.bank = rx.bank(3, Numbered)  # type: ignore[call-arg]  # @bank

    said = refused(rx.ArgumentError, graph_of(build))
    assert said.startswith("rx.bank (@bank): ")
    assert said.endswith(
        "Numbered.__init__() missing 1 required positional argument: 'number'; what is different for each is a "
        "function of its index, as in rx.bank(3, Numbered, lambda i: i)"
    )


def test_an_error_within_a_member_is_its_own() -> None:
    class Wrong(rx.Reactor):
        def __init__(self) -> None:
            len(3)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match=r"has no len\(\)"):
        rx.bank(3, Wrong)


def test_widths_of_multiports_are_spelt_out() -> None:
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
    ("declared", "value", "message"),
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
def test_string_that_stands_for_nothing_fit(declared: dict[str, Any], value: object, message: str) -> None:
    class Sized(rx.Reactor):
        inp = rx.Input(**declared)  # @sized

        def __init__(self) -> None:
            self.sizes = np.ones(3)
            if value is not None:
                self.size = value

    assert refused(rx.ParameterError, lambda: rx.Graph(Sized())) == f"main.inp (@sized): {message}"


def test_string_for_a_deadline_or_a_stop() -> None:
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
        "main.reaction1 (@native) is a C function, which cannot use main.out (@objects), because it carries int "
        "objects; declare it with shape and dtype (a single number: dtype alone)"
    )
    assert refused(rx.DeclarationError, lambda: rx.Graph(Wrong(with_action=True))) == (
        "main.reaction1 (@native) is a C function, which cannot use main.act (@valued), because it carries values; "
        "declare the action without a type"
    )
