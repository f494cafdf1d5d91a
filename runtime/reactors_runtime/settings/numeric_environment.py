"""How many threads does the environment want numeric libraries to have, and what do they read there?"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_VARIABLES = (*_BLAS, "OMP_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def one_thread(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment in which numeric libraries start with one thread."""
    return dict(environment) | dict.fromkeys(_VARIABLES, "1")


def wanted() -> tuple[int, int]:
    """How many threads the environment wants for OpenMP and for BLAS."""
    openmp = _number(os.environ.get("OMP_NUM_THREADS")) or 1
    return openmp, next((number for name in _BLAS if (number := _number(os.environ.get(name)))), openmp)


def fill() -> None:
    """Say how many threads are wanted where the environment does not: libraries read it when they are loaded."""
    openmp, blas = wanted()
    for name in _VARIABLES:
        if not _number(os.environ.get(name)):
            os.environ[name] = str(blas if name in _BLAS else openmp)


@contextmanager
def filled() -> Iterator[None]:
    """`fill` until its exit; of several at once in this process, until the last has ended."""
    try:
        _filled.begin()
        yield
    finally:
        _filled.end()


def given() -> dict[str, str]:
    """The environment of this process, as it is but for `filled`."""
    with _filled.lock:
        return {name: value for name, value in os.environ.items() if name not in _filled.added()} | _filled.hidden()


class _Filled:
    """What `filled` has put into the environment of this process, and what was there."""

    def __init__(self) -> None:
        self.lock, self.times = threading.Lock(), 0
        self.before: dict[str, str] = {}
        self.put: dict[str, str] = {}

    def begin(self) -> None:
        """Fill it, the first time."""
        with self.lock:
            self.times += 1
            if self.times == 1:
                self.before = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
                fill()
                self.put = {n: os.environ[n] for n in _VARIABLES if os.environ[n] != self.before.get(n)}

    def end(self) -> None:
        """Put back what was there, the last time."""
        with self.lock:
            self.times -= 1
            if not self.times:
                added, hidden = self.added(), self.hidden()
                for name in added:
                    del os.environ[name]
                os.environ.update(hidden)
                self.put = {}

    def added(self) -> set[str]:
        """The variables that are as `begin` has put them; what others have changed since is theirs."""
        return {name for name, value in self.put.items() if os.environ.get(name) == value}

    def hidden(self) -> dict[str, str]:
        """What was there in place of those: something that is no number."""
        return {name: self.before[name] for name in self.added() if name in self.before}


_filled = _Filled()


def _number(text: str | None) -> int | None:
    """The first of what may be a list by level of nesting; none where the libraries would not understand it either.

    >>> _number("4"), _number("2,1"), _number(""), _number(None)
    (4, 2, None, None)
    """
    head = (text or "").partition(",")[0].strip()
    return int(head) or None if head.isdecimal() else None
