"""Which actions does an environment allow an agent?

PettingZoo has a mask in an observation, `{"observation": ..., "action_mask": ...}`, or in an agent's info. An agent of
which neither says anything may do all.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from reactors.rl.envs.spaces import WrongValueError, checker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reactors.rl.envs.agents.cast import Cast
    from reactors.rl.envs.parallel_simulation import ParallelSimulation
    from reactors.rl.envs.spaces import Check, Space

OBSERVATION, MASK = "observation", "action_mask"


def has_mask(space: Space) -> bool:
    """Whether observations of this space come with a mask."""
    return isinstance(space, gym.spaces.Dict) and {*space.spaces} == {OBSERVATION, MASK}


def without_mask(space: Space) -> Space:
    """What an agent sees beside its mask."""
    if not has_mask(space):
        return space
    found: Space = space[OBSERVATION]  # type: ignore[index]
    return found


def unmasked(observation: Any, info: Mapping[str, Any]) -> tuple[Any, Any]:
    """What an agent sees, and its mask, wherever that is; None if there is none."""
    if isinstance(observation, Mapping) and MASK in observation:
        return observation[OBSERVATION], observation[MASK]
    return observation, info.get(MASK)


def allowed(given: Any, actions: Space) -> NDArray[np.bool_]:
    """A mask as bool (n,), for Discrete actions. Raises `WrongValueError` for what is none.

    >>> allowed([1, 0], gym.spaces.Discrete(2))
    array([ True, False])
    >>> allowed([1], gym.spaces.Discrete(2))
    Traceback (most recent call last):
    reactors.rl.envs.spaces.WrongValueError: of shape (1,) and dtype int64; make it of shape (2,), 1 for each action ...
    """
    if not isinstance(actions, gym.spaces.Discrete):
        raise WrongValueError(
            f"for actions that are {actions}, and masks are for those of a Discrete space; leave it out"
        )
    mask = np.asarray(given)
    if (
        mask.shape != (actions.n,)
        or mask.dtype.kind not in "biuf"
        or (mask.dtype.kind != "b" and not ((mask == 0) | (mask == 1)).all())  # such as logits, which are 0 if allowed
    ):
        values = f" and values {mask.tolist()}" if mask.shape == (actions.n,) else ""
        raise WrongValueError(
            f"of shape {mask.shape} and dtype {mask.dtype}{values}; make it of shape ({actions.n},), 1 for each action "
            "that is allowed and 0 for all others"
        )
    return mask.astype(np.bool_)


def mask_of(
    simulation: ParallelSimulation, agent: Any, given: Any, actions: Space, *, masked: bool, acts: bool = True
) -> NDArray[np.bool_] | None:
    """The mask of an agent, checked; None if it may do all, or does not act next and nothing is allowed yet.

    Raises `SimulationError` for one that is none, that allows nothing, or that comes where none was at first.
    """
    if given is None:
        return None
    if not masked:
        raise simulation.error(
            f"agent {agent!r} has an action_mask, and no agent had one when the environment was first reset, when "
            "networks are made for it; let infos of reset have one, if only of ones"
        )
    try:
        mask = allowed(given, actions)
    except WrongValueError as error:
        raise simulation.error(f"the action_mask of agent {agent!r} is {error}") from error
    if mask.any():
        return mask
    if acts:
        raise simulation.error(
            f"the action_mask of agent {agent!r} allows nothing, and it has to act; let it allow an action, or let the "
            "agent be absent"
        )
    return None


def checks_of(cast: Cast) -> dict[Any, Check]:
    """By agent, what raises `WrongValueError` for an observation that is none, whatever its mask."""
    checks = {agent: checker(space) for agent, space in zip(cast.agents, cast.observations, strict=True)}
    if not cast.masked:
        return checks
    return {agent: partial(_check_beside_mask, check) for agent, check in checks.items()}


def _check_beside_mask(check: Check, observation: Any) -> None:
    check(unmasked(observation, {})[0])


def seen_by(simulation: ParallelSimulation, cast: Cast) -> dict[Any, tuple[Any, NDArray[np.bool_] | None]]:
    """What each agent that is there sees, with its mask."""
    found = {}
    for agent, observation in simulation.observations.items():
        seen, given = unmasked(observation, simulation.infos.get(agent, {}))
        actions = cast.actions[cast.agents.index(agent)]
        found[agent] = seen, mask_of(simulation, agent, given, actions, masked=cast.masked)
    return found
