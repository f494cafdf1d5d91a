"""How do actions and observations travel between the caller of a vector environment and its environments?"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium.vector.utils import concatenate, create_empty_array

import reactors as rx
from reactors.rl.envs.spaces import array_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactors.rl.envs.spaces import Space
    from reactors.rl.vector.lockstep import Form


def is_array(space: Space) -> bool:
    """Whether a batch of values of this space is a plain block of memory."""
    dtype = array_type(space).dtype
    return dtype is not None and dtype.names is None


def actions_form(space: Space) -> Form:
    """The port's form for actions of this space: a block if all have one dtype, otherwise empty."""
    where = array_type(space)
    if where.dtype is None or where.dtype.names is not None or isinstance(space, gym.spaces.Tuple):
        return {}
    return {"shape": where.shape, "dtype": where.dtype}


def listed(one_by_one: Callable[[Any, Any], list[Any]], space: Space, single: Space, n: int, actions: Any) -> list[Any]:
    """A batch of actions of `space` as `n` actions of the `single` space; each environment may keep its own."""
    try:
        given = one_by_one(space, None if isinstance(actions, str) else actions)  # a string is no batch of letters
    except TypeError as error:
        raise rx.ArgumentError(
            f"rl.VectorEnv takes an action of {single} for each of {n} environments, as in action_space.sample(), and "
            f"was given {actions!r}, of type {type(actions).__name__}"
        ) from error
    if len(given) != n:
        raise ValueError(f"{len(given)} actions for {n} environments; give one to each")
    # Environments of this thread read them later, when the caller may have changed them.
    return [_native(action) for action in deepcopy(given)]


def _native(action: Any) -> Any:
    """An action whose arrays have the machine's byte order, like those that come through a pipe."""
    if isinstance(action, np.ndarray):
        return action if action.dtype.isnative else action.astype(action.dtype.newbyteorder("="))
    if action.__class__ is dict:
        return {key: _native(part) for key, part in action.items()}
    if action.__class__ in {list, tuple}:
        return action.__class__(map(_native, action))
    return action


def batched(space: Space, found: Any) -> Any:
    """Observations, given one by one or as a block of records, as a batch in Gymnasium's form."""
    if isinstance(found, list):
        room: Any = create_empty_array(space, n=len(found), fn=np.zeros)
        return concatenate(space, found, room)
    return found if found.dtype.names is None else _unpacked(space, found)


def _unpacked(space: Space, block: Any) -> Any:
    """A block of records as Gymnasium's dicts and tuples of arrays."""
    if isinstance(space, gym.spaces.Dict):
        return {key: _unpacked(part, block[str(key)]) for key, part in space.spaces.items()}
    if isinstance(space, gym.spaces.Tuple):
        return tuple(_unpacked(part, block[str(i)]) for i, part in enumerate(space.spaces))
    return block


def checked_mask(mask: Any, n: int) -> list[bool]:
    """Which of `n` environments are to be reset; errors use Gymnasium's words."""
    if not isinstance(mask, np.ndarray):
        raise TypeError(f"`options['reset_mask']` must be a numpy array, got {type(mask)}")
    if mask.dtype != np.bool_:
        raise TypeError(f"`options['reset_mask']` must have `dtype=np.bool_`, got {mask.dtype}")
    if mask.shape != (n,):
        raise ValueError(f"`options['reset_mask']` must have shape `({n},)`, got {mask.shape}")
    if not mask.any():
        raise ValueError(f"`options['reset_mask']` must have at least one True, got {mask}")
    found: list[bool] = mask.tolist()
    return found
