"""Where in the user's own code was an exception raised?

It is looked at where it was raised, for a traceback does not travel to another process. Frames of ours do not count,
those of `reactors.rl` among them: what is wrong with an environment is wrong where its own code is.
"""

from __future__ import annotations

import traceback
from typing import NamedTuple

from reactors_runtime.callers import is_ours
from reactors_runtime.imports import is_installed


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
