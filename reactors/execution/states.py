"""What is the state of a reactor, and which hash has it in the journal?"""

from __future__ import annotations

from functools import wraps
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from reactors.model.reactor import Reactor
from reactors.names.slots import slots
from reactors_runtime._core import lib
from reactors_runtime._doors import content_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reactors_runtime.engine import Engine


def attributes(reactor: Reactor) -> dict[str, Any]:
    """What the user has stored in a reactor, and its ports, timers and actions."""
    found = dict(vars(reactor))
    for kind in type(reactor).__mro__:
        for name in () if kind is Reactor else slots(kind):
            if hasattr(reactor, name):
                found[name] = getattr(reactor, name)
    return found


def state_hash(reactor: Reactor) -> int:
    """A hash of its attributes by name, and of where its random numbers are. Of reactors and ports it has the paths.

    >>> import reactors as rx
    >>> class Counter(rx.Reactor):
    ...     def __init__(self, n):
    ...         self.n = n
    >>> state_hash(Counter(1)) == state_hash(Counter(1)), state_hash(Counter(1)) == state_hash(Counter(2))
    (True, False)
    """
    by_name = sorted(attributes(reactor).items(), key=itemgetter(0))
    return content_hash([reactor._path, reactor._rng, by_name])


class StateNotes:
    """Notes the state of each reactor of a worker after each `every` executions of its reactions."""

    def __init__(self, engine: Engine, reactors: Sequence[Reactor], every: int) -> None:
        self._engine, self._every, self._before = engine, every, engine.around
        self._reactors = {reactor._index: reactor for reactor in reactors}
        self._counts = dict.fromkeys(self._reactors, 0)

    def around(self, body: Callable[[], object]) -> Callable[[], object]:
        """A reaction's body, and a look at its reactor after it; one in C is never called, and stays."""
        if self._before is not None:
            body = self._before(body)
        if not callable(body):
            return body

        @wraps(body)
        def run() -> object:
            returned = body()
            self._look()
            return returned

        return run

    def _look(self) -> None:
        engine = self._engine
        number = engine.image.program.reactions[engine.running()].reactor
        self._counts[number] += 1
        if self._counts[number] % self._every:
            return
        noted = lib.rx_noted_now(engine.core)
        noted.state = state_hash(self._reactors[number])
        noted.flags |= lib.RX_DID_LAST
