"""Ctrl-C, counted instead of raised: the first asks a run to come to an end, the second ends it."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import FrameType


class Interrupts:
    """While entered, `count` says how often Ctrl-C was pressed, and poll on `fileno()` wakes when it is.

    Only in the main thread, which alone gets signals, and only in place of Python's own handler: a handler that the
    user has installed stays, and what it raises comes out of the wait that it interrupts.

    >>> with Interrupts() as interrupts:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupts.count
    1
    """

    __slots__ = ("_bell", "_taken", "count")

    def __enter__(self) -> Self:
        self.count = 0
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._taken = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._taken:
            signal.signal(signal.SIGINT, self._ring)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._taken:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        os.close(self._bell)

    def _ring(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
        os.eventfd_write(self._bell, 1)

    def fileno(self) -> int:
        """The descriptor, for poll: readable from an interrupt to `heard`."""
        return self._bell

    def heard(self) -> int:
        """The number of interrupts so far; poll sleeps again until the next one."""
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._bell)
        return self.count
