"""Does a policy return an action of the space for each observation?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import ValueMismatchError
from reactors.lowlevel import LostError, lossless
from reactors.rl.envs.spaces import array_type

if TYPE_CHECKING:
    import gymnasium as gym
    from numpy.typing import NDArray

    from reactors.rl.contract.algorithm import Policy


class Chosen:
    """Checks what a `policy` returns for observations: one action in `space` for each.

    >>> import gymnasium as gym
    >>> chosen = Chosen(object(), gym.spaces.Discrete(2))
    >>> chosen.checked([1, 0], 2, "act")
    array([1, 0])
    >>> chosen.checked([1], 2, "act")
    Traceback (most recent call last):
    reactors.errors.ValueMismatchError: object.act gave actions of shape (1,) for 2 observations; give an ...
    """

    def __init__(self, policy: Policy, space: gym.Space[Any]) -> None:
        where: Any = array_type(space)  # algorithms take only Box and Discrete spaces
        self.name, self.space, self.dtype, self.shape = type(policy).__name__, space, where.dtype, where.shape

    def checked(self, actions: Any, n: int, method: str) -> NDArray[Any]:
        """The actions for n observations in the dtype of the space. Raises `ValueMismatchError`."""
        wanted = (n, *self.shape)
        if actions.__class__ is np.ndarray and actions.dtype is self.dtype and actions.shape == wanted:
            found: NDArray[Any] = actions
            return found
        said = f"{self.name}.{method} gave"
        remedy = f"give an action of {self.space} for each, {self.dtype} of shape {wanted}"
        try:
            found = lossless(actions, self.dtype)
        except LostError as lost:
            which = f"observation {lost.at[0]} of {n}" if lost.at else f"{n} observations"
            raise ValueMismatchError(f"{said} {lost}, for {which}; {remedy}") from None
        except (TypeError, ValueError, RuntimeError) as error:
            raise ValueMismatchError(
                f"{said} {type(actions).__name__} for {n} observations ({error}); {remedy}"
            ) from None
        if found.shape != wanted:
            raise ValueMismatchError(f"{said} actions of shape {found.shape} for {n} observations; {remedy}")
        return found

    def noted(self, remembered: Any, names: Any, n: int) -> None:
        """Refuse what is remembered of n choices if it is not as the algorithm declares it, or not one for each."""
        if remembered.keys() != names:
            raise ValueMismatchError(
                f"{self.name}.act remembers {_listed(remembered)}, but `remembered` of its algorithm names "
                f"{_listed(names)}; let both have the same"
            )
        for name, value in remembered.items():
            shape = value.shape if value.__class__ is np.ndarray else np.shape(value)
            if shape[:1] != (n,):
                raise ValueMismatchError(
                    f"{self.name}.act remembers {name!r} of shape {shape} for {n} observations; give one for each, as "
                    f"in ({n}, ...)"
                )


def _listed(names: Any) -> str:
    return ", ".join(map(repr, names)) or "nothing"
