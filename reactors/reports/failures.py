"""What does a run raise that did not end well?

Of all that went wrong, what happened first, with notes of the rest, and in words that say what to do.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from reactors.errors import ReactionError, ReactorError
from reactors.location import Location
from reactors.names.lacking import listed
from reactors.tag import Tag
from reactors_runtime import engine as engines
from reactors_runtime.callers import Raised, raised, text_of
from reactors_runtime.engine import ReactionFailed, Runaway
from reactors_runtime.processes import terminal
from reactors_runtime.program import Kind
from reactors_runtime.spelling import spell
from reactors_runtime.suggestions import suggestion

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reactors.graph import Graph

E = TypeVar("E", bound=ReactorError)


def first(graph: Graph, failures: Iterable[tuple[BaseException, bool]]) -> BaseException:
    """What ended the program, with notes of all else that went wrong.

    What happened first in logical time, and what has no tag (Ctrl-C, a dead worker) before all others; but nothing that
    is only the `aftermath` of another's failure, as those are of which the second entry is true.
    """

    def when(failure: tuple[BaseException, bool]) -> tuple[bool, int, int, int]:
        error, aftermath = failure
        if isinstance(error, ReactionFailed):
            return aftermath, *error.tag, error.reaction
        if isinstance(error, Runaway):  # it is found before the reactions of its tag
            return aftermath, *error.tag, -1
        return aftermath, -1, 0, 0

    (cause, _), *others = sorted(failures, key=when)
    said = {text_of(cause)}  # all workers say the same of Ctrl-C, or of the end of what they were forked from
    for other, aftermath in others:
        if (text := text_of(other)) not in said:
            said.add(text)
            for note in (engines.besides(graph.program, other, aftermath=aftermath), *getattr(other, "__notes__", ())):
                cause.add_note(note)
    return cause


def is_aftermath(error: BaseException) -> bool:
    """Whether a reaction failed because the program was at its end already, as far as its own worker can say."""
    return isinstance(error, ReactionFailed) and error.aftermath


def failure(graph: Graph, failed: ReactionFailed, way: str) -> ReactionError:
    """A reaction's exception, as `run` raises it."""
    cause = failed.exception
    path = graph.program.name(failed.reaction) if failed.reaction >= 0 else "no reaction"
    tag = Tag(*failed.tag)
    what = failed.name(graph.program) if failed.reaction >= 0 else path
    more = remedy(cause, way)
    said = in_words(cause, failed.where) if text_of(cause) or not more else type(cause).__name__
    error = ReactionError(f"{what} at {tag} raised {said}{more}", path, tag)
    error.trail = failed.where.trail
    if (
        isinstance(cause, TypeError | AttributeError)
        and "NoneType" in text_of(cause)
        and (lacking := _absent(graph, failed))
    ):
        error.add_note(lacking)
    return noted(error, failed)


def in_words(error: BaseException, where: Raised | None = None) -> str:
    """An exception in a sentence: its class, and what it says.

    One that says nothing, and any assertion, has the line of the user's that raised it, which `where` knows or its
    traceback.
    """
    name, said = type(error).__name__, text_of(error)
    if not said or isinstance(error, AssertionError):
        where = raised(error) if where is None else where
        if where.line:
            name, said = f"{name} ({Location(where.file, where.line)})", said or where.code
    return f"{name}: {said}" if said else name


def _absent(graph: Graph, failed: ReactionFailed) -> str:
    """What a reaction declared to read that was not there, whose value was None; empty if there is nothing."""
    elements = [graph.program.elements[e] for e in failed.absent]
    paths = [each.path for each in elements if each.kind in (Kind.PORT, Kind.ACTION, Kind.PHYSICAL_ACTION)]
    if not paths:
        return ""
    one = len(paths) == 1
    fact = f"{listed(paths)} {'was' if one else 'were'} absent at {Tag(*failed.tag)}"
    return f"{fact}, so {'its' if one else 'their'} value is None; look at .is_present first"


def noted(error: E, found: BaseException) -> E:
    """An error as the user gets it, with the notes of what was found."""
    for note in getattr(found, "__notes__", ()):
        error.add_note(note)
    return error


def remedy(cause: BaseException, way: str) -> str:
    """What to do about an exception that is Python's or NumPy's, but has its reason here, or in the backend `way`."""
    if more := suggestion(cause):
        return more
    if isinstance(cause, SystemExit):
        return "; to end the program let the reaction declare effects=rx.stop and call self.request_stop()"
    if isinstance(cause, TypeError) and re.search(r"'(Input|Output|LogicalAction|PhysicalAction)'", text_of(cause)):
        return "; a port or action is no value itself: read it with .value, and write .set(...) or .schedule(...)"
    if isinstance(cause, ValueError) and "read-only" in text_of(cause):
        return "; arrays that come from a port are read-only: change a copy (port.value.copy())"
    if type(cause).__name__ == "BdbQuit" and terminal.ours() is None:
        if way == "process":
            return (
                "; in a worker process a debugger needs the terminal: run it on one, or with workers=1, "
                "backend='inline'"
            )
        if not terminal.typed():
            return "; a debugger ends where its input does, and standard input is no terminal: run it on one"
    if type(cause).__name__ == "BdbQuit":
        return ": the debugger was left with q, which ends the program; c goes on with it"
    return ""


def runaway(graph: Graph, error: Runaway) -> str:
    """What to say when time stands still."""
    from reactors.reports.standstill import circle

    loop = circle(graph.program, error.reactions)
    names = [graph.names[r] for r in (*loop, *loop[:1])]
    time, microsteps = error.tag
    return (
        f"time stands still at {spell(time)}: after {microsteps:,} microsteps these reactions still trigger one "
        f"another: {' -> '.join(names)}; give a delay in this loop a positive value, or raise max_microsteps"
    )
