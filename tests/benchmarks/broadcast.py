"""Broadcast an array and gather a copy of it from 16 or fewer reactors: the pattern of a parameter server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cluster
import numpy as np
import numpy.typing as npt
from pool import pool, shared
from row import ALL, CORES, Bar, Measure, Row, Sample
from timing import Stopwatch

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MB = 131_072  # doubles
SIZES = {"1 KB": (16, 128), "100 KB": (16, 12_800), "10 MB": (16, 10 * MB)}
FURTHER = {f"{n} reactors, 10 MB": (n, 10 * MB) for n in (2, 4, 8)} | {f"{n} MB": (16, n * MB) for n in (30, 100)}
CASES = SIZES | FURTHER | {"2 reactors, 500 MB": (2, 500 * MB)}
"""Reactors, and doubles in an array. The last is too large for all peers at once, and for any with 16 reactors."""
Array = npt.NDArray[np.float64]

row = Row(
    title=f"broadcast and gather, 16 reactors, {CORES} workers, a round",
    unit="us",
    variants=tuple(SIZES),
    further=tuple(FURTHER),
    work=lambda _: 1,
    bars=(
        Bar(ALL, "Ray, one ray.put", 20, ("1 KB", "100 KB")),
        Bar(ALL, "Ray, one ray.put", 5, ("10 MB",)),
        Bar(ALL, "Ray compiled graph", 3),
        Bar(ALL, "shared-memory pool", 1),
        Bar(ALL, "copies alone", round(1 / 1.2, 2), ("10 MB",)),
    ),
    check_rounds=5,
)
WARM = 5


class Echo:
    """Answers with a copy of what it is given."""

    def echo(self, array: Array) -> Array:
        return array.copy()


def timed(size: int, rounds: int, exchange: Callable[[Array], Any]) -> Sample:
    """The server: what the first answered is the next message, one higher at its start."""
    watch = Stopwatch(rounds, WARM)
    message, total = np.zeros(size), 0.0
    while watch.running():
        answers = exchange(message)
        total += sum(float(answer[0]) for answer in answers)
        message = answers[0].copy()
        message[0] += 1
    return Sample(watch.seconds, total)


class Worker(rx.Reactor):
    given = rx.Input(shape=("size",), dtype=np.float64)
    answer = rx.Output(shape=("size",), dtype=np.float64)

    def __init__(self, size: int) -> None:
        self.size = size

    @rx.reaction(given, effects=answer)
    def echo(self) -> None:
        slot = self.answer.loan()
        slot[:] = self.given.value
        self.answer.set(slot)


class Server(rx.Reactor):
    answers = rx.Input(shape=("size",), dtype=np.float64, width="n")
    message = rx.Output(shape=("size",), dtype=np.float64)

    def __init__(self, n: int, size: int, rounds: int) -> None:
        self.n, self.size = n, size
        self.watch, self.total = Stopwatch(rounds, WARM), 0.0

    @rx.reaction(rx.startup, effects=message)
    def begin(self) -> None:
        self.watch.running()
        self.message.set(np.zeros(self.size))

    @rx.reaction(answers, effects=(message, rx.stop))
    def gather(self) -> None:
        answers = self.answers.array
        self.total += sum(float(answer[0]) for answer in answers)
        if self.watch.running():
            slot = self.message.loan()
            slot[:] = answers[0]
            slot[0] += 1
            self.message.set(slot)
        else:
            self.request_stop()


class Broadcast(rx.Reactor):
    def __init__(self, n: int, size: int, rounds: int) -> None:
        self.server = Server(n, size, rounds)
        self.workers = rx.bank(n, Worker, size)
        rx.connect(self.server.message, self.workers.given, after=0, broadcast=True)
        rx.connect(self.workers.answer, self.server.answers)


@row.peer(ALL)
def ours(variant: str) -> Iterator[Measure]:
    def measure(rounds: int) -> Sample:
        main = Broadcast(*CASES[variant], rounds)
        rx.run(main, workers=CORES, fast=True)
        return Sample(main.server.watch.seconds, main.server.total)

    yield measure


@row.peer("Ray, one ray.put", group="Ray")
def ray_put(variant: str) -> Iterator[Measure]:
    n, size = CASES[variant]
    with cluster.started(n) as ray:
        actors = [ray.remote(Echo).remote() for _ in range(n)]

        def exchange(message: Array) -> Any:
            stored = ray.put(message)
            return ray.get([actor.echo.remote(stored) for actor in actors])

        yield lambda rounds: timed(size, rounds, exchange)


@row.peer("Ray compiled graph", group="Ray")
def ray_compiled(variant: str) -> Iterator[Measure]:
    n, size = CASES[variant]
    with cluster.started(n) as ray:
        actors = [ray.remote(Echo).remote() for _ in range(n)]
        graph = cluster.Compiled(ray, actors, "echo", size=8 * size + (2 << 20))

        def measure(rounds: int) -> Sample:
            with graph.awake():
                return timed(size, rounds, graph)

        yield measure
        graph.close()


@row.peer("shared-memory pool")
def by_hand(variant: str) -> Iterator[Measure]:
    n, size = CASES[variant]
    given, answers = shared((size,), np.float64), shared((n, size), np.float64)

    def member(i: int) -> Callable[[], None]:
        def step() -> None:
            answers[i] = given

        return step

    def measure(rounds: int) -> Sample:
        with pool(CORES, n, member) as round_of_all:
            watch, total = Stopwatch(rounds, WARM), 0.0
            given[:] = 0
            while watch.running():
                round_of_all()
                total += sum(float(answer[0]) for answer in answers)
                given[:] = answers[0]
                given[0] += 1
            return Sample(watch.seconds, total)

    yield measure


@row.peer("copies alone", variants=("10 MB",))
def copies(variant: str) -> Iterator[Measure]:
    """All that has to be copied, in one process that does nothing else."""
    n, size = CASES[variant]
    given, answers = shared((size,), np.float64), shared((n, size), np.float64)

    def measure(rounds: int) -> Sample:
        watch = Stopwatch(rounds, WARM)
        while watch.running():
            for answer in answers:
                answer[:] = given
            given[:] = answers[0]
        return Sample(watch.seconds)

    yield measure
