"""Is this an observation of the space?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from reactors.errors import ValueMismatchError
from reactors.lowlevel import LostError, lossless
from reactors.rl.errors import NotFiniteError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Observed:
    """Takes single observations of `space`, an array's, for a policy that acts on them.

    >>> take = Observed(gym.spaces.Box(-1, 1, (2,)))
    >>> take.checked([0, 0.5], "the policy")
    array([0. , 0.5], dtype=float32)
    """

    def __init__(self, space: gym.Space[Any]) -> None:
        self.shape, self.dtype = space.shape, np.dtype(space.dtype)
        self.range = _range(space)

    def checked(self, observation: Any, path: str, several: str = "") -> NDArray[Any]:
        """A copy in the space's dtype; `path` is how errors name who takes it, `several` what to do with a batch.

        Raises `ValueMismatchError` for another shape or kind of dtype, and for a number that is none of the space's
        integers, and `NotFiniteError` for a number that is none, or too large for the dtype.
        """
        takes = f"{path} takes observations of shape {self.shape} and dtype {self.dtype}, and was given"
        try:
            given = np.asarray(observation)
        except Exception as error:
            raise ValueMismatchError(
                f"{takes} {type(observation).__name__}, which is no array ({error}); convert it first"
            ) from error
        form = f"{takes} {type(observation).__name__} of shape {given.shape} and dtype {given.dtype}"
        if given.shape != self.shape:
            batch = several and given.ndim and given.shape[1:] == self.shape
            raise ValueMismatchError(f"{form}; {several if batch else 'convert it first'}")
        not_finite = f"{path} was given an observation with a number that is"
        try:
            taken = np.array(lossless(given, self.dtype))
        except LostError:
            if self.dtype.kind == "f":
                raise NotFiniteError(f"{not_finite} too large for {self.dtype}: {given}") from None
            raise ValueMismatchError(f"{takes} a number that is none of that dtype: {given}") from None
        except TypeError:
            raise ValueMismatchError(f"{form}; convert it first") from None
        if taken.dtype.kind == "f" and not np.isfinite(taken).all():
            raise NotFiniteError(f"{not_finite} not finite: {given}")
        if self.range is not None and ((taken < self.range[0]) | (taken > self.range[1])).any():
            least, most = self.range
            raise ValueMismatchError(f"{path} takes observations from {least} to {most}, and was given {given}")
        return taken


def _range(space: gym.Space[Any]) -> tuple[Any, Any] | None:
    """The least and the greatest integer that a policy has an index for; None where any number will do."""
    if isinstance(space, gym.spaces.MultiBinary):
        return 0, 1
    if isinstance(space, gym.spaces.Discrete | gym.spaces.MultiDiscrete):
        n = space.n if isinstance(space, gym.spaces.Discrete) else space.nvec
        return space.start, space.start + n - 1
    return None
