"""What does a policy remember of an episode, and who keeps it?

Who plays: each environment, each agent in it, or each client, has a state of its own, and a policy knows none of them.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from reactors.errors import ArgumentError
from reactors.rl.contract.algorithm import Policy
from reactors.rl.networks.recurrent import forget
from reactors.rl.public import public
from reactors.rl.replay.sequences import STATE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    States = NDArray[np.float32]


@public("rl.RecurrentPolicy")
class RecurrentPolicy(Policy):
    """A policy that remembers: `act` and `greedy` also take the states of their environments, and make them go on.

    `states` are float32 (n, width), a row for each observation, and are changed in place; those of episodes that begin
    are zeros, as `fresh` makes them. What learns has to know from which state it went on: what `act` remembers has
    `state`, float32 (n, width), as it was before; of many agents that is their `memory`, for there `state` is the
    environment's. Raises `ArgumentError` without states.

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
    """The name of the state in what `act` remembers."""

    @abstractmethod
    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int, states: States | None = None
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """Actions for a batch of observations, and what is to be remembered of each choice."""

    @abstractmethod
    def greedy(self, observations: NDArray[Any], states: States | None = None) -> NDArray[Any]:
        """The actions that it thinks best."""

    def fresh(self, n: int) -> States:
        """The states of n episodes that begin."""
        return np.zeros((n, self.width), np.float32)

    def given(self, states: States | None, n: int) -> States:
        """These states, of n observations. Raises `ArgumentError` where there are none, or others."""
        if states is None or states.shape != (n, self.width) or states.dtype != np.float32:
            what = "no states" if states is None else f"states of shape {states.shape} and dtype {states.dtype}"
            raise ArgumentError(
                f"{type(self).__name__} remembers, and was given {what} for {n} observations; give it "
                f"states=policy.fresh({n}) where episodes begin, and the same array from then on"
            )
        return states


class Playing:
    """Greedy actions in n environments, whose states are kept here if the policy has any."""

    def __init__(self, policy: Policy, n: int) -> None:
        self.policy = policy
        self.states = policy.fresh(n) if isinstance(policy, RecurrentPolicy) else None

    def __call__(self, observations: NDArray[Any]) -> NDArray[Any]:
        """The actions for the observations of all environments."""
        if isinstance(self.policy, RecurrentPolicy):
            return self.policy.greedy(observations, self.states)
        return self.policy.greedy(observations)

    def ended(self, terminated: NDArray[np.bool_], truncated: NDArray[np.bool_]) -> None:
        """Forget the episodes that end so; both bool (n,)."""
        if self.states is not None:
            forget(self.states, terminated, truncated)
