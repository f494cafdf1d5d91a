"""What do errors and warnings say?

Messages are compared whole. Where one names a file and line, tests have the `@mark` that stands in a comment on that
line, so that the right line is checked along with the text.
"""

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import reactors as rx


def marked(message: object) -> str:
    """The message with each location in a test replaced by the mark on that line."""

    def mark(found: re.Match[str]) -> str:
        file = Path(found[1])
        marks = re.findall(r"@\w+", file.read_text().splitlines()[int(found[2]) - 1]) if file.exists() else []
        return str(marks[-1]) if marks else found[0]

    return re.sub(r"([^\s(]*\.py):(\d+)", mark, str(message))


def refused(error: type[rx.ReactorError], program: Callable[[], object]) -> str:
    """What the error of `program` says; it has to be exactly of that class."""
    with pytest.raises(rx.ReactorError) as caught:
        program()
    assert caught.type is error
    return marked(caught.value)


def refused_class(error: type[rx.ReactorError], text: str) -> str:
    """What the error of the class in `text` says; its file is wrong.py."""
    return refused(
        error, lambda: exec(compile(f"import reactors as rx\n{text}", "wrong.py", "exec"), {"__name__": "wrong"})
    )


def warned(program: Callable[[], object]) -> list[str]:
    """What the warnings of `program` say, each at a line of the tests."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program()
    assert all(issubclass(each.category, rx.ReactorWarning) for each in caught)
    assert all(Path(each.filename).is_relative_to(Path(__file__).parent) for each in caught)
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
    """What `build` makes of it."""

    def __init__(self, build: Callable[[Any], object]) -> None:
        build(self)


def graph_of(build: Callable[[Any], object]) -> Callable[[], rx.Graph]:
    """The elaboration of what `build` makes."""
    return lambda: rx.Graph(Main(build))  # @maker
