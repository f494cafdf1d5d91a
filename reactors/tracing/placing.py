"""Which placement would have made a traced program the fastest?

A search over the model of model.py: from the best of a few beginnings on, the reactors that cost most move from worker
to worker, or change places, as long as that makes the whole shorter. The same trace gives the same placement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reactors.elaboration import placing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reactors.tracing.capacity import Machine
    from reactors.tracing.model import Model, Prediction
    from reactors.tracing.trace import Trace

_HEAVY = 48  # units that are moved one by one; the others stay where the beginnings have them
_PAIRS = 12  # of them change places with one another
_TRIES = 1500  # placements that are calculated, at most
_GAIN = 0.999  # of the time before: less is none


@dataclass(frozen=True)
class BestPlacement:
    """A placement by reactor, what it is predicted to take, and what "auto" is."""

    workers: int
    machines: int
    worker_of: list[int]
    prediction: Prediction
    auto: Prediction


def automatic(trace: Trace, workers: int, machine_of: Sequence[int] = ()) -> list[int]:
    """Where `placement="auto"` has each reactor."""
    placed = placing.automatic(trace.program, workers, machine_of)
    return [placed[each["home"]] for each in trace.reactors]  # who is in a mode is where its modal reactor is


def best(model: Model, workers: int, machine: Machine) -> BestPlacement:
    """The fastest that the search finds; never slower by the model than "auto"."""
    search = _Search(model, workers, machine)
    auto = automatic(model.trace, workers, machine.machine_of(workers))
    found = min(search.beginnings(auto), key=search.seconds)
    found = search.improved(found)
    return BestPlacement(workers, machine.machines, found, search.prediction(found), search.prediction(auto))


class _Search:
    def __init__(self, model: Model, workers: int, machine: Machine) -> None:
        self.model, self.workers, self.machine = model, workers, machine
        self.tries = 0
        self.known: dict[tuple[int, ...], float] = {}
        trace, loads = model.trace, model.loads()
        by_hand = set(trace.header["by_hand"])
        self.fixed = {
            number: int(each["worker"])
            for number, each in enumerate(trace.reactors)
            if each["path"] in by_hand and each["worker"] < workers
        }
        self.units: dict[int, list[int]] = {}  # those that move together, by the reactor that decides for them
        for number, each in enumerate(trace.reactors):
            self.units.setdefault(each["home"], []).append(number)
        weight = {home: float(sum(loads[each] for each in members)) for home, members in self.units.items()}
        free = [home for home in self.units if home not in self.fixed and weight[home]]
        self.heavy = sorted(free, key=lambda home: (-weight[home], home))
        self.weight = weight

    def prediction(self, placed: Sequence[int]) -> Prediction:
        """By the model."""
        return self.model.predicted(placed, self.workers, self.machine)

    def seconds(self, placed: Sequence[int]) -> float:
        """The same, remembered."""
        key = tuple(placed)
        if key not in self.known:
            self.tries += 1
            self.known[key] = self.prediction(placed).seconds
        return self.known[key]

    def beginnings(self, auto: Sequence[int]) -> Iterator[list[int]]:
        """Present, automatic, by load alone, and by load in the order in which values flow."""
        present = [int(each["worker"]) for each in self.model.trace.reactors]
        if max(present) < self.workers:
            yield present
        yield self.with_fixed(auto)
        yield self.with_fixed([0] * len(auto))
        done = [0.0] * self.workers
        by_load = [0] * len(auto)
        for home in self.heavy:
            worker = min(range(self.workers), key=done.__getitem__)
            done[worker] += self.weight[home]
            self.put(by_load, home, worker)
        yield self.with_fixed(by_load)
        level = np.full(len(auto), np.iinfo(np.int64).max)
        for reaction in self.model.trace.reactions:
            level[reaction["reactor"]] = min(level[reaction["reactor"]], reaction["level"])
        total, so_far = sum(self.weight.values()), 0.0
        in_order = [0] * len(auto)
        for home in sorted(self.heavy, key=lambda home: (min(level[each] for each in self.units[home]), home)):
            middle = so_far + self.weight[home] / 2
            self.put(in_order, home, min(self.workers - 1, int(middle / total * self.workers)))
            so_far += self.weight[home]
        yield self.with_fixed(in_order)

    def put(self, placed: list[int], home: int, worker: int) -> None:
        """A unit on a worker."""
        for each in self.units[home]:
            placed[each] = worker

    def with_fixed(self, placed: Sequence[int]) -> list[int]:
        """The same, but who was put on a worker by hand is there."""
        found = [*placed]
        for home, worker in self.fixed.items():
            self.put(found, home, worker)
        return found

    def improved(self, placed: list[int]) -> list[int]:
        """By moves, one after another, until none helps."""
        found, moved = placed, True
        while moved and self.tries < _TRIES:
            moved = False
            for other in self.moves(found):
                if self.tries >= _TRIES:
                    break
                if self.seconds(other) < _GAIN * self.seconds(found):
                    found, moved = other, True
        return found

    def moves(self, placed: list[int]) -> Iterator[list[int]]:
        """One unit elsewhere, or two of them in each other's place."""
        heavy = self.heavy[:_HEAVY]
        for home in heavy:
            for worker in range(self.workers):
                if worker != placed[home]:
                    other = [*placed]
                    self.put(other, home, worker)
                    yield other
        for n, home in enumerate(heavy[:_PAIRS]):
            for second in heavy[n + 1 : _PAIRS]:
                if placed[home] != placed[second]:
                    other = [*placed]
                    self.put(other, home, placed[second])
                    self.put(other, second, placed[home])
                    yield other
