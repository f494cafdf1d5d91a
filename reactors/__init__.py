"""Deterministic dataflow in Python: reactors, fixed ports, and a core in C that runs them on all cores.

A map of the rooms, from what users write down to what runs:

- errors, time, location, lacking, names        what all others speak of
- declared, layout                              how class attributes become part of every instance, and what ports carry
- ports, actions, triggers                      what reactions are triggered by, read and write
- reaction, native, reading, undeclared, aliases  reactions, in Python and in C, and what code does
- reactor, classbody, bank                      reactors, and rows of them
- connect                                       wires between them
- graph: tree, wiring, ends, levels, check      from `main` to a graph of integers, and every error that needs no run
- nodes, diagram, draw, cli                     pictures and the command line
- clock                                         virtual time
- run: access, binding, debug, standstill, result, summary   ports that are alive, and running
- watch, draws, difference                      what debug mode finds after a reaction
- lossless                                      which values survive which dtype
- shipping                                      to worker processes and back
- log_context                                   what lines of a log say of where they come from
"""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

from reactors import names
from reactors.errors import (
    ActionValueError,
    ArgumentError,
    CausalityError,
    ContainmentError,
    DeclarationError,
    DrawingError,
    DurationError,
    ElaborationError,
    MemoryTooSmall,
    MicrostepLimitError,
    MismatchError,
    OutsideReactionError,
    ParameterError,
    PlacementError,
    ReactionError,
    ReactorError,
    ReactorWarning,
    ReplayError,
    RunWhileImported,
    SharedValueError,
    ShippingError,
    StructureError,
    TooManyOpenFiles,
    UndeclaredAccessError,
    ValueMismatchError,
    WidthError,
    WiringError,
    WorkerDied,
    WorkerError,
    WorkerStartError,
)
from reactors.execution.clock import VirtualClock
from reactors.execution.log_context import LogContext
from reactors.execution.result import Result
from reactors.graph import Graph
from reactors.model.actions import LogicalAction, PhysicalAction, Timer
from reactors.model.bank import bank
from reactors.model.connect import connect, interleaved
from reactors.model.modes import Mode, State
from reactors.model.native import native
from reactors.model.ports import Input, Output
from reactors.model.reaction import reaction
from reactors.model.reactor import Reactor
from reactors.model.triggers import reset, shutdown, startup, stop
from reactors.run import run
from reactors.time import Tag

if TYPE_CHECKING:
    from reactors.model.bank import BankOf as Bank
else:
    from reactors.model.bank import Bank

__version__ = _version("reactors")

__all__ = [
    "ActionValueError",
    "ArgumentError",
    "Bank",
    "CausalityError",
    "ContainmentError",
    "DeclarationError",
    "DrawingError",
    "DurationError",
    "ElaborationError",
    "Graph",
    "Input",
    "LogContext",
    "LogicalAction",
    "MemoryTooSmall",
    "MicrostepLimitError",
    "MismatchError",
    "Mode",
    "Output",
    "OutsideReactionError",
    "ParameterError",
    "PhysicalAction",
    "PlacementError",
    "ReactionError",
    "Reactor",
    "ReactorError",
    "ReactorWarning",
    "ReplayError",
    "Result",
    "RunWhileImported",
    "SharedValueError",
    "ShippingError",
    "State",
    "StructureError",
    "Tag",
    "Timer",
    "TooManyOpenFiles",
    "UndeclaredAccessError",
    "ValueMismatchError",
    "VirtualClock",
    "WidthError",
    "WiringError",
    "WorkerDied",
    "WorkerError",
    "WorkerStartError",
    "bank",
    "connect",
    "interleaved",
    "native",
    "reaction",
    "reset",
    "run",
    "shutdown",
    "startup",
    "stop",
]


if not TYPE_CHECKING:  # which takes a `__getattr__` for the promise that there is any name

    def __dir__() -> list[str]:
        return __all__

    def __getattr__(name: str) -> Any:
        """Refused: everything that there is has been imported."""
        names.refuse(globals(), name, __all__)
