"""The oracle of the tests: the model in obvious Python, which a program runs on when `rx` is this package.

- meaning.py    what a program means; read this instead of a specification
- modes.py      what modes add to it
- declaring.py  what a program is made of, as `rx` has it
- digest.py     the digest of a run, which that of `rx.run` has to equal

It shares no code with what it judges, is slow, and knows neither workers nor a clock of its own.
"""

from .declaring import (
    FOREVER,
    Input,
    LogicalAction,
    Mode,
    Output,
    PhysicalAction,
    Reactor,
    State,
    Tag,
    Timer,
    VirtualClock,
    bank,
    connect,
    reaction,
    reactors,
    reset,
    shutdown,
    startup,
    stop,
)
from .meaning import CycleError, elaborate, run

__all__ = [
    "FOREVER",
    "CycleError",
    "Input",
    "LogicalAction",
    "Mode",
    "Output",
    "PhysicalAction",
    "Reactor",
    "State",
    "Tag",
    "Timer",
    "VirtualClock",
    "bank",
    "connect",
    "elaborate",
    "reaction",
    "reactors",
    "reset",
    "run",
    "shutdown",
    "startup",
    "stop",
]
