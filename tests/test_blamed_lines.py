"""Whatever goes wrong, the lines that are named are the user's, never one of this package."""

from __future__ import annotations

import re
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import reactors as rx
import reactors_runtime
from tests.messages import Relay, Source, marked

if TYPE_CHECKING:
    from collections.abc import Callable

OURS = tuple(str(Path(package.__file__).parent) for package in (rx, reactors_runtime) if package.__file__)


class Forever(rx.Reactor):
    act = rx.LogicalAction()

    @rx.reaction(rx.startup, act, effects=act)
    def again(self) -> None:
        self.act.schedule()


class Calls(rx.Reactor):
    """Something that this package has, as the body of a reaction: nothing of the user's calls it."""

    def __init__(self, body: Callable[[], object]) -> None:
        self.add_reaction(rx.startup, body)


def banked() -> None:
    kind: Any = Source
    rx.bank(2, kind, 1)  # @banked


def nested() -> None:
    rx.run(Calls(partial(rx.bank, 1, Source)))  # @nested


BAD: list[Callable[[], Any]] = [
    banked,
    nested,
    lambda: rx.bank(-1, Source),
    lambda: rx.bank(1, "Source"),  # type: ignore[type-var]
    lambda: rx.run(Calls(partial(rx.Input, 3))),  # type: ignore[arg-type]
    lambda: rx.run(Calls(partial(rx.connect, 1, 2))),  # type: ignore[arg-type]
    lambda: rx.run(Calls(Relay)),
    lambda: rx.run(Forever(), max_microsteps=3),
    lambda: rx.run(Relay()),
    lambda: rx.Reactor().request_stop(),
    lambda: Source().tag,
]


@pytest.mark.parametrize("program", BAD)
def test_no_line_of_ours_is_named(program: Callable[[], Any]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            program()
            words = []
        except rx.ReactorError as error:
            words = [str(error), *getattr(error, "__notes__", [])]
    assert words or caught
    named = [str(Path(file).resolve()) for text in words for file in re.findall(r"([^\s(]*\.py):\d+", text)]
    named += [warning.filename for warning in caught]
    assert not [file for file in named if file.startswith(OURS)]


def test_what_is_made_in_a_bank_is_made_by_its_line() -> None:
    with pytest.raises(rx.ArgumentError) as caught:
        banked()
    assert marked(caught.value) == (
        "Source (@banked) has no __init__ that takes arguments, and is given 1; write one, or leave them out"
    )
