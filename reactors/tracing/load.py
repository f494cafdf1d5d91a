"""How much did each reaction and each connection of a traced program have to do?"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reactors.names.indices import without_indices
from reactors.tracing.executions import MASK

if TYPE_CHECKING:
    from reactors.tracing.trace import Trace


@dataclass(frozen=True)
class Flow:
    """What went over a port: messages, and bytes where its values have a dtype and a shape, a second."""

    messages: float
    bytes: float

    def __add__(self, other: Flow) -> Flow:
        return Flow(self.messages + other.messages, self.bytes + other.bytes)


@dataclass(frozen=True)
class Load:
    """By path: the part of a worker's time that a reaction took, and what went over a port.

    Paths without indices have what all members of a bank have together; of reactions, the mean of their workers.
    """

    of_reaction: dict[str, float]
    of_port: dict[str, Flow]

    @classmethod
    def of(cls, trace: Trace) -> Load:
        """From all that ran."""
        seconds = np.zeros(len(trace.reactions))
        written: dict[int, int] = defaultdict(int)
        last = 1
        for piece in trace.pieces():
            rows = piece.reactions
            last = max(last, int(piece.rows["end"].max(initial=0)))
            seconds += np.bincount(rows["reaction"], (rows["end"] - rows["start"]) / 1e9, len(seconds))
            for number in np.unique(rows["reaction"]).tolist():
                writes = rows["writes"][rows["reaction"] == number]
                for bit, element in enumerate(trace.ports_of(number)[:MASK]):
                    written[element] += int((writes >> np.uint64(bit) & np.uint64(1)).sum())
        wall = last / 1e9
        return cls(_by_path(trace, seconds / wall), _flows(trace, written, wall))


def _by_path(trace: Trace, parts: np.ndarray[tuple[int], np.dtype[np.float64]]) -> dict[str, float]:
    found: dict[str, float] = {}
    alike: dict[str, list[int]] = defaultdict(list)
    for number, each in enumerate(trace.reactions):
        found[each["path"]] = float(parts[number])
        alike[without_indices(each["path"])].append(number)
    for path, members in alike.items():
        workers = {trace.reactions[each]["worker"] for each in members}
        found.setdefault(path, float(sum(parts[each] for each in members)) / len(workers))
    return found


def _flows(trace: Trace, written: dict[int, int], wall: float) -> dict[str, Flow]:
    found: dict[str, Flow] = {}
    alike: dict[str, Flow] = defaultdict(lambda: Flow(0.0, 0.0))
    for number, port in enumerate(trace.elements):
        if port["kind"] != "port":
            continue
        source = port["source"] if port["source"] >= 0 else number
        messages = written.get(source, 0) / wall
        flow = Flow(messages, messages * trace.elements[source].get("bytes", 0))
        found[port["path"]] = flow
        alike[without_indices(port["path"])] += flow
    return dict(alike) | found
