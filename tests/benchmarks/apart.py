"""Two that work for a while and then wait to hear from one another, round by round, on two machines.

Both machines are here: ours are processes that join by TCP, Ray's are raylets with an actor each.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from cluster import nodes
from row import Bar, Measure, Row, Sample

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

APART, TOGETHER, RAY = "reactors, 2 machines", "reactors, 2 workers", "Ray actors, 2 nodes"
WARM = 20
MILLISECONDS = {
    f"{ms:g} ms, {name}": (ms, size) for size, name in ((8, "8 B"), (1 << 20, "1 MB")) for ms in (0.1, 1, 10)
}

row = Row(
    title="two on two machines that work so long and hear from one another",
    unit="rounds/s",
    variants=tuple(MILLISECONDS),
    work=lambda _: 1,
    bars=(Bar(APART, RAY, 1),),
)


def work(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


class Side(rx.Reactor):
    """Works at each round, and begins the next one when it has heard from the other of this one."""

    again = rx.LogicalAction()

    def __init__(self, seconds: float, size: int) -> None:
        self.given, self.out = rx.Input(shape=(size,), dtype="u1"), rx.Output(shape=(size,), dtype="u1")
        self.seconds, self.value = seconds, np.zeros(size, np.uint8)
        self.begun: list[float] = []
        self.add_reaction([rx.startup, self.again], self.work, effects=[self.out])
        self.add_reaction([self.given], self.hear, effects=[self.again])

    def work(self) -> None:
        self.begun.append(time.perf_counter())
        work(self.seconds)
        self.out.set(self.value)

    def hear(self) -> None:
        self.again.schedule(delay="1 us")


class BothWork(rx.Reactor):
    def __init__(self, seconds: float, size: int) -> None:
        self.one, self.other = Side(seconds, size), Side(seconds, size)
        self.one.out >> self.other.given
        self.other.out >> self.one.given


def working(rounds: int, seconds: float, size: int, **options: Any) -> float:
    """Seconds that the rounds took."""
    main = BothWork(seconds, size)
    rx.run(main, fast=True, timeout=f"{rounds + WARM} us", workers=2, placement={"main.other": 1}, **options)
    return main.one.begun[-1] - main.one.begun[WARM]


@row.peer(APART)
def ours(variant: str) -> Iterator[Measure]:
    ms, size = MILLISECONDS[variant]
    yield lambda rounds: Sample(working(rounds, ms / 1000, size, machines=rx.Machines(count=2)))


@row.peer(TOGETHER)
def together(variant: str) -> Iterator[Measure]:
    ms, size = MILLISECONDS[variant]
    yield lambda rounds: Sample(working(rounds, ms / 1000, size))


class Actor:
    """What is a reactor there: works, and gives what the other needs for its next round."""

    def __init__(self, seconds: float, size: int) -> None:
        self.seconds, self.value = seconds, np.zeros(size, np.uint8)

    def work(self, _: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
        work(self.seconds)
        return self.value


@row.peer(RAY)
def theirs(variant: str) -> Iterator[Measure]:
    """All rounds are asked for at once: what one of them gives is an argument of the other's next."""
    ms, size = MILLISECONDS[variant]
    with nodes(2) as ray:
        one, other = (
            ray.remote(Actor).options(num_cpus=1, scheduling_strategy="SPREAD").remote(ms / 1000, size)
            for _ in range(2)
        )

        def measure(rounds: int) -> Sample:
            here, there = None, None
            for n in range(rounds + WARM):
                if n == WARM:
                    ray.get([here, there])
                    began = time.perf_counter()
                here, there = one.work.remote(there), other.work.remote(here)
            ray.get([here, there])
            return Sample(time.perf_counter() - began)

        yield measure
        for actor in (one, other):
            ray.kill(actor)
