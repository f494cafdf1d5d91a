"""Deterministic dataflow in Python: reactors, fixed ports, and a core in C that runs them on all cores.

A map of the rooms, the lowest first; none imports from one above it (`lint-imports`, the rule is in pyproject.toml):

- tag, errors, time, location  common terms
- names         messages about unknown names
- code          what the code of functions shows about them
- lossless      whether a value survives a dtype
- model         what users write: reactors, ports, actions, modes, reactions, and their connections
- elaboration   from `main` to a graph of integers, and every error that can be found without a run
- tracing       what the trace of a run shows: where the time went, what would make it faster
- journals      what the journals of runs show: where two of them diverge
- drawing       pictures
- graph         both, as one object: `rx.Graph`
- viewing       a run in a terminal, in a browser, in a file
- reports       what a run reports: progress, result, log, trace, hints
- execution     what exists while a program runs: sessions, ports, clocks, debug mode
- shipping      to worker processes and back
- machines      to other machines and back
- launch, script  `rx.run`, and programs in files
- slicing       which executions made a value
- stepwise      a run in steps, one for each call from outside
- rewinding     runs that go forward and back: `rx.Replay`
- lowlevel      what libraries on top need, and programs do not
- rl            environments, replay, algorithms, training, serving: it has its own map
- testing       tools for tests of programs
- command       the command line
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reactors.errors import (
        ActionValueError,
        ArgumentError,
        CausalityError,
        ContainmentError,
        DeclarationError,
        DrawingError,
        DurationError,
        ElaborationError,
        JournalError,
        MachineError,
        MachineLost,
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
        TraceError,
        UndeclaredAccessError,
        ValueMismatchError,
        WatchingError,
        WidthError,
        WiringError,
        WorkerDied,
        WorkerError,
        WorkerStartError,
    )
    from reactors.execution.clock import VirtualClock
    from reactors.execution.log_context import LogContext
    from reactors.graph import Graph
    from reactors.journals.journal import Journal
    from reactors.launch import run
    from reactors.machines.machines import Machines
    from reactors.model.actions import LogicalAction, PhysicalAction, Timer
    from reactors.model.bank import BankOf as Bank
    from reactors.model.bank import bank, interleaved
    from reactors.model.connect import connect
    from reactors.model.modes import Mode, State
    from reactors.model.native import native
    from reactors.model.ports import Input, Output
    from reactors.model.reaction import reaction
    from reactors.model.reactor import Reactor
    from reactors.model.triggers import reset, shutdown, startup, stop
    from reactors.reports.result import Result
    from reactors.rewinding.replay import Replay
    from reactors.tag import Tag
    from reactors.time import Measured
    from reactors.tracing.trace import Trace

    __version__: str

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
    "Journal",
    "JournalError",
    "LogContext",
    "LogicalAction",
    "MachineError",
    "MachineLost",
    "Machines",
    "Measured",
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
    "Replay",
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
    "Trace",
    "TraceError",
    "UndeclaredAccessError",
    "ValueMismatchError",
    "VirtualClock",
    "WatchingError",
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


_ROOMS = {
    "errors": (
        "ActionValueError",
        "ArgumentError",
        "CausalityError",
        "ContainmentError",
        "DeclarationError",
        "DrawingError",
        "DurationError",
        "ElaborationError",
        "JournalError",
        "MachineError",
        "MachineLost",
        "MemoryTooSmall",
        "MicrostepLimitError",
        "MismatchError",
        "OutsideReactionError",
        "ParameterError",
        "PlacementError",
        "ReactionError",
        "ReactorError",
        "ReactorWarning",
        "ReplayError",
        "RunWhileImported",
        "SharedValueError",
        "ShippingError",
        "StructureError",
        "TooManyOpenFiles",
        "TraceError",
        "UndeclaredAccessError",
        "ValueMismatchError",
        "WatchingError",
        "WidthError",
        "WiringError",
        "WorkerDied",
        "WorkerError",
        "WorkerStartError",
    ),
    "execution.clock": ("VirtualClock",),
    "machines.machines": ("Machines",),
    "execution.log_context": ("LogContext",),
    "graph": ("Graph",),
    "journals.journal": ("Journal",),
    "launch": ("run",),
    "model.actions": ("LogicalAction", "PhysicalAction", "Timer"),
    "model.bank": ("Bank", "bank", "interleaved"),
    "model.connect": ("connect",),
    "model.modes": ("Mode", "State"),
    "model.native": ("native",),
    "model.ports": ("Input", "Output"),
    "model.reaction": ("reaction",),
    "model.reactor": ("Reactor",),
    "model.triggers": ("reset", "shutdown", "startup", "stop"),
    "reports.result": ("Result",),
    "rewinding.replay": ("Replay",),
    "tag": ("Tag",),
    "time": ("Measured",),
    "tracing.trace": ("Trace",),
}
_PLACE = {name: room for room, its in _ROOMS.items() for name in its}


if not TYPE_CHECKING:  # type checkers would take `__getattr__` to mean that every name exists

    def __dir__() -> list[str]:
        return __all__

    def __getattr__(name: str) -> Any:
        """What is imported when it is asked for: a program that only declares needs a third of it."""
        if name == "__version__":
            from importlib.metadata import version

            return version("reactors")
        if name not in _PLACE:
            from reactors.names.modules import refuse

            refuse(globals(), name, __all__)
        found = globals()[name] = getattr(import_module(f"{__name__}.{_PLACE[name]}"), name)
        return found
