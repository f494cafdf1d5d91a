"""Is this an observation of an agent of the cast?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import ArgumentError, ValueMismatchError
from reactors.lowlevel import did_you_mean
from reactors.rl.envs.agents.cast import SOME, some
from reactors.rl.envs.agents.masks import MASK, OBSERVATION, allowed, unmasked
from reactors.rl.envs.observed import Observed
from reactors.rl.envs.spaces import WrongValueError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from reactors.rl.envs.agents.cast import Cast
    from reactors.rl.envs.spaces import Space

    Seen = tuple[NDArray[Any], NDArray[np.bool_] | None]  # an observation, and which actions are allowed


class ObservedByAgents:
    """Checks single observations of agents of a `cast`, for policies that act on them.

    >>> import gymnasium as gym
    >>> from reactors.rl.envs.agents.cast import Cast
    >>> box, two = gym.spaces.Box(-1, 1, (2,)), gym.spaces.Discrete(2)
    >>> take = ObservedByAgents(Cast(("a", "b"), (box, box), (two, two), masked=True))
    >>> take.checked("b", {"observation": [0, 0.5], "action_mask": [0, 1]}, "the policy")
    (array([0. , 0.5], dtype=float32), array([False,  True]))
    """

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self.number = {str(agent): i for i, agent in enumerate(cast.agents)}
        self.observed = [Observed(space) for space in cast.observations]

    def place(self, agent: object, path: str) -> int:
        """The place of an agent in the cast. Raises `ArgumentError` for an unknown agent."""
        found = self.number.get(str(agent))
        if found is None:
            names = [*self.number]
            near = did_you_mean(str(agent), names) if len(names) > SOME else ""
            raise ArgumentError(f"{path} has no agent {agent!r}{near or f'; there are {some(names)}'}")
        return found

    def checked(self, agent: object, observation: Any, path: str, several: str = "") -> Seen:
        """A copy of an agent's observation, and of its mask, if there is one; as in `Observed.checked`.

        Also raises `ArgumentError` for an unknown agent, and `ValueMismatchError` for an invalid mask, or one where
        the environment has none.
        """
        i = self.place(agent, path)
        seen, mask = unmasked(observation, {})
        who = f"agent {str(agent)!r} of {path}"
        if mask is not None and not self.cast.masked:
            raise ValueMismatchError(
                f"{who} was given an action_mask, but the policy was trained without masks; leave it out, or train "
                "where an agent has one from the first reset on"
            )
        taken = self.observed[i].checked(seen, who, several)
        return taken, None if mask is None else _mask(mask, self.cast.actions[i], who)

    def all(self, observations: object, path: str, several: str = "") -> dict[Any, Seen]:
        """The checked observations of all present agents, by agent."""
        return {agent: self.checked(agent, x, path, several) for agent, x in self.by_agent(observations, path).items()}

    def batches(self, observations: object, path: str) -> dict[Any, list[Seen]]:
        """The checked observations in batches (n, ...), by agent.

        Also raises `ValueMismatchError` for what is no batch.
        """
        found = {}
        for agent, batch in self.by_agent(observations, path).items():
            seen, masks = unmasked(batch, {})
            shape, one = np.shape(seen), self.observed[self.cast.agents.index(agent)].shape or ()
            if len(shape) != len(one) + 1 or (masks is not None and np.shape(masks)[:1] != shape[:1]):
                wanted = str(("n", *one)).replace("'", "")
                beside = "" if masks is None else f", with masks of shape {np.shape(masks)}"
                raise ValueMismatchError(
                    f"agent {str(agent)!r} of {path} takes a batch of observations, of shape {wanted}, and was "
                    f"given one of shape {shape}{beside}; write a row for each observation, and for its mask"
                )
            each = seen if masks is None else [{OBSERVATION: x, MASK: y} for x, y in zip(seen, masks, strict=True)]
            found[agent] = [self.checked(agent, x, path) for x in each]
        return found

    def by_agent(self, observations: object, path: str) -> dict[Any, Any]:
        """What is given by agent, unchecked; raises `ArgumentError` for another thing, and for an unknown agent."""
        if not hasattr(observations, "items"):
            raise ArgumentError(
                f"{path} takes a dict of observations by agent, of those that are there, and was given "
                f"{type(observations).__name__}; write {{{str(self.cast.agents[0])!r}: observation}}"
            )
        given: Mapping[Any, Any] = observations  # type: ignore[assignment]
        return {self.cast.agents[self.place(each, path)]: x for each, x in given.items()}


def _mask(given: Any, actions: Space, who: str) -> NDArray[np.bool_]:
    try:
        mask = allowed(given, actions)
    except WrongValueError as error:
        raise ValueMismatchError(f"{who} was given an action_mask {error}") from error
    if not mask.any():
        raise ValueMismatchError(f"{who} was given an action_mask that allows no action; let it allow one")
    return mask
