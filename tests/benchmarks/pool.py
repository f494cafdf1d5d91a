"""The pool that one writes by hand: forked workers, arrays in shared memory, a pipe each to say "go" and "done".

It is the fastest that multiprocessing allows without spinning, and what it can't do is what a runtime is for: it knows
one pattern only, all or nothing, and a worker that dies leaves the others waiting.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from multiprocessing.connection import Connection, Pipe
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Array = npt.NDArray[Any]


def shared(shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """An array of zeros that forked children share."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(mmap.mmap(-1, size), dtype).reshape(shape)


def block(worker: int, workers: int, members: int) -> range:
    """The members of one worker."""
    return range(worker * members // workers, (worker + 1) * members // workers)


@contextlib.contextmanager
def pool(workers: int, members: int, make: Callable[[int], Callable[[], None]]) -> Iterator[Callable[[], None]]:
    """Spread `members` over forked workers in contiguous blocks; the result runs one step of all of them.

    `make(i)` is called in the worker and returns the step of member i.
    """
    ends: list[Connection] = []
    children: list[int] = []
    for worker in range(workers):
        ours, theirs = Pipe()
        child = os.fork()
        if not child:
            try:
                for end in (*ends, ours):
                    end.close()
                steps = [make(index) for index in block(worker, workers, members)]
                with contextlib.suppress(EOFError):
                    while theirs.recv_bytes():
                        for step in steps:
                            step()
                        theirs.send_bytes(b"d")
            finally:
                os._exit(0)
        theirs.close()
        ends.append(ours)
        children.append(child)

    def round_of_all() -> None:
        for end in ends:
            end.send_bytes(b"g")
        for end in ends:
            end.recv_bytes()

    try:
        yield round_of_all
    finally:
        for end in ends:
            end.close()
        for child in children:
            os.waitpid(child, 0)


@contextlib.contextmanager
def spinning(workers: int, members: int, make: Callable[[int], Callable[[], None]]) -> Iterator[Callable[[], None]]:
    """The same with the caller as worker 0, and hand-over through memory that the waiting side looks at all the time.

    It is as fast as such a pool gets, with a core of its own for each worker and no other program beside it.
    """
    memory = memoryview(mmap.mmap(-1, 8 * (workers + 1))).cast("Q")  # rounds asked for, and done by each worker
    asked, ended = workers, (1 << 64) - 1
    children: list[int] = []
    for worker in range(1, workers):
        child = os.fork()
        if not child:
            try:
                steps, done = [make(index) for index in block(worker, workers, members)], 0
                while True:
                    while memory[asked] == done:
                        pass
                    if memory[asked] == ended:
                        break
                    for step in steps:
                        step()
                    done += 1
                    memory[worker] = done
            finally:
                os._exit(0)
        children.append(child)
    own, rounds = [make(index) for index in block(0, workers, members)], 0

    def round_of_all() -> None:
        nonlocal rounds
        rounds += 1
        memory[asked] = rounds
        for step in own:
            step()
        for worker in range(1, workers):
            while memory[worker] != rounds:
                pass

    try:
        yield round_of_all
    finally:
        memory[asked] = ended
        for child in children:
            os.waitpid(child, 0)
