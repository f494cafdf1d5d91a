"""How does a program start, how does it end, and how does a reaction ask for the end?

`startup` and `shutdown` are triggers that every reactor has. `stop` is an effect: a reaction that declares it may call
`self.request_stop()`. `stop.after(d)` ends the program later by d, which gives all workers that much slack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from reactors.errors import ArgumentError
from reactors.location import Call, Location
from reactors.model.actions import checked_duration
from reactors.model.declaration import Declared

if TYPE_CHECKING:
    from reactors.model.declaration import Owner
    from reactors.time import Duration


class BuiltinTrigger:
    """`rx.startup`, `rx.shutdown` or `rx.reset`.

    >>> import reactors as rx
    >>> rx.startup, rx.shutdown, rx.reset
    (rx.startup, rx.shutdown, rx.reset)
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"rx.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # there is one of each, in every process

    def __call__(self) -> None:
        """Refused, because it is easily written by mistake."""
        raise ArgumentError(f"rx.{self.name} is a trigger, no function: write @rx.reaction(rx.{self.name})")


startup = BuiltinTrigger("startup")
shutdown = BuiltinTrigger("shutdown")
reset = BuiltinTrigger("reset")


class Startup(Declared):
    """The startup of one reactor in the graph."""

    word = "startup"
    _element: int = -1

    def __init__(self: Self, owner: Owner, element: int) -> None:
        self._declared, self._location = self, owner._made_at
        self._owner, self._element = owner, element
        self.name = self.word


class Shutdown(Startup):
    """The shutdown of one reactor in the graph."""

    word = "shutdown"


class Reset(Startup):
    """The reset of what belongs to a mode in the graph."""

    word = "reset"


class Stop:
    """The effect that lets a reaction end the program.

    >>> import reactors as rx
    >>> rx.stop, rx.stop.after("4 us")
    (rx.stop, rx.stop.after('4 us'))
    """

    def __init__(self, delay: Duration | None = None) -> None:
        self.delay = delay

    def after(self, delay: Duration) -> Stop:
        """The same, `delay` later instead of at the next microstep; a string may name an attribute of the reactor."""
        return Stop(checked_duration(delay, "delay", Call("rx.stop.after", Location.caller())))

    def __repr__(self) -> str:
        if self.delay is None:
            return "rx.stop"
        return f"rx.stop.after({self.delay!r})"


stop = Stop()
