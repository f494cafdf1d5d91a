"""Large values: what outgrows its slot lies in a region of its own, and slots are used again as soon as can be."""

from typing import Any, Literal

import numpy as np
import pytest

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


class Echo(rx.Reactor):
    given, answer = rx.Input(shape=(4,), dtype=np.int64), rx.Output(shape=(4,), dtype=np.int64)

    def __init__(self) -> None:
        self.slots: set[int] = set()

    @rx.reaction(given, effects=answer)
    def echo(self) -> None:
        slot = self.answer.loan()
        self.slots.add(slot.ctypes.data)
        slot[:] = self.given.value
        self.answer.set(slot)


class Server(rx.Reactor):
    answers = rx.Input(shape=(4,), dtype=np.int64, width=2)
    message = rx.Output(shape=(4,), dtype=np.int64)

    def __init__(self) -> None:
        self.slots: set[int] = set()
        self.heard: list[list[int]] = []

    @rx.reaction(rx.startup, answers, effects=message)
    def ask(self) -> None:
        if self.answers.is_present:
            self.heard.append([int(answer.sum()) for answer in self.answers.value])
        slot = self.message.loan()
        self.slots.add(slot.ctypes.data)
        slot[:] = len(self.heard)
        self.message.set(slot)


class Asked(rx.Reactor):
    def __init__(self) -> None:
        self.server, self.echoes = Server(), rx.bank(2, Echo)
        rx.connect(self.server.message, self.echoes.given, after=1, broadcast=True)
        rx.connect(self.echoes.answer, self.server.answers)


@pytest.mark.parametrize("backend", ["process", "thread"])
def test_a_slot_is_free_again_before_what_its_last_reader_sends_has_come(backend: Literal["process", "thread"]) -> None:
    main = Asked()
    rx.run(main, workers=2, backend=backend, placement={"main.echoes[1]": 1}, fast=True, timeout=300)
    assert main.server.heard == [[4 * i, 4 * i] for i in range(300)]
    assert [len(each.slots) for each in (main.server, *main.echoes)] == [1, 1, 1]
