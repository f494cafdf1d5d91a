"""Virtual time for tests of programs: it passes only when no worker has anything to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactors.errors import ArgumentError, StructureError
from reactors.execution.live_ports import recordable
from reactors.model.actions import PhysicalAction
from reactors.names.keywords import spelled_out
from reactors.time import Duration, duration
from reactors_runtime.values import dumps

if TYPE_CHECKING:
    from reactors.graph import Graph


class VirtualClock:
    """Runs a program for real time without waiting: the clock stands still while reactions run.

    When all workers wait, it jumps to the next time for which one of them waits. So physical time, lag and deadlines,
    and the tags of physical actions and connections, are the same in every run. With `sleep=True`, `time.sleep` in a
    reaction advances the time of the worker that sleeps, as if the reaction had worked for so long. The reader of a
    value is never earlier than its sender was. Sleeps on one worker add up, sleeps on two workers overlap, so what is
    late may depend on the placement; with the same placement, it is the same in every run.

    >>> import time
    >>> import reactors as rx
    >>> class Door(rx.Reactor):
    ...     bell = rx.PhysicalAction(str)
    ...     @rx.reaction(bell)
    ...     def open(self):
    ...         time.sleep(0.002)
    ...         print(self.tag, self.bell.value, self.lag)
    >>> door, clock = Door(), rx.VirtualClock(sleep=True)
    >>> clock.at("30 ms", door.bell, "postman")
    >>> _ = rx.run(door, clock=clock, timeout="1 h")
    30 ms postman 2000000
    """

    @spelled_out("rx.VirtualClock")
    def __init__(self, *, sleep: bool = False) -> None:
        if not isinstance(sleep, bool):
            raise ArgumentError(f"sleep of rx.VirtualClock is {sleep!r}; write True or False")
        self.sleep = sleep
        self._events: list[tuple[int, PhysicalAction[Any], Any]] = []

    def at(self, when: Duration, action: PhysicalAction[Any], value: Any = None) -> None:
        """Schedule a physical action, as if from outside, `when` after the start of each run."""
        if getattr(action, "word", None) != PhysicalAction.word:
            raise ArgumentError(f"VirtualClock.at takes a physical action of a reactor, and was given {action!r}")
        ns = duration(when, "time of VirtualClock.at", action.where())
        self._events.append((ns, action, value))

    def events(self, graph: Graph, *, plain: bool) -> list[tuple[int, int, bytes]]:
        """Time, element and value of the scheduled external events, in order; if `plain`, values as in a recording."""
        for _, action, _ in self._events:
            if action._element < 0 or graph.elements[action._element] is not action:
                raise StructureError(f"VirtualClock.at: {action.where()} does not belong to the program that is run")
        return [
            (ns, action._element, recordable(value, action) if plain else _pickled(value, action))
            for ns, action, value in sorted(self._events, key=lambda event: event[0])
        ]


def _pickled(value: Any, action: PhysicalAction[Any]) -> bytes:
    try:
        return b"" if value is None else dumps(value)
    except Exception as error:
        raise ArgumentError(
            f"VirtualClock.at: a {type(value).__name__} cannot be sent to {action.where()} ({error}); send plain data"
        ) from error
