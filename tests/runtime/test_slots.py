"""Slots are used again as soon as no reaction needs what lies in them."""

from typing import Literal

import numpy as np
import pytest

import reactors as rx


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
