"""Mistakes that make two runs of one program differ, each planted in the reaction `main.culprit.act`.

`made(name)` is such a program. Around the culprit a clock sets it going, and others pass on what it writes.
"""

from __future__ import annotations

import os
import random
import tempfile
import threading
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Callable

AT = 7_000_000  # ns: nothing differs before that tag, and at it at the latest
ROW = range(16)


class Beat(rx.Reactor):
    tick, number = rx.Timer(0, "1 ms"), rx.Output(int)

    @rx.reaction(tick, effects=number)
    def beat(self) -> None:
        self.number.set(self.tag.time // 1_000_000)


class Culprit(rx.Reactor):
    number = rx.Input(int)
    said, row = rx.Output(), rx.Output(shape=(16,), dtype=np.float64)
    later = rx.LogicalAction()

    def __init__(self) -> None:
        self.memory: dict[str, Any] = {}

    def mistaken(self) -> Any:
        """What is wrong with a kind of it."""

    @rx.reaction(number, effects=(said, row, later))
    def act(self) -> None:
        if self.tag.time < AT:
            self.said.set(self.number.value)
            self.row.set(np.full(16, float(self.number.value)))
            return
        found = self.mistaken()
        if isinstance(found, np.ndarray) and found.shape == (16,):
            self.row.set(found)
        elif found is not None:
            self.said.set(found)

    @rx.reaction(later)
    def afterwards(self) -> None:
        self.memory["later"] = self.later.value


class Follower(rx.Reactor):
    said, row = rx.Input(), rx.Input(shape=(16,), dtype=np.float64)
    total = rx.Output(float)

    def __init__(self) -> None:
        self.sum = 0.0

    @rx.reaction(said, row, effects=total)
    def follow(self) -> None:
        if self.row.is_present:
            self.sum += float(np.nansum(self.row.value))
        self.kept = self.said.value
        self.total.set(self.sum)


class Main(rx.Reactor):
    def __init__(self, mistake: str) -> None:
        self.beat, self.culprit, self.follower = Beat(), culprit(mistake), Follower()
        rx.connect(self.beat.number, self.culprit.number)
        rx.connect(self.culprit.said, self.follower.said)
        rx.connect(self.culprit.row, self.follower.row, after=0)


class Opaque:
    """With an address in its text."""


def threads(_: Culprit) -> Any:
    """Who comes first."""
    order: list[int] = []

    def work(number: int) -> None:
        time.sleep(random.SystemRandom().random() / 300)
        order.append(number)

    running = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for each in running:
        each.start()
    for each in running:
        each.join()
    return order


def kernels(_: Culprit) -> Any:
    """Sums in another order, as another number of threads makes them."""
    terms = np.random.default_rng(1).normal(size=4001).astype(np.float32)
    parts = {"one": 2, "other": 7}[os.environ["PLANTED_RUN"]]
    return float(np.sum([chunk.sum() for chunk in np.array_split(terms, parts)]))


def mixed_memory(_: Culprit) -> Any:
    """Memory that was never written: what was there before is of another run."""
    filled = np.random.default_rng().normal(size=16)  # what the allocator gives again
    del filled
    return np.empty(16) + 0 * 1


def changed_afterwards(me: Culprit) -> Any:
    """A list that is sent, and then filled with something that no run has again."""
    me.said.set(rows := [time.perf_counter_ns()])
    rows.append(1)


def environment(me: Culprit) -> Any:
    """One that asks the global generator."""
    env = me.memory.setdefault("env", RandomEnv())
    return env.step()


class RandomEnv:
    def step(self) -> tuple[float, bool]:
        return float(np.random.normal()), False  # noqa: NPY002 - that is the mistake


def schedule(me: Culprit) -> None:
    me.later.schedule(None, random.SystemRandom().randrange(1, 10**9))


def schedule_value(me: Culprit) -> None:
    me.later.schedule(random.SystemRandom().random(), "1 ms")


def at_times(me: Culprit) -> Any:
    """A port that is set at some tags only."""
    return 1 if random.SystemRandom().random() < 0.5 else None


def state(me: Culprit) -> Any:
    """What was kept from a run before, in a file."""
    folder = Path(os.environ["PLANTED"])
    count = len([*folder.iterdir()])
    (folder / str(count)).touch()
    return count


def directory(_: Culprit) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return [folder, [*Path(folder).iterdir()]]


def same_as_before(me: Culprit) -> Any:
    """An array of its own that is written into from one tag to the next, from the clock."""
    mine = me.memory.setdefault("mine", np.zeros(16))
    mine[3] = time.time()
    return mine


def loan(me: Culprit) -> Any:
    """The slot itself, half of which was written."""
    row = me.row.loan()
    row[:8] = 1.0
    row[8] = time.perf_counter()
    return row


MISTAKES: dict[str, Callable[[Culprit], Any]] = {
    "random": lambda _: random.random(),
    "random of numpy": lambda _: np.random.normal(size=16),  # noqa: NPY002
    "a generator without a seed": lambda _: np.random.default_rng().normal(size=16),
    "random choice": lambda _: random.choice("abcdefghijklmnop" * 8) + str(random.random()),
    "shuffled": lambda _: random.sample(range(1000), 10),
    "urandom": lambda _: os.urandom(8),
    "uuid": lambda _: uuid.uuid4(),
    "time": lambda _: time.time(),
    "perf_counter": lambda _: np.full(16, time.perf_counter()),
    "monotonic": lambda _: time.monotonic_ns(),
    "date": lambda _: datetime.now(UTC),
    "physical time": lambda me: me.physical_time,
    "process": lambda _: (os.getpid(), os.times()),
    "address": lambda _: id(object()) ^ time.perf_counter_ns(),
    "text with an address": lambda _: repr([Opaque() for _ in range(50)]),
    "hash of text": lambda _: hash("left"),
    "order of a set of texts": lambda _: list({f"name {n}" for n in range(50)}),
    "a sum over a set": lambda _: np.array(
        [sum(1 / float(n) for n in {f"{k}" for k in range(1, 900 + i)}) for i in range(16)]
    ),
    "first of a set": lambda _: next(iter({f"name {n}" for n in range(1000)})),
    "order of a dict made from a set": lambda _: dict.fromkeys({f"name {n}" for n in range(50)}, 1),
    "order of threads": threads,
    "kernels": kernels,
    "memory that was never written": mixed_memory,
    "changed after sending": changed_afterwards,
    "environment": environment,
    "scheduled at some time": schedule,
    "scheduled value": schedule_value,
    "set at some tags": at_times,
    "a file of another run": state,
    "a folder's name": directory,
    "an array of its own": same_as_before,
    "a loan": loan,
}


def culprit(mistake: str) -> Culprit:
    """One that makes this mistake, by a method of its own."""
    kind: type[Culprit] = type("Culprit", (Culprit,), {"mistaken": MISTAKES[mistake]})
    return kind()
