"""What an empty Python reaction costs, beside xronos, the one other reactor runtime for Python with a compiled core."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING

import xronos
from clocked import Clocked
from row import ONE, Bar, Measure, Row, Sample

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Iterator

FAN_OUTS = {f"fan-out of {n:,}, a consumer": n for n in (10, 100, 1000)}
PROGRAMS = ("periodic timer", "self-scheduled action", "ping-pong, a round trip", *FAN_OUTS)
FLAT = "fan-out, a consumer of 1,000 against one of 10"
US = timedelta(microseconds=1)

row = Row(
    title="a bare Python reaction",
    unit="ns",
    variants=(*PROGRAMS, FLAT),
    work=lambda variant: FAN_OUTS.get(variant, 1),
    bars=(
        Bar(ONE, "xronos", 2),
        # Flat, give or take a tenth for caches.
        Bar(f"{ONE}, 1,000", f"{ONE}, 10", 0.9, (FLAT,)),
    ),
    check_rounds=2000,
)


class Ticking(Clocked):
    tick = rx.Timer(period="1 us")

    def __init__(self) -> None:
        self.n = 0

    @rx.reaction(tick)
    def on_tick(self) -> None:
        self.n += 1


class Rescheduling(Clocked):
    again = rx.LogicalAction()

    def __init__(self) -> None:
        self.n = 0

    @rx.reaction(rx.startup, effects=again)
    def first(self) -> None:
        self.again.schedule()

    @rx.reaction(again, effects=again)
    def on_again(self) -> None:
        self.n += 1
        self.again.schedule(delay=1000)


class Ping(Clocked):
    back = rx.Input(int)
    out = rx.Output(int)

    def __init__(self, rounds: int) -> None:
        self.rounds, self.n = rounds, 0

    @rx.reaction(rx.startup, effects=out)
    def serve(self) -> None:
        self.out.set(0)

    @rx.reaction(back, effects=(out, rx.stop))
    def on_back(self) -> None:
        self.n = self.back.value
        if self.n < self.rounds:
            self.out.set(self.n)
        else:
            self.request_stop()


class Pong(rx.Reactor):
    given = rx.Input(int)
    out = rx.Output(int)

    @rx.reaction(given, effects=out)
    def on_given(self) -> None:
        self.out.set(self.given.value + 1)


class PingPong(rx.Reactor):
    def __init__(self, rounds: int) -> None:
        self.ping, self.pong = Ping(rounds), Pong()
        rx.connect(self.ping.out, self.pong.given)
        rx.connect(self.pong.out, self.ping.back, after=0)


class Source(Clocked):
    tick = rx.Timer(period="1 us")
    out = rx.Output(int)

    def __init__(self) -> None:
        self.n = 0

    @rx.reaction(tick, effects=out)
    def on_tick(self) -> None:
        self.n += 1
        self.out.set(self.n)


class Consumer(rx.Reactor):
    given = rx.Input(int)

    def __init__(self) -> None:
        self.total = 0

    @rx.reaction(given)
    def on_given(self) -> None:
        self.total += self.given.value


class FanOut(rx.Reactor):
    def __init__(self, width: int) -> None:
        self.source, self.consumers = Source(), rx.bank(width, Consumer)
        rx.connect(self.source.out, self.consumers.given, broadcast=True)


def fan_out(width: int, rounds: int) -> Sample:
    main = FanOut(width)
    rx.run(main, fast=True, timeout=rounds * 1000)
    return Sample(main.source.ended - main.source.began, main.consumers[-1].total)


@row.peer(ONE, variants=PROGRAMS)
def ours(variant: str) -> Iterator[Measure]:
    def measure(rounds: int) -> Sample:
        if width := FAN_OUTS.get(variant):
            return fan_out(width, rounds)
        if variant == "ping-pong, a round trip":
            game = PingPong(rounds)
            rx.run(game, fast=True)
            return Sample(game.ping.ended - game.ping.began, game.ping.n)
        main = Ticking() if variant == "periodic timer" else Rescheduling()
        rx.run(main, fast=True, timeout=rounds * 1000)
        return Sample(main.ended - main.began, main.n)

    yield measure


@row.peer(f"{ONE}, 10", variants=(FLAT,))
def narrow(_: str) -> Iterator[Measure]:
    yield lambda rounds: scaled(10, rounds)


@row.peer(f"{ONE}, 1,000", variants=(FLAT,))
def wide(_: str) -> Iterator[Measure]:
    yield lambda rounds: scaled(1000, rounds)


def scaled(width: int, rounds: int) -> Sample:
    """The same number of reactions, whatever the width."""
    tags = max(1, rounds // width)
    return Sample(fan_out(width, tags).seconds * rounds / (tags * width))


class XronosClocked(xronos.Reactor):
    def __init__(self) -> None:
        super().__init__()
        self.began = self.ended = 0.0

    @xronos.reaction
    def on_startup(self, interface: xronos.ReactionContext):
        interface.add_trigger(self.startup)

        def handler() -> None:
            self.began = time.perf_counter()

        return handler

    @xronos.reaction
    def on_shutdown(self, interface: xronos.ReactionContext):
        interface.add_trigger(self.shutdown)

        def handler() -> None:
            self.ended = time.perf_counter()

        return handler


class XronosTicking(XronosClocked):
    tick = xronos.PeriodicTimerDeclaration(US)

    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    @xronos.reaction
    def on_tick(self, interface: xronos.ReactionContext):
        interface.add_trigger(self.tick)

        def handler() -> None:
            self.n += 1

        return handler


class XronosRescheduling(XronosClocked):
    again = xronos.ProgrammableTimerDeclaration[None]()

    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    @xronos.reaction
    def first(self, interface: xronos.ReactionContext):
        interface.add_trigger(self.startup)
        again = interface.add_effect(self.again)
        return lambda: again.schedule(None)

    @xronos.reaction
    def on_again(self, interface: xronos.ReactionContext):
        interface.add_trigger(self.again)
        again = interface.add_effect(self.again)

        def handler() -> None:
            self.n += 1
            again.schedule(None, US)

        return handler


class XronosPing(XronosClocked):
    back = xronos.InputPortDeclaration[int]()
    out = xronos.OutputPortDeclaration[int]()

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.rounds, self.n = rounds, 0

    @xronos.reaction
    def serve(self, interface: xronos.ReactionContext):
        interface.add_trigger(self.startup)
        out = interface.add_effect(self.out)
        return lambda: out.set(0)

    @xronos.reaction
    def on_back(self, interface: xronos.ReactionContext):
        back = interface.add_trigger(self.back)
        out, stop = interface.add_effect(self.out), interface.add_effect(self.shutdown)

        def handler() -> None:
            self.n = back.get()
            if self.n < self.rounds:
                out.set(self.n)
            else:
                stop.trigger_shutdown()

        return handler


class XronosPong(xronos.Reactor):
    given = xronos.InputPortDeclaration[int]()
    out = xronos.OutputPortDeclaration[int]()

    @xronos.reaction
    def on_given(self, interface: xronos.ReactionContext):
        given = interface.add_trigger(self.given)
        out = interface.add_effect(self.out)
        return lambda: out.set(given.get() + 1)


class XronosSource(XronosClocked):
    tick = xronos.PeriodicTimerDeclaration(US)
    out = xronos.OutputPortDeclaration[int]()

    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    @xronos.reaction
    def on_tick(self, interface: xronos.ReactionContext):
        interface.add_trigger(self.tick)
        out = interface.add_effect(self.out)

        def handler() -> None:
            self.n += 1
            out.set(self.n)

        return handler


class XronosConsumer(xronos.Reactor):
    given = xronos.InputPortDeclaration[int]()

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    @xronos.reaction
    def on_given(self, interface: xronos.ReactionContext):
        given = interface.add_trigger(self.given)

        def handler() -> None:
            self.total += given.get()

        return handler


@row.peer("xronos", variants=PROGRAMS)
def theirs(variant: str) -> Iterator[Measure]:
    def measure(rounds: int) -> Sample:
        if variant == "ping-pong, a round trip":
            env = xronos.Environment(fast=True)
            ping = env.create_reactor("ping", XronosPing, rounds)
            pong = env.create_reactor("pong", XronosPong)
            env.connect(ping.out, pong.given)
            env.connect(pong.out, ping.back, timedelta())
            env.execute()
            return Sample(ping.ended - ping.began, ping.n)
        env = xronos.Environment(fast=True, timeout=rounds * US)
        if width := FAN_OUTS.get(variant):
            source = env.create_reactor("source", XronosSource)
            consumers = [env.create_reactor(f"consumer{i}", XronosConsumer) for i in range(width)]
            for consumer in consumers:
                env.connect(source.out, consumer.given)
            env.execute()
            return Sample(source.ended - source.began, consumers[-1].total)
        main = env.create_reactor("main", XronosTicking if variant == "periodic timer" else XronosRescheduling)
        env.execute()
        return Sample(main.ended - main.began, main.n)

    yield measure
