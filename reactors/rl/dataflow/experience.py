"""What is kept of experience, and what is drawn from it?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.rl.algorithms.off_policy import buffer_of, sequences_of
from reactors.rl.checkpoints.stateful import Stateful
from reactors.rl.contract.rows import experience_dtype
from reactors.rl.encoding.state import Settled, count
from reactors.rl.replay.draws import Draws

if TYPE_CHECKING:
    from collections.abc import Mapping

    import gymnasium as gym
    from numpy.typing import NDArray

    from reactors.rl.algorithms.off_policy import OffPolicy
    from reactors.rl.replay.buffer import ReplayBuffer


class Experience(Stateful):
    """Keeps what actors send, and draws as many batches as the ratio of updates to steps asks for.

    The ratio is kept exactly, over all rounds in which there is enough experience (PAL's throttle): batches for
    `updates` are drawn in each round by whose end so many are due. What the learner found of priorities comes back as
    `errors`, of each of the `parts` in which learners share a batch.
    """

    def __init__(
        self,
        algorithm: OffPolicy,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        actors: int,
        parts: int = 1,
    ) -> None:
        self.algorithm, self.actors = algorithm, actors
        per_actor = algorithm.num_envs // actors
        dtype = experience_dtype(algorithm, observation_space, action_space)
        self.buffer, self.cut = self.memory(dtype)
        self.updates = algorithm.updates
        self.segments = rx.Input(shape=(algorithm.horizon, per_actor), dtype=dtype, width=actors)
        self.draws = Draws(self.buffer, algorithm.batch_size)
        self.batches = rx.Output(shape=(self.updates,), dtype=self.draws.dtype)
        self.envs = np.tile(np.arange(algorithm.num_envs, dtype=np.int32), algorithm.horizon)
        self.added = 0  # transitions
        self.learnable, self.drawn = 0, 0  # transitions since there is enough, and batches
        self.add_reaction(rx.startup, self.begin)
        if algorithm.prioritized:
            shape = self.updates, algorithm.batch_size // parts
            self.errors = rx.Input(shape=shape, dtype=np.float32, width=parts)
            self.add_reaction(self.errors, self.answer)
        self.add_reaction(self.segments, self.keep_and_draw, effects=self.batches)

    def memory(self, dtype: Any) -> tuple[ReplayBuffer, Any]:
        """Where steps of this dtype are kept, and what cuts them first into what is kept, if anything does."""
        n = self.algorithm.num_envs
        return buffer_of(self.algorithm, dtype, n), sequences_of(self.algorithm, dtype, n)

    def begin(self) -> None:
        """Draw as the seed of the run says."""
        self.buffer.rng = np.random.default_rng(self.seed)
        self.go_on()

    def state_dict(self) -> dict[str, Any]:
        """The buffer, and what waits for it; after a round, no priorities are on their way."""
        return {"buffer": Settled(self.buffer.state_dict()), **self._form()}

    def form(self) -> dict[str, Any]:
        """The buffer looks for itself."""
        return {"buffer": {}, **self._form()}

    def _form(self) -> dict[str, Any]:
        found: dict[str, Any] = {"added": self.added, "learnable": self.learnable, "drawn": self.drawn}
        return found if self.cut is None else found | {"sequences": self.cut.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` gave."""
        self.buffer.load_state_dict(state["buffer"])
        if self.cut is not None:
            self.cut.load_state_dict(state["sequences"])
        if self.broken_off is not None:
            self.break_off(self.broken_off)
        self.added, self.learnable, self.drawn = (count(state[name]) for name in ("added", "learnable", "drawn"))

    def break_off(self, broken_off: NDArray[np.bool_]) -> None:
        """Have nothing that waits be joined to the new episodes of these environments."""
        if self.cut is not None:
            self.cut.break_off(broken_off)
        if self.buffer._n_step is not None:
            self.buffer._n_step.give_up(np.repeat(broken_off, self.buffer.config.num_envs // len(broken_off)))

    def answer(self) -> None:
        """New priorities for the batches of a round."""
        for errors in np.concatenate(self.errors.array, axis=1):
            self.draws.answer(errors)

    def keep_and_draw(self) -> None:
        """Keep a round of all actors, and draw batches if they are due."""
        segments = np.moveaxis(self.segments.array, 0, 1)  # steps, actors, environments
        rows = np.ascontiguousarray(segments).reshape(self.algorithm.horizon, -1)
        self.keep(rows)
        self.added += rows.size
        if self.added < self.algorithm.enough:
            return
        self.learnable += rows.size
        if self.algorithm.due(self.learnable) <= self.drawn:
            return
        self.drawn += self.updates
        self.buffer.beta = self.algorithm.beta_at(self.added)
        records = self.batches.loan()
        for i in range(self.updates):
            self.draws.draw(records[i : i + 1].reshape(()))
        self.batches.set(records)

    def keep(self, rows: NDArray[Any]) -> None:
        """Steps (steps, environments) of a round."""
        rows = self.clipped(rows)
        if self.cut is None:
            self.buffer.add(rows.reshape(-1), envs=self.envs)
        elif len(cut := self.cut.add(rows)):
            self.buffer.add(cut)

    def clipped(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The same, with rewards that are clipped, if they are."""
        if (clip := self.algorithm.reward_clip) is not None:
            rows = rows.copy()
            np.clip(rows["reward"], -clip, clip, out=rows["reward"])
        return rows
