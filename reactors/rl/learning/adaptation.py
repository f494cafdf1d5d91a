"""How does a run find the batch size, the ratio of updates, and the number of samplers that suit the machine?

As in Spreeze (arXiv 2312.06126): it measures while it runs. The batch size goes where most frames are learned a second,
the number of samplers where most steps are made a second, and the learner makes as many updates as leave it waiting for
samplers a little, so that these never wait for it; but never so few that fewer frames are learned a second than without
all this. Decisions follow from times, so no two runs are alike.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import ArgumentError
from reactors.rl.algorithms.off_policy import OffPolicy
from reactors.rl.learning.hill_climb import Climb
from reactors.rl.learning.latest import Latest
from reactors.rl.options import Bounds

if TYPE_CHECKING:
    from pathlib import Path

    from reactors.rl.contract.algorithm import Algorithm
    from reactors.rl.options import Options

SECONDS = 0.5  # between measurements
AHEAD = 4.0  # rounds: samplers whose weights are older wait for the learner, which makes fewer updates then
WAITING = 0.15  # share of its time: a learner that waits longer for samplers makes more
LESS = 0.95  # times as many frames a second are fewer, and not chance


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
    updates: float
    """In a round, on average."""
    least: float
    most: float
    file: Path | None = None
    decisions: list[dict[str, Any]] = field(default_factory=list)
    began: float = 0.0
    credit: float = 0.0
    """Updates that are due."""
    since: float = 0.0
    """When the last measurement was."""
    busy: float = 0.0
    """Seconds of the learner since then, and of these in updates."""
    learned: float = 0.0
    frames: int = 0
    steps: int = 0
    warm: bool = False
    """Whether the learner has been learning for one measurement, which is slower than those after it."""
    age: float = 0.0
    """Of the samplers' weights lately, in rounds."""
    unadapted: float = 0.0
    """Frames that were learned a second with what the algorithm says."""
    before: float | None = None
    """Updates before they were made fewer."""
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
        own, a_round = algorithm.batch_size, algorithm.horizon * algorithm.num_envs
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
            Climb(sizes, start, unit="frames/s"), Climb(range(low, high + 1), high, unit="steps/s", gain=1.03),
            float(algorithm.updates), few * a_round, many * a_round, file, plan=plan,
        )  # fmt: skip

    def begin(self) -> None:
        """Measure from now on."""
        self.began = self.since = time.perf_counter()
        self.publish()

    def due(self) -> int:
        """How many updates are to be made now."""
        self.credit += self.updates
        whole = int(self.credit)
        self.credit -= whole
        return whole

    def add_round(self, busy: float, learned: float, frames: int, steps: int, age: float) -> None:
        """A round: for how many seconds the learner was busy, and made updates, of so many frames, after more steps.

        `age` is that of the samplers' weights, in rounds.
        """
        self.age += 0.1 * (age - self.age)
        self.busy, self.learned = self.busy + busy, self.learned + learned
        self.frames, self.steps = self.frames + frames, self.steps + steps
        now = time.perf_counter()
        if not (self.warm or self.frames):  # random play, of which the learner's rates say nothing
            self.since, self.busy, self.steps = now, 0.0, 0
        elif now - self.since >= SECONDS and self.frames:
            if self.warm:
                self.decide(now - self.since, now - self.began)
            self.since, self.busy, self.learned, self.frames, self.steps = now, 0.0, 0.0, 0, 0
            self.warm = True

    def decide(self, seconds: float, at: float) -> None:
        """What follows from so many seconds, which end so many seconds after the beginning."""
        waited, rate = max(0.0, 1 - self.busy / seconds), self.frames / seconds
        self.unadapted = self.unadapted or rate
        if self.before is not None and rate < LESS * self.unadapted:
            self.least = min(self.before, self.most)
            self.change(at, self.least, f"{rate:.0f} frames/s, and {self.unadapted:.0f} before anything was adapted")
            self.before = None
        elif self.age > AHEAD and self.updates > self.least:
            self.before = self.updates
            self.change(at, max(self.least, self.updates * 0.7), f"samplers are {self.age:.1f} rounds ahead")
        elif waited > WAITING:
            self.change(at, min(self.most, self.updates * 1.25), f"the learner waited {waited:.0%} of its time")
        if (decision := self.batch_sizes.tell(self.frames / self.learned)) is not None:
            self.note(at, "batch_size", decision.before, decision.after, decision.reason)
            self.updates = min(self.most, max(self.least, self.updates * decision.before / decision.after))
        if (decision := self.samplers.tell(self.steps / seconds)) is not None:
            self.note(at, "samplers", decision.before, decision.after, decision.reason)
        self.publish()

    def publish(self) -> None:
        """Let the other half know."""
        if self.plan is not None:
            self.plan.put(np.array([self.batch_size, self.updates, self.playing], np.float32), 0)

    def change(self, at: float, updates: float, reason: str) -> None:
        """Another number of updates."""
        if updates != self.updates:
            before, after = round(self.updates, 2), round(updates, 2)
            self.note(at, "updates", before, after, reason)
            self.updates = updates

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
    updates: float
    playing: int
    credit: float = 0.0

    @classmethod
    def of(cls, adaptation: Adaptation) -> Follower:
        """Begins as they begin."""
        assert adaptation.plan is not None
        return cls(adaptation.plan, adaptation.batch_size, adaptation.updates, adaptation.playing)

    @property
    def figures(self) -> dict[str, float]:
        """What is found is for the other half to say."""
        return {}

    def begin(self) -> None:
        """Nothing is measured here."""

    def due(self) -> int:
        """How many updates are to be made now."""
        found = self.plan.get()
        if found is not None:
            size, self.updates, playing = map(float, found.weights)
            self.batch_size, self.playing = int(size), int(playing)
        self.credit += self.updates
        whole = int(self.credit)
        self.credit -= whole
        return whole

    def add_round(self, *_: float) -> None:
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
    bounds, plan = adapt if isinstance(adapt, Bounds) else Bounds(), Latest(3) if apart else None
    return Adaptation.of(algorithm, bounds, options.actors, file, plan)
