"""What can be written for an option of the command line, beyond what click knows?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reactors.elaboration.workers import MOST
from reactors_runtime.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    ParamType = click.ParamType[Any]
else:  # generic only since click 8.2
    ParamType = click.ParamType


class Whole(ParamType):
    """A whole number, also as people write large ones: 1e5, 100_000."""

    name = "integer"

    def __init__(self, least: int | None = None) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number that was written, or a `click.BadParameter`."""
        number = _whole(value)
        if number is None or (self.least is not None and number < self.least):
            more = "" if self.least is None else f", {self.least} or more"
            form = ", as in 100000 or 1e5" if number is None else ""
            self.fail(f"{value!r}; write a whole number{more}{form}", param, ctx)
        return number


class WholeNumbers(ParamType):
    """Whole numbers with commas between them."""

    name = "integers"

    def __init__(self, each: Whole) -> None:
        self.each = each

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """The numbers, or a `click.BadParameter`."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(self.each.convert(x, param, ctx) for x in value.split(","))
        except click.BadParameter as error:
            self.fail(f"{error.message}, or several with commas between them", param, ctx)


class WorkerCount(ParamType):
    """How many workers; "auto" is one for each core."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or "auto"."""
        number = _whole(value)
        if value != "auto" and (number is None or not 1 <= number <= MOST):
            self.fail(f"{value!r}; write a number from 1 to {MOST}, or auto for all cores", param, ctx)
        return "auto" if number is None else number


class OneOf(click.Choice):  # type: ignore[type-arg]  # generic only since click 8.2
    """One of some words; what is none of them is refused as in Python, with the one that was meant.

    `wanted` says more of them where that is needed to choose.
    """

    def __init__(self, choices: Iterable[str], wanted: str = "") -> None:
        super().__init__([*choices])
        self.wanted = wanted

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The word itself, or a `click.BadParameter` with the one that was meant."""
        if value not in self.choices:
            more = did_you_mean(str(value), self.choices)
            wanted = self.wanted or f"one of {', '.join(map(str, self.choices))}{more}"
            self.fail(f"{value!r}; write {wanted}", param, ctx)
        return value


def _whole(text: Any) -> int | None:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if number.is_integer() and abs(number) < 1e15 else None


WHOLE, NATURAL, COUNT = Whole(), Whole(0), Whole(1)
WHOLES, COUNTS = WholeNumbers(WHOLE), WholeNumbers(COUNT)
WORKERS = WorkerCount()
