"""Slots are used again as soon as no reaction needs what lies in them, and no sooner."""

import time
from pathlib import Path
from typing import Any, Literal

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


class Counter(rx.Reactor):
    asked, count = rx.Input(int), rx.Output(list)

    def __init__(self) -> None:
        self.n = 0

    @rx.reaction(asked, effects=count)
    def answer(self) -> None:
        self.n += 1
        self.count.set([self.n])


class Asking(rx.Reactor):
    """Has read the last count before it asks for the next, which then may lie where the last one did."""

    tick = rx.Timer(0, 1)
    last, count = rx.Input(list), rx.Input(list)
    ask = rx.Output(int)

    def __init__(self) -> None:
        self.before: list[int] | None = None
        self.pairs: list[Any] = []

    @rx.reaction(tick, last, effects=ask)
    def once(self) -> None:
        self.before = self.last.value
        self.ask.set(1)

    @rx.reaction(count)
    def answered(self) -> None:
        self.pairs.append((self.before, self.count.value))


class Counted(rx.Reactor):
    def __init__(self) -> None:
        self.counter, self.asking = Counter(), Asking()
        rx.connect(self.asking.ask, self.counter.asked)
        rx.connect(self.counter.count, self.asking.count)
        rx.connect(self.counter.count, self.asking.last, after=1)


@pytest.mark.parametrize("backend", ["process", "thread"])
def test_two_values_of_one_tag_in_one_slot_are_two_objects(backend: Literal["process", "thread"]) -> None:
    main = Counted()
    rx.run(main, workers=2, backend=backend, placement={"main.asking": 1}, fast=True, timeout=3)
    assert main.asking.pairs == [(None, [1]), ([1], [2]), ([2], [3]), ([3], [4])]


class Sign:
    """A file that another process waits for."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def give(self) -> None:
        self.path.touch()

    def wait(self) -> None:
        for _ in range(30_000):
            if self.path.exists():
                return
            time.sleep(0.001)
        raise TimeoutError(f"{self.path.name} never came")


class Writer(rx.Reactor):
    out = rx.Output(shape=(4,), dtype=np.int64)

    def __init__(self, written: Sign) -> None:
        self.written = written

    @rx.reaction(rx.startup, effects=out)
    def first(self) -> None:
        self.out.set([7, 7, 7, 7])

    @rx.reaction(rx.shutdown, effects=out)
    def last(self) -> None:
        self.out.set([99, 99, 99, 99])
        self.written.give()


class Reader(rx.Reactor):
    given = rx.Input(shape=(4,), dtype=np.int64)

    def __init__(self, reads: Sign, written: Sign) -> None:
        self.reads, self.written = reads, written
        self.seen: list[list[int]] = []

    @rx.reaction(given)
    def look_twice(self) -> None:
        self.seen.append(self.given.value.tolist())
        self.reads.give()
        self.written.wait()
        self.seen.append(self.given.value.tolist())


class Failing(rx.Reactor):
    def __init__(self, reads: list[Sign]) -> None:
        self.reads = reads

    @rx.reaction(rx.startup)
    def fail(self) -> None:
        for sign in self.reads:
            sign.wait()
        raise ValueError("this one fails")


class Failed(rx.Reactor):
    def __init__(self, folder: Path) -> None:
        reads, written = Sign(folder / "reads"), Sign(folder / "written")
        self.writer, self.reader, self.failing = Writer(written), Reader(reads, written), Failing([reads])
        rx.connect(self.writer.out, self.reader.given)


class Large(rx.Reactor):
    """Of such values there are two slots, and readers have both when it is to shut down."""

    tick = rx.Timer(0, 1)
    out = rx.Output(shape=(1 << 18,), dtype=np.int64)

    def __init__(self, written: Sign) -> None:
        self.written = written

    @rx.reaction(tick, effects=out)
    def count(self) -> None:
        self.out.set(np.full(1 << 18, self.tag.time))

    @rx.reaction(rx.shutdown, effects=out)
    def last(self) -> None:
        self.out.set(np.full(1 << 18, 99))
        self.written.give()


class Slow(rx.Reactor):
    given = rx.Input(shape=(1 << 18,), dtype=np.int64)

    def __init__(self, at: int, reads: Sign, written: Sign) -> None:
        self.at, self.reads, self.written = at, reads, written
        self.seen: list[list[int]] = []

    @rx.reaction(given)
    def look_twice(self) -> None:
        if self.tag.time == self.at:
            self.seen.append(np.unique(self.given.value).tolist())
            self.reads.give()
            self.written.wait()
            self.seen.append(np.unique(self.given.value).tolist())


class Full(rx.Reactor):
    def __init__(self, folder: Path) -> None:
        signs = [Sign(folder / name) for name in ("first", "second", "written")]
        self.writer = Large(signs[2])
        self.readers = [Slow(at, signs[at], signs[2]) for at in range(2)]
        self.failing = Failing(signs[:2])
        for reader in self.readers:
            rx.connect(self.writer.out, reader.given)


@pytest.mark.parametrize("backend", ["process", "thread"])
def test_after_a_failure_elsewhere_shutdown_does_not_write_over_what_is_read(
    backend: Literal["process", "thread"], tmp_path: Path
) -> None:
    main = Failed(tmp_path)
    with pytest.raises(rx.ReactionError, match="this one fails"):
        rx.run(main, workers=3, backend=backend, placement={"main.reader": 1, "main.failing": 2}, timeout="1 h")
    assert main.reader.seen == [[7, 7, 7, 7]] * 2


@pytest.mark.parametrize("backend", ["process", "thread"])
def test_after_a_failure_elsewhere_shutdown_may_set_a_port_of_which_no_slot_is_free(
    backend: Literal["process", "thread"], tmp_path: Path
) -> None:
    main = Full(tmp_path)
    placement = {"main.readers[0]": 1, "main.readers[1]": 2, "main.failing": 3}
    with pytest.raises(rx.ReactionError, match="this one fails"):
        rx.run(main, workers=4, backend=backend, placement=placement, fast=True)
    assert [reader.seen for reader in main.readers] == [[[0]] * 2, [[1]] * 2]
