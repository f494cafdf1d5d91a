"""Programs that type checkers have to accept, and what they have to know about them (`assert_type`)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Generic, TypeVar, assert_type

import numpy as np
import torch
from numpy.typing import NDArray

import reactors as rx
from reactors import testing
from reactors.stepwise import Stepwise

T = TypeVar("T")


class Counter(rx.Reactor):
    tick = rx.Timer(timedelta(seconds=1), "100 ms")
    again = rx.LogicalAction(int, min_delay="1 ms")
    pressed = rx.PhysicalAction(str)
    anything = rx.LogicalAction()
    limit = rx.Input(int)
    terms = rx.Input(float, width="n")
    table = rx.Input(shape=("n", 4), dtype=np.float32)
    tables = rx.Input(shape=("n", 4), dtype=np.float32, width=3, mutable=True)
    flag = rx.Input(dtype="i8")
    observation = rx.Input(space="space")
    free = rx.Input()
    count = rx.Output(int)
    name = rx.Output(str, width=3)
    plot = rx.Output(shape="n")
    number = rx.Output(shape=(), dtype=np.int64)
    columns = rx.Output(shape=(4,), dtype=np.float32, width=2)
    seen = rx.State(0)

    def __init__(self, start: int = 0) -> None:
        self.n = start
        self.extra = rx.Output(bool)
        self.add_reaction(self.tick, self.late, effects=[self.extra, rx.stop])
        self.add_reaction((self.limit, rx.startup), lambda: None, uses=self.terms, deadline="5 ms", late=self.late)

    @rx.reaction(tick, again, limit, rx.startup, uses=(terms, table), effects=(count, again, rx.stop.after("4 us")))
    def on_tick(self) -> None:
        self.n += 1
        self.count.set(self.n)
        self.count.set(True)
        self.again.schedule(self.n, delay="2 ms")
        self.again.schedule()
        assert_type(self.count, rx.Output[int])
        assert_type(self.limit.value, int | Any)  # None when absent, which may be asked
        assert_type(self.terms[0].value, float | Any)
        assert_type([term.value for term in self.terms], list[float | Any])
        assert_type(len(self.terms), int)
        assert_type(self.terms.array, NDArray[Any])
        assert_type(self.table.value, NDArray[np.float32] | Any)
        assert_type(self.table.array, NDArray[np.float32])
        assert_type(self.tables.array, NDArray[np.float32])
        assert_type(self.plot.loan(), NDArray[Any])
        assert_type(self.table.value[0], Any)
        assert_type(self.free.value, Any)
        assert_type(self.flag.value, Any)
        assert_type(self.observation.value, Any)
        assert_type(self.again.value, int | Any)
        assert_type(self.pressed.schedule("now"), bool)
        assert_type(self.tag, rx.Tag)
        assert_type(self.tag.time, int)
        assert_type(self.bank_index, int)
        assert_type(self.rng, np.random.Generator)
        self.request_stop()
        assert_type(self.seen, int)
        self.seen = 3
        self.seen += 1
        if self.limit.value is None or self.again.value is not None:
            return
        self.count.set(self.limit.value or 0)
        self.tables[0].value = np.zeros((3, 4), np.float32)
        self.number.set(1)
        self.number.set(self.rng.integers(3))
        self.plot.set([1, 2.5])
        self.plot.set(torch.zeros(3))
        self.columns.set([np.zeros(4), np.ones(4)])
        self.columns.set(np.zeros((2, 4)))

    @on_tick.deadline("5 ms")
    def late(self) -> None:
        self.name.set(["a", "b"])
        rows = self.plot.loan()
        rows[:] = 0
        self.plot.set(rows)


class Printer(rx.Reactor):
    value = rx.Input(int)
    real = rx.Input(float)
    other = rx.Input()

    @rx.reaction(value)
    def on_value(self) -> None: ...


class Main(rx.Reactor):
    def __init__(self) -> None:
        self.counter = Counter()
        self.counters = rx.bank(4, Counter, lambda i: 10 * i)
        self.printer = Printer()
        self.printers = [Printer() for _ in range(4)]
        self.plain = rx.bank(4, Counter)
        self.given = rx.bank(4, Counter, start=3)
        self.named = rx.bank(4, Counter, start=lambda i: i)
        self.relays = rx.bank(4, Relay, str, "x")
        self.sized = rx.bank(2, Sized, n=3, cls="x")
        self.later = rx.bank(4, Named, "x", lambda i: f"relay {i}", again=lambda i: i > 2)
        self.row: rx.Bank[Counter] = self.wired(self.plain)
        rx.connect(self.counter.count, self.printer.value)
        rx.connect(self.counter.count, self.printer.real)
        rx.connect(self.counter.extra, self.printer.value, after="1 ms")
        rx.connect(self.counter.name, self.printer.other, physical=True)
        rx.connect(self.counters.count, [printer.value for printer in self.printers])
        rx.connect([self.counter.count, self.counter.extra], [self.printer.value, self.printer.other], broadcast=True)
        rx.connect(self.counter.name[0], self.printer.other, after=0)
        rx.connect(self.counter.plot, self.counter.table)
        self.counter.count >> self.printer.value
        self.counter.count >> self.printer.real
        [self.counter.count, self.counters[0].count] >> self.counters.limit
        assert_type(self.counters[0], Counter)
        assert_type(self.counters[0].count, rx.Output[int])
        assert_type([counter.n for counter in self.counters], list[int])
        assert_type(Counter.count, rx.Output[int])
        self.counter.on_tick()
        self.add_reaction(self.counters.count, self.printer.on_value)
        self.add_reaction([self.counters.count, self.printer.value], self.printer.on_value, uses=self.counters.name)
        assert_type(self.counters.count, rx.Output[int])
        assert_type(len(self.counters), int)
        assert_type(self.counters[1:], list[Counter])
        rx.connect(self.counters.name, self.relays.inp)
        rx.connect(rx.interleaved(self.counters.name), rx.interleaved(self.relays.inp))
        self.counter.name >> self.relays.inp

    def wired(self, counters: rx.Bank[Counter]) -> rx.Bank[Counter]:
        rx.connect(self.counter.count, counters.limit, broadcast=True)
        for counter in counters:
            rx.connect(self.counter.count, counter.limit)
        return counters


class Relay(rx.Reactor, Generic[T]):
    def __init__(self, kind: type[T], name: str = "") -> None:
        self.inp, self.out, self.name = rx.Input(kind), rx.Output(kind), name
        self.add_reaction(self.inp, self.go, effects=self.out)

    def go(self) -> None:
        self.out.set(self.inp.value)


class Sized(rx.Reactor):
    def __init__(self, n: int, cls: str) -> None:
        self.n, self.cls = n, cls


class Named(rx.Reactor):
    def __init__(self, kind: str, name: str, *, again: bool = False) -> None:
        self.kind, self.name, self.again = kind, name, again


class Twice(Counter):
    def __init__(self) -> None:
        super().__init__(2)

    @rx.reaction(Counter.tick, Counter.again, effects=Counter.count)
    def on_tick(self) -> None:
        super().on_tick()
        Counter.on_tick(self)


class Modal(rx.Reactor):
    on = rx.Mode(initial=True)

    def __init__(self) -> None:
        with self.on:
            self.counter = Counter()
        self.printer = Printer(mode=self.on)
        self.counters = rx.bank(4, Counter, lambda i: 10 * i, mode=self.on)
        self.modal = rx.bank(4, Counter, 3, mode=self.on)
        self.each = rx.bank(4, Printer, mode=lambda i: self.on if i else None)


graph = rx.Graph(Main())
assert_type(graph.levels, list[list[str]])
result = rx.run(graph, workers=2, backend="thread", placement={"main.counter": 1}, clock=rx.VirtualClock())
assert_type(result.digest, str)
assert_type(result.statistics[0].seconds, float)
rx.run(graph, placement=lambda path: 1 if "counter" in path else None, progress=lambda _tag, _seconds, _part: None)
steps = testing.trace(Main(), fast=True, timeout="1 s", workers=2, backend="process", clock=lambda _: rx.VirtualClock())
assert_type(steps[0].tag, rx.Tag)
testing.assert_deterministic(Main, workers=(1, 2), backends=["thread"], outcome=lambda main: main.counter.n, fast=True)
run = Stepwise(Main(), workers=2, placement="auto")
assert_type(run.advance(), bool)
if run.result is not None:
    assert_type(run.result.reactions, int)
