"""Who plays environments with many agents?"""

from __future__ import annotations

from typing import Any

import reactors as rx
from reactors.lowlevel import Ports, offered
from reactors.rl.dataflow.actor import Actor


class AgentsActor(Actor):
    """An actor with a port of experience for each team: `segments[i]` has the joint transitions of team i.

    It has an `AgentsRollout` and a `TeamActing`: one call chooses for all agents of a team, in all of its environments.
    `weights` are those of all teams. Where past policies play, `results` has those of a round, and `ratings` says by
    which of them they are chosen.
    """

    ratings = rx.Input(dict)
    results = rx.Output(tuple)
    offered(ratings, results)

    acting: Any

    def declare(self) -> None:
        """The ports for what is played, and the reaction that plays."""
        rollout: Any = self.rollout
        for i, dtype in enumerate(rollout.dtypes):
            setattr(self, f"segment_{i}", rx.Output(shape=rollout.shape, dtype=dtype))
        self.segments = Ports([getattr(self, f"segment_{i}") for i in range(len(rollout.dtypes))])
        self.add_reaction(self.ratings, self.rate)
        effects = *self.segments, self.episodes, self.figures, self.results
        self.add_reaction(self.rounds, self.play, effects=effects)

    def rate(self) -> None:
        """Choose past policies by these ratings."""
        self.acting.opponents.ratings = self.ratings.value

    def begin(self) -> Any:
        """Where a round is written."""
        return [port.loan() for port in self.segments]

    def hand_over(self, rows: Any) -> None:
        """Send a round to the learners of all teams."""
        for port, each in zip(self.segments, rows, strict=True):
            port.set(each)
        opponents = self.acting.opponents
        if opponents is not None:
            results, opponents.results = tuple(opponents.results), []
            self.results.set(results)
