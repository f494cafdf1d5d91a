"""What state does a recurrent policy have, and who keeps it?

The caller keeps it: each environment, each agent in it, or each client, has a state of its own. The policy holds none.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from reactors.errors import ArgumentError
from reactors.rl.contract.algorithm import Policy
from reactors.rl.public import public
from reactors.rl.replay.sequences import STATE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    States = NDArray[np.float32]


@public("rl.RecurrentPolicy")
class RecurrentPolicy(Policy):
    """A policy with recurrent states: `act` and `greedy` also take the states of their environments, and update them.

    `states` are float32 (n, width), one row for each observation, and are changed in place. At the beginning of an
    episode they are zeros, as `fresh` makes them. Learning needs the state from before each choice: `act` returns it as
    `state`, float32 (n, width). With many agents it is called `memory`, because there `state` is the environment's.
    Raises `ArgumentError` if no states are given.

    >>> import gymnasium as gym
    >>> from reactors import rl
    >>> ppo, spaces = rl.PPO(recurrent=8), (gym.spaces.Box(-1, 1, (3,)), gym.spaces.Discrete(2))
    >>> policy = ppo.policy(*spaces)
    >>> policy.load(ppo.learning(*spaces, 0).weights())
    >>> states = policy.fresh(5)
    >>> policy.greedy(np.ones((5, 3), np.float32), states).shape, states.shape, bool(states.any())
    ((5,), (5, 8), True)
    """

    width: int
    kept: ClassVar[str] = STATE
    """The name under which `act` returns the state."""

    @abstractmethod
    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int, states: States | None = None
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """Choose actions for a batch of observations; returns them and what to remember of each choice."""

    @abstractmethod
    def greedy(self, observations: NDArray[Any], states: States | None = None) -> NDArray[Any]:
        """The greedy actions for a batch of observations."""

    def fresh(self, n: int) -> States:
        """The initial states of n episodes."""
        return np.zeros((n, self.width), np.float32)

    def given(self, states: States | None, n: int) -> States:
        """The states for n observations, checked. Raises `ArgumentError` if they are missing or do not fit."""
        if states is None or states.shape != (n, self.width) or states.dtype != np.float32:
            what = "no states" if states is None else f"states of shape {states.shape} and dtype {states.dtype}"
            raise ArgumentError(
                f"{type(self).__name__} remembers, and was given {what} for {n} observations; give it "
                f"states=policy.fresh({n}) where episodes begin, and the same array from then on"
            )
        return states


class Playing:
    """Greedy actions in n environments; keeps their states if the policy is recurrent."""

    def __init__(self, policy: Policy, n: int) -> None:
        self.policy = policy
        self.states = policy.fresh(n) if isinstance(policy, RecurrentPolicy) else None

    def __call__(self, observations: NDArray[Any]) -> NDArray[Any]:
        """The actions for the observations of all environments."""
        if isinstance(self.policy, RecurrentPolicy):
            return self.policy.greedy(observations, self.states)
        return self.policy.greedy(observations)

    def ended(self, terminated: NDArray[np.bool_], truncated: NDArray[np.bool_]) -> None:
        """Reset the states of environments whose episode has ended; both arguments are bool (n,)."""
        if self.states is not None:
            self.states[terminated | truncated] = 0.0
