"""How fast are actors alone, learners alone, and both together?

Each is the program that trains, for some seconds. Actors are alone when nothing is learned from what they play,
learners when a round that was once played comes again and again.
"""

from __future__ import annotations

import time
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import reactors as rx
from reactors.rl.algorithms.off_policy import OffPolicy
from reactors.rl.dataflow.acting import Acting
from reactors.rl.dataflow.actor import Actor
from reactors.rl.dataflow.program import Training
from reactors.rl.dataflow.rollout import Rollout
from reactors.rl.rounds import ROUND, STOP, round_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from reactors.rl.contract.algorithm import Algorithm
    from reactors.rl.options import Options

STILL = 1e-12
WARM_UP = 2  # rounds that learners have made before the clock starts


class Stopwatch(rx.Reactor):
    """Stops a training so many `seconds` after it has warmed up; `marks` are rounds, and when they were over.

    The word to stop comes `late`, so that no worker waits for it in every round.
    """

    figures = rx.Input(dict)

    def __init__(self, seconds: float, options: Options) -> None:
        self.seconds = seconds
        self.marks: list[tuple[int, float]] = []
        self.warm_up = WARM_UP
        self.add_reaction(self.figures, self.note, effects=rx.stop.after(options.slack * ROUND + STOP))

    def note(self) -> None:
        """A round is over."""
        if self.warm_up:
            self.warm_up -= 1
            return
        self.marks.append((round_of(self.tag), time.perf_counter()))
        if len(self.marks) > 1 and self.marks[-1][1] - self.marks[0][1] >= self.seconds:
            self.request_stop()

    @property
    def rate(self) -> float:
        """Rounds a second, from the first mark to the last."""
        (first, began), (last, ended) = self.marks[0], self.marks[-1]
        return (last - first) / (ended - began)


class Together(Training):
    """An algorithm that is trained for some seconds, and no longer."""

    def __init__(
        self, algorithm: Algorithm, make: Any, spaces: tuple[Any, Any], options: Options, seconds: float, **others: Any
    ) -> None:
        super().__init__(algorithm, make, *spaces, options, **others)
        self.stopwatch = Stopwatch(seconds, options)
        rx.connect(self.learners[0].figures, self.stopwatch.figures)


class Idle(rx.Reactor):
    """Learns nothing, and answers every round with the same weights."""

    weights = rx.Output(shape="size", dtype=np.float32)
    figures = rx.Output(dict)

    def __init__(self, initial: NDArray[np.float32], segment: Any, actors: int) -> None:
        self.initial, self.size = initial, len(initial)
        self.segments = rx.Input(shape=segment.shape, dtype=segment.dtype, width=actors)
        self.add_reaction(self.segments, self.answer, effects=(self.weights, self.figures))

    def answer(self) -> None:
        """Give the weights back as they were."""
        self.weights.set(self.initial)
        self.figures.set({})


class ActorsAlone(Together):
    """Plays, and learns nothing."""

    def _learn(
        self, algorithm: Any, arguments: Any, learning: Any, learners: Any, stepping: Any, loaders: Any, then: Any
    ) -> None:
        del algorithm, arguments, learners, loaders, then
        self.learners = rx.bank(1, Idle, learning.weights(), stepping[0].segment, len(stepping))
        rx.connect(stepping.segment, self.learners[0].segments)


class Repeating(Actor):
    """Plays nothing: every round is the one that was recorded."""

    def __init__(self, rollout: Rollout, acting: Acting, recorded: Any) -> None:
        super().__init__(rollout, acting)
        self.recorded = recorded

    def open(self) -> None:
        """There are no environments."""

    def load(self) -> None:
        """Weights are no matter."""

    def play(self) -> None:
        """Send the recorded round again."""
        rows = self.begin()
        self.fill(rows)
        self.hand_over(rows)
        self.figures.set((0.0, 1))

    def fill(self, rows: Any) -> None:
        """Write the round."""
        rows[...] = self.recorded


class LearnersAlone(Together):
    """Learns from the same round again and again."""

    def __init__(self, algorithm: Algorithm, *args: Any, recorded: Any, **others: Any) -> None:
        self.recorded = recorded
        super().__init__(still(algorithm), *args, **others)

    def _actors(self, n: int, rollout: Callable[[int], Rollout], acting: Callable[[int], Acting]) -> rx.Bank[Any]:
        return rx.bank(n, Repeating, rollout, acting, self.recorded)


def played(
    algorithm: Algorithm, make: Callable[[], Any], spaces: tuple[Any, Any], seed: int, path: str = "rl.tune"
) -> NDArray[Any]:
    """A round of experience, (horizon, environments), with the first weights."""
    rollout = Rollout(algorithm, [make] * algorithm.num_envs, 0, *spaces)
    weights = algorithm.learning(*spaces, seed).weights()
    acting = Acting(algorithm, *spaces, weights)
    rows = np.zeros(rollout.shape, rollout.dtype)
    fill_round(rollout, acting, rows, seed, path)
    return rows


def fill_round(rollout: Any, acting: Any, rows: Any, seed: int, path: str) -> None:
    """Play the first round, for a single agent or many, into its rows; environments are closed whatever happens."""
    try:
        rollout.open(seed, path)
        acting.open(np.random.default_rng(seed), rollout.shape[1])
        rollout.play(acting, rows, 0)
    finally:
        rollout.close()


def still(algorithm: Algorithm) -> Algorithm:
    """Whose weights hardly move, at the same cost: from one round forever, they would go out of all bounds.

    >>> from reactors import rl
    >>> still(rl.PPO()).learning_rate
    1e-12
    """
    rates: dict[str, Any] = {each.name: STILL for each in fields(algorithm) if each.name.endswith("learning_rate")}
    return replace(algorithm, **rates)


def begun(algorithm: Algorithm, *, alone: bool = False, turns: int = 1) -> Algorithm:
    """The same one, which learns as soon as it has enough for a batch, and until then alone acts at random.

    Actors `alone` do not act at random at all. In so many `turns` every agent has acted, and acted again.

    >>> from reactors import rl
    >>> begun(rl.DQN(learning_starts=50_000)).learning_starts
    32
    """
    if not isinstance(algorithm, OffPolicy):
        return algorithm
    enough = 0 if alone else max(algorithm.batch_size, turns * algorithm.n_step * algorithm.num_envs)
    return replace(algorithm, learning_starts=min(algorithm.learning_starts, enough))


class Programs(NamedTuple):
    """What is measured, of algorithms for a single agent or for many."""

    played: Callable[..., Any]
    """A round of experience, by which learners are measured."""
    actors_alone: Any
    learners_alone: Any
    together: Any


OF_ONE = Programs(played, ActorsAlone, LearnersAlone, Together)
