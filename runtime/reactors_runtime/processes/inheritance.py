"""What a process inherits from its parent, handed on to one that has another parent.

A server is started once, by some thread, at some time; a worker that it forks is to be as if the thread that runs the
program had forked it now.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]


@dataclass(frozen=True, slots=True)
class Inheritance:
    """What a child of this thread would inherit now.

    >>> before = Inheritance.now()
    >>> before.accept()
    >>> Inheritance.now() == before
    True
    """

    umask: int | None  # None: this kernel does not show it
    limits: dict[int, tuple[int, int]]  # of resources: soft, hard
    niceness: int
    processors: frozenset[int]
    blocked: frozenset[int]  # signals

    @classmethod
    def now(cls) -> Self:
        """What a fork of this process would inherit now."""
        return cls(
            _umask(),
            {limit: resource.getrlimit(limit) for limit in _LIMITS},
            os.getpriority(os.PRIO_PROCESS, 0),
            frozenset(os.sched_getaffinity(0)),
            frozenset(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        )

    def accept(self) -> None:
        """Make it this process's, as far as the system allows that; it does for what a caller may do to itself."""
        if self.umask is not None:
            os.umask(self.umask)
        for limit, wanted in self.limits.items():
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(limit, wanted)
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, self.niceness)
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, self.processors)
        signal.pthread_sigmask(signal.SIG_SETMASK, self.blocked)


def _umask() -> int | None:
    """It is read where looking does not change it, as `os.umask` would, for all threads."""
    for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name == "Umask":
            return int(value, 8)
    return None
