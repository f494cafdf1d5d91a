"""The caller's terminal: what is drawn on it, and who types there.

A line that is drawn is replaced by the next one, and by what is said meanwhile.

It is lent to workers, so that `breakpoint()` in a reaction works there as it does without them. One worker has it at a
time. Processes take turns by a lock on the arena, which all of a run have; the kernel lets go of it when a worker is
killed. Meanwhile no other process or thread writes on the terminal what moves.
"""

from __future__ import annotations

import io
import os
import sys
import termios
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from reactors_runtime.memory import Memory
    from reactors_runtime.processes.debugger import Turn


_drawn = False  # a line is, and the cursor stands at its end


def draw(text: str) -> None:
    """Put this in place of the line that is drawn."""
    global _drawn  # noqa: PLW0603 - there is one terminal
    print(_clear() + text, end="", file=sys.stderr, flush=True)
    _drawn = True


def say(text: str) -> None:
    """A line on standard error, if there is one, that stays; what is drawn makes way for it."""
    global _drawn  # noqa: PLW0603 - likewise
    if sys.stderr is not None:
        print(_clear() + text, file=sys.stderr, flush=True)
    _drawn = False


def leave() -> None:
    """What is drawn stays."""
    global _drawn  # noqa: PLW0603 - likewise
    if _drawn:
        print(file=sys.stderr)
    _drawn = False


def _clear() -> str:
    return "\r\x1b[2K" if _drawn else ""


def ours() -> int | None:
    """The descriptor of the terminal that people type at, if what is printed appears there, too."""
    streams = sys.stdin, sys.stdout
    try:
        if all(isinstance(stream, io.TextIOWrapper) and stream.isatty() for stream in streams):
            return streams[0].fileno()
    except (OSError, ValueError):  # closed
        pass
    return None


@contextmanager
def kept() -> Iterator[None]:
    """Put the terminal's settings back afterwards, which a worker that was killed at a prompt could not."""
    descriptor = ours()
    before = None if descriptor is None else termios.tcgetattr(descriptor)
    try:
        yield
    finally:
        if descriptor is not None and before is not None and termios.tcgetattr(descriptor) != before:
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def debugged(memory: Memory) -> bool:
    """Whether a user is at the prompt of a debugger: of a worker process, or of a thread of this one."""
    try:
        os.lockf(memory.descriptor, os.F_TEST, 1)
    except OSError:  # another one has it
        return True
    return "bdb" in sys.modules and any(_in_debugger(frame) for frame in sys._current_frames().values())


def _in_debugger(frame: Any) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__") == "bdb":
            return True
        frame = frame.f_back
    return False


class OfProcesses:
    """Turns of processes that have the same file: `lock` is a descriptor of it."""

    def __init__(self, lock: int) -> None:
        self._lock = lock

    def take(self) -> None:
        """Wait for the others."""
        os.lockf(self._lock, os.F_LOCK, 1)

    def end(self) -> None:
        """The next one, please."""
        os.lockf(self._lock, os.F_ULOCK, 1)


class OfThreads:
    """Turns of the threads of this process."""

    def __init__(self) -> None:
        self._lock, self._owner = threading.Lock(), 0

    def take(self) -> None:
        """Wait for the others."""
        if self._owner != threading.get_ident():
            self._lock.acquire()
            self._owner = threading.get_ident()

    def end(self) -> None:
        """The next one, please."""
        if self._owner == threading.get_ident():
            self._owner = 0
            self._lock.release()


def debug_here(memory: Memory, worker: int) -> None:
    """Have `breakpoint()` in this process, worker `worker`, wait for the terminal; PYTHONBREAKPOINT goes before."""
    if _debugs():
        turn = OfProcesses(memory.descriptor)
        sys.breakpointhook = lambda *_, **__: _stop(turn, worker, sys._getframe(1))


@contextmanager
def debug_threads(threads: Sequence[threading.Thread]) -> Iterator[None]:
    """Meanwhile, have `breakpoint()` in each of these threads, a worker each, wait for the terminal likewise."""
    before: Callable[..., Any] = sys.breakpointhook
    if before is not sys.__breakpointhook__ or not _debugs():  # a hook of the user's goes before, too
        yield
        return
    turn = OfThreads()

    def stop(*arguments: Any, **options: Any) -> None:
        if (thread := threading.current_thread()) in threads:
            _stop(turn, threads.index(thread), sys._getframe(1))
        else:
            before(*arguments, **options)

    sys.breakpointhook = stop
    try:
        yield
    finally:
        sys.breakpointhook = before


def typed() -> bool:
    """Whether standard input is a terminal."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


def _debugs() -> bool:
    return typed() and not os.environ.get("PYTHONBREAKPOINT")


def _stop(turn: Turn, worker: int, frame: Any) -> None:
    from reactors_runtime.processes.debugger import Debugger

    Debugger(turn, worker).set_trace(frame)
