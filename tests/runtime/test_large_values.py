"""Values that outgrow their slots lie in regions of their own, which grow with them."""

from typing import Any

import reactors as rx

SIZES = [(5_000, 5_000), (5_000, 90_000), (5_000, 10), (700_000, 300_000), (3, 700_000)]


class Source(rx.Reactor):
    tick = rx.Timer(0, 1)
    one, other = rx.Output(), rx.Output()

    @rx.reaction(tick, effects=(one, other))
    def send(self) -> None:
        one, other = SIZES[self.tag.time]
        self.one.set(b"1" * one)
        self.other.set(b"2" * other)


class Sink(rx.Reactor):
    one, other = rx.Input(), rx.Input()

    def __init__(self) -> None:
        self.seen: list[Any] = []

    @rx.reaction(one, other)
    def see(self) -> None:
        one, other = self.one.value, self.other.value
        self.seen.append((one == b"1" * len(one), len(one), other == b"2" * len(other), len(other)))


class Main(rx.Reactor):
    def __init__(self, *, crossed: bool) -> None:
        self.source, self.sink = Source(), Sink()
        rx.connect(self.source.one, self.sink.other if crossed else self.sink.one)
        rx.connect(self.source.other, self.sink.one if crossed else self.sink.other)


def test_a_value_that_grows_writes_over_no_other() -> None:
    main = Main(crossed=False)
    rx.run(main, workers=2, backend="process", placement={"main.sink": 1}, fast=True, timeout=len(SIZES) - 1)
    assert main.sink.seen == [(True, one, True, other) for one, other in SIZES]
