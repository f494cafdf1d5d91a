"""What a reaction costs that is a C function, on one worker: the core alone, without Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from cbodies import body
from clocked import Clocked
from row import ONE, Bar, Measure, Row, Sample

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Iterator

REACTIONS = {"count": 1, "ping-pong": 3, "chain of 10": 12, "fork-join of 100": 102}

row = Row(
    title="native reactions, one worker, a reaction",
    unit="ns",
    variants=tuple(REACTIONS),
    work=lambda variant: REACTIONS[variant],
    bars=(Bar(ONE, 10.0, 1, ("count", "ping-pong")), Bar(ONE, 8.0, 1, ("chain of 10", "fork-join of 100"))),
    check_rounds=1000,
    note="reactor-c, single-threaded, on such a machine: 66, 26, 13 and 27 ns; a bare kernel in C: 4 to 6",
)
MESSAGE = {"shape": (), "dtype": np.int64}


class Counting(Clocked):
    """An action that schedules itself."""

    again = rx.LogicalAction(min_delay=1000)

    def __init__(self) -> None:
        self.n = np.zeros(1, np.int64)
        self.add_reaction(self.again, body("count", self.n), effects=self.again)

    @rx.reaction(rx.startup, effects=again)
    def first(self) -> None:
        self.again.schedule()


class Ping(Clocked):
    """Savina's: serves at every tag, and serves again once the ball is back."""

    serve = rx.LogicalAction(min_delay=1000)
    back = rx.Input(**MESSAGE)
    out = rx.Output(**MESSAGE)

    def __init__(self) -> None:
        self.n, self.received = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self.add_reaction(self.serve, body("emit", self.n), effects=self.out)
        self.add_reaction(self.back, body("count", self.received), effects=self.serve)

    @rx.reaction(rx.startup, effects=serve)
    def first(self) -> None:
        self.serve.schedule()


class Relay(rx.Reactor):
    given = rx.Input(**MESSAGE)
    out = rx.Output(**MESSAGE)

    def __init__(self) -> None:
        self.add_reaction(self.given, body("relay"), effects=self.out)


class PingPong(rx.Reactor):
    def __init__(self) -> None:
        self.source, self.pong = Ping(), Relay()
        rx.connect(self.source.out, self.pong.given)
        rx.connect(self.pong.out, self.source.back)


class Source(Clocked):
    tick = rx.Timer(period="1 us")
    out = rx.Output(**MESSAGE)

    def __init__(self) -> None:
        self.n = np.zeros(1, np.int64)
        self.add_reaction(self.tick, body("emit", self.n), effects=self.out)


class Sink(rx.Reactor):
    given = rx.Input(width="width", **MESSAGE)

    def __init__(self, width: int) -> None:
        self.width = width
        self.sum = np.array([0, width], np.int64)
        self.add_reaction(self.given, body("join", self.sum))


class Chain(rx.Reactor):
    def __init__(self, length: int) -> None:
        self.source, self.links, self.sink = Source(), [Relay() for _ in range(length)], Sink(1)
        rx.connect(self.source.out, self.links[0].given)
        for before, after in zip(self.links, self.links[1:], strict=False):
            rx.connect(before.out, after.given)
        rx.connect(self.links[-1].out, self.sink.given)


class ForkJoin(rx.Reactor):
    def __init__(self, width: int) -> None:
        self.source, self.links, self.sink = Source(), rx.bank(width, Relay), Sink(width)
        rx.connect(self.source.out, self.links.given, broadcast=True)
        rx.connect(self.links.out, self.sink.given)


@row.peer(ONE)
def ours(variant: str) -> Iterator[Measure]:
    def measure(rounds: int) -> Sample:
        if variant == "count":
            main = clock = Counting()
        else:
            main = {"ping-pong": PingPong, "chain of 10": lambda: Chain(10), "fork-join of 100": lambda: ForkJoin(100)}[
                variant
            ]()
            clock = main.source
        rx.run(main, fast=True, timeout=rounds * 1000)
        done = int(clock.n[0])
        assert abs(done - rounds) <= 1, f"{done} tags instead of {rounds}"
        return Sample(clock.ended - clock.began)

    yield measure
