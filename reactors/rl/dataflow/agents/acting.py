"""With which weights do teams choose actions, how old are they, and what do agents remember?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.rl.contract.agents import actions_of, by_memory, memories_of
from reactors.rl.dataflow.acting import Acting
from reactors.rl.dataflow.agents.opponents import Opponents
from reactors.rl.learning.latest import ALL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from reactors.rl.contract.agents import MultiAgent
    from reactors.rl.envs.agents.cast import Cast
    from reactors.rl.learning.latest import Latest
    from reactors.rl.opponents import Past


class OneTeam(Acting):
    """An `Acting` of a team; `memories` (environments, agents, width) are what its agents remember, if they do."""

    def __init__(self, algorithm: MultiAgent, cast: Cast, team: Any, weights: NDArray[np.float32], **how: Any) -> None:
        super().__init__(algorithm, team, actions_of(cast, team), weights, **how)
        self.team = team

    def open(self, rng: np.random.Generator, *environments: int) -> None:
        """Begin with the first weights, and draw by `rng`; so many environments begin episodes."""
        super().open(rng)
        (n,) = environments
        self.memories = memories_of(self.policy, self.team, n)
        self.states = [] if self.memories is None else [self.memories]

    def act(
        self, observations: NDArray[Any], number: int, part: int = 0
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """Actions of those who have seen these records."""
        del part

        def choose(seen: NDArray[Any], *states: NDArray[np.float32]) -> Any:
            return self.choose(seen, number, *states)

        found: tuple[NDArray[Any], dict[str, NDArray[Any]]] = by_memory(self.memories, choose, observations)
        return found


class TeamActing:
    """An `Acting` for each of the `teams`, which draw from one generator in their order, and get weights as one.

    In free mode each team's learner leaves its weights in one of `newest`. `opponents` are past policies, if any play.
    """

    def __init__(
        self, algorithm: MultiAgent, cast: Cast, initial: Sequence[NDArray[np.float32]], *, lag: int = 1,
        newest: Sequence[Latest | None] | None = None, past: Past | None = None,
    ) -> None:  # fmt: skip
        teams = algorithm.teams(cast)
        self.teams = [
            OneTeam(algorithm, cast, team, weights, lag=lag, newest=each)
            for team, weights, each in zip(teams, initial, newest or [None] * len(teams), strict=True)
        ]
        self.latest = np.concatenate(list(initial))
        self.opponents = None if past is None else Opponents(past, algorithm, cast, initial, lag=lag)

    def open(self, rng: np.random.Generator, environments: int) -> None:
        """Begin with the first weights, and draw by `rng`; so many environments begin episodes."""
        for team in self.teams:
            team.open(rng, environments)
        if self.opponents is not None:
            self.opponents.open(rng, environments, [team.memories for team in self.teams])

    def state_dict(self) -> dict[str, Any]:
        """Of each team, and of opponents."""
        teams = {"teams": [team.state_dict() for team in self.teams]}
        return teams if self.opponents is None else {**teams, "opponents": self.opponents.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` gave, with the weights of then."""
        for team, each in zip(self.teams, state["teams"], strict=True):
            team.load_state_dict(each)
        if self.opponents is not None:
            self.opponents.load_state_dict(state["opponents"])

    def forget(self, over: NDArray[np.bool_]) -> None:
        """What agents remember of environments whose episodes are over, bool (environments,)."""
        for team in self.teams:
            team.forget(over)

    def load(self, weights: NDArray[np.float32], number: int) -> None:
        """Newer weights of all, in round `number`."""
        at = 0
        for team in self.teams:
            size = len(team.latest)
            team.load(weights[at : at + size], number)
            at += size

    def look(self) -> int:
        """In free mode, newer weights, if learners have left some. Opponents get what teams have; all actors play."""
        for i, team in enumerate(self.teams):
            team.look()
            if self.opponents is not None:
                self.opponents.add(i, team.latest, team.loaded)
        return ALL

    def age(self, number: int) -> int:
        """How many rounds old the weights are in round `number`."""
        return self.teams[0].age(number)
