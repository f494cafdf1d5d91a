"""What is this thread doing?"""

from __future__ import annotations

import threading

from reactors.errors import StructureError
from reactors.names import lacking
from reactors_runtime import whereabouts


class Executing(threading.local):
    """Which program it executes, and whether a file for the sake of its classes."""

    run: Running | None = None
    definitions = False
    starter = ""  # of a thread: the reaction that started it, or the thread that did

    @property
    def program(self) -> bool:
        """Whether it executes reactions, or was started by one of a program that is not over."""
        return self.run is not None and not self.run.over


class Running:
    """A program that runs. Threads that its reactions start belong to it, as far as `threading.Thread` knows of them.

    Its `start` is replaced while there is such a program; it looks what the thread is doing that calls it. Nothing less
    intrusive knows who starts a thread: a new one inherits no context variables before CPython 3.14 (and then only
    where that is asked for), `Thread` does not keep who made it, and an audit hook is there for good, for all of the
    process. Nor do objects explain meanwhile which attributes they lack (`lacking.py`).
    """

    def __init__(self) -> None:
        global _plain_start  # noqa: PLW0603 - of this process
        with _LOCK:
            if not _RUNNING:
                _plain_start = threading.Thread.start
            _RUNNING.add(self)
            threading.Thread.start = _start  # type: ignore[assignment, method-assign]
        lacking.begin()

    @property
    def over(self) -> bool:
        """Whether it has come to its end."""
        return self not in _RUNNING

    def end(self) -> None:
        """It is over, for all its threads."""
        with _LOCK:
            if self.over:
                return
            _RUNNING.discard(self)
            if not _RUNNING:
                threading.Thread.start = _plain_start  # type: ignore[method-assign]
        lacking.end()


executing = Executing()
_LOCK = threading.Lock()
_RUNNING: set[Running] = set()
_plain_start = threading.Thread.start


def not_in_a_reaction(what: str) -> None:
    """Refuse what would run a program of its own in a reaction."""
    if executing.program:
        raise StructureError(
            f"{what} inside of a reaction, or of a thread that one started: nothing nests there, so no program runs in "
            "another one; call it before or after that, or make its reactors part of it"
        )


class Inside:
    """A context in which this thread executes reactions of a program; of none, if it is None."""

    __slots__ = ("before", "run")

    def __init__(self, run: Running | None) -> None:
        self.run = run

    def __enter__(self) -> None:
        self.before, executing.run = executing.run, self.run

    def __exit__(self, *_: object) -> None:
        executing.run = self.before


def apart() -> Inside:
    """A context in which the reaction that runs now makes a program that it steps by itself."""
    return Inside(None)


def _start(thread: threading.Thread) -> None:
    run, work = executing.run, thread.run
    starter = (whereabouts.reaction() or executing.starter) if executing.program else ""

    def belong() -> None:
        executing.run, executing.starter = run, starter
        del thread.run  # or the thread would refer to itself
        try:
            work()
        except Exception as error:
            error.add_note(f"in a thread that {starter} started")  # for `threading.excepthook`
            raise

    if executing.program:
        thread.run = belong  # type: ignore[method-assign]
    _plain_start(thread)
