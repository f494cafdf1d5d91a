"""What a reactor costs in chains of ten, 100 to 100,000 in a program: to construct, to check and start, to run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from cbodies import body
from clocked import Clocked
from row import Bar, Measure, Row, Sample

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = {f"{n:,} reactors": n for n in (100, 1_000, 10_000, 100_000)}
LEAST, *_, MOST = SIZES
CHAIN = 10
CONSTRUCT, START, PYTHON, NATIVE = "construct", "construct, check and start", "a Python reaction", "a native reaction"
MESSAGE = {"shape": (), "dtype": np.int64}

row = Row(
    title="growth: a reactor, and one of its reactions",
    unit="ns",
    variants=(CONSTRUCT, START, PYTHON, NATIVE),
    work=lambda _: 1,
    bars=(Bar(MOST, 60_000.0, 1, (START,)), Bar(MOST, LEAST, 0.5, (PYTHON, NATIVE))),
    check_rounds=10_000,
)


class Head(rx.Reactor):
    tick = rx.Timer(offset="1 us", period="1 us")
    out = rx.Output(int)

    def __init__(self) -> None:
        self.n = 0

    @rx.reaction(tick, effects=out)
    def on_tick(self) -> None:
        self.n += 1
        self.out.set(self.n)


class Link(rx.Reactor):
    given = rx.Input(int)
    out = rx.Output(int)

    @rx.reaction(given, effects=out)
    def relay(self) -> None:
        self.out.set(self.given.value)


class NativeHead(rx.Reactor):
    tick = rx.Timer(offset="1 us", period="1 us")
    out = rx.Output(**MESSAGE)

    def __init__(self) -> None:
        self.n = np.zeros(1, np.int64)
        self.add_reaction(self.tick, body("emit", self.n), effects=self.out)


class NativeLink(rx.Reactor):
    given = rx.Input(**MESSAGE)
    out = rx.Output(**MESSAGE)

    def __init__(self) -> None:
        self.add_reaction(self.given, body("relay"), effects=self.out)


class Chains(Clocked):
    """So many reactors in chains; all reactions run at each tag."""

    def __init__(self, reactors: int, *, native: bool) -> None:
        head, link = (NativeHead, NativeLink) if native else (Head, Link)
        self.links = [link() if i % CHAIN else head() for i in range(reactors)]
        for i, each in enumerate(self.links):
            if i % CHAIN:
                rx.connect(self.links[i - 1].out, each.given)


def grown(variant: str, reactors: int) -> Iterator[Measure]:
    def build(rounds: int) -> Sample:
        seconds, programs = 0.0, max(1, rounds // reactors)
        for _ in range(programs):
            start = time.perf_counter()
            main = Chains(reactors, native=False)
            done = time.perf_counter()
            if variant == START:
                rx.run(main, fast=True, timeout=0)
                done = main.began
            seconds += done - start
        return Sample(seconds * rounds / (programs * reactors))

    def run(rounds: int) -> Sample:
        tags = max(3, rounds // reactors)
        main = Chains(reactors, native=variant == NATIVE)
        rx.run(main, fast=True, timeout=tags * 1000)
        return Sample((main.ended - main.began) * rounds / (tags * reactors))

    yield run if variant in (PYTHON, NATIVE) else build


for name, size in SIZES.items():

    @row.peer(name)
    def peer(variant: str, size: int = size) -> Iterator[Measure]:
        yield from grown(variant, size)
