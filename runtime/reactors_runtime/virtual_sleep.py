"""How does `time.sleep` in a reaction pass virtual time?

The function in the module `time` is replaced while such workers run; it looks whose thread calls it. What was imported
by name before (`from time import sleep`) stays what it is.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, SupportsIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_sleep = time.sleep
_workers: dict[int, Callable[[int], None]] = {}  # thread -> what takes the nanoseconds


@contextmanager
def virtual_sleep(passes: Callable[[int], None]) -> Iterator[None]:
    """Within it, `time.sleep` of this thread calls `passes` with the nanoseconds and returns at once."""
    thread = threading.get_ident()
    _workers[thread] = passes
    time.sleep = _pass
    try:
        yield
    finally:
        del _workers[thread]
        if not _workers:
            time.sleep = _sleep


def _pass(seconds: float | SupportsIndex, /) -> None:
    passes = _workers.get(threading.get_ident())
    if passes is None:
        _sleep(seconds)
    elif float(seconds) < 0:
        raise ValueError("sleep length must be non-negative")
    else:
        passes(round(float(seconds) * 1e9))
