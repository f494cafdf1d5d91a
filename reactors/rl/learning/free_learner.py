"""Who learns in free mode from what is kept?

It wakes when actors have put more into the memory, which they go on to fill, and takes batches out of it: as many as
the ratio of updates to steps asks for, or as large and as many as `adapt` has found to suit the machine (Spreeze, arXiv
2312.06126).
"""

from __future__ import annotations

import time
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.rl.contract.conformance import errors
from reactors.rl.encoding.state import count
from reactors.rl.learning.learner import Learner
from reactors.rl.rounds import round_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors.rl.learning.adaptation import Adaptation, Follower
    from reactors.rl.networks.layers import Descent
    from reactors.rl.replay.buffer import ReplayBuffer


class FreeLearner(Learner):
    """Learns from `memory`; `kept` says how many transitions more each actor has put there.

    Rounds in which no update is due cost next to nothing. `learned_rounds` goes back to the actors, which wait for it
    when they are too far ahead. Several draw at once, each its part of a batch, and exchange gradients as `Learner` has
    it.
    """

    learned_rounds = rx.Output(int)

    def __init__(
        self,
        algorithm: Any,
        *args: Any,
        actors: int,
        memory: ReplayBuffer,
        adaptation: Adaptation | Follower | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(algorithm, *args, **kwargs)
        self.adaptation, self.memory = adaptation, memory
        self.kept = rx.Input(int, width=actors)
        self.times = rx.Input(tuple, width=actors)
        self.added = 0  # transitions
        self.learnable, self.made = 0, 0  # transitions since there is enough, and updates
        self.updates, self.updated = 0, 0.0  # of a round: how many, and when they were made
        effects = (self.weights, self.figures, *(() if self.exchange is None else (self.offered,)))
        self.add_reaction(self.kept, self.learn_on, uses=self.times, effects=(*effects, self.learned_rounds))
        if self.exchange is not None:
            self.add_reaction(self.received, self.take_and_go_on, effects=effects)

    def open(self) -> None:
        """Also the draws, which are this learner's own, and the clock."""
        if self.bank_index:
            self.memory = copy(self.memory)  # an entrance of its own, for all draw at once
        new = self.restored is None
        super().open()
        if new or self.bank_index:  # what the memory remembers are the draws of the first one
            self.memory.rng = np.random.default_rng((self.seed, self.made) if self.made else self.seed)
        if self.adaptation is not None:
            self.adaptation.begin()

    def state_dict(self) -> dict[str, Any]:
        """As any learner, and of the first the memory, as it is while actors write."""
        return super().state_dict() | {
            "buffer": {} if self.bank_index else self.memory.state_dict(),
            "added": self.added, "learnable": self.learnable, "drawn": self.made,
        }  # fmt: skip

    def form(self) -> dict[str, Any]:
        """The memory looks for itself."""
        return super().state_dict() | {"buffer": {}, "added": 0, "learnable": 0, "drawn": 0}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As any learner; the memory is as it was since before the run began."""
        super().load_state_dict(state)
        self.added, self.learnable, self.made = (count(state[name]) for name in ("added", "learnable", "drawn"))

    def learn_on(self) -> None:
        """Learn, if updates are due; actors may go on in either case."""
        self.learned_rounds.set(round_of(self.tag))
        steps = sum(self.kept[i].value for i in self.kept.present)
        self.added += steps
        updates = self.due(steps)
        began = self.updated = time.perf_counter()
        if updates:
            self.updates = updates
            if self.exchange is None:
                self.learn()
            else:
                self.begin()
        elif self.adaptation is not None:
            self.figures.set({"global_step": self.added})
        if self.adaptation is not None:
            frames = updates * self.adaptation.batch_size
            self.adaptation.add_round(time.perf_counter() - began, self.updated - began, frames, steps, self.age)
            self.samplers = self.adaptation.playing

    def due(self, steps: int) -> int:
        """How many updates are to be made now, after so many steps more."""
        if self.added < self.algorithm.enough:  # type: ignore[attr-defined]
            return 0
        if self.adaptation is not None:
            return self.adaptation.due()
        self.learnable += steps
        due: int = self.algorithm.due(self.learnable) - self.made  # type: ignore[attr-defined]
        self.made += due
        return due

    @property
    def age(self) -> float:
        """Of the weights with which samplers play, in rounds."""
        return float(np.mean([self.times[i].value[1] for i in self.kept.present]))

    @property
    def prioritizes(self) -> bool:
        """Errors are for the memory."""
        prioritized: bool = self.algorithm.prioritized  # type: ignore[attr-defined]
        return prioritized

    def round(self) -> Descent:
        """So many updates."""
        adaptation, figures = self.adaptation, {}
        size = self.algorithm.batch_size if adaptation is None else adaptation.batch_size  # type: ignore[attr-defined]
        beta = self.algorithm.beta_at(self.added)  # type: ignore[attr-defined]
        for _ in range(self.updates):
            drawn = self.memory.sample(size, beta=beta)
            figures = yield from self.learned(self.upload(drawn))
            if self.prioritizes:
                found = errors(self.algorithm, self.learning, figures, size)
                self.memory.update_priorities(drawn["indices"], found.cpu().numpy())
        self.updated = time.perf_counter()
        figures |= {"updates": self.updates, "frames": self.updates * size * self.parts}
        if adaptation is not None:
            figures |= {"global_step": self.added, **adaptation.figures}
        return figures
