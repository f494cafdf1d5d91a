"""Two reactors on two workers: one does what a test asks of it, the other goes on until the program ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Callable


class Actor(rx.Reactor):
    """Calls `deed` with itself at its third tick."""

    tick = rx.Timer(period="1 ms")

    def __init__(self, deed: Callable[[Actor], object]) -> None:
        self.deed = deed
        self.ticks = 0
        self.closed = False

    @rx.reaction(tick, effects=rx.stop)
    def act(self) -> None:
        self.ticks += 1
        if self.ticks == 3:
            self.deed(self)

    @rx.reaction(rx.shutdown)
    def close(self) -> None:
        self.closed = True


class Bystander(rx.Reactor):
    tick = rx.Timer(period="1 ms")

    def __init__(self) -> None:
        self.ticks = 0
        self.closed = False

    @rx.reaction(tick)
    def wait(self) -> None:
        self.ticks += 1

    @rx.reaction(rx.shutdown)
    def close(self) -> None:
        self.closed = True


class Pair(rx.Reactor):
    def __init__(self, deed: Callable[[Actor], object]) -> None:
        self.bystander = Bystander()
        self.actor = Actor(deed)


def run(main: rx.Reactor, *, backend: Literal["thread", "process"] = "process", **options: Any) -> rx.Result:
    """On two workers, the actor on the second."""
    placement = {"main": 0, "main.bystander": 0, "main.actor": 1}
    return rx.run(main, workers=2, backend=backend, placement=placement, **options)


def stop(actor: Actor) -> None:
    actor.request_stop()
