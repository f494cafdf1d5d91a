"""What to say when a worker ends badly: who, where, why, and what to do about it."""

from __future__ import annotations

import contextlib
import pickle
import signal
from itertools import takewhile
from typing import TYPE_CHECKING

from reactors_runtime import engine
from reactors_runtime.callers import RUNTIME, text_of
from reactors_runtime.processes.servers import ending
from reactors_runtime.spelling import spell_tag

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image
    from reactors_runtime.processes.worker import Failure
    from reactors_runtime.program import Reactor

CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT}


class WorkerDied(Exception):  # noqa: N818 - it is what happened
    """A worker process ended before its work did; says where it was."""

    status: int | None = None  # its exit status or, negative, its signal


class WorkerNotStarted(Exception):  # noqa: N818 - likewise
    """A worker process could not be started, or could not load its part of the program."""


class RemoteError(Exception):
    """Stands for an exception of a worker that cannot be unpickled here."""


def died(
    image: Image, memory: Memory, worker: int, pid: int | None, status: int, crash: str, killed: str | None = None
) -> WorkerDied:
    """A worker ended with an exit status or, negative, by a signal; `crash` is what faulthandler wrote.

    `killed` says why, where its caller has killed it.
    """
    remedy = killed if killed and status == -signal.SIGKILL else _remedy(status)
    error = WorkerDied(f"{who(image, worker, pid)} {ending(status)} {where(image, memory, worker)}; {remedy}")
    error.status = status
    frames = [*takewhile(lambda line: RUNTIME not in line, (line for line in crash.splitlines() if "  File " in line))]
    if frames:
        error.add_note("\n".join(["it crashed at (innermost first):", *frames]))
    return error


def not_started(what: str, why: str) -> WorkerNotStarted:
    """The system refused another process, or thread."""
    return WorkerNotStarted(
        f"{what} could not be started: {why}; use fewer workers, "
        "or allow more processes or memory (ulimit -u, the limits of the container)"
    )


def revived(image: Image, worker: int, pid: int | None, failure: Failure) -> BaseException:
    """A worker's exception, with what it was raised by as its cause."""
    exception: object = None
    if failure.exception is not None:
        with contextlib.suppress(Exception):
            exception = pickle.loads(failure.exception)
    if not isinstance(exception, BaseException):
        exception = RemoteError(failure.said)
    name = who(image, worker, pid)
    exception.add_note(f"on {name}:\n{failure.text.rstrip()}")
    if failure.when == "run" and failure.reaction is None:
        return exception
    summary = f"{type(exception).__name__}: {text_of(exception)}"
    if failure.when == "start":
        error: Exception = WorkerNotStarted(f"{name} could not load its part of the program: {summary}")
    elif failure.when == "end":
        error = WorkerDied(f"{name} could not send its reactors' attributes back: {summary}")
    else:
        assert failure.reaction is not None
        assert failure.tag is not None
        error = engine.ReactionFailed(
            failure.reaction, failure.tag, exception, aftermath=failure.aftermath, late=failure.late,
            where=failure.where, absent=failure.absent,
        )  # fmt: skip
    error.__cause__ = exception
    return error


def who(image: Image, worker: int, pid: int | None = None) -> str:
    """A worker, by its number, its process if it has one of its own, and its reactors."""
    reactors = [r for r, at in zip(image.program.reactors, image.placement, strict=True) if at == worker]
    process = "" if pid is None else f"pid {pid}; "
    return f"worker {worker} ({process}runs {', '.join(ranges(reactors)) or 'no reactor'})"


def where(image: Image, memory: Memory, worker: int) -> str:
    """The reaction that a worker is in, and its tag."""
    current = engine.engine_current(memory, image, worker)
    if current < 0:
        return "outside of any reaction"
    return f"in {image.program.name(current)} at tag {spell_tag(*engine.engine_tag(memory, image, worker))}"


def ranges(reactors: Iterable[Reactor], most: int = 4) -> list[str]:
    """The paths of reactors, neighbours in a bank taken together, what members of a bank contain left out.

    >>> from reactors_runtime.program import Reactor
    >>> ranges([Reactor("main"), *(Reactor(f"main.r[{i}]", ("main.r", i, 9)) for i in (2, 3, 4, 7))])
    ['main', 'main.r[2..4]', 'main.r[7]']
    """
    reactors = list(reactors)
    paths = {reactor.path for reactor in reactors}
    found: list[tuple[str, str, int, int]] = []  # path, path of the bank, first, last
    for reactor in reactors:
        path, (bank, index, _) = reactor.path, reactor.bank or ("", 0, 0)
        if path[: path.rfind("].") + 1] in paths:  # it is in a member of a bank that is listed
            continue
        if found and bank and found[-1][1] == bank and found[-1][3] == index - 1:
            found[-1] = (*found[-1][:3], index)
        else:
            found.append((path, bank, index, index))
    named = [path if first == last else f"{bank}[{first}..{last}]" for path, bank, first, last in found]
    return named if len(named) <= most else [*named[:most], f"{len(named) - most} more"]


def _remedy(status: int) -> str:
    if status >= 0:
        return "os._exit ends the process it is called in: raise an exception, or declare rx.stop and request it"
    if -status == signal.SIGKILL:
        return "if no one killed it, the system was out of memory (see dmesg): use fewer workers or smaller state"
    if -status in CRASHES:
        return (
            "native code that this reaction calls crashed (the note shows the line): "
            'run it with backend="inline" under a debugger'
        )
    return "another process sent it this signal"
