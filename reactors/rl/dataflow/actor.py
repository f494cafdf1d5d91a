"""Who plays, with a policy of its own?"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.lowlevel import offered, run_seed
from reactors.rl.checkpoints.stateful import Stateful
from reactors.rl.rounds import ROUND, round_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors.rl.dataflow.acting import Acting
    from reactors.rl.dataflow.rollout import Rollout


class Actor(Stateful):
    """Plays a round in its environments: every minute of logical time is a round.

    `segment` has the experience, of shape (horizon, environments). It plays with the weights that it has, whatever
    their age; in free mode it pauses if fewer samplers are wanted. `figures` has the seconds that the round took, and
    the age of the weights in rounds.
    """

    rounds = rx.Timer("first", ROUND)
    weights = rx.Input(shape="size", dtype=np.float32)
    episodes = rx.Output(tuple)
    figures = rx.Output(tuple)
    offered(weights, episodes, figures)  # in free mode no weights are sent; a program by hand may keep no journal

    def __init__(self, rollout: Rollout, acting: Acting) -> None:
        self.rollout, self.acting, self.size = rollout, acting, len(acting.latest)
        self.add_reaction(rx.startup, self.open)
        self.add_reaction(self.weights, self.load)
        self.declare()
        self.add_reaction(rx.shutdown, self.close)

    def declare(self) -> None:
        """The port for what is played, and the reaction that plays."""
        self.segment = rx.Output(shape=self.rollout.shape, dtype=self.rollout.dtype)
        self.add_reaction(self.rounds, self.play, effects=(self.segment, self.episodes, self.figures))

    def open(self) -> None:
        """Make the environments and the policy, as new or as a checkpoint had them."""
        self.rollout.open(run_seed(self), self.path)
        self.acting.open(self.rng, self.rollout.shape[1])
        self.go_on()

    def state_dict(self) -> dict[str, Any]:
        """Environments, random numbers, weights and what else the policy has."""
        return {**self.rollout.state_dict(), **self.acting.state_dict()}

    def form(self) -> dict[str, Any]:
        """Environments look for themselves."""
        return {**self.rollout.form(), **self.acting.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` gave."""
        self.rollout.load_state_dict(state)
        self.unrestored = self.rollout.unrestored
        self.acting.load_state_dict(state)
        self.acting.forget(self.rollout.begun)

    def load(self) -> None:
        """Play the next rounds with newer weights."""
        self.acting.load(self.weights.value, round_of(self.tag))

    def play(self) -> None:
        """Play a round, or sit it out where fewer samplers are wanted."""
        began = time.perf_counter()
        number, rollout, acting = round_of(self.tag), self.rollout, self.acting
        if acting.look() <= self.bank_index:  # fewer samplers are faster
            self.figures.set((0.0, acting.age(number)))
            return
        rows = self.begin()
        episodes = rollout.play(acting, rows, number)
        self.hand_over(rows)
        if episodes:
            self.episodes.set(episodes)
        self.figures.set((rx.Measured(time.perf_counter() - began), acting.age(number)))

    def begin(self) -> Any:
        """Where a round is written."""
        return self.segment.loan()

    def hand_over(self, rows: Any) -> None:
        """Send a round."""
        self.segment.set(rows)

    def close(self) -> None:
        """Close the environments at the end of the run."""
        self.failure = self.rollout.failure
        self.rollout.close()
