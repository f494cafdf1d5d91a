"""What a row of the table of figures is: a workload, its variants, the peers that do it, and the bars to clear.

A peer is a generator: it sets up, yields `measure(rounds) -> Sample`, and cleans up when it is resumed. Every call of
`measure` starts from the same state, drops its own warm-up, and times the same work as every other peer of the row.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

CORES = len(os.sched_getaffinity(0))
OURS = "reactors"
ONE = f"{OURS}, 1 worker"
ALL = f"{OURS}, {CORES} workers"
IDEAL = f"{CORES} parts apart"  # each in a process, without a word to the others: what no parallel program can surpass


class Sample(NamedTuple):
    """Seconds (or bytes) that the rounds took, and an outcome that must be equal in every peer that gives one."""

    seconds: float
    check: object = None


Measure = Callable[[int], Sample]
Setup = Callable[[str], Iterator[Measure]]


@dataclass(frozen=True)
class Peer:
    """One contender. Peers of one group share a process: Ray's start takes seconds."""

    name: str
    setup: Callable[[str], contextlib.AbstractContextManager[Measure]]
    group: str
    variants: tuple[str, ...]


@dataclass(frozen=True)
class Bar:
    """`ours` must be `at_least` that many times as fast as `peer`, in the named variants (none named: in all).

    `peer` may be a number with the unit of the row: an absolute bar.
    """

    ours: str
    peer: str | float
    at_least: float
    variants: tuple[str, ...] = ()


@dataclass
class Row:
    """One workload. `work` is what one round counts for, in the unit; a unit that ends in /s is a rate, else a time."""

    title: str
    unit: str
    variants: tuple[str, ...]
    work: Callable[[str], float]
    bars: tuple[Bar, ...] = ()
    rounds: Callable[[str], int] | None = None
    """The rounds to measure, where they may not vary between peers; else as many as take the time asked for."""
    check_rounds: int = 30
    further: tuple[str, ...] = ()
    """Variants that only `make papers` measures."""
    prepare: Callable[[str], str] | None = None
    """Makes what all peers of a variant need, before they start; returns what there is to say of it."""
    note: str = ""
    """Figures from elsewhere, for reference only: they take part in no ratio."""
    peers: dict[str, Peer] = field(default_factory=dict)

    def peer(self, name: str, group: str = "", variants: tuple[str, ...] = ()) -> Callable[[Setup], Setup]:
        """Enter a generator as the peer `name`, for the named variants (none named: for all, and further ones)."""

        def enter(setup: Setup) -> Setup:
            self.peers[name] = Peer(
                name, contextlib.contextmanager(setup), group or name, variants or (*self.variants, *self.further)
            )
            return setup

        return enter

    @property
    def is_rate(self) -> bool:
        return self.unit.endswith("/s")

    def value(self, variant: str, rounds: int, seconds: float) -> float:
        """The figure in the row's unit."""
        work = self.work(variant) * rounds
        scale = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0, "bytes": 1.0}
        return work / seconds if self.is_rate else seconds / work * scale[self.unit.split()[0]]

    def speedup(self, ours: float, theirs: float) -> float:
        """How many times as fast as theirs ours is."""
        return ours / theirs if self.is_rate else theirs / ours
