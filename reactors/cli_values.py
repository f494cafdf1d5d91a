"""What can be written for an option of the command line, beyond what click knows?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reactors.workers import MOST

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:  # generic only since click 8.2
    ParamType = click.ParamType


class Whole(ParamType):
    """A whole number, also as people write large ones: 1e5, 100_000."""

    name = "integer"

    def __init__(self, least: int | None = None) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number."""
        number = _whole(value)
        if number is None or (self.least is not None and number < self.least):
            more = "" if self.least is None else f", {self.least} or more"
            self.fail(f"{value!r}; write a whole number{more}, as in 100000 or 1e5", param, ctx)
        return number


class WorkerCount(ParamType):
    """How many workers; "auto" is one for each core."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or "auto"."""
        number = _whole(value)
        if value != "auto" and (number is None or not 1 <= number <= MOST):
            self.fail(f"{value!r}; write a number from 1 to {MOST}, or auto for all cores", param, ctx)
        return "auto" if number is None else number


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
WORKERS = WorkerCount()
