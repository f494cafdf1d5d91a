"""Which line of the user's has called us, and which has raised an exception?

Frames of the core do not count, nor those of `contextlib` between them. Files of others, those of `reactors.rl` among
them, do where it is asked who has called. Where an exception was raised they do not: what is wrong with an environment
is wrong where its own code is. That is looked at where it was raised, for a traceback does not travel to another
process.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
import warnings
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from reactors_runtime.imports import is_installed

if TYPE_CHECKING:
    from types import FrameType

RUNTIME = os.path.join(os.path.dirname(__file__), "")  # noqa: PTH118, PTH120 - compared with the names in code objects
"""The folder of this package, as names of files begin that are its."""

_CORE = [RUNTIME]
_OTHERS: list[str] = []


def belongs(folder: str, *, but: str) -> None:
    """All that lies in this folder is the core's, but for what lies in a folder of it."""
    _CORE.append(os.path.join(folder, ""))  # noqa: PTH118 - likewise
    _OTHERS.append(os.path.join(folder, but, ""))  # noqa: PTH118 - likewise
    _is_core.cache_clear()


@cache
def _is_core(file: str) -> bool:
    return file == contextlib.__file__ or (file.startswith(tuple(_CORE)) and not file.startswith(tuple(_OTHERS)))


def is_ours(file: str) -> bool:
    """Whether a file is of this project, what is built on the core included."""
    return file.startswith(tuple(_CORE))


def user_frame(frame: FrameType) -> FrameType:
    """This frame, or the first one further out that is the user's; this one if none is."""
    outer: FrameType | None = frame
    while outer is not None and _is_core(outer.f_code.co_filename):
        outer = outer.f_back
    return frame if outer is None or outer.f_code.co_filename.startswith("<frozen") else outer


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's that has called us."""
    frame = user_frame(sys._getframe(1))
    module, registry = (
        frame.f_globals.get("__name__", "<string>"),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno, module, registry)


class Raised(NamedTuple):
    """A line of the user's, and how it was reached."""

    file: str
    line: int
    """0 if there is none."""
    code: str
    """The line itself, if its file can be read."""
    trail: str
    """What Python prints of the exception and of those that led to it, but for frames of ours and its own words.

    Empty if no line of it is the user's.
    """


def raised(error: BaseException) -> Raised:
    """The innermost line of the user's, of the exception or of the one that it was raised from.

    It is one of an installed package if only such lines led there.

    >>> try:
    ...     assert 1 > 2
    ... except AssertionError as error:
    ...     found = raised(error)
    >>> found.line, found.trail.splitlines()[0]
    (2, 'Traceback (most recent call last):')
    """
    try:
        whole = traceback.TracebackException.from_exception(error, compact=True)
    except Exception:  # noqa: BLE001 - it asks the exception for its words, which are the user's code
        return Raised("", 0, "", "")
    found = _without_ours(whole)
    if found is None:
        return Raised("", 0, "", "")
    own = [each for each in found.stack if not is_installed(each.filename)]
    last = own[-1] if own else found.stack[-1]
    words = len([*found.format_exception_only()])
    trail = "".join([*found.format()][:-words]) if own else ""
    return Raised(last.filename, last.lineno or 0, last.line or "", trail)


def _without_ours(error: traceback.TracebackException) -> traceback.TracebackException | None:
    """The exception with the user's frames alone; where it has none, the one that it was raised from."""
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    before = None if before is None else _without_ours(before)
    error.stack = traceback.StackSummary.from_list([each for each in error.stack if not is_ours(each.filename)])
    if not error.stack:
        return before
    if error.__cause__ is not None:
        error.__cause__ = before
    else:
        error.__context__ = before
    return error


def text_of(error: BaseException) -> str:
    """The text of an exception, whatever its own `__str__` may do."""
    try:
        return str(error)
    except Exception as fault:  # noqa: BLE001 - a user's code runs
        return f"(no text: its __str__ raised {type(fault).__name__})"
