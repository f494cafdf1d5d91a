"""How does a run find the batch size and the number of samplers that suit the machine?

As in Spreeze (arXiv 2312.06126): it measures while it runs. The batch size goes where most frames are learned a second,
and the number of samplers where most steps are made a second. The learner makes as many updates as it has time for
(pace.py). Decisions follow from times, so no two runs are alike.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import ArgumentError
from reactors.rl.algorithms.off_policy import OffPolicy
from reactors.rl.learning.hill_climb import Climb
from reactors.rl.learning.latest import Latest
from reactors.rl.learning.pace import Pace
from reactors.rl.options import Bounds

if TYPE_CHECKING:
    from pathlib import Path

    from reactors.rl.contract.algorithm import Algorithm
    from reactors.rl.options import Options

SECONDS = 0.5  # between measurements


@dataclass
class Adaptation:
    """What is adapted in a run, and the decisions so far; `file` gets a line of JSON for each.

    >>> from reactors import rl
    >>> adaptation = Adaptation.of(rl.DQN(batch_size=64), Bounds(), actors=2)
    >>> adaptation.batch_sizes.values, adaptation.samplers.values, adaptation.samplers.value
    ([64, 128, 256, 512, 1024, 2048], [1, 2], 2)
    """

    batch_sizes: Climb
    samplers: Climb
    pace: Pace
    file: Path | None = None
    decisions: list[dict[str, Any]] = field(default_factory=list)
    began: float = 0.0
    since: float = 0.0
    """When the last measurement was."""
    took: list[float] = field(default_factory=list)
    """Seconds of each update since then, in so many rounds of so many steps."""
    rounds: int = 0
    steps: int = 0
    warm: bool = False
    """Whether the learner has been learning for one measurement, which is slower than those after it."""
    updates: float = 0.0
    """In a round, lately."""
    plan: Latest | None = None
    """Where the other half of a learner reads what is found."""

    @property
    def batch_size(self) -> int:
        """Of the next updates."""
        return self.batch_sizes.value

    @property
    def playing(self) -> int:
        """How many samplers are to play."""
        return self.samplers.value

    @property
    def figures(self) -> dict[str, float]:
        """For the journal."""
        return {"adapt/batch_size": self.batch_size, "adapt/updates": self.updates, "adapt/samplers": self.playing}

    @classmethod
    def of(
        cls, algorithm: OffPolicy, bounds: Bounds, actors: int, file: Path | None = None, plan: Latest | None = None
    ) -> Adaptation:
        """Begins with what the algorithm says, and with all samplers. `ArgumentError` for bounds that leave nothing."""
        own = algorithm.batch_size
        least, most = bounds.batch_size or (own, min(32 * own, max(own, algorithm.capacity // 2)))
        if most > algorithm.capacity:
            raise ArgumentError(
                f"batch_size of rl.Bounds goes up to {most}, but the memory of {algorithm.name} keeps "
                f"{algorithm.capacity} transitions; let capacity be larger"
            )
        sizes = [least]
        while sizes[-1] * 2 <= most:
            sizes.append(sizes[-1] * 2)
        low, high = bounds.samplers or (1, actors)
        if high > actors:
            raise ArgumentError(
                f"samplers of rl.Bounds go up to {high}, but there are {actors} actors; let actors be more"
            )
        few, many = bounds.updates_per_step or (algorithm.updates_per_step / 1000, algorithm.updates_per_step * 8)
        start = min(sizes, key=lambda size: abs(size - own))
        return cls(
            Climb(sizes, start, unit="frames/s"), Climb(range(low, high + 1), high, unit="steps/s"),
            Pace(few, many), file, plan=plan,
        )  # fmt: skip

    def begin(self) -> None:
        """Measure from now on."""
        self.began = self.since = time.perf_counter()
        self.publish()

    def due(self, steps: int) -> int:
        """How many updates have to be made now, after a round of so many steps."""
        return self.pace.due(steps)

    def made(self, began: float) -> None:
        """An update that began then."""
        self.pace.made(began)
        self.took.append(self.pace.took)

    def add_round(self, steps: int) -> None:
        """A round of so many steps."""
        self.rounds, self.steps = self.rounds + 1, self.steps + steps
        now = time.perf_counter()
        if not (self.warm or self.took):  # random play, of which the learner's rates say nothing
            self.since, self.rounds, self.steps = now, 0, 0
        elif now - self.since >= SECONDS and self.took:
            if self.warm:
                self.decide(now - self.since, now - self.began)
            self.since, self.rounds, self.steps = now, 0, 0
            self.took.clear()
            self.warm = True

    def decide(self, seconds: float, at: float) -> None:
        """What follows from so many seconds, which end so many seconds after the beginning.

        Frames a second are those of the median update: a few are slow because of what else the machine does, and the
        first ones of a batch size.
        """
        self.updates = len(self.took) / self.rounds
        if (decision := self.batch_sizes.tell(self.batch_size / median(self.took))) is not None:
            self.note(at, "batch_size", decision.before, decision.after, decision.reason)
        if (decision := self.samplers.tell(self.steps / seconds)) is not None:
            self.note(at, "samplers", decision.before, decision.after, decision.reason)
        self.publish()

    def publish(self) -> None:
        """Let the other half know."""
        if self.plan is not None:
            self.plan.put(np.array([self.batch_size, self.playing], np.float32), 0)

    def note(self, at: float, what: str, before: float, after: float, reason: str) -> None:
        """Write a decision down."""
        self.decisions.append({"seconds": round(at, 3), "what": what, "from": before, "to": after, "reason": reason})
        if self.file is not None:
            with self.file.open("a") as out:
                out.write(json.dumps(self.decisions[-1]) + "\n")


@dataclass
class Follower:
    """What the actor's half does: as the critics', which adapt, have found and put into `plan`."""

    plan: Latest
    batch_size: int
    pace: Pace
    playing: int

    @classmethod
    def of(cls, adaptation: Adaptation) -> Follower:
        """Begins as they begin."""
        assert adaptation.plan is not None
        return cls(adaptation.plan, adaptation.batch_size, replace(adaptation.pace), adaptation.playing)

    @property
    def figures(self) -> dict[str, float]:
        """What is found is for the other half to say."""
        return {}

    def begin(self) -> None:
        """Nothing is measured here."""

    def due(self, steps: int) -> int:
        """How many updates have to be made now, after a round of so many steps."""
        found = self.plan.get()
        if found is not None:
            self.batch_size, self.playing = map(int, found.weights)
        return self.pace.due(steps)

    def made(self, began: float) -> None:
        """An update that began then."""
        self.pace.made(began)

    def add_round(self, steps: int) -> None:
        """Nothing is measured here."""


def adapting(
    algorithm: Algorithm, options: Options, workers: int, learners: int, file: Path | None, *, apart: bool = False
) -> Adaptation:
    """What `adapt` of `rl.train` asks for, of an actor and critics `apart` the critics'.

    `ArgumentError` where a run cannot adapt.
    """
    adapt = options.adapt
    if adapt is not True and not isinstance(adapt, Bounds):
        raise ArgumentError(f"adapt of rl.train is {adapt!r}; write True, or rl.Bounds(...)")
    if not isinstance(algorithm, OffPolicy):
        raise ArgumentError(f"adapt of rl.train is for algorithms with replay, and {algorithm.name} has none")
    for name, given, wanted in (
        ("mode", options.mode, "free"),
        ("inference", options.inference, "actors"),
        ("loaders", options.loaders, 0),
        ("learners", learners, 1),
    ):
        if given != wanted:
            raise ArgumentError(f"adapt of rl.train takes {name}={wanted!r}, and {name} is {given!r}")
    busy, whose = (2, "the actor's and the critics' learners") if apart else (1, "the learner")
    if workers <= busy:
        raise ArgumentError(
            f"adapt of rl.train lets {whose} work beside samplers, and workers is {workers}; write workers={busy + 1}"
        )
    bounds, plan = adapt if isinstance(adapt, Bounds) else Bounds(), Latest(2) if apart else None
    return Adaptation.of(algorithm, bounds, options.actors, file, plan)
