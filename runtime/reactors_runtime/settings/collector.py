"""When does Python's garbage collector rest?

While a bank is made, and a program elaborated and brought to life: all that is made then stays, and the more there is,
the longer it takes to look through it again and again. Of a large program, what was made then counts as old at once, or
the first collection would look at all of it; so that nothing large is kept for good, the next program begins with a
look at everything.
"""

from __future__ import annotations

import gc
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LARGE = 100_000  # objects: to look at them takes some milliseconds
_LOCK = threading.Lock()
_resting = 0  # how many ask for it, in all threads
_was_enabled = False  # before the first of them
_unseen = False  # something large counts as old, and no collection has looked at it


@contextmanager
def at_rest(*, afresh: bool = False, ages: bool = True) -> Iterator[None]:
    """No collections meanwhile; `afresh`, where a new program begins; without `ages` all that was made counts as new.

    >>> with at_rest():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    global _resting, _was_enabled, _unseen  # noqa: PLW0603 - of this process
    with _LOCK:
        if not _resting:
            _was_enabled = gc.isenabled()
            if _was_enabled and _unseen and afresh:
                gc.collect()
                _unseen = False
            gc.disable()
        _resting += 1
    try:
        yield
    finally:
        with _LOCK:
            _resting -= 1
            if not _resting and _was_enabled:
                if ages and gc.get_count()[0] > _LARGE and not gc.get_freeze_count():  # or what others froze would thaw
                    gc.freeze()
                    gc.unfreeze()
                    _unseen = True
                gc.enable()
