"""When does Python's garbage collector rest?

While a program is elaborated and brought to life: all that is made then stays, and the more there is, the longer it
takes to look through it again and again.
"""

from __future__ import annotations

import gc
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCK = threading.Lock()
_resting = 0  # how many ask for it, in all threads
_was_enabled = False  # before the first of them


@contextmanager
def at_rest() -> Iterator[None]:
    """No collections meanwhile; what was made counts as old afterwards, so that none looks at it at once.

    >>> with at_rest():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    global _resting, _was_enabled  # noqa: PLW0603 - of this process
    with _LOCK:
        if not _resting:
            _was_enabled = gc.isenabled()
            gc.disable()
        _resting += 1
    try:
        yield
    finally:
        with _LOCK:
            _resting -= 1
            if not _resting and _was_enabled:
                if not gc.get_freeze_count():  # or what others keep frozen would thaw, too
                    gc.freeze()
                    gc.unfreeze()
                gc.enable()
