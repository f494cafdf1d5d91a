"""How does a run find the batch size, the ratio of updates, and the number of samplers that suit the machine?

As in Spreeze (arXiv 2312.06126): it measures while it runs. The batch size goes where most frames are learned a second,
the number of samplers where most steps are made a second, and between rounds the learner makes as many updates as keep
it from waiting for samplers. Decisions follow from times, so no two runs are alike.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reactors.errors import ArgumentError
from reactors.rl.training.climb import Climb

if TYPE_CHECKING:
    from pathlib import Path

    from reactors.rl.algorithms.off_policy import OffPolicy

SECONDS = 0.5  # between measurements
WAITING, BUSY = 0.15, 0.02  # shares of its time for which the learner waits: above makes more updates, below fewer


@dataclass(frozen=True)
class Bounds:
    """Within what a run may adapt: the least and the most of each; None leaves it to the algorithm and the run.

    >>> Bounds(batch_size=(64, 1024))
    Bounds(batch_size=(64, 1024), updates_per_step=None, samplers=None)
    """

    batch_size: tuple[int, int] | None = None
    """By default from the algorithm's own to 32 times as much, or half of its memory."""
    updates_per_step: tuple[float, float] | None = None
    """By default from an eighth of the algorithm's own to eight times as much."""
    samplers: tuple[int, int] | None = None
    """By default from 1 to the number of actors."""

    def __post_init__(self) -> None:
        for name in ("batch_size", "updates_per_step", "samplers"):
            given: Any = getattr(self, name)
            if given is not None and not (len(given) == 2 and 0 < given[0] <= given[1]):
                raise ArgumentError(f"{name} of rl.Bounds is {given!r}; write the least and the most of it, (64, 1024)")


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
    """In a round."""
    least: float
    most: float
    file: Path | None = None
    decisions: list[dict[str, Any]] = field(default_factory=list)
    began: float = 0.0
    since: float = 0.0
    learned: float = 0.0
    """Seconds, since the last measurement."""
    frames: int = 0
    steps: int = 0

    @classmethod
    def of(cls, algorithm: OffPolicy, bounds: Bounds, actors: int, file: Path | None = None) -> Adaptation:
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
            raise ArgumentError(f"samplers of rl.Bounds go up to {high}, but there are {actors} actors; let actors be more")
        few, many = bounds.updates_per_step or (algorithm.updates_per_step / 8, algorithm.updates_per_step * 8)
        start = min(sizes, key=lambda size: abs(size - own))
        return cls(
            Climb(sizes, start, unit="frames/s"), Climb(range(low, high + 1), high, unit="steps/s", gain=1.03),
            float(algorithm.updates), max(1.0, few * a_round), max(1.0, many * a_round), file,
        )  # fmt: skip

    def begin(self) -> None:
        """The clock starts."""
        self.began = self.since = time.perf_counter()

    def told(self, seconds: float, frames: int, steps: int) -> None:
        """A round: the learner took so many seconds for so many frames, and samplers have made so many steps."""
        self.learned, self.frames, self.steps = self.learned + seconds, self.frames + frames, self.steps + steps
        now = time.perf_counter()
        if now - self.since >= SECONDS:
            self.decide(now - self.since, now - self.began)
            self.since, self.learned, self.frames, self.steps = now, 0.0, 0, 0

    def decide(self, seconds: float, at: float) -> None:
        """What follows from so many seconds, which end so many seconds after the beginning."""
        if not self.frames:
            return
        before = self.updates
        waited = 1 - self.learned / seconds
        if waited > WAITING:
            self.updates = min(self.most, self.updates * 1.25)
        elif waited < BUSY:
            self.updates = max(self.least, self.updates * 0.9)
        if round(self.updates) != round(before):
            self.note(at, "updates", round(before), round(self.updates), f"the learner waited {waited:.0%} of its time")
        if (decision := self.batch_sizes.tell(self.frames / self.learned)) is not None:
            self.note(at, "batch_size", decision.before, decision.after, decision.reason)
            self.updates = min(self.most, max(self.least, self.updates * decision.before / decision.after))
        if (decision := self.samplers.tell(self.steps / seconds)) is not None:
            self.note(at, "samplers", decision.before, decision.after, decision.reason)

    def note(self, at: float, what: str, before: int, after: int, reason: str) -> None:
        """Write a decision down."""
        self.decisions.append({"seconds": round(at, 3), "what": what, "from": before, "to": after, "reason": reason})
        if self.file is not None:
            with self.file.open("a") as out:
                out.write(json.dumps(self.decisions[-1]) + "\n")
