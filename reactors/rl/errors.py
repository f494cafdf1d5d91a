"""Errors that show only while an environment or a training runs."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle

from reactors.errors import ReactorError


class SimulationError(ReactorError):
    """An environment raised an error, or returned an invalid result: which environment of its reactor, with which seed.

    The environment's own exception is the `__cause__`, even from another process, unless it cannot be pickled.

    Attributes:
        index: which environment of the reactor, from 0; -1 if all are meant.
        seed: its seed; None if it never had one.
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
    """An observation, reward, loss or weight that is not finite; the message says at which step."""


class CheckpointError(ReactorError):
    """A checkpoint that cannot be written, is damaged, or belongs to another training."""


class RunFolderError(ReactorError):
    """A folder that is not of a run, or is of another run."""


class NotServingError(ReactorError):
    """A request to a server whose program is not running, or ended before it could answer."""
