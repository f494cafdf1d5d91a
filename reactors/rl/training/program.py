"""How are simulation, replay, learning and evaluation one graph?

Every microsecond of logical time is a round. At its beginning all actors play, with the weights that they have; at the
same tag the learner gets what they played, and its new weights reach them `lag` rounds later. That delay is all that
makes the modes:

- `sync`: a lag of one round. Everybody learns from, and plays with, the latest; actors and learner take turns.
- `pipelined`: a lag of two or more. Actors play the next round while the learner learns from the last one, and the
  result is the same, bit for bit, however fast they are.
- `free`: actors take the newest weights, from memory that all share. Nobody waits for weights; no two runs
  are alike.

Several learners exchange gradients, or weights, in the microsteps of a tag of their own, a little after the round's
beginning: in microsteps of the tag at which actors play, and experience is drawn, each would wait for all of that. The
journal gets all of a round at one tag after that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import reactors as rx
from reactors.errors import ArgumentError
from reactors.rl.replay_buffer import ReplayBuffer
from reactors.rl.training.actor import Actor
from reactors.rl.training.checkpoint import STOP, Checkpoint
from reactors.rl.training.evaluator import Evaluator
from reactors.rl.training.experience import Experience
from reactors.rl.training.halves import ACTOR, CRITICS, HalfLearner, exchange_of
from reactors.rl.training.journal import Journal
from reactors.rl.training.learner import Exchange, Learner, ReplayLearner, RolloutLearner
from reactors.rl.training.learners import Learners

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reactors.rl.algorithms.algorithm import Algorithm, Learning
    from reactors.rl.training.checkpoint import Saving
    from reactors.rl.training.checkpoint_files import Saved
    from reactors.rl.training.stateful import Stateful

LATER = 50  # ns after the beginning of a round: when several learners learn, and again as much: when that is noted
ALONE = Learners()
FREE_SLACK = 16  # rounds by which free-running actors may be ahead of whoever writes checkpoints
Mode = Literal["sync", "pipelined", "free"]


class Training(rx.Reactor):
    """An algorithm, trained by `actors` in environments that `maker` makes.

    With `saving` there are checkpoints, and with `saved` it goes on from one.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        maker: Callable[[], Any],
        observation_space: Any,
        action_space: Any,
        *,
        actors: int,
        mode: Mode,
        lag: int,
        seed: int,
        learners: Learners = ALONE,
        eval_every: int | None = None,
        eval_episodes: int = 10,
        stop_at: float | None = None,
        journal: Path | None = None,
        tell: Callable[[dict[str, float]], None] | None = None,
        saving: Saving | None = None,
        saved: Saved | None = None,
    ) -> None:
        if algorithm.num_envs % actors:
            raise ArgumentError(
                f"{algorithm.num_envs} environments for {actors} actors; let num_envs of {algorithm.name} be a "
                "multiple of actors"
            )
        spaces = observation_space, action_space
        per_actor = algorithm.num_envs // actors
        learning = algorithm.learning(*spaces, seed, learners.devices[0])
        initial = learning.weights()
        steps = algorithm.horizon * algorithm.num_envs
        lately = None
        if mode == "free":  # a single row: who reads gets the latest, whole
            size = len(initial)
            lately = ReplayBuffer(1, {"vector": ((size,), np.float32), "round": ((), np.int64)})
        self.actors = rx.bank(
            actors, Actor, algorithm, [maker] * per_actor, lambda i: i * per_actor, *spaces, initial, steps, lag, lately
        )
        self.tail = STOP if saving is not None or len(learners) > 1 else 0  # ns after the last round's beginning
        stop_after = f"{lag * 1000 + self.tail} ns"
        self.journal = Journal(
            actors, steps, learners=len(learners), stop_at=stop_at, stop_after=stop_after, file=journal, tell=tell
        )
        later = LATER if len(learners) > 1 else 0
        then = f"{later} ns" if later else None
        told: Any = algorithm, *spaces, seed, len(initial), lambda i: learners.devices[i], lag, steps, lately
        each: Any = {"parts": learners.parts, "exchange": lambda i: _exchange(algorithm, learning, learners, i)}
        self.learners: rx.Bank[Any]
        if algorithm.on_policy:
            self.learners = rx.bank(len(learners), RolloutLearner, *told, **each, actors=actors, num_envs=per_actor)
            rx.connect(self.actors.segment, self.learners.segments, after=then, broadcast=True)
        else:
            self.experience = Experience(algorithm, *spaces, actors, learners.parts)  # type: ignore[arg-type]
            each["batches"] = self.experience.batches
            if learners.exchange_every is None:
                self.learners = rx.bank(len(learners), ReplayLearner, *told, **each)
            else:
                self.learners = rx.bank(2, HalfLearner, *told, **each, exchange_every=learners.exchange_every)
            rx.connect(self.actors.segment, self.experience.segments)
            rx.connect(self.experience.batches, self.learners.batches, after=then, broadcast=True)
            if self.experience.algorithm.prioritized:
                know = self.learners if learners.exchange_every is None else [self.learners[CRITICS]]
                rx.connect([learner.errors for learner in know], self.experience.errors, after=0)
        if learners.exchange_every is not None:
            rx.connect(self.learners[ACTOR].offered, self.learners[CRITICS].received, after=0)
            rx.connect(self.learners[CRITICS].offered, self.learners[ACTOR].received, after=0)
        elif len(learners) > 1:
            rx.connect(self.learners.offered, self.learners.received, after=0, broadcast=True)
        first: Learner = self.learners[0]
        if mode != "free":
            rx.connect(first.weights, self.actors.weights, after=f"{lag * 1000 - later} ns", broadcast=True)
        noted = f"{2 * later} ns" if later else None
        rx.connect(self.actors.episodes, self.journal.episodes, after=noted)
        rx.connect(self.actors.figures, self.journal.times, after=noted)
        rx.connect(self.learners.figures, self.journal.figures, after=then)
        if eval_every is not None:
            self.evaluator = Evaluator(
                algorithm, maker, *spaces, len(initial), every=eval_every, episodes=eval_episodes
            )
            rx.connect(first.weights, self.evaluator.weights)
            rx.connect(self.evaluator.evaluation, self.journal.evaluation, after=then)
        if saved is not None:
            self._go_on(saved)
        if saving is not None:
            self._save(saving, lag if mode != "free" else max(lag, FREE_SLACK), steps)

    def _stateful(self) -> dict[str, Stateful]:
        found: dict[str, Stateful] = {f"actors[{i}]": actor for i, actor in enumerate(self.actors)}
        found |= {f"learners[{i}]": learner for i, learner in enumerate(self.learners)} | {"journal": self.journal}
        return found | ({"experience": self.experience} if hasattr(self, "experience") else {})

    def _go_on(self, saved: Saved) -> None:
        first = saved.next_round * 1000
        for name, reactor in self._stateful().items():
            reactor.restored, reactor.first = saved.states[name], first
        if hasattr(self, "evaluator"):
            self.evaluator.first = first

    def _save(self, saving: Saving, slack: int, steps: int) -> None:
        reactors = self._stateful()
        self.checkpoint = Checkpoint([*reactors], saving, slack=slack, steps=steps, first=self.journal.first)
        rx.connect([reactor.state for reactor in reactors.values()], self.checkpoint.states)
        everybody = [reactor.save for reactor in reactors.values()]
        rx.connect(self.checkpoint.save, everybody, after=f"{slack} us", broadcast=True)
        rx.connect(self.journal.enough, self.checkpoint.enough)


def _exchange(algorithm: Algorithm, learning: Learning, learners: Learners, index: int) -> Exchange | None:
    """What a learner gives to others."""
    if learners.exchange_every is not None:
        return exchange_of(learning, index)  # type: ignore[arg-type]
    if len(learners) == 1:
        return None
    if not learning.flats:
        raise ArgumentError(
            f"{len(learners)} learners of rl.train, but {algorithm.name} has no gradients to take the mean of; leave "
            "learners out"
        )
    size = max(len(flat.weights) for flat in learning.flats)
    return Exchange(offered=size, received=size, width=len(learners))


def placement(training: Training, workers: int, mode: Mode) -> dict[str, int]:
    """Which worker runs what: in lock-step all of them play, else the first ones learn and the others play.

    Learners are on different workers as far as there are any; where there are no others, those play, too.
    """
    n, learners = len(training.actors), len(training.learners)
    first = 0 if mode == "sync" or workers <= learners else learners
    where = {f"main.actors[{i}]": first + i * (workers - first) // n for i in range(n)}
    where |= {f"main.learners[{i}]": i % workers for i in range(learners)}
    if hasattr(training, "evaluator"):
        where["main.evaluator"] = workers - 1
    return where
