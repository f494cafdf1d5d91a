"""What can go wrong with an environment that only its run shows?"""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle

from reactors.errors import ReactorError


class SimulationError(ReactorError):
    """An environment that raised, or gave a wrong answer: which one of its reactor, with which seed.

    What it raised itself is the `__cause__`, also where it comes from another process, unless it cannot be pickled.

    Attributes:
        index: which environment of the reactor, from 0; -1 where all are meant.
        seed: what it was seeded with; None if it never was.
    """

    def __init__(self, message: str, index: int = -1, seed: int | None = None) -> None:
        super().__init__(message)
        self.index = index
        self.seed = seed

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            cause = cloudpickle.dumps(self.__cause__)
            pickle.loads(cause)  # many an exception can be written and not read
        except Exception:  # noqa: BLE001 - whatever its own code raises
            cause = None
        return _made_again, (type(self), str(self), self.index, self.seed, cause)


def _made_again(
    cls: type[SimulationError], message: str, index: int, seed: int | None, cause: bytes | None
) -> SimulationError:
    error = cls(message, index, seed)
    try:
        error.__cause__ = None if cause is None else pickle.loads(cause)
    except Exception:  # noqa: BLE001 - likewise, where a module is missing here; a note has the whole traceback
        error.__cause__ = None
    return error


class NotFiniteError(ReactorError, ArithmeticError):
    """A number in training that is none: an observation, reward, loss or weight, and the step at which it came."""


class CheckpointError(ReactorError):
    """A checkpoint that cannot be written, or that is damaged or not of this training: what is wrong with it."""


class RunFolderError(ReactorError):
    """A folder that is none of a run, or of another one."""


class NotServingError(ReactorError):
    """A request to a server whose program does not run, or ended before it could be answered."""
