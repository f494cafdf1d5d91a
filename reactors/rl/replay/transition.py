"""How is one step of an environment stored as bytes?

A *transition* is a record of fixed size: the observation, the action, the reward, the next observation, and whether and
how the episode ended. Environments write it, replay stores it, learners read it, all in one aligned NumPy record dtype,
so that rows travel between them without being taken apart. Spaces of fixed size become its fields; Dict and Tuple
become records in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from reactors.errors import ArgumentError
from reactors.rl.public import public

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAMES = ("obs", "action", "reward", "next_obs", "terminated", "truncated")


@public("rl.space_dtype")
def space_dtype(space: gym.Space[Any]) -> np.dtype[Any]:
    """The dtype of one element of `space`: subarrays for arrays, records for Dict (by key) and Tuple (by position).

    Raises `ArgumentError` for spaces whose elements have no fixed size (Text, Sequence, Graph, OneOf).

    >>> space_dtype(gym.spaces.Box(0, 255, (84, 84), np.uint8))
    dtype(('u1', (84, 84)))
    >>> space_dtype(gym.spaces.Tuple([gym.spaces.Discrete(3), gym.spaces.MultiBinary(2)]))
    dtype([('0', '<i8'), ('1', 'i1', (2,))], align=True)
    """
    if isinstance(space, gym.spaces.Dict):
        return _record(dict(space.spaces), space)
    if isinstance(space, gym.spaces.Tuple):
        return _record({str(i): part for i, part in enumerate(space.spaces)}, space)
    fixed = gym.spaces.Box | gym.spaces.Discrete | gym.spaces.MultiDiscrete | gym.spaces.MultiBinary
    if not isinstance(space, fixed):
        raise ArgumentError(
            f"elements of {space!r} have no fixed size, so no record can hold them; of a fixed size are Box, Discrete, "
            "MultiDiscrete, MultiBinary, and Dict and Tuple of these: wrap the environment so that it gives one of them"
        )
    return np.dtype((space.dtype, space.shape)) if space.shape else np.dtype(space.dtype)


def _record(spaces: dict[str, gym.Space[Any]], whole: gym.Space[Any]) -> np.dtype[Any]:
    if not spaces:
        raise ArgumentError(f"{whole!r} is empty, so there is nothing to keep of it")
    return np.dtype([(str(name), space_dtype(part)) for name, part in spaces.items()], align=True)


@public("rl.transition_dtype")
def transition_dtype(observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> np.dtype[Any]:
    """The record dtype of a transition: obs, action, reward (float32), next_obs, terminated and truncated (bool).

    `next_obs` is what the step returned, also at the end of an episode. The fields are aligned as in C, so that torch
    can take views of them. Raises `ArgumentError` for spaces without a fixed size.

    >>> transition_dtype(gym.spaces.Box(-1, 1, (4,)), gym.spaces.Discrete(2))
    dtype([('obs', '<f4', (4,)), ('action', '<i8'), ('reward', '<f4'), ('next_obs', '<f4', (4,)),
           ('terminated', '?'), ('truncated', '?')], align=True)
    """
    obs = space_dtype(observation_space)
    kinds = (obs, space_dtype(action_space), np.dtype(np.float32), obs, np.dtype(bool), np.dtype(bool))
    return np.dtype(list(zip(NAMES, kinds, strict=True)), align=True)


def write(into: NDArray[Any], value: Any) -> None:
    """Write an element of a space, or a batch of elements, into an array of its dtype: Dict and Tuple part by part.

    `into` is a view, such as `rows["obs"]` for many transitions or `rows[i:i + 1]["obs"]` for one.

    >>> space = gym.spaces.Dict(at=gym.spaces.Box(-1, 1, (2,)), on=gym.spaces.Discrete(2))
    >>> rows = np.zeros(3, space_dtype(space))
    >>> write(rows[1:2], {"at": [0.5, -0.5], "on": 1})
    >>> rows["at"].tolist(), rows["on"].tolist()
    ([[0.0, 0.0], [0.5, -0.5], [0.0, 0.0]], [0, 1, 0])
    """
    if into.dtype.names is None or isinstance(value, np.ndarray | np.void):
        into[...] = value
    else:
        for i, name in enumerate(into.dtype.names):
            write(into[name], value[name] if isinstance(value, Mapping) else value[i])
