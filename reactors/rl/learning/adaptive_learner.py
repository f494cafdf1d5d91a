"""Who learns, if the batch size and the number of updates are found while it runs?"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.rl.algorithms.off_policy import memory_of
from reactors.rl.contract.conformance import errors
from reactors.rl.contract.rows import experience_dtype
from reactors.rl.encoding.state import count
from reactors.rl.learning.learner import Learner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors.rl.learning.adaptation import Adaptation
    from reactors.rl.networks.layers import Descent


class AdaptiveLearner(Learner):
    """Keeps what actors send, and learns from batches of it, as large and as many as its `adaptation` says."""

    def __init__(
        self, algorithm: Any, *args: Any, actors: int, num_envs: int, adaptation: Adaptation, **kwargs: Any
    ) -> None:
        super().__init__(algorithm, *args, **kwargs)
        self.adaptation = adaptation
        self.buffer = memory_of(algorithm, *self.spaces)
        self.per_actor = num_envs
        dtype = experience_dtype(algorithm, *self.spaces)
        self.segments = rx.Input(shape=(algorithm.horizon, num_envs), dtype=dtype, width=actors)
        self.added = 0
        self.times = rx.Input(tuple, width=actors)
        self.add_reaction(self.segments, self.learn, uses=self.times, effects=(self.weights, self.figures))

    def open(self) -> None:
        """Also the memory, and the clock."""
        self.buffer.rng = np.random.default_rng(self.seed)
        super().open()
        self.adaptation.begin()

    def state_dict(self) -> dict[str, Any]:
        """As any learner, and the buffer."""
        return super().state_dict() | {"buffer": self.buffer.state_dict(), "added": self.added}

    def form(self) -> dict[str, Any]:
        """The memory looks for itself."""
        return super().state_dict() | {"buffer": {}, "added": 0}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As any learner, and the buffer."""
        super().load_state_dict(state)
        self.buffer.load_state_dict(state["buffer"])
        self.added = count(state["added"])

    def keep(self) -> int:
        """What samplers have sent; how many transitions that are."""
        before = self.added
        for i in self.segments.present:
            rows = self.segments[i].value
            envs = np.arange(i * self.per_actor, (i + 1) * self.per_actor, dtype=np.int32)
            self.buffer.add(rows.reshape(-1), envs=np.tile(envs, len(rows)))
            self.added += rows.size
        return self.added - before

    @property
    def age(self) -> float:
        """Of the weights with which samplers play, in rounds."""
        return float(np.mean([self.times[i].value[1] for i in self.segments.present]))

    def round(self) -> Descent:
        """Some updates, if there is enough to learn from."""
        adaptation, figures = self.adaptation, {}
        began = time.perf_counter()
        steps, size = self.keep(), adaptation.batch_sizes.value
        updates = adaptation.due() if self.added >= self.algorithm.enough else 0  # type: ignore[attr-defined]
        kept = time.perf_counter()
        for _ in range(updates):
            drawn = self.buffer.sample(size)
            figures = yield from self.learned(self.upload(drawn))
            if self.algorithm.prioritized:  # type: ignore[attr-defined]
                found = errors(self.algorithm, self.learning, figures, size)
                self.buffer.update_priorities(drawn["indices"], found.cpu().numpy())
        now = time.perf_counter()
        adaptation.add_round(now - began, now - kept, updates * size, steps, self.age)
        self.samplers = adaptation.samplers.value
        return figures | {
            "global_step": self.added, "updates": updates, "frames": updates * size, "adapt/batch_size": size,
            "adapt/updates": adaptation.updates, "adapt/samplers": self.samplers,
        }  # fmt: skip
