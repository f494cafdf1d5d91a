"""What `rx.run` was asked for, as far as the core needs to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(slots=True)
class Replayed:
    """What came from outside in the run that is replayed: numbers are those of the program, tags (ns, microstep)."""

    events: list[tuple[tuple[int, int], int, bytes]]  # tag, physical action, value or nothing; by tag
    arrivals: dict[int, list[tuple[int, int]]]  # port -> the tags at which values arrived over physical connections
    late: list[tuple[tuple[int, int], int]]  # tag, reaction that missed its deadline; by tag
    checks: set[tuple[tuple[int, int], int, int]]  # tag, reaction, which of its looks at its deadline found it missed
    stop: tuple[int, int]  # the last tag, for whatever reason it was that


@dataclass(frozen=True, slots=True)
class MachineClock:
    """The monotonic clock of a machine, beside that of machine 0 when the run began."""

    host: str
    ahead: int  # ns
    error: int  # ns by which that may be wrong, at the most


@dataclass(slots=True)
class RunOptions:
    """How a program is to be run."""

    fast: bool = False
    keepalive: bool = False
    timeout: int | None = None  # ns
    spin: int = 100_000  # ns a worker looks on before it sleeps; 0 when there are more workers than cores
    by_hand: Sequence[str] = ()  # paths of reactors that users have put on workers; only a trace says so
    cores: tuple[int, ...] = ()  # where the workers of this computer stay; none: wherever the system puts them
    moves_off: bool = False  # workers leave cores on which others are to run
    processes: bool = False  # workers share no Python objects
    machine_of: tuple[int, ...] = ()  # the machine of each worker; none: there is one
    clocks: Sequence[MachineClock] = ()  # of each machine, once they are all there
    max_microsteps: int = 0
    trace: int = 0  # spans to keep for each worker, a power of two
    steady: bool = False  # the processor's counter keeps time
    epoch: int = 0  # what the monotonic clock lacks of the time since 1970, in ns
    virtual_time: bool = False  # the clock stands still while any worker works
    virtual_sleep: bool = False  # then: time.sleep in a reaction makes it later for its worker
    record: str | None = None  # the file to which what comes from outside is appended
    record_at: str | None = None  # where it is kept meanwhile, on a machine that does not lead
    replay: Replayed | None = None
    values: bool = False  # what is written is hashed
    journal: str | None = None  # then: the file to which workers append what each reaction has read and written
    states: int = 0  # then: how many executions of a reactor's reactions lie between two hashes of its state; 0: none
    injections: Sequence[tuple[int, int, bytes]] = ()  # then: (ns, physical action, pickled value or nothing), by time

    def core(self, worker: int) -> int | None:
        """Where this worker stays, if it stays on one core, and is on this computer."""
        return self.cores[worker] if worker < len(self.cores) else None

    @property
    def machines(self) -> int:
        """How many run the program together."""
        return max(self.machine_of, default=0) + 1

    def workers_of(self, machine: int, workers: int) -> list[int]:
        """Those of a machine, of so many workers."""
        return [w for w in range(workers) if not self.machine_of or self.machine_of[w] == machine]

    @property
    def waits(self) -> bool:
        """Whether no tag begins before its physical time."""
        return not self.fast and not self.virtual_time and self.replay is None

    @property
    def plain(self) -> bool:
        """Whether values of physical actions are such that can be recorded."""
        return self.record is not None or self.replay is not None
