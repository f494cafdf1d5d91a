"""Connections, and banks."""

from typing import Generic, TypeVar

import numpy as np

import reactors as rx

T = TypeVar("T")


class Source(rx.Reactor):
    tick = rx.Timer(0, "1 ms")
    count = rx.Output(int)
    counts = rx.Output(int, width=4)
    row = rx.Output(shape=(4,), dtype=np.float32)

    def __init__(self, start: int, *, name: str = "") -> None:
        self.start, self.name = start, name


class Sink(rx.Reactor):
    text = rx.Input(str)
    texts = rx.Input(str, width="n")
    row = rx.Input(shape=(4,), dtype=np.int64)

    def __init__(self, n: int = 1) -> None:
        self.n = n


class Relay(rx.Reactor, Generic[T]):
    def __init__(self, kind: type[T]) -> None:
        self.inp, self.out = rx.Input(kind), rx.Output(kind)
        self.add_reaction(self.inp, self.go, effects=self.out)

    def go(self) -> None:
        self.out.set(self.inp.value)
        self.out.set(5)  # error


class Main(rx.Reactor):
    def __init__(self) -> None:
        self.source, self.sink = Source(1), Sink()
        self.relay = Relay(str)
        rx.connect(self.source.count, self.sink.text)  # error
        rx.connect(self.source.count, self.sink.text, after="1 ms")  # error
        rx.connect(self.source.count, [self.sink.text])  # error
        rx.connect([self.source.count], self.sink.texts)  # error
        rx.connect(self.source.counts, self.sink.texts)  # error
        rx.connect(self.source.row, self.sink.row)  # error
        rx.connect(self.source.cuont, self.sink.text)  # error
        rx.connect(self.source, self.sink.text)  # error
        rx.connect(self.source.count, self.source.count, after=0.1)  # error
        rx.connect(self.source.count, self.source.count, broadcst=True)  # error
        rx.connect(self.source.count, self.source.count, mode="on")  # error
        rx.connect(self.source.count, self.source.count, "1 ms")  # error
        rx.connect(self.source.tick, self.sink.text)  # error
        rx.connect(self.source.count, self.relay.inp)  # error
        rx.connect(self.relay.out, self.source.count)  # error
        self.source.count >> self.sink.text  # error
        [self.source.count] >> self.sink.texts  # error
        self.source.count >> self.relay.inp  # error
        self.source.add_reaction(self.sink.txet, self.source.add_reaction)  # error


class Banks(rx.Reactor):
    def __init__(self) -> None:
        self.source, self.sink = Source(1), Sink()
        self.sources, self.sinks = rx.bank(3, Source, 1), rx.bank(3, Sink)
        self.sources.cuont  # error
        self.sources[0].cuont  # error
        self.sources[0].count.set("x")  # error
        for member in self.sources:
            member.cuont.set(1)  # error
        rx.connect(self.sources.count, self.sinks.text)  # error
        rx.connect(self.source.count, self.sinks.text, broadcast=True)  # error
        rx.connect(self.sources.counts, self.sinks.texts, interleaved=True)  # error
        rx.connect(self.sources.cuont, self.sink.texts)  # error
        rx.connect(self.sources, self.sink.texts)  # error
        rx.connect([member.count for member in self.sources], self.sinks.text)  # error
        rx.connect(rx.interleaved(self.sources.cuonts), self.sinks.texts)  # error
        rx.connect(rx.interleaved(self.sources.counts), self.sinks.texts)  # error
        self.sources.count >> self.sinks.text  # error
        self.source.counts >> self.sinks.text  # error
        self.add_reaction(self.sources.cuont, self.look)  # error
        self.a = rx.bank(3, Source, "x")  # error
        self.b = rx.bank(3, Source, 1, 2)  # error
        self.c = rx.bank(3, Source, 1, nmae="x")  # error
        self.d = rx.bank(3, Source, start=1, name=5)  # error
        self.e = rx.bank(3, Source(1))  # error
        self.f = rx.bank("3", Source, 1)  # error
        self.g = rx.bank(3, int)  # error
        self.h = rx.bank(3)  # error
        self.i = rx.bank(3, Source, 1, mode="on")  # error
        self.j: rx.Bank[Sink] = rx.bank(3, Source, 1)  # error

    def look(self) -> None: ...
