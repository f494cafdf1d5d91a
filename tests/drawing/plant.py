"""A plant of several reactors to draw, and what a diagram has."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors.drawing.diagram import Box, Diagram, DrawnWire


needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="the program dot is not installed")


class Sensor(rx.Reactor):
    tick = rx.Timer(offset="5 ms", period="10 ms")
    reading = rx.Output(float)

    @rx.reaction(tick, effects=reading)
    def sample(self) -> None:
        self.reading.set(1.0)


class Filter(rx.Reactor):
    raw = rx.Input(float)
    smooth = rx.Output(float)

    @rx.reaction(raw, effects=smooth)
    def step(self) -> None:
        self.smooth.set(self.raw.value)


class Station(rx.Reactor):
    smooth = rx.Output(float)

    def __init__(self, filters: int = 1) -> None:
        self.sensor = Sensor()
        self.filters = [Filter() for _ in range(filters)]
        rx.connect(self.sensor.reading, self.filters[0].raw)
        for one, other in zip(self.filters, self.filters[1:], strict=False):
            rx.connect(one.smooth, other.raw)
        rx.connect(self.filters[-1].smooth, self.smooth)


class Controller(rx.Reactor):
    readings = rx.Input(float, width="n")
    setpoint = rx.Input(float)
    command = rx.Output(float)
    alarm = rx.Output(str)
    retry = rx.LogicalAction(int, min_delay="1 ms")
    button = rx.PhysicalAction(str)

    def __init__(self, n: int) -> None:
        self.n = n

    @rx.reaction(rx.startup)
    def open(self) -> None: ...

    @rx.reaction(readings, effects=(command, retry))
    def control(self) -> None:
        self.command.set(sum(self.readings[i].value for i in self.readings.present))
        self.retry.schedule(1)

    @control.deadline("5 ms")
    def too_late(self) -> None: ...

    @rx.reaction(retry, button, uses=setpoint, effects=(alarm, rx.stop))
    def complain(self) -> None:
        self.alarm.set("stuck")

    @rx.reaction(rx.shutdown)
    def close(self) -> None: ...


class Valve(rx.Reactor):
    command = rx.Input(float)
    position = rx.Output(float)

    @rx.reaction(command, effects=position)
    def move(self) -> None:
        self.position.set(self.command.value)


class Plant(rx.Reactor):
    def __init__(self, n: int = 4) -> None:
        self.stations = rx.bank(n, Station)
        self.controller = Controller(n)
        self.valve = Valve()
        rx.connect(self.stations.smooth, self.controller.readings)
        rx.connect(self.controller.command, self.valve.command, after="2 ms")
        rx.connect(self.valve.position, self.controller.setpoint, physical=True)
        self.add_reaction(self.controller.alarm, self.log)

    def log(self) -> None: ...


class Loop(rx.Reactor):
    """A cycle that one delayed connection closes."""

    def __init__(self) -> None:
        self.sensor, self.head = Sensor(), rx.bank(3, Filter)
        self.joined = Joint()
        rx.connect(self.sensor.reading, self.joined.first)
        rx.connect(self.joined.out, self.head[0].raw)
        rx.connect(self.head[0].smooth, self.head[1].raw)
        rx.connect(self.head[1].smooth, self.head[2].raw)
        rx.connect(self.head[2].smooth, self.joined.second, after=0)


class Joint(rx.Reactor):
    first = rx.Input(float)
    second = rx.Input(float)
    out = rx.Output(float)

    @rx.reaction(first, second, effects=out)
    def join(self) -> None:
        self.out.set(0.0)


def boxes(diagram: Diagram) -> dict[str, Box]:
    def walk(some: list[Box]) -> Iterator[Box]:
        for box in some:
            yield box
            yield from walk(box.boxes)

    return {box.id: box for box in walk(diagram.boxes)}


def wires(diagram: Diagram) -> dict[tuple[str, str], DrawnWire]:
    return {(wire.source, wire.target): wire for wire in diagram.wires}


def notes(diagram: Diagram) -> dict[str, list[str]]:
    return {symbol.id: symbol.notes for symbol in diagram.symbols()}


def ends(diagram: Diagram) -> set[tuple[str, str, int]]:
    """The connections."""
    return {(wire.source, wire.target, wire.channels) for wire in diagram.wires if wire.kind == "connection"}
