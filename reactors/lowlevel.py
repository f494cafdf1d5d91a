"""What libraries on top of reactors need beside `import reactors as rx`, and programs do not.

`reactors.rl` is made of the public names, of these and of nothing else, so another library can do what it does. They
may change from version to version.

What runs, and where:

- `Backend`: The type of `backend` of `rx.run`.
- `Workers`: The type of `workers` of `rx.run`.
- `Pin`: The type of `pin` of `rx.run`.
- `check_pin`: Refuses what is none, and more workers than there are cores for.
- `where_to_run`: How many workers that is; refuses what is no number of them, and what is no backend.
- `stepwise`: A run whose beat is given from outside, a call at a time: `stepwise.Stepwise`.
- `script`: Programs and classes in files: `script.split`, `script.load`, `script.imported`.
- `in_a_reaction`: Whether this thread executes a reaction, or was started by one.
- `not_in_a_reaction`: Refuses a call that would run a program in a reaction.
- `apart`: A context in which a reaction may make a program that it steps by itself.
- `definitions`: A context in which files are imported for their classes, and `rx.run` in them runs nothing.
- `run_seed`: The seed of the run that a reactor is in, where `Reactor.seed` is its own; 0 before a run.

Ports:

- `Ports`: Several ports of different shapes that are one multiport to users.
- `offered`: Ports that may be left unconnected without a word.
- `is_read`: Whether a reaction of the program reads a port: what none reads need not be computed.
- `checks`: Whether the program runs with `debug=True`, seen from one of its ports.
- `lossless`: An array of another dtype if nothing is lost by that.
- `LostError`: What `lossless` raises, with the place of the first value that does not fit.
- `NUMBERS`: Kinds of dtypes that are numbers.

What is said and written:

- `Duration`: The type of durations: "10 ms", or nanoseconds.
- `duration`: The nanoseconds of one; refuses what is none.
- `description`: A program in lines, the same for the same program.
- `in_words`: An exception in a sentence, with the user's line where it says nothing itself.
- `finite`: A value for JSON, with null for numbers that JSON does not have.
- `Aside`: A stream, on which what cannot be written is lost: nobody reads it any more.
- `encode`: Plain values and arrays as bytes, without pickle.
- `decode`: The values back from those bytes.
- `Location`: A place in a source file, for messages.
- `explains`: Lets the objects of a class say which attributes there are, by their `_lacks`.
- `refuse`: What a module's `__getattr__` raises for a name that it does not have.
- `closest`: The name that is most like another.
- `did_you_mean`: The same, as the end of a message: "; did you mean ...?".

Processes and memory:

- `Memory`: Shared memory, which travels to other processes by its descriptor.
- `OutOfMemory`: What reserving more than there is raises.
- `available`: How many bytes a process may still take.
- `in_units`: A number of bytes for people.
- `installed`: Whether a module comes with Python or an installed package, and is not the user's own.
- `ending`: How a process ended, in words.
- `CRASHES`: Signals that a process gets for a fault of its own.
- `STUCK_AFTER_S`: Seconds without an answer after which a worker counts as stuck.
- `say`: Writes a line on standard error that stays: what is drawn there makes way for it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from reactors import script, stepwise
from reactors.elaboration.workers import Backend, Pin, Workers, check_pin, where_to_run
from reactors.execution.debug_ports import DebugPort
from reactors.location import Location
from reactors.lossless import NUMBERS, LostError, lossless
from reactors.model.ports import Ports
from reactors.model.thread_state import apart, executing, not_in_a_reaction
from reactors.names.lacking import explains
from reactors.names.modules import refuse
from reactors.reports.aside import Aside
from reactors.reports.failures import in_words
from reactors.reports.json_text import finite
from reactors.reports.recording import description
from reactors.time import Duration, duration
from reactors_runtime.encoding import decode, encode
from reactors_runtime.imports import installed
from reactors_runtime.memory import Memory, OutOfMemory, available, in_units
from reactors_runtime.processes.faults import CRASHES
from reactors_runtime.processes.servers import ending
from reactors_runtime.processes.stuck import AFTER_S as STUCK_AFTER_S
from reactors_runtime.processes.terminal import say
from reactors_runtime.suggestions import closest, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors.model.ports import Port
    from reactors.model.reactor import Reactor

__all__ = [
    "CRASHES",
    "NUMBERS",
    "STUCK_AFTER_S",
    "Aside",
    "Backend",
    "Duration",
    "Location",
    "LostError",
    "Memory",
    "OutOfMemory",
    "Pin",
    "Ports",
    "Workers",
    "apart",
    "available",
    "check_pin",
    "checks",
    "closest",
    "decode",
    "definitions",
    "description",
    "did_you_mean",
    "duration",
    "encode",
    "ending",
    "explains",
    "finite",
    "in_a_reaction",
    "in_units",
    "in_words",
    "installed",
    "is_read",
    "lossless",
    "not_in_a_reaction",
    "offered",
    "refuse",
    "run_seed",
    "say",
    "script",
    "stepwise",
    "where_to_run",
]


def in_a_reaction() -> bool:
    """Whether this thread executes a reaction, or was started by one of a program that is not over."""
    return executing.program


@contextmanager
def definitions() -> Iterator[None]:
    """Import files for the sake of their classes: what they would run at their top is not run."""
    before, executing.definitions = executing.definitions, True
    try:
        yield
    finally:
        executing.definitions = before


def run_seed(reactor: Reactor) -> int:
    """The seed of the run that a reactor is in, the same for all its reactors; 0 before a run."""
    return reactor._run_seed or 0


def offered(*ports: Port[Any]) -> None:
    """Let ports of a library be left unconnected: they are there for those who want them.

    >>> import reactors as rx
    >>> class Counter(rx.Reactor):
    ...     count = rx.Output(int)
    ...     offered(count)
    """
    for port in ports:
        port._declared._offered = True


def is_read(port: Port[Any]) -> bool:
    """Whether a reaction of the program reads what is set on a port: what none reads need not be computed."""
    return port._is_read


def checks(port: Port[Any]) -> bool:
    """Whether the program of a port that is alive runs with `debug=True`."""
    return isinstance(port, DebugPort)
