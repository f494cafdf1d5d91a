"""What may a reactor ask of the run that it is in?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reactors.errors import ArgumentError, UndeclaredAccessError
from reactors.time import LONGEST_DEADLINE
from reactors_runtime._core import lib

if TYPE_CHECKING:
    from reactors.model.modes import Mode
    from reactors.model.reactor import Reactor
    from reactors_runtime.engine import Engine

_LONGEST_NAME: int = lib.RX_NAME_BYTES  # in the trace


class Context:
    """The run, as the reactors of one worker see it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.now = engine.now  # the tag being executed, as two numbers

    def physical_time(self) -> int:
        """Ns since the start."""
        return self._engine.physical_time()

    def _running(self) -> str:
        """The path of the reaction that runs now."""
        running = self._engine.running()
        return "no reaction" if running < 0 else self._engine.image.program.name(running)

    def start_time(self) -> int:
        """When tag (0, 0) began, in ns since 1970."""
        return self._engine.start_time()

    def trace(self, reactor: Reactor, name: object, value: object) -> None:
        """Note an event, or a value, of the reaction that runs now."""
        where = f"{reactor.path}: trace({name!r}, ...)"
        if not isinstance(name, str):
            raise ArgumentError(f"{where}: the name is of type {type(name).__name__}; write a string")
        try:
            spelled = name.encode()
        except UnicodeEncodeError:
            raise ArgumentError(f"{where}: the name has half of a surrogate pair, which is no character") from None
        if not 0 < len(spelled) <= _LONGEST_NAME:
            size = f"{len(spelled)} bytes long" if spelled else "empty"
            raise ArgumentError(f"{where}: the name is {size}; write one of 1 to {_LONGEST_NAME} bytes")
        try:
            number = None if value is None else float(value)  # type: ignore[arg-type]  # whatever makes one
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError(f"{where} is given {value!r}, of type {type(value).__name__}; write a number") from None
        self._engine.mark(spelled, number)

    def missed_deadline(self, *, handle: bool) -> bool:
        """Whether physical time is beyond the deadline of the reaction that runs now; then, run what is for that."""
        missed = self._engine.missed_deadline()
        if missed and handle:
            self._engine.handle_missed()
        return missed

    def update_deadline(self, reactor: Reactor, ns: int) -> None:
        """Give the reaction that runs now another deadline."""
        if self._engine.deadline() is None:
            reaction = self._running().rpartition(".")[2]
            raise UndeclaredAccessError(
                f"{reactor.path}.{reaction}: update_deadline() needs a reaction that declares a deadline, and what to "
                f"run when it is missed: @{reaction}.deadline(...)"
            )
        self._engine.set_deadline(min(ns, LONGEST_DEADLINE))

    def set_mode(self, mode: Mode) -> None:
        """Enter a mode when this tag is over, as the reaction that runs now has declared."""
        if not self._engine.set_mode(mode._index):
            raise UndeclaredAccessError(
                f"{mode.where()}: .set while {self._running()} runs, which does not declare it; name it in the effects "
                f"of the reaction, plain, or as {mode.name}.history"
            )

    def request_stop(self, reactor: Reactor) -> None:
        """End the program, as the reaction that runs now has declared."""
        if not self._engine.request_stop(reactor._index):
            reaction = self._running().rpartition(".")[2]
            raise UndeclaredAccessError(
                f"{reactor.path}.{reaction}: request_stop() needs effects=rx.stop (or rx.stop.after(delay)) in the "
                f"declaration of the reaction that calls it"
            )
