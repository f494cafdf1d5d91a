"""What would make a traced program faster, and by how much?

The critical path, with members of banks as one, and the changes that the model says help most: other places for
reactors, more workers, a reaction that takes half the time or, where an option says so, is shared by two reactors.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reactors.names.indices import without_indices
from reactors.tracing.capacity import Machine
from reactors.tracing.model import Model
from reactors.tracing.placing import best

if TYPE_CHECKING:
    from reactors.tracing.trace import Trace

_MOST, _LEAST = 3, 1.03  # remedies, and what one has to give
_SHARE = 0.05  # of the critical path: what is less there is not looked at


@dataclass(frozen=True)
class Remedy:
    """What to do, as a sentence without its end, and how many times as fast the whole would be by the model."""

    said: str
    gain: float


@dataclass(frozen=True)
class Diagnosis:
    """What limits a program: parts of the critical path by reaction, banks as one, the most first, and what helps.

    `bound` is how many times as fast it would be with any number of workers and nothing but its dataflow to wait for.
    """

    seconds: float
    parts: list[tuple[str, float]]
    bound: float
    remedies: list[Remedy]

    def lines(self) -> list[str]:
        """As text."""
        path = ", ".join(f"{name} {part:.0%}" for name, part in self.parts[:3])
        found = [f"critical path: {path}; by its dataflow alone it could be {self.bound:.2f} times as fast"]
        return found + [f"  {each.said}: {each.gain:.2f} times as fast, by the model" for each in self.remedies]


def diagnosis(trace: Trace, model: Model | None = None, machine: Machine | None = None) -> Diagnosis:
    """Of a trace, by a model of it on a machine, if these are there already. Raises `TraceError` where nothing ran."""
    model, workers = model or Model(trace), trace.workers
    machine = machine or Machine.here(workers, 2 * workers)
    present = [int(each["worker"]) for each in trace.reactors]
    now = model.predicted(present, workers, machine).seconds
    critical = model.critical_path()
    alike: dict[str, list[int]] = defaultdict(list)
    for number in range(len(trace.reactions)):
        alike[without_indices(trace.name(number))].append(number)
    seconds: dict[str, float] = defaultdict(float)
    for number, spent in critical.reactions:
        seconds[without_indices(trace.name(number))] += spent
    if critical.clock > 0:
        seconds["waiting for the clock"] = critical.clock
    total = critical.seconds or 1.0
    parts = sorted(((name, spent / total) for name, spent in seconds.items()), key=lambda part: (-part[1], part[0]))
    found = []
    for name, part in parts:
        if part < _SHARE or name not in alike:
            continue
        reaction, *others = alike[name]
        option = trace.reactors[trace.reactions[reaction]["reactor"]].get("remedy")
        if option and not others:
            n = max(2, workers)
            both = model.shared(reaction)
            least = min(both.predicted([*present, worker], n, machine).seconds for worker in range(n))
            found.append(Remedy(f"{option} for {name}" + _on(n, workers, machine), now / least))
        else:
            half = dict.fromkeys(alike[name], 0.5)
            gain = now / model.predicted(present, workers, machine, faster=half).seconds
            found.append(Remedy(f"{name} in half the time", gain))
    for n in sorted({workers, 2 * workers} - {1}):
        placed = best(model, n, machine)
        there = placed.prediction.seconds
        found.append(Remedy("placed as reactors place finds" + _on(n, workers, machine), now / there if there else 1.0))
    found.sort(key=lambda remedy: -remedy.gain)
    remedies = [remedy for remedy in found if remedy.gain >= _LEAST][:_MOST]
    return Diagnosis(now, parts, now / total if critical.seconds else 1.0, remedies)


def _on(n: int, workers: int, machine: Machine) -> str:
    """On how many workers, if those are others than now."""
    if n == workers:
        return ""
    return f", workers={n}" + ("" if n in machine.shares else f" on {n} cores")
