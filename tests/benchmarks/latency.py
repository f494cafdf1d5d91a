"""From a thread outside to the reaction: how long until a physical action is heard, with nothing else to do?"""

from __future__ import annotations

import statistics
import threading
import time
from typing import TYPE_CHECKING

import xronos
from row import ONE, Bar, Measure, Row, Sample

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WARM = 20

row = Row(
    title="an outside thread's schedule until its reaction, median",
    unit="us",
    variants=("a thread of the program",),
    work=lambda _: 1,
    bars=(Bar(ONE, 60.0, 1), Bar(ONE, "xronos", 1)),
    rounds=lambda _: 500,
)


def speak(rounds: int, say: Callable[[float], object]) -> None:
    """Every millisecond, the time."""
    for _ in range(rounds + WARM):
        time.sleep(0.001)
        say(time.perf_counter())


class Listener(rx.Reactor):
    heard = rx.PhysicalAction(float)

    def __init__(self, rounds: int) -> None:
        self.rounds, self.delays = rounds, list[float]()

    @rx.reaction(rx.startup)
    def begin(self) -> None:
        self.thread = threading.Thread(target=speak, args=(self.rounds, self.heard.schedule))
        self.thread.start()

    @rx.reaction(heard, effects=rx.stop)
    def hear(self) -> None:
        self.delays.append(time.perf_counter() - self.heard.value)
        if len(self.delays) == self.rounds + WARM:
            self.request_stop()

    @rx.reaction(rx.shutdown)
    def end(self) -> None:
        self.thread.join()


@row.peer(ONE)
def ours(_: str) -> Iterator[Measure]:
    def measure(rounds: int) -> Sample:
        main = Listener(rounds)
        rx.run(main)
        return Sample(statistics.median(main.delays[WARM:]) * rounds)

    yield measure


class XronosListener(xronos.Reactor):
    heard = xronos.PhysicalEventDeclaration[float]()

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.rounds, self.delays = rounds, list[float]()

    @xronos.reaction
    def on_startup(self, interface: xronos.ReactionContext):
        interface.add_trigger(self.startup)

        def handler() -> None:
            self.thread = threading.Thread(target=speak, args=(self.rounds, self.heard.trigger))
            self.thread.start()

        return handler

    @xronos.reaction
    def on_heard(self, interface: xronos.ReactionContext):
        heard = interface.add_trigger(self.heard)
        shutdown = interface.add_effect(self.shutdown)

        def handler() -> None:
            self.delays.append(time.perf_counter() - heard.get())
            if len(self.delays) == self.rounds + WARM:
                shutdown.trigger_shutdown()

        return handler


@row.peer("xronos")
def theirs(_: str) -> Iterator[Measure]:
    def measure(rounds: int) -> Sample:
        environment = xronos.Environment()
        main = environment.create_reactor("main", XronosListener, rounds)
        environment.execute()
        main.thread.join()
        return Sample(statistics.median(main.delays[WARM:]) * rounds)

    yield measure
