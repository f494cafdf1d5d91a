"""Who plays in free mode, where a learner learns from what is kept?

Actors put what they have played into the memory themselves, while the learner draws from it: neither does the other's
work, and nothing is copied twice (PAL, arXiv 2110.01101, section IV). What goes to the learner is how much that was.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.rl.dataflow.actor import Actor
from reactors.rl.replay.sequences import Sequences
from reactors.rl.rounds import round_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors.rl.dataflow.acting import Acting
    from reactors.rl.dataflow.rollout import Rollout
    from reactors.rl.learning.pace import Played
    from reactors.rl.replay.buffer import ReplayBuffer
    from reactors.rl.replay.n_step import NStep


class FreeActor(Actor):
    """An actor that fills `memory`, which all share; `kept` has the number of transitions.

    With `stretch`, how long sequences are and how far apart they begin, it keeps those. `learned` comes from each
    learner some rounds late, so that no actor is further ahead of it than that. `played`, if a learner wants to know,
    has the round that it plays.
    """

    kept = rx.Output(int)

    def __init__(
        self,
        rollout: Rollout,
        acting: Acting,
        *,
        memory: ReplayBuffer,
        learners: int = 1,
        reward_clip: float | None = None,
        stretch: tuple[int, int] | None = None,
        played: Played | None = None,
    ) -> None:
        self.memory, self.clip, self.played = memory, reward_clip, played
        self.learned = rx.Input(int, width=learners)
        self.entrance: ReplayBuffer | None = None
        self.sequences = None if stretch is None else Sequences(rollout.dtype, rollout.shape[1], *stretch)
        super().__init__(rollout, acting)
        first, (steps, envs) = rollout.first_env, rollout.shape
        self.rows = np.empty((steps, envs), rollout.dtype)
        self.envs = np.tile(np.arange(first, first + envs, dtype=np.int32), steps)

    def declare(self) -> None:
        """It has no segments."""
        self.add_reaction(self.rounds, self.play, uses=self.learned, effects=(self.kept, self.episodes, self.figures))

    def open(self) -> None:
        """Also make an entrance of its own to the memory: steps that wait for the next ones are each actor's."""
        self.entrance = copy(self.memory)
        super().open()

    def state_dict(self) -> dict[str, Any]:
        """Also the steps that wait until a sequence, or a return of several steps, is whole."""
        n_step, streams = self._n_step()
        waiting = {} if n_step is None else {name: rows.copy() for name, rows in n_step.state_of(streams).items()}
        return super().state_dict() | self._cut() | {"n_step": waiting}

    def form(self) -> dict[str, Any]:
        """Environments look for themselves, and so do steps that wait for returns: 0.1.0 did not save them."""
        return super().form() | self._cut()

    def _cut(self) -> dict[str, Any]:
        return {} if self.sequences is None else {"sequences": self.sequences.state_dict()}

    def _n_step(self) -> tuple[NStep | None, slice]:
        """The steps that wait for returns, and whose of them are this actor's."""
        assert self.entrance is not None
        first = self.rollout.first_env
        return self.entrance._n_step, slice(first, first + self.rollout.shape[1])

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` gave."""
        super().load_state_dict(state)
        begun = self.rollout.begun
        if self.sequences is not None:
            self.sequences.load_state_dict(state["sequences"])
            self.sequences.break_off(begun)
        n_step, streams = self._n_step()
        if n_step is not None and "n_step" in state:
            n_step.restore_of(streams, state["n_step"])
            n_step.give_up(begun, streams.start)

    def close(self) -> None:
        """Also let go of the memory, which is not this actor's."""
        self.entrance = None
        super().close()

    def play(self) -> None:
        """Play a round, and say so before and after."""
        if self.played is None:
            super().play()
            return
        number = round_of(self.tag)
        self.played.begin(self.bank_index, number)
        super().play()
        self.played.end(self.bank_index, number)

    def begin(self) -> Any:
        """Where a round is written."""
        return self.rows

    def hand_over(self, rows: Any) -> None:
        """Keep a round."""
        if self.clip is not None:
            np.clip(rows["reward"], -self.clip, self.clip, out=rows["reward"])
        assert self.entrance is not None
        if self.sequences is None:
            self.entrance.add(rows.reshape(-1), envs=self.envs)
        elif len(cut := self.sequences.add(rows)):
            self.entrance.add(cut)
        self.kept.set(rows.size)
