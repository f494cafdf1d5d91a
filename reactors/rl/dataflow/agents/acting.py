"""With which weights do teams choose actions, and how old are they?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.rl.contract.agents import actions_of
from reactors.rl.dataflow.acting import Acting
from reactors.rl.learning.latest import ALL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from reactors.rl.contract.agents import MultiAgent
    from reactors.rl.envs.agents.cast import Cast


class TeamActing:
    """An `Acting` for each of the `teams`, which draw from one generator in their order, and get weights as one."""

    def __init__(
        self, algorithm: MultiAgent, cast: Cast, initial: Sequence[NDArray[np.float32]], *, lag: int = 1
    ) -> None:
        teams: list[Any] = [*algorithm.teams(cast)]
        self.teams = [
            Acting(algorithm, team, actions_of(cast, team), weights, lag=lag)
            for team, weights in zip(teams, initial, strict=True)
        ]
        self.latest = np.concatenate(list(initial))

    def open(self, rng: np.random.Generator, *environments: int) -> None:
        """Begin with the first weights, and draw by `rng`; nothing is remembered of environments."""
        del environments
        for team in self.teams:
            team.open(rng)

    def state_dict(self) -> dict[str, Any]:
        """Of each team."""
        return {"teams": [team.state_dict() for team in self.teams]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` gave, with the weights of then."""
        for team, each in zip(self.teams, state["teams"], strict=True):
            team.load_state_dict(each)

    def load(self, weights: NDArray[np.float32], number: int) -> None:
        """Newer weights of all, in round `number`."""
        at = 0
        for team in self.teams:
            size = len(team.latest)
            team.load(weights[at : at + size], number)
            at += size

    def look(self) -> int:
        """All actors play."""
        return ALL

    def age(self, number: int) -> int:
        """How many rounds old the weights are in round `number`."""
        return self.teams[0].age(number)
