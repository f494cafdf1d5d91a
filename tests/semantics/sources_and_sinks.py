"""Reactors that send values, and reactors that note what arrives."""

from typing import Any

from tests.oracle.ways import note


def sources(rx: Any) -> Any:
    """A reactor that sends what it is given, one value a tag; None sends nothing."""

    class Source(rx.Reactor):
        out = rx.Output()

        def __init__(self, *values: Any, period: int = 10) -> None:
            self.values = list(values)
            self.tick = rx.Timer(0, period)
            self.add_reaction(self.tick, self.send, effects=self.out)

        def send(self) -> None:
            value = self.values.pop(0) if self.values else None
            if value is not None:
                self.out.set(value)

    return Source


def sinks(rx: Any) -> Any:
    class Sink(rx.Reactor):
        value = rx.Input()

        @rx.reaction(value)
        def see(self) -> None:
            note(self, self.value.value)

    return Sink
