"""Independent skewed chains on two workers: links of 10 us on average, connected with delays, so that all can be busy.

Skewed: for 16 messages one chain's links are heavy and the other's light, then the other way round. What waits for
the slowest at the end of every tag gains next to nothing; a delay is the licence to run ahead by that much.
"""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING

from row import OURS, Bar, Measure, Row, Sample

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ONE, TWO = f"{OURS}, 1 worker", f"{OURS}, 2 workers"
LENGTH = 10
BLOCK = 16
CUT = "each chain cut in the middle"
SLACK = 20  # tags by which the second half of a chain may lag behind the first
WARM = 50

row = Row(
    title="independent skewed chains, bodies of 10 us, a tag",
    unit="us",
    variants=("each chain on a worker", CUT),
    work=lambda _: 1,
    bars=(Bar(TWO, ONE, 1.8, ("each chain on a worker",)), Bar(TWO, ONE, 1.85, (CUT,))),
    check_rounds=200,
)


def spin(turns: int) -> None:
    for _ in range(turns):
        pass


@functools.cache
def turns_a_us() -> float:
    """How much spinning takes a microsecond here, at the best of several tries."""
    best = 1e9
    for _ in range(20):
        start = time.perf_counter()
        spin(10_000)
        best = min(best, time.perf_counter() - start)
    return 10_000 / (best * 1e6)


class Link(rx.Reactor):
    given = rx.Input(int)
    out = rx.Output(int)

    def __init__(self, heavy: int, light: int, parity: int) -> None:
        self.turns = (heavy, light) if parity else (light, heavy)

    @rx.reaction(given, effects=out)
    def relay(self) -> None:
        n = self.given.value
        spin(self.turns[n // BLOCK & 1])
        self.out.set(n)


class Source(rx.Reactor):
    tick = rx.Timer(period="1 us")
    out = rx.Output(int)

    def __init__(self) -> None:
        self.n = 0

    @rx.reaction(tick, effects=out)
    def on_tick(self) -> None:
        self.n += 1
        self.out.set(self.n)


class Sink(rx.Reactor):
    given = rx.Input(int)

    def __init__(self) -> None:
        self.n = 0
        self.began = self.ended = 0.0

    @rx.reaction(given)
    def note(self) -> None:
        self.n += 1
        self.ended = time.monotonic()
        if self.n == WARM:
            self.began = self.ended


class Chain(rx.Reactor):
    def __init__(self, heavy: int, light: int, parity: int) -> None:
        self.source, self.sink = Source(), Sink()
        self.links = [Link(heavy, light, parity) for _ in range(LENGTH)]
        rx.connect(self.source.out, self.links[0].given, after="1 us")
        for i in range(1, LENGTH):
            rx.connect(self.links[i - 1].out, self.links[i].given, after=1000 * (SLACK if i == LENGTH // 2 else 1))
        rx.connect(self.links[-1].out, self.sink.given)


class Chains(rx.Reactor):
    def __init__(self, turns: float) -> None:
        heavy, light = int(18 * turns), int(2 * turns)
        self.chains = [Chain(heavy, light, parity) for parity in (0, 1)]


def by_chain(path: str) -> int:
    return int("chains[1]" in path)


def by_half(path: str) -> int:
    """The first half of each chain on one worker, the second on the other; the chains the other way round."""
    second = any(f"links[{i}]" in path for i in range(LENGTH // 2, LENGTH)) or path.endswith("sink")
    return int(second != ("chains[1]" in path))


PLACEMENTS: dict[str, Callable[[str], int]] = dict(zip(row.variants, (by_chain, by_half), strict=True))


def on(workers: int, variant: str) -> Iterator[Measure]:
    turns = turns_a_us()

    def measure(rounds: int) -> Sample:
        main = Chains(turns)
        placement = PLACEMENTS[variant] if workers > 1 else "auto"
        rx.run(main, workers=workers, fast=True, timeout=(rounds + WARM + LENGTH + SLACK) * 1000, placement=placement)
        sinks = [chain.sink for chain in main.chains]
        done = min(sink.n for sink in sinks) - WARM
        seconds = max(sink.ended for sink in sinks) - min(sink.began for sink in sinks)
        return Sample(seconds * rounds / done)

    yield measure


@row.peer(ONE, group=OURS)
def one(variant: str) -> Iterator[Measure]:
    yield from on(1, variant)


@row.peer(TWO, group=OURS)
def two(variant: str) -> Iterator[Measure]:
    yield from on(2, variant)
