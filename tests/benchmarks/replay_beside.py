"""Inserters and samplers of one prioritized buffer, each a process of its own: what each side reaches beside the other.

An inserter adds 8 rows a call, a sampler draws 256 and updates their priorities. All go as fast as they can; the clock
runs while the side that the variant names does its rounds, however many processes share them.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pool import shared
from row import OURS, Bar, Measure, Row, Sample

from reactors import rl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Array = npt.NDArray[Any]
CAPACITY, BATCH, ROWS = 100_000, 256, 8
REST, GO, OVER = range(3)
LOCKED = f"{OURS}, one global lock"
ALONE = ("1 inserter, rows", "1 sampler, batches")
ONE_TO_ONE = ("rows beside 1 inserter, 1 sampler", "batches beside 1 inserter, 1 sampler")
MANY = ("rows beside 4 inserters, 2 samplers", "batches beside 4 inserters, 2 samplers")
MORE = ("rows beside 8 inserters, 4 samplers", "batches beside 8 inserters, 4 samplers")

row = Row(
    title="a replay buffer between processes",
    unit="calls/s",
    variants=(*ALONE, *ONE_TO_ONE, *MANY),
    further=MORE,
    work=lambda _: 1,
    bars=(Bar(OURS, "cpprb, multiprocess", 10, ONE_TO_ONE), Bar(OURS, LOCKED, 2, (*ONE_TO_ONE, *MANY))),
    check_rounds=200,
    note="rows: calls of 8 inserts; batches: samples of 256 with an update each",
)


def sides(variant: str) -> tuple[int, int, int]:
    """How many inserters and samplers, and which of the two is timed."""
    timed = 1 if "batches" in variant else 0
    if variant in ALONE:
        return 1 - timed, timed, timed
    inserters, samplers = map(int, re.findall(r"\d+", variant))
    return inserters, samplers, timed


def rows(n: int) -> dict[str, Array]:
    rng = np.random.default_rng(0)
    wide = {name: rng.random((n, size), np.float32) for name, size in (("obs", 4), ("act", 1), ("next_obs", 4))}
    return wide | {"rew": rng.random(n, np.float32), "done": rng.random(n) < 0.01}


def beside(variant: str, add: Callable[[], Any], sample_and_update: Callable[[Array], Any]) -> Iterator[Measure]:
    """Fork the processes and count what they do."""
    inserters, samplers, timed = sides(variant)
    counts, state = shared((inserters + samplers,), np.int64), shared((1,), np.int64)
    errors = [np.random.default_rng(i).random(BATCH, np.float32) for i in range(17)]

    def work(me: int) -> None:
        k = 0
        while state[0] != OVER:
            if state[0] == REST:  # other peers are being measured
                time.sleep(0.001)
                continue
            if me < inserters:
                add()
            else:
                sample_and_update(errors[k % 17])
            k += 1
            counts[me] = k

    children = []
    for me in range(inserters + samplers):
        child = os.fork()
        if not child:
            with contextlib.suppress(BaseException):
                work(me)
            os._exit(0)
        children.append(child)
    mine = slice(0, inserters) if timed == 0 else slice(inserters, None)

    def measure(n: int) -> Sample:
        state[0] = GO
        time.sleep(0.01)
        first, start = int(counts[mine].sum()), time.perf_counter()
        while int(counts[mine].sum()) - first < n:
            time.sleep(0.001)
            if time.perf_counter() - start > 60:
                raise TimeoutError("too few rounds in a minute")
        done, seconds = int(counts[mine].sum()) - first, time.perf_counter() - start
        state[0] = REST
        return Sample(seconds * n / done)

    try:
        yield measure
    finally:
        state[0] = OVER
        for child in children:
            os.waitpid(child, 0)


def our_buffer() -> rl.ReplayBuffer:
    fields = {"obs": ((4,), "f4"), "act": ((1,), "f4"), "rew": ((), "f4"), "next_obs": ((4,), "f4"), "done": ((), "?")}
    buffer = rl.ReplayBuffer(CAPACITY, fields, prioritized=True, seed=0)
    for _ in range(CAPACITY // 1000):
        buffer.add(rows(1000))
    return buffer


@row.peer(OURS)
def ours(variant: str) -> Iterator[Measure]:
    buffer, few = our_buffer(), rows(ROWS)
    yield from beside(variant, lambda: buffer.add(few), lambda e: buffer.update_priorities(buffer.sample(BATCH), e))


@row.peer(LOCKED)
def locked(variant: str) -> Iterator[Measure]:
    buffer, few, lock = our_buffer(), rows(ROWS), multiprocessing.get_context("fork").Lock()

    def add() -> None:
        with lock:
            buffer.add(few)

    def sample_and_update(errors: Array) -> None:
        with lock:
            batch = buffer.sample(BATCH)
        with lock:
            buffer.update_priorities(batch, errors)

    yield from beside(variant, add, sample_and_update)


@row.peer("cpprb, multiprocess", variants=(*ALONE, *ONE_TO_ONE))
def cpprb(variant: str) -> Iterator[Measure]:
    """It has one learner at most."""
    from cpprb import MPPrioritizedReplayBuffer

    columns = {
        "obs": {"shape": 4},
        "act": {"shape": 1},
        "rew": {},
        "next_obs": {"shape": 4},
        "done": {"dtype": np.bool_},
    }
    buffer, few = MPPrioritizedReplayBuffer(CAPACITY, columns, alpha=0.6), rows(ROWS)
    for _ in range(CAPACITY // 1000):
        buffer.add(**rows(1000))

    def sample_and_update(errors: Array) -> None:
        buffer.update_priorities(buffer.sample(BATCH, beta=0.4)["indexes"], errors)

    yield from beside(variant, lambda: buffer.add(**few), sample_and_update)
