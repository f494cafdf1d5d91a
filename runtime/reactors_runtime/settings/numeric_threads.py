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
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING

from reactors_runtime.settings import cores
from reactors_runtime.settings.numeric_environment import fill, filled, wanted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

_ROOM = 8  # descriptors


def limited() -> AbstractContextManager[object]:
    """From now to its exit, libraries that are loaded use as many threads as the environment wants.

    OpenMP counts by calling thread, so each thread that runs a worker needs it for itself.
    """
    from threadpoolctl import threadpool_limits

    openmp, blas = wanted()
    _check_room()
    until = ExitStack()
    with _interrupts_put_off():
        if (torch := sys.modules.get("torch")) is not None:
            until.callback(torch.set_num_threads, torch.get_num_threads())
        until.enter_context(threadpool_limits({"openmp": openmp, "blas": blas}))
        if torch is not None:
            # threadpoolctl does not find torch's own MKL. In a torch that is loaded later, MKL has as many as this, by
            # default not more than cores, and OpenMP as many as MKL.
            torch.set_num_threads(min(blas, cores.number()))
    return until


@contextmanager
def limited_from_the_start() -> Iterator[None]:
    """`limited`, and libraries that are loaded until its exit begin with as many threads, and keep them."""
    with filled(), limited():
        yield


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
    if wanted() != (1, 1):
        limited()
    fill()
