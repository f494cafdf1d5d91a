"""With which weights are actions chosen, and how old are they?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from reactors.rl.contract.chosen import Chosen
from reactors.rl.contract.recurrent import RecurrentPolicy
from reactors.rl.encoding.state import count
from reactors.rl.learning.latest import ALL

if TYPE_CHECKING:
    from collections.abc import Mapping

    import gymnasium as gym
    import numpy as np
    from numpy.typing import NDArray

    from reactors.rl.contract.algorithm import Algorithm
    from reactors.rl.learning.latest import Latest


class Acting:
    """A policy, the random numbers by which it acts, and its weights, which reach it `lag` rounds late.

    In free mode the learner leaves its weights in `newest`. Of a recurrent policy it has the states of all environments
    as well: float32 (environments, width) for each part of them that acts by itself, and no parts for other policies.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        weights: NDArray[np.float32],
        *,
        lag: int = 1,
        newest: Latest | None = None,
    ) -> None:
        self.policy = algorithm.policy(observation_space, action_space)
        self.chosen = Chosen(self.policy, action_space)
        self.remembered = algorithm.remembered(action_space).keys()
        self.latest, self.newest = weights, newest
        self.steps = algorithm.horizon * algorithm.num_envs  # of all environments in a round
        self.late, self.loaded = lag, lag - 1  # the first weights are from before round 0
        self.version = 0  # of the latest weights that the learner left
        self.remembers = isinstance(self.policy, RecurrentPolicy)
        self.states: list[NDArray[np.float32]] = []

    def open(self, rng: np.random.Generator, *environments: int) -> None:
        """Begin with the first weights, and draw by `rng`; in each part so many environments begin episodes."""
        self.rng = rng
        self.policy.load(self.latest)
        if isinstance(self.policy, RecurrentPolicy):
            self.states = [self.policy.fresh(n) for n in environments]

    def state_dict(self) -> dict[str, Any]:
        """Random numbers, weights, what else the policy has, and what it remembers of episodes that go on."""
        found = {"rng": self.rng, "policy": self.policy.state_dict(), "weights": self.latest, "loaded": self.loaded}
        return found | {"states": self.states} if self.states else found

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` gave, with the weights of then."""
        self.rng.bit_generator.state = state["rng"].bit_generator.state
        self.policy.load_state_dict(state["policy"])
        self.latest, self.loaded = state["weights"], count(state["loaded"])
        self.policy.load(self.latest)
        for mine, saved in zip(self.states, state.get("states", ()), strict=True):
            mine[:] = saved

    def load(self, weights: NDArray[np.float32], number: int) -> None:
        """Newer weights, in round `number`."""
        self.latest, self.loaded = weights.copy(), number
        self.policy.load(self.latest)

    def look(self) -> int:
        """In free mode, newer weights, if the learner has left some; how many actors are to play."""
        if self.newest is None or (found := self.newest.get()) is None:
            return ALL
        if found.version != self.version:  # there may be several in a round
            self.version = found.version
            self.load(found.weights, found.round + self.late)
        return found.samplers

    def act(
        self, observations: NDArray[Any], number: int, part: int = 0
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """Actions in round `number`, and what the policy remembers of them. Raises `ValueMismatchError`."""
        return self.choose(observations, number, *self.states[part : part + 1])  # those that a recurrent one takes, too

    def choose(
        self, observations: NDArray[Any], number: int, *states: NDArray[np.float32]
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """As `act`, with the states of those whose observations they are, if the policy is recurrent."""
        n, given = len(observations), cast("Any", states)
        actions, remembered = self.policy.act(observations, self.rng, number * self.steps, *given)
        self.chosen.noted(remembered, self.remembered, n)
        return self.chosen.checked(actions, n, "act"), remembered

    def forget(self, over: NDArray[np.bool_], part: int = 0) -> None:
        """Of a recurrent policy: forget the episodes of this part that are over; bool, in the first dimensions."""
        if self.states:
            self.states[part][over] = 0.0

    def age(self, number: int) -> int:
        """How many rounds old the weights are in round `number`."""
        return number - self.loaded + self.late
