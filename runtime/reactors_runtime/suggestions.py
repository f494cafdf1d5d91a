"""What was meant by a name that is not there?

Python suggests a name when it prints an exception. That is lost where the exception travels to another process, for it
leaves the object behind that it asked.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import FrameType


def closest(name: str, known: Iterable[str]) -> str | None:
    """The one of some names that looks most like this one, if any does; capital letters do not matter.

    >>> closest("ouput", ["output", "input"]), closest("PP0", ["A2C", "PPO"]), closest("gone", ["output"])
    ('output', 'PPO', None)
    """
    from difflib import get_close_matches

    spelt = {each.lower(): each for each in sorted(known, reverse=True)}
    near = get_close_matches(name.lower(), list(spelt), 1, 0.65)
    return spelt[near[0]] if near else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """What to add to a message about a wrong name; empty if no name is like it.

    >>> did_you_mean("theads", ["process", "threads"])
    "; did you mean 'threads'?"
    """
    near = closest(name, known)
    return f"; did you mean {near!r}?" if near else ""


def suggestion(error: BaseException) -> str:
    """What to add to the message of an exception about a name that is not there; empty if there is nothing to add.

    An object of a class with `_lacks(name, seen)` says so itself; `seen` are the variables of what failed.
    """
    name = getattr(error, "name", None)
    if not isinstance(name, str):
        return ""
    try:
        if isinstance(error, AttributeError):
            thing: Any = error.obj
            if hasattr(type(thing), "_lacks"):
                return str(thing._lacks(name, _variables(error)))
            public = [each for each in dir(thing) if not each.startswith("_") or name.startswith("_")]
            return "" if thing is None else did_you_mean(name, public)
        if isinstance(error, NameError):
            return did_you_mean(name, _visible(error))
    except Exception:  # noqa: BLE001 - `dir` runs the user's code
        pass
    return ""


def completed(error: BaseException) -> BaseException:
    """Put the suggestion into the message itself, for who prints it without the object."""
    if type(error) in (AttributeError, NameError) and len(error.args) == 1 and (more := suggestion(error)):
        error.args = (f"{error.args[0]}{more}",)
    return error


def _visible(error: BaseException) -> set[str]:
    """The names that the code could use that raised an exception."""
    frame = _frame(error)
    return {*dir(builtins)} if frame is None else {*frame.f_globals, *frame.f_locals, *dir(builtins)}


def _variables(error: BaseException) -> Mapping[str, object]:
    """The variables of the function that raised an exception."""
    frame = _frame(error)
    return {} if frame is None else frame.f_locals


def _frame(error: BaseException) -> FrameType | None:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return None if trace is None else trace.tb_frame
