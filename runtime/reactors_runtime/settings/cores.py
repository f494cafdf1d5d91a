"""On which core does a worker stay, where it is to stay on one?"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def in_order() -> tuple[int, ...]:
    """The processors that this thread may use, those that share a core with another one last.

    >>> set(in_order()) == os.sched_getaffinity(0)
    True
    """
    taken: dict[str, int] = {}  # cores: how many of their processors came before
    turns = []
    for processor in sorted(os.sched_getaffinity(0)):
        core = _core(processor)
        taken[core] = turn = taken.get(core, -1) + 1
        turns.append((turn, processor))
    return tuple(processor for _, processor in sorted(turns))


def number() -> int:
    """How many cores this thread may use; processors that share one count once.

    >>> 1 <= number() <= len(in_order())
    True
    """
    return len({_core(processor) for processor in os.sched_getaffinity(0)})


def _core(processor: int) -> str:
    try:
        return Path(_SIBLINGS.format(processor)).read_text(encoding="ascii")
    except OSError:  # no such file system: each is taken for a core of its own
        return str(processor)


@contextlib.contextmanager
def stay(core: int | None) -> Iterator[None]:
    """While entered, this thread runs there and nowhere else; then where it might before. None: wherever it may.

    What it starts meanwhile, threads and processes, stays there, too. Raises `OSError` where the system refuses.
    """
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {core})
    except OSError as error:
        why = f"a worker cannot be kept on core {core} ({error.strerror}); leave pin=True out"
        raise OSError(error.errno, why) from error
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # those processors may be gone by now
            os.sched_setaffinity(0, before)
