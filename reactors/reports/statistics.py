"""What did each reaction cost, and what did each worker do with its time?"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReactionStatistics:
    """How often a reaction ran, and its cost; that of light reactions is estimated from about one run in sixteen."""

    path: str
    worker: int
    count: int
    late: int  # how often it missed its deadline, and the other method ran
    seconds: float  # spent in it altogether
    class_name: str = ""  # of its reactor


@dataclass(frozen=True, slots=True)
class WorkerStatistics:
    """What a worker did with its time."""

    worker: int
    tags: int
    reactions: int
    waits: dict[str, float]  # seconds spent waiting, by what for: `inputs`, `the clock`, and others
    sleeps: int  # how often it went to sleep over that
    mean_lag: float  # seconds by which tags began later than they should, over all tags; 0 with fast=True
    max_lag: float  # and the most of any tag
    core: int  # where it was seen last, as the system numbers them
    moves: int  # how often it left a core because another worker was to run there
    pinned: bool = False  # it had a core of its own
    machine: int = 0  # where it was: all times are by the clock of that

    @property
    def waited(self) -> float:
        """Seconds spent waiting for anything."""
        return sum(self.waits.values())


@dataclass(frozen=True, slots=True)
class MachineStatistics:
    """One of several machines, and its clock, which shows the same logical time as that of machine 0 within `error`."""

    machine: int
    host: str
    ahead: float  # seconds by which its monotonic clock was ahead of that of machine 0 when the run began
    error: float  # by which that may be wrong, at the most: half of a round trip
