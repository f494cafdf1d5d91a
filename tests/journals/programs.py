"""Programs whose journals are compared."""

from __future__ import annotations

from typing import Any

import numpy as np

import reactors as rx


class Source(rx.Reactor):
    """Writes arrays and objects, and schedules itself; at `bad` one number is another one."""

    tick = rx.Timer(0, "1 ms")
    rows = rx.Output(shape=(8,), dtype=np.float32)
    said = rx.Output()
    later = rx.LogicalAction()

    def __init__(self, bad: int = -1) -> None:
        self.bad = bad

    @rx.reaction(tick, effects=(rows, said, later))
    def play(self) -> None:
        rows = self.rows.loan()
        rows[:] = self.rng.normal(size=8)
        if self.tag.time == self.bad:
            rows[3] = np.nextafter(rows[3], np.float32(9))
        self.rows.set(rows)
        self.said.set({"names": {"left", "right", str(self.tag)}, "at": (self.tag, 2**80, None)})
        self.later.schedule(float(rows[0]), "300 us")

    @rx.reaction(later)
    def again(self) -> None:
        self.seen = self.later.value


class Sink(rx.Reactor):
    rows = rx.Input(shape=(8,), dtype=np.float32)
    said = rx.Input()
    total = rx.Output(float)

    def __init__(self) -> None:
        self.sum = 0.0

    @rx.reaction(rows, said, effects=total)
    def add(self) -> None:
        self.sum += float(self.rows.value.sum())
        self.kept = (self.said.value, "left")
        self.total.set(self.sum)


class Pair(rx.Reactor):
    def __init__(self, bad: int = -1) -> None:
        self.source, self.sink = Source(bad), Sink()
        rx.connect(self.source.rows, self.sink.rows)
        rx.connect(self.source.said, self.sink.said)


def run(main: rx.Reactor, file: Any = None, **options: Any) -> rx.Result:
    return rx.run(main, **{"fast": True, "timeout": "50 ms", "journal": file, **options})
