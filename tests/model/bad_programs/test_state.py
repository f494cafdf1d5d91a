"""State that cannot be renewed when its mode is reset.

The numbers are rows of the table of bad programs; what the `@marks` are is said in `messages.py`.
"""

from collections.abc import Callable
from typing import Any

import pytest

import reactors as rx
from tests.messages import graph_of, marked, refused


def two_names(main: Any) -> None:
    main.x = main.y = rx.State([])  # @twice


@pytest.mark.parametrize(
    ("program", "words"),
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
def test_state_that_cannot_be_renewed(program: Callable[[], object], words: str) -> None:
    assert refused(rx.DeclarationError, program) == words


def test_state_of_a_function_without_the_reactor() -> None:
    def first() -> list[int]:
        return []

    words = refused(rx.DeclarationError, lambda: rx.State(first))  # type: ignore[arg-type]  # @noself
    assert words.startswith("rx.State (@noself) is given <function ")
    assert words.endswith(
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
