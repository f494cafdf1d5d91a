"""Programs that type checkers have to accept, and what they have to know about them (`assert_type`)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import reactors as rx


class Counter(rx.Reactor):
    tick = rx.Timer(timedelta(seconds=1), "100 ms")
    again = rx.LogicalAction(int, min_delay="1 ms")
    pressed = rx.PhysicalAction(str)
    anything = rx.LogicalAction()
    limit = rx.Input(int)
    terms = rx.Input(float, width="n")
    table = rx.Input(shape=("n", 4), dtype=np.float32)
    flag = rx.Input(dtype="i8")
    observation = rx.Input(space="space")
    free = rx.Input()
    count = rx.Output(int)
    name = rx.Output(str, width=3)
    plot = rx.Output(shape="n")

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
        assert_type(self.limit.value, int)
        assert_type(self.terms[0].value, float)
        assert_type([term.value for term in self.terms], list[float])
        assert_type(len(self.terms), int)
        assert_type(self.terms.array, NDArray[Any])
        assert_type(self.table.value, NDArray[Any])
        assert_type(self.table.value[0], Any)
        assert_type(self.free.value, Any)
        assert_type(self.flag.value, Any)
        assert_type(self.observation.value, Any)
        assert_type(self.again.value, int)
        assert_type(self.pressed.schedule("now"), bool)
        assert_type(self.tag, rx.Tag)
        assert_type(self.tag.time, int)
        assert_type(self.bank_index, int)
        assert_type(self.rng, np.random.Generator)
        self.request_stop()

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
        [self.counter.count, self.counter.extra] >> self.counters.limit
        assert_type(self.counters[0], Counter)
        assert_type(self.counters[0].count, rx.Output[int])
        assert_type([counter.n for counter in self.counters], list[int])
        assert_type(Counter.count, rx.Output[int])
        self.counter.on_tick()
        self.add_reaction(self.counters.count, self.printer.on_value)


class Modal(rx.Reactor):
    on = rx.Mode(initial=True)

    def __init__(self) -> None:
        with self.on:
            self.counter = Counter()
        self.printer = Printer(mode=self.on)
        self.counters = rx.bank(4, Counter, lambda i: 10 * i, mode=self.on)


graph = rx.Graph(Main())
assert_type(graph.levels, list[list[str]])
