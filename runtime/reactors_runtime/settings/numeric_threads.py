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

_ROOM = 8  # descriptors


class _Runs:
    """How many go on at once in this process, and how to put back what the first of them found."""

    def __init__(self) -> None:
        self.lock, self.number, self.found = threading.Lock(), 0, ExitStack()

    def begin(self, thread: ExitStack) -> None:
        """Limit for one run more; `thread` puts back what is this thread's alone."""
        with self.lock:
            self.number += 1
            _limit(thread, self.found if self.number == 1 else ExitStack())

    def end(self) -> None:
        """One is over; after the last, all is as it was."""
        with self.lock:
            self.number -= 1
            if not self.number:
                self.found.close()


_runs = _Runs()


@contextmanager
def limited() -> Iterator[None]:
    """`limit` for a run, in the thread that waits for it, until its exit; of several at once, until the last has ended.

    Libraries that are loaded until then begin with as many threads, and keep them.
    """
    with filled(), ExitStack() as thread:
        try:
            _runs.begin(thread)
            yield
        finally:
            _runs.end()


def limit() -> None:
    """From now on, libraries that are loaded use as many threads as the environment wants, OpenMP in this thread alone.

    It is for a worker's own thread or process, which ends with it: one that is stuck never puts anything back.
    """
    _limit(ExitStack(), ExitStack())


def _limit(thread: ExitStack, process: ExitStack) -> None:
    """Limit both; what was there is put back for this thread by `thread`, and for all by `process`."""
    from threadpoolctl import ThreadpoolController

    openmp, blas = wanted()
    _check_room()
    with _interrupts_put_off():
        libraries = ThreadpoolController()
        if (torch := sys.modules.get("torch")) is not None:
            process.callback(torch.set_num_threads, torch.get_num_threads())
        for of, number, until in (("openmp", openmp, thread), ("blas", blas, process)):
            until.enter_context(libraries.select(user_api=of).limit(limits=number))  # which puts all of its own back
        if torch is not None:
            # threadpoolctl does not find torch's own MKL. In a torch that is loaded later, MKL has as many as this, by
            # default not more than cores, and OpenMP as many as MKL.
            torch.set_num_threads(min(blas, cores.number()))


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
        limit()
    fill()
