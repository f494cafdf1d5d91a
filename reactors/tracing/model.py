"""What would a traced program take elsewhere: on other workers, on more, with cheaper reactions?

Each worker executes what is its by tag and rank. An execution begins when its worker is free, what it reads was
written, and no other worker can still write what it might have read (csrc/makespan.c). Its cost is what was measured,
or, where that is far from what such executions usually take, which is the system's doing, their median; and its part of
what the engine took for itself. Values that wait for room, and memory that workers share, are not in the model.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import TraceError
from reactors.time import measured
from reactors.tracing.accounting import accounts
from reactors.tracing.executions import Executions
from reactors.tracing.sharing import shared
from reactors_runtime._core import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from reactors.tracing.capacity import Machine
    from reactors.tracing.trace import Spans, Trace

_KINDS = {
    "time": "int64_t", "microstep": "uint64_t", "reaction": "uint32_t", "present": "uint8_t", "first_edge": "uint64_t",
    "source": "uint64_t", "first_read": "uint32_t", "writer": "uint32_t", "delay": "rx_tag", "cost": "int64_t",
    "earliest": "int64_t",
}  # fmt: skip
"""The arrays of an rx_model (csrc/api.inc), which says what they are."""

MOST = 50_000  # executions, from the middle of a trace: what repeats need not be calculated for ever
_FAR = 5.0  # times the median


@dataclass(frozen=True)
class Prediction:
    """What a part of a trace would take: `seconds`, and how many of them each worker would be `busy`."""

    seconds: float
    busy: list[float]


@dataclass(frozen=True)
class CriticalPath:
    """The longest chain of executions that wait for one another: no workers make a program faster than that.

    `reactions` are the numbers of those on it and the seconds that they take there, the most first; `clock` are those
    before it could begin, where that is for physical time.
    """

    seconds: float
    reactions: list[tuple[int, float]]
    clock: float


class Model:
    """A trace, or whole tags in its middle, as a model. Raises `TraceError` where nothing ran."""

    def __init__(self, trace: Trace, most: int = MOST, by_worker: Sequence[Spans] | None = None) -> None:
        by_worker = by_worker or trace.by_worker()
        self.trace = trace
        self.executions = found = Executions(trace, by_worker, most)
        if not len(found):
            raise TraceError(f"{trace.path} has no reactions, so there is nothing to predict from")
        self.reactor_of = np.array([each["reactor"] for each in trace.reactions], np.int64)
        self.cost = _usual(found)
        """ns, of each execution."""
        for account, spans in zip(accounts(trace, by_worker), by_worker, strict=True):
            own = max(0.0, account.engine) * 1e9 / max(1, len(spans.reactions))
            self.cost[found.worker == account.worker] += int(own)
        self._arrays = self._static() | self._dynamic()

    def predicted(
        self, workers_of: Sequence[int], workers: int, machine: Machine, *, faster: Mapping[int, float] | None = None
    ) -> Prediction:
        """With each reactor on its worker; `faster` reactions, by number, take that part of what they took."""
        # What was measured beside others is as slow as that already; of more workers than there are cores here it is
        # not known, and each of them counts as fast as in the run.
        each = workers // machine.machines
        there = machine.shares.get(each) if each > 1 else 1.0
        slower = 1.0 if there is None else machine.share(self.trace.workers) / there
        cost = (self._scaled(faster) * slower).astype(np.int64)
        worker = np.asarray(workers_of, np.uint32)[self.reactor_of]
        busy = np.zeros(workers, np.int64)
        model, kept = self._model(cost, machine.hop)
        machine_of = np.array(machine.machine_of(workers), np.uint32)
        model.machine_of, model.latency = _of("uint32_t", machine_of), machine.latency
        ns = lib.rx_makespan(model, _of("uint32_t", worker), workers, _of("int64_t", busy))
        del kept
        if ns < 0:
            raise MemoryError
        return Prediction(ns / 1e9, [float(each) / 1e9 for each in busy])

    def shared(self, reaction: int) -> Model:
        """As if one reactor more, the last one, did half of what this reaction does, at the same tags.

        It has the same inputs, and who reads what this reaction writes waits for both. Reactions behind this one have
        numbers that are greater by one.
        """
        other = copy(self)
        mine = self._arrays["reaction"] == reaction
        other.cost = np.repeat(np.where(mine, self.cost // 2, self.cost), 1 + mine)
        other.reactor_of = np.insert(self.reactor_of, reaction + 1, len(self.trace.reactors))
        other._arrays = shared(self._arrays, reaction)
        return other

    def critical_path(self) -> CriticalPath:
        """What waits for what, whatever the workers."""
        end, cause = np.zeros(len(self.cost), np.int64), np.zeros(len(self.cost), np.int64)
        model, kept = self._model(self.cost, 0)
        at = lib.rx_critical_path(model, _of("int64_t", end), _of("int64_t", cause))
        del kept
        seconds = clock = float(end[at]) / 1e9
        spent = np.zeros(len(self.reactor_of))
        reactions = self._arrays["reaction"]
        while at >= 0:
            spent[reactions[at]] += self.cost[at] / 1e9
            clock -= float(self.cost[at]) / 1e9
            at = int(cause[at])
        order = np.argsort(-spent, kind="stable")
        return CriticalPath(seconds, [(int(n), float(spent[n])) for n in order if spent[n]], max(0.0, clock))

    def assumed(self, machine: Machine, workers: Sequence[int]) -> list[str]:
        """What a prediction for so many workers rests on."""
        each = {n // machine.machines for n in workers}
        part, whole = len(self.executions), self.executions.all
        some = f", the {part:,} in the middle of the run" if part < whole else ""
        found = [f"from {whole:,} reactions{some}"]
        found += [
            f"{n} workers at once: each does {machine.share(n):.0%} of what one does alone, measured now"
            for n in sorted(each)
            if n in machine.shares
        ]
        others = [str(n) for n in sorted(each) if n > 1 and n not in machine.shares]
        if others:
            found.append(f"{', '.join(others)} workers: on a machine with so many cores, each as fast as here")
        if machine.machines > 1:
            found.append(f"latency from one machine to another: {measured(machine.latency / 1e9)}")
        return found

    def loads(self) -> NDArray[np.float64]:
        """Seconds of each reactor."""
        reactors = self.reactor_of[self._arrays["reaction"]]
        return np.bincount(reactors, self.cost / 1e9, len(self.trace.reactors)).astype(np.float64)

    def _scaled(self, faster: Mapping[int, float] | None) -> NDArray[np.float64]:
        cost = self.cost.astype(np.float64)
        for reaction, part in (faster or {}).items():
            cost[self._arrays["reaction"] == reaction] *= part
        return cost

    def _static(self) -> dict[str, NDArray[Any]]:
        """Of each reaction: whose ports it may read, and how much later."""
        elements, writers = self.trace.elements, _writers(self.trace)
        first, writer, delay = [0], [], []
        for reaction in self.trace.reactions:
            for element in (*reaction["triggers"], *reaction["uses"]):
                port = elements[element]
                if port["kind"] != "port" or port["source"] < 0 or port["physical"]:
                    continue
                for each in writers.get(port["source"], ()):
                    writer.append(each)
                    delay.append(port["offset"])
            first.append(len(writer))
        return {
            "first_read": np.array(first, np.uint32),
            "writer": np.array(writer, np.uint32),
            "delay": np.array(delay, np.int64).reshape(-1, 2),
        }

    def _dynamic(self) -> dict[str, NDArray[Any]]:
        """Of each execution."""
        found, rows = self.executions, self.executions.rows
        edges = found.edges
        first = np.searchsorted(edges.target, np.arange(len(found) + 1))
        asked = np.array([_ports(self.trace, each) for each in self.trace.reactions], np.uint64)[rows["reaction"]]
        arrays = {
            "time": np.ascontiguousarray(rows["tag"]["time"]),
            "microstep": np.ascontiguousarray(rows["tag"]["microstep"]),
            "reaction": np.ascontiguousarray(rows["reaction"]),
            "present": (rows["reads"] & asked == asked).astype(np.uint8),
            "first_edge": first.astype(np.uint64),
            "source": edges.source.astype(np.uint64),
        }
        if self.trace.header.get("waits"):
            arrays["earliest"] = arrays["time"] - arrays["time"][0]
        return arrays

    def _model(self, cost: NDArray[np.int64], hop: int) -> tuple[Any, list[Any]]:
        """As C reads it, and what has to live as long."""
        model = ffi.new("rx_model *")
        model.n, model.n_reactions, model.hop = len(cost), len(self.reactor_of), hop
        kept: list[Any] = []
        for name, array in (self._arrays | {"cost": cost}).items():
            kept.append(_of(_KINDS[name], array))
            setattr(model, name, kept[-1])
        return model, kept


def _of(kind: str, array: NDArray[Any]) -> Any:
    return ffi.from_buffer(f"{kind}[]", array)


def _usual(found: Executions) -> NDArray[np.int64]:
    """What each took, or the median of its kind, the same reaction with the same ports present, if that is far off."""
    kinds = np.stack([found.rows["reaction"].astype(np.uint64), found.rows["reads"], found.rows["writes"]], axis=1)
    _, kind = np.unique(kinds, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    order = np.lexsort((found.cost, kind))
    first = np.searchsorted(kind[order], np.arange(kind.max() + 2))
    medians = found.cost[order][(first[:-1] + first[1:] - 1) // 2][kind]
    return np.where(found.cost > _FAR * np.maximum(medians, 1), medians, found.cost)


def _writers(trace: Trace) -> dict[int, list[int]]:
    """The reactions that may write each port."""
    found: dict[int, list[int]] = {}
    for number, reaction in enumerate(trace.reactions):
        for element in reaction["effects"]:
            found.setdefault(element, []).append(number)
    return found


def _ports(trace: Trace, reaction: dict[str, Any]) -> int:
    """Which bits of `reads` are ports that some reaction writes."""
    elements = [*reaction["triggers"], *reaction["uses"]][:64]
    there = [trace.elements[each]["kind"] == "port" and trace.elements[each]["source"] >= 0 for each in elements]
    return sum(1 << bit for bit, port in enumerate(there) if port)
