"""What depended on what in a traced run?

All executions of reactions in the order of the program (tag, then rank), and edges between them: from one that wrote a
port to one that read it, and from each to the next of the same reactor, which share its state. No other order has to be
kept, whatever the workers: so these edges say how fast a program could be at most.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors_runtime._core import lib

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from reactors.tracing.trace import Spans, Trace

MASK = 64  # doors whose presence a span has
STATE = -1
"""The element of an edge to the next execution of the same reactor."""


@dataclass(frozen=True)
class Edges:
    """From execution to execution; `element` is the port that was read, or STATE."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    element: NDArray[np.int64]


class Executions:
    """Every reaction that ran, a row each, by tag and rank; or so many at `most`, whole tags from the middle.

    Parallel to `rows` are `worker`, `position` among the reactions that this worker ran, and `cost` in ns.
    """

    def __init__(self, trace: Trace, by_worker: Sequence[Spans] | None = None, most: int | None = None) -> None:
        self.trace = trace
        found = [(spans.reactions, spans.worker) for spans in by_worker or trace.by_worker()]
        rows = np.concatenate([rows for rows, _ in found])
        worker = np.concatenate([np.full(len(rows), worker, np.int32) for rows, worker in found])
        position = np.concatenate([np.arange(len(rows)) for rows, _ in found])
        if len(found) > 1:  # one worker by itself runs them in this order
            order = np.lexsort((rows["reaction"], rows["tag"]["microstep"], rows["tag"]["time"]))
            rows, worker, position = rows[order], worker[order], position[order]
        self.all = len(rows)
        """How many there were, also where only some are kept."""
        if most is not None and len(rows) > most:
            kept = _middle(rows["tag"], most)
            rows, worker, position = rows[kept], worker[kept], position[kept]
        self.rows, self.worker, self.position = rows, worker, position
        self.cost: NDArray[np.int64] = self.rows["end"] - self.rows["start"]
        times = self.rows["tag"]["time"]
        self.times = times[np.diff(times, prepend=-1) != 0]
        self.microsteps = int(self.rows["tag"]["microstep"].max(initial=0)) + 2
        self.key = self.keys(self.rows["tag"]["time"], self.rows["tag"]["microstep"])

    def __len__(self) -> int:
        """How many there are."""
        return len(self.rows)

    def keys(self, time: NDArray[Any], microstep: NDArray[Any]) -> NDArray[np.int64]:
        """Tags as numbers in the same order; -1 for one at whose time nothing ran."""
        if not len(self.times):
            return np.full(len(time), -1)
        at = np.searchsorted(self.times, time).clip(max=len(self.times) - 1)
        small = np.minimum(microstep.astype(np.int64), self.microsteps - 1)
        return np.where(self.times[at] == time, at * self.microsteps + small, -1)

    @cached_property
    def of_reaction(self) -> dict[int, NDArray[np.int64]]:
        """The executions of each reaction that ran, in order."""
        order = np.argsort(self.rows["reaction"], kind="stable")
        reactions = self.rows["reaction"][order]
        first = np.flatnonzero(np.diff(reactions, prepend=lib.RX_NONE))
        return dict(zip(reactions[first].tolist(), np.split(order, first[1:]), strict=True))

    @cached_property
    def edges(self) -> Edges:
        """All of them, by target."""
        return _by_target([*self._of_state(), *self._of_ports()])

    @cached_property
    def messages(self) -> Edges:
        """Those from writers to readers."""
        return _by_target(self._of_ports())

    def _of_state(self) -> list[tuple[NDArray[np.int64], ...]]:
        if not len(self):
            return []
        reactor_of = np.array([each["reactor"] for each in self.trace.reactions], np.int64)
        reactors = reactor_of[self.rows["reaction"]]
        order = np.argsort(reactors, kind="stable")
        same = np.flatnonzero(reactors[order][1:] == reactors[order][:-1])
        return [(order[same], order[same + 1], np.full(len(same), STATE))]

    def _of_ports(self) -> list[tuple[NDArray[np.int64], ...]]:
        found: list[tuple[NDArray[np.int64], ...]] = []
        for element, readers in self._readers().items():
            port = self.trace.elements[element]
            sources = self._writes(port["source"])
            if not len(sources):
                continue
            arrival = self._arrival(self.rows["tag"][sources], *port["offset"])
            for reader, bit in readers:
                targets = self.of_reaction[reader]
                at = np.searchsorted(self.key[targets], arrival).clip(max=len(targets) - 1)
                there = (self.key[targets[at]] == arrival) & (arrival >= 0)
                there &= _has(self.rows["reads"][targets[at]], bit)
                found.append((sources[there], targets[at[there]], np.full(int(there.sum()), element)))
        return found

    def _readers(self) -> dict[int, list[tuple[int, int]]]:
        """Of each port that is read: reactions that ran, and which bit of `reads` it is."""
        found: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for reaction in self.of_reaction:
            row = self.trace.reactions[reaction]
            for bit, element in enumerate((*row["triggers"], *row["uses"])):
                port = self.trace.elements[element]
                if port["kind"] == "port" and port["source"] >= 0 and not port["physical"]:
                    found[element].append((reaction, bit))
        return found

    @cached_property
    def _writers(self) -> dict[int, list[tuple[int, int]]]:
        """Of each port that is written: reactions, and which bit of `writes` it is."""
        found: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for reaction in self.of_reaction:
            for bit, element in enumerate(self.trace.ports_of(reaction)):
                found[element].append((reaction, bit))
        return found

    def _writes(self, element: int) -> NDArray[np.int64]:
        """The executions that wrote a port."""
        found = [np.zeros(0, np.int64)]
        for reaction, bit in self._writers.get(element, ()):
            there = self.of_reaction[reaction]
            found.append(there[_has(self.rows["writes"][there], bit)])
        return np.concatenate(found)

    def _arrival(self, tags: NDArray[Any], ns: int, microsteps: int) -> NDArray[np.int64]:
        """When what was written at these tags arrives."""
        time, microstep = tags["time"] + ns, tags["microstep"].astype(np.int64)
        return self.keys(time, np.full(len(tags), microsteps) if ns else microstep + microsteps)


def _has(masks: NDArray[np.uint64], bit: int) -> NDArray[np.bool_]:
    """Whether a port was present; of those beyond the 64 that a mask has, it is what the other end says."""
    if bit >= MASK:
        return np.ones(len(masks), bool)
    found: NDArray[np.bool_] = (masks >> np.uint64(bit)) & np.uint64(1) != 0
    return found


def _middle(tags: NDArray[Any], most: int) -> slice:
    """Where whole tags in the middle are, of so many rows at most if no tag has more."""
    new = np.flatnonzero((np.diff(tags["time"], prepend=-1) != 0) | (np.diff(tags["microstep"], prepend=0) != 0))
    ends = np.append(new, len(tags))
    first = int(new[np.searchsorted(new, (len(tags) - most) // 2)])
    last = int(ends[max(np.searchsorted(ends, first + most, "right") - 1, np.searchsorted(ends, first, "right"))])
    return slice(first, last)


def _by_target(found: list[tuple[NDArray[np.int64], ...]]) -> Edges:
    source, target, element = (np.concatenate([np.zeros(0, np.int64), *(each[k] for each in found)]) for k in range(3))
    order = np.lexsort((source, target))
    return Edges(source[order], target[order], element[order])
