"""A program that is looked at."""

from __future__ import annotations

import time

import reactors as rx


class Source(rx.Reactor):
    tick = rx.Timer(0, "2 ms")
    out = rx.Output(int)

    @rx.reaction(tick, effects=out)
    def count(self) -> None:
        self.out.set(1)


class Work(rx.Reactor):
    given = rx.Input(int)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    @rx.reaction(given)
    def work(self) -> None:
        end = time.perf_counter() + self.seconds
        while time.perf_counter() < end:
            pass


class Farm(rx.Reactor):
    """A source, and workers that are kept busy by it."""

    def __init__(self, workers: int = 3, seconds: float = 0.0002) -> None:
        self.source, self.works = Source(), rx.bank(workers, Work, seconds)
        rx.connect(self.source.out, self.works.given, broadcast=True)
