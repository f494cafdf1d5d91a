"""Build, check and start 10,000 reactors: chains of ten, two ports and one reaction each, up to the first reaction."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import xronos
from row import ONE, Bar, Measure, Row, Sample

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Iterator

row = Row(
    title="build, check and start",
    unit="s",
    variants=("10,000 reactors",),
    work=lambda _: 1,
    bars=(Bar(ONE, "xronos", 2),),
    rounds=lambda _: 1,
    check_rounds=1,
)
N, CHAIN = 10_000, 10


class Link(rx.Reactor):
    given = rx.Input(int)
    out = rx.Output(int)

    @rx.reaction(given, effects=out)
    def relay(self) -> None:
        self.out.set(self.given.value)


class First(rx.Reactor):
    out = rx.Output(int)
    reached = 0.0

    @rx.reaction(rx.startup, effects=(out, rx.stop))
    def arrive(self) -> None:
        self.reached = time.perf_counter()
        self.request_stop()


class Many(rx.Reactor):
    def __init__(self) -> None:
        self.first = First()
        self.links = [Link() for _ in range(N)]
        for i, link in enumerate(self.links):
            rx.connect(self.links[i - 1].out if i % CHAIN else self.first.out, link.given)


@row.peer(ONE)
def ours(_: str) -> Iterator[Measure]:
    def measure(_: int) -> Sample:
        start = time.perf_counter()
        main = Many()
        rx.run(main, fast=True)
        return Sample(main.first.reached - start)

    yield measure


class XronosLink(xronos.Reactor):
    given = xronos.InputPortDeclaration[int]()
    out = xronos.OutputPortDeclaration[int]()

    @xronos.reaction
    def relay(self, interface: xronos.ReactionContext):
        given = interface.add_trigger(self.given)
        out = interface.add_effect(self.out)
        return lambda: out.set(given.get())


class XronosFirst(xronos.Reactor):
    out = xronos.OutputPortDeclaration[int]()

    def __init__(self) -> None:
        super().__init__()
        self.reached = 0.0

    @xronos.reaction
    def arrive(self, interface: xronos.ReactionContext):
        interface.add_trigger(self.startup)
        interface.add_effect(self.out)
        stop = interface.add_effect(self.shutdown)

        def handler() -> None:
            self.reached = time.perf_counter()
            stop.trigger_shutdown()

        return handler


@row.peer("xronos")
def theirs(_: str) -> Iterator[Measure]:
    def measure(_: int) -> Sample:
        start = time.perf_counter()
        env = xronos.Environment(fast=True)
        first = env.create_reactor("first", XronosFirst)
        links = [env.create_reactor(f"link{i}", XronosLink) for i in range(N)]
        for i, link in enumerate(links):
            env.connect(links[i - 1].out if i % CHAIN else first.out, link.given)
        env.execute()
        return Sample(first.reached - start)

    yield measure
