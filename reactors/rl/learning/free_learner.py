"""Who learns in free mode from what is kept?

It takes batches out of a memory that actors go on to fill: as many as the ratio of updates to steps asks for, or, with
`adapt`, as many as it has time for between the bounds of that ratio, of the size that suits the machine (Spreeze, arXiv
2312.06126).
"""

from __future__ import annotations

import time
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.rl.contract.conformance import errors
from reactors.rl.encoding.state import Settled, count
from reactors.rl.learning.learner import Learner
from reactors.rl.rounds import round_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors.rl.learning.adaptation import Adaptation, Follower
    from reactors.rl.learning.pace import Played
    from reactors.rl.networks.layers import Descent
    from reactors.rl.replay.buffer import ReplayBuffer

FRESH = 0.02  # s, after which actors get newer weights while a round is not over


class FreeLearner(Learner):
    """Learns from `memory`; `kept` says how many transitions more each actor has put there.

    Rounds in which no update is due cost next to nothing. `learned_rounds` goes back to the actors, which wait for it
    when they are too far ahead. With `adaptation` it goes on, when it has made those that are due, for as long as
    actors are busy with later rounds, of which `played` knows. Several draw at once, each its part of a batch, and
    exchange gradients as `Learner` has it.
    """

    learned_rounds = rx.Output(int)

    def __init__(
        self,
        algorithm: Any,
        *args: Any,
        actors: int,
        memory: ReplayBuffer,
        adaptation: Adaptation | Follower | None = None,
        played: Played | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(algorithm, *args, **kwargs)
        self.adaptation, self.played, self.memory = adaptation, played, memory
        self.kept = rx.Input(int, width=actors)
        self.added = 0  # transitions
        self.learnable, self.made = 0, 0  # transitions since there is enough, and updates
        self.updates = 0  # that are due in a round
        self.fresh = 0.0  # when actors last got weights
        effects = (self.weights, self.figures, *(() if self.exchange is None else (self.offered,)))
        self.add_reaction(self.kept, self.learn_on, effects=(*effects, self.learned_rounds))
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
            "buffer": {} if self.bank_index else Settled(self.memory.state_dict()),
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
        self.updates = self.due(steps)
        self.fresh = time.perf_counter()
        if self.updates or self.goes_on(0):
            if self.exchange is None:
                self.learn()
                if self.adaptation is not None:
                    self.adaptation.pace.rest()
            else:
                self.begin()
        elif self.adaptation is not None:
            self.figures.set({"global_step": self.added})
        if self.adaptation is not None:
            self.adaptation.add_round(steps)
            self.samplers = self.adaptation.playing

    def due(self, steps: int) -> int:
        """How many updates have to be made now, after so many steps more."""
        if self.added < self.algorithm.enough:  # type: ignore[attr-defined]
            return 0
        if self.adaptation is not None:
            return self.adaptation.due(steps)
        self.learnable += steps
        due: int = self.algorithm.due(self.learnable) - self.made  # type: ignore[attr-defined]
        return due

    def goes_on(self, made: int) -> bool:
        """Whether there is time for an update more, after so many of this round, and it is allowed.

        One there is where no round waits, for actors are about to begin one, and others while they play.
        """
        if self.adaptation is None or self.played is None or not self.adaptation.pace.may:
            return False
        return not self.played.all_after(round_of(self.tag)) and (made == 0 or self.played.busy)

    @property
    def prioritizes(self) -> bool:
        """Errors are for the memory."""
        prioritized: bool = self.algorithm.prioritized  # type: ignore[attr-defined]
        return prioritized

    def round(self) -> Descent:
        """Updates that are due, and others while there is time."""
        adaptation, figures, made = self.adaptation, {}, 0
        size = self.algorithm.batch_size if adaptation is None else adaptation.batch_size  # type: ignore[attr-defined]
        step = (round_of(self.tag) + 1) * self.steps  # were no actor to pause; exploration goes by it, too
        beta = self.algorithm.beta_at(step)  # type: ignore[attr-defined]
        if adaptation is not None and (total := getattr(self.algorithm, "total_steps", 0)):
            self.learning.progress = min(1.0, step / total)  # updates say nothing of it now
        while made < self.updates or self.goes_on(made):
            began = time.perf_counter()
            drawn = self.memory.sample(size, beta=beta)
            figures = yield from self.learned(self.upload(drawn))
            if self.prioritizes:
                found = errors(self.algorithm, self.learning, figures, size)
                self.memory.update_priorities(drawn["indices"], found.cpu().numpy())
            made, self.made = made + 1, self.made + 1
            if adaptation is not None:
                adaptation.made(began)
            self.refresh()
        figures |= {"updates": made, "frames": made * size * self.parts}
        if adaptation is not None:
            figures |= {"global_step": self.added, **adaptation.figures}
        return figures

    def refresh(self) -> None:
        """Let actors have the weights of now, if theirs are old; the end of the round may be far."""
        now = time.perf_counter()
        if self.newest is not None and self.bank_index == 0 and now - self.fresh > FRESH:
            self.newest.put(self.checked_weights(), round_of(self.tag), self.samplers)
            self.fresh = now
