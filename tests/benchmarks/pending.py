"""What a tag costs while 10 or 1,000 other events wait: each event schedules itself again, no two at one tag."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from cbodies import body
from clocked import Clocked
from row import OURS, Bar, Measure, Row, Sample

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Iterator

FEW, MANY = f"{OURS}, 10 pending", f"{OURS}, 1,000 pending"

row = Row(
    title="pending events, one tag",
    unit="ns",
    variants=("native reactions", "Python reactions"),
    work=lambda _: 1,
    bars=(Bar(MANY, FEW, 0.25),),
    check_rounds=5000,
    note="reactor-c: 164 and 8,993 ns; reactor-cpp: 127 and 192",
)


class Hold(rx.Reactor):
    """One pending event, which comes again after a delay of its own."""

    again = rx.LogicalAction(min_delay="delay")

    def __init__(self, delay: int, native: bool) -> None:
        self.delay = delay
        self.n = np.zeros(1, np.int64)
        self.add_reaction(self.again, body("count", self.n) if native else self.on_again, effects=self.again)

    @rx.reaction(rx.startup, effects=again)
    def first(self) -> None:
        self.again.schedule()

    def on_again(self) -> None:
        self.again.schedule()


class Held(Clocked):
    def __init__(self, pending: int, native: bool) -> None:
        rng = np.random.default_rng(0)
        self.delays = [int(delay) for delay in rng.integers(500_000_000, 1_500_000_000, pending)]
        self.holds = [Hold(delay, native) for delay in self.delays]

    def lasting(self, tags: int) -> int:
        """The time in ns after which so many events have been."""
        return int(tags / sum(1 / delay for delay in self.delays))


def held(variant: str, pending: int) -> Iterator[Measure]:
    def measure(rounds: int) -> Sample:
        main = Held(pending, variant == "native reactions")
        result = rx.run(main, fast=True, timeout=main.lasting(rounds))
        return Sample((main.ended - main.began) * rounds / result.tags)

    yield measure


@row.peer(FEW)
def few(variant: str) -> Iterator[Measure]:
    yield from held(variant, 10)


@row.peer(MANY)
def many(variant: str) -> Iterator[Measure]:
    yield from held(variant, 1000)
