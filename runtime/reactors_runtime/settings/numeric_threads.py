"""With how many threads do NumPy's BLAS, MKL, OpenMP and torch compute inside of reactions?

With one, or as many as OMP_NUM_THREADS and the like in the environment say: the workers share the cores already, and a
product of matrices that is split over another number of threads has other last bits. The server imports all libraries
with one thread, for a process with several cannot be forked.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from reactors_runtime.settings import cores

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

_ROOM = 8  # descriptors
_BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_VARIABLES = (*_BLAS, "OMP_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def one_thread(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment in which numeric libraries start with one thread."""
    return dict(environment) | dict.fromkeys(_VARIABLES, "1")


def wanted() -> tuple[int, int]:
    """How many threads the environment wants for OpenMP and for BLAS."""
    openmp = _number(os.environ.get("OMP_NUM_THREADS")) or 1
    return openmp, next((number for name in _BLAS if (number := _number(os.environ.get(name)))), openmp)


def limited() -> AbstractContextManager[object]:
    """From now to its exit, libraries that are loaded use as many threads as the environment wants.

    OpenMP counts by calling thread, so each thread that runs a worker needs it for itself.
    """
    from threadpoolctl import threadpool_limits

    openmp, blas = wanted()
    if (torch := sys.modules.get("torch")) is not None:
        # Where torch.set_num_threads was called, torch gives each thread that number when it first asks for one.
        torch.get_num_threads()
    _check_room()
    with _interrupts_put_off():
        limit: AbstractContextManager[object] = threadpool_limits({"openmp": openmp, "blas": blas})
    return limit


@contextmanager
def limited_from_the_start() -> Iterator[None]:
    """`limited`, and libraries that are loaded until its exit begin with as many threads, and keep them."""
    before = {name: os.environ.get(name) for name in _VARIABLES}
    _fill_environment()
    try:
        with limited():
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _interrupts_put_off() -> Iterator[None]:
    """Ctrl-C comes afterwards: libraries are found by callbacks from C, in which what its handler raises gets lost."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)


@cache
def _check_room() -> None:
    """Raise OSError (EMFILE) where too few descriptors are free for how ctypes finds libraries, the first time.

    It runs programs for that, loses pipes where one cannot be opened, and says that there is no temporary folder.
    """
    held: list[int] = []
    try:
        held.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(_ROOM))
    finally:
        for each in held:
            os.close(each)


def settle_worker() -> None:
    """In a fork of the server, where one thread is what libraries have: give them, and later ones, what is wanted."""
    openmp, blas = wanted()
    if (openmp, blas) != (1, 1):
        if (torch := sys.modules.get("torch")) is not None:
            # Its own MKL counts by itself, by default up to the cores, and is not found by threadpoolctl.
            torch.set_num_threads(min(blas, cores.number()))
        limited()
    _fill_environment()


def _fill_environment() -> None:
    """Say how many threads are wanted where the environment does not: libraries read it when they are loaded."""
    openmp, blas = wanted()
    for name in _VARIABLES:
        if not _number(os.environ.get(name)):
            os.environ[name] = str(blas if name in _BLAS else openmp)


def _number(text: str | None) -> int | None:
    """The first of what may be a list by level of nesting; none where the libraries would not understand it either.

    >>> _number("4"), _number("2,1"), _number(""), _number(None)
    (4, 2, None, None)
    """
    head = (text or "").partition(",")[0].strip()
    return int(head) or None if head.isdecimal() else None
