"""What was a team like at earlier times?"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.rl.contract.agents import actions_of
from reactors.rl.encoding.state import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from reactors.rl.contract.agents import MultiAgent
    from reactors.rl.contract.algorithm import Policy
    from reactors.rl.envs.agents.cast import Cast, Team


class PastPolicies:
    """The last `size` policies of a team that were kept, by the rounds for which it had learned then.

    `rounds` are those that there are to choose from, the oldest first. `policies` and `weights` also have those that
    still play an episode, though they are no longer among them.
    """

    def __init__(self, size: int, algorithm: MultiAgent, cast: Cast, team: Team, initial: NDArray[np.float32]) -> None:
        self.size = size
        self._plain = algorithm.policy(team, actions_of(cast, team))
        self.rounds: list[int] = []
        self.policies: dict[int, Policy] = {}
        self.weights: dict[int, NDArray[np.float32]] = {}
        self.add(0, initial, np.zeros(0, np.int64))

    def add(self, rounds: int, weights: NDArray[np.float32], playing: NDArray[np.int64]) -> None:
        """Keep a policy, and let the oldest go; not while they are `playing`."""
        self._keep(rounds, weights)
        self.rounds = [*self.rounds, rounds][-self.size :]
        for each in [*self.weights]:
            if each not in self.rounds and each not in playing:
                del self.weights[each], self.policies[each]

    def _keep(self, rounds: int, weights: NDArray[np.float32]) -> None:
        policy = deepcopy(self._plain)
        policy.load(weights)
        self.policies[rounds], self.weights[rounds] = policy, weights.copy()

    def state_dict(self) -> dict[str, Any]:
        """All of them."""
        kept = [{"rounds": rounds, "weights": weights} for rounds, weights in self.weights.items()]
        return {"rounds": self.rounds, "kept": kept}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self.policies, self.weights = {}, {}
        for each in state["kept"]:
            self._keep(count(each["rounds"]), each["weights"])
        self.rounds = [count(each) for each in state["rounds"]]
