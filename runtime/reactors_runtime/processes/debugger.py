"""Python's debugger in a worker: it has the terminal from the breakpoint to the end of the reaction."""

from __future__ import annotations

import pdb  # noqa: T100 - this is where it belongs
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from types import FrameType


class Turn(Protocol):
    """The right to use the terminal, which one worker has at a time."""

    def take(self) -> None:
        """Wait until no other worker uses it."""

    def end(self) -> None:
        """Give it to others."""


class Debugger(pdb.Pdb):
    """Pdb that shares the terminal with those of other workers, by turns."""

    def __init__(self, turn: Turn, worker: int) -> None:
        super().__init__(nosigint=True)  # Ctrl-C is for the caller, who ends the run
        self.prompt = f"(Pdb on worker {worker}) "
        self._turn = turn

    def interaction(self, *args: Any, **options: Any) -> None:
        """Wait for the terminal, and take commands."""
        self._turn.take()
        super().interaction(*args, **options)

    def set_continue(self) -> None:
        """Go on, until the next breakpoint."""
        super().set_continue()
        self._turn.end()

    def set_quit(self) -> None:
        """Raise BdbQuit in the reaction."""
        super().set_quit()
        self._turn.end()

    def dispatch_return(self, frame: FrameType, arg: Any) -> Any:
        """A function returns. Who steps past the end of a reaction goes on, for what follows may wait for others."""
        trace = super().dispatch_return(frame, arg)
        caller = frame.f_back
        if caller is None or str(caller.f_globals.get("__name__")).startswith("reactors_runtime."):
            self.set_continue()
        return trace
