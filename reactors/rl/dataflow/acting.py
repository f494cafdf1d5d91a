"""With which weights are actions chosen, and how old are they?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactors.rl.checkpoints.state import count
from reactors.rl.contract.chosen import Chosen

if TYPE_CHECKING:
    from collections.abc import Mapping

    import gymnasium as gym
    import numpy as np
    from numpy.typing import NDArray

    from reactors.rl.contract.algorithm import Algorithm
    from reactors.rl.replay.buffer import ReplayBuffer


EVERYBODY = 1 << 30
"""As many actors as there are."""


class Acting:
    """A policy, the random numbers by which it acts, and its weights, which reach it `lag` rounds late.

    `steps` are those of all environments in a round. In free mode `lately` is where the learner leaves its weights.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        weights: NDArray[np.float32],
        steps: int,
        lag: int,
        lately: ReplayBuffer | None = None,
    ) -> None:
        self.policy = algorithm.policy(observation_space, action_space)
        self.chosen = Chosen(self.policy, action_space)
        self.remembered = algorithm.remembered(action_space).keys()
        self.latest, self.steps, self.lately = weights, steps, lately
        self.late, self.loaded = lag, lag - 1  # the first weights are from before round 0

    def open(self, rng: np.random.Generator) -> None:
        """Begin with the first weights."""
        self.rng = rng
        self.policy.load(self.latest)

    def state_dict(self) -> dict[str, Any]:
        """Random numbers, weights and what else the policy has."""
        return {"rng": self.rng, "policy": self.policy.state_dict(), "weights": self.latest, "loaded": self.loaded}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from there."""
        self.rng.bit_generator.state = state["rng"].bit_generator.state
        self.policy.load_state_dict(state["policy"])
        self.latest, self.loaded = state["weights"], count(state["loaded"])
        self.policy.load(self.latest)

    def load(self, weights: NDArray[np.float32], number: int) -> None:
        """Newer weights, in round `number`."""
        self.latest, self.loaded = weights.copy(), number
        self.policy.load(self.latest)

    def look(self) -> int:
        """In free mode, newer weights, if the learner has left some; how many actors are to play."""
        if self.lately is None or not len(self.lately):
            return EVERYBODY
        row = self.lately.sample(1)
        if (loaded := int(row["round"][0]) + self.late) != self.loaded:
            self.load(row["vector"][0], loaded)
        return int(row["samplers"][0])

    def act(self, observations: NDArray[Any], number: int) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """Actions in round `number`, and what the policy remembers of them. Raises `ValueMismatchError`."""
        n = len(observations)
        actions, remembered = self.policy.act(observations, self.rng, number * self.steps)
        self.chosen.noted(remembered, self.remembered, n)
        return self.chosen.checked(actions, n, "act"), remembered

    def age(self, number: int) -> int:
        """How many rounds old the weights are in round `number`."""
        return number - self.loaded + self.late
