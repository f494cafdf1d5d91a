"""How do the reactors of one worker come alive for a run, and to rest again?

In this way wherever a program runs: in this thread or one for each worker, step by step, and in worker processes.
"""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING

from reactors.execution.context import Context
from reactors.model.modes import note_states
from reactors.model.thread_state import Inside, Running
from reactors_runtime.settings import collector

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reactors.execution.binding import Binding
    from reactors.model.reactor import Reactor
    from reactors_runtime.engine import Engine


class Session:
    """The reactors of one worker, and the engine that runs them.

    `begin` makes them live. `end` is called however the run ends; then, when all workers that share the `binding` have
    ended, that is detached, and the engine closed.
    """

    def __init__(
        self, engine: Engine, reactors: Iterable[Reactor], binding: Binding, running: Running | None = None
    ) -> None:
        self.engine, self.reactors, self.binding = engine, [*reactors], binding
        self.running = Running() if running is None else running

    @collector.at_rest()
    def begin(self) -> None:
        """Ports, timers and actions first; then each reactor, and what its modes renew."""
        self.binding.attach(self.engine)
        context = Context(self.engine)
        for reactor in self.reactors:
            reactor._engine = context
        for reactor in self._as_they_run():
            _settle(reactor)
        note_states(self.engine, self.reactors)
        if every := self.engine.image.options.states:
            from reactors.execution.states import StateNotes

            self.engine.around = StateNotes(self.engine, self.reactors, every).around

    def _as_they_run(self) -> list[Reactor]:
        """Its reactors in the order of their first reactions: what is used one after another lies so in memory."""
        reactions, first = self.engine.image.program.reactions, dict[int, int]()
        for place, number in enumerate(self.engine.reactions):
            first.setdefault(reactions[number].reactor, place)
        return sorted(self.reactors, key=lambda reactor: first.get(reactor._index, -1))

    def executing(self) -> Inside:
        """A context in which this thread executes reactions; so that nothing nests in them."""
        return Inside(self.running)

    def end(self) -> None:
        """The run is over for these reactors, and for the threads that they have started."""
        self.running.end()
        for reactor in self.reactors:
            reactor._engine = None


def _settle(reactor: Reactor) -> None:
    """Give a reactor a dict of its own.

    Elaboration looked at its `vars`; since then its attributes lie in a dict that shares its keys with others of the
    class, and CPython 3.11 and 3.12 look every attribute up by hash. With keys of its own it is four times faster. Code
    finds them by address; names that came in a pickle are at others, and would be compared letter by letter.
    """
    reactor.__dict__ = {intern(name): value for name, value in reactor.__dict__.items()}  # type: ignore[misc]  # it has one
