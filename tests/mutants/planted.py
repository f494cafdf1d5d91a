"""What is a planted mistake, and which are there?

A mistake is a change of one place of the source such as one might make: a wrong sign, a comparison that is off by one,
a wake-up that is forgotten. `make mutants` plants them one at a time and runs the tests that should notice it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

AREAS = (
    "engine",
    "machines",
    "peers",
    "runtime",
    "declaring",
    "running",
    "command",
    "replay",
    "environments",
    "algorithms",
    "training",
)


class Mistake(NamedTuple):
    """`old`, which the file has once, becomes `new`."""

    name: str
    old: str
    new: str
    tests: str = ""  # those that should notice it, instead of the file's


class Mistakes(NamedTuple):
    """Those planted in one file.

    `tests` are paths with a space in between, the most specific first: files of C tests, and files of Python tests or
    tests of them (`FILE::NAME`).
    """

    file: str
    tests: str
    mistakes: tuple[Mistake, ...]


class Planted(NamedTuple):
    """A mistake, with where it is planted and what should notice it."""

    area: str
    file: str
    name: str
    old: str
    new: str
    tests: tuple[str, ...]


class StaleError(Exception):
    """The text that a mistake changes is not there, or more than once."""


def changed(text: str, old: str, new: str) -> str:
    """The text with the mistake in it. Raises `StaleError` if it has no place, or several.

    >>> changed("a - b", "-", "+")
    'a + b'
    """
    if text.count(old) != 1:
        raise StaleError(f"{old!r} is there {text.count(old)} times")
    return text.replace(old, new)


def planted() -> Iterator[Planted]:
    """All of them, by area."""
    for area in AREAS:
        for file, tests, mistakes in import_module(f"tests.mutants.areas.{area}").MISTAKES:
            for each in mistakes:
                yield Planted(area, file, each.name, each.old, each.new, tuple((each.tests or tests).split()))
