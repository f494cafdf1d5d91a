"""What is a batch to a policy that acts for one agent?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import ArgumentError, ValueMismatchError
from reactors.rl.contract.recurrent import RecurrentPolicy
from reactors.rl.envs.observed import Observed
from reactors.rl.envs.spaces import array_type
from reactors.rl.serving.sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import gymnasium as gym
    from numpy.typing import NDArray

    from reactors.rl.contract.algorithm import Policy


class SingleAgent:
    """Takes observations of `space`, and answers a batch of them in one call."""

    def __init__(self, policy: Policy, space: gym.Space[Any], most: int) -> None:
        self.policy, self.observed = policy, Observed(_of_arrays(space))
        self.sessions = Sessions(policy, most) if isinstance(policy, RecurrentPolicy) else None

    @property
    def remembers(self) -> bool:
        """Whether it has to know whose episode an observation is of."""
        return self.sessions is not None

    def checked(self, observation: Any, agent: object, path: str) -> NDArray[Any]:
        """One observation, as `Observed.checked`."""
        if agent is not None:
            raise ArgumentError(f"{path} answers for a single agent, and was given agent={agent!r}; leave it out")
        return self.observed.checked(observation, path)

    def gathered(self, observations: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Observations (n, ...)."""
        return np.stack(observations)

    def answers(self, observations: NDArray[Any], *sessions: Any) -> NDArray[Any]:
        """The actions for a batch; those of a session that are in it one after another."""
        return greedy(self.policy, self.sessions, observations, *sessions)


def _of_arrays(space: gym.Space[Any]) -> gym.Space[Any]:
    dtype, _ = array_type(space)
    if dtype is None or dtype.names is not None:
        raise ArgumentError(
            f"observation_space of rl.serve is {space}, and a policy takes arrays; flatten observations with "
            "gymnasium.wrappers.FlattenObservation, and give the space of that"
        )
    return space


def greedy(policy: Policy, sessions: Sessions | None, observations: NDArray[Any], *names: Any) -> NDArray[Any]:
    """The actions for a batch, one for each of its observations."""
    choose = policy.greedy if sessions is None else sessions.greedy
    actions = np.asarray(choose(observations, *names))
    if actions.shape[:1] != (len(observations),):
        raise ValueMismatchError(
            f"{type(policy).__name__}.greedy gave actions of shape {actions.shape} for {len(observations)} "
            "observations; give one for each"
        )
    return actions
