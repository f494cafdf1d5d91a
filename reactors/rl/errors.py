"""What can go wrong with an environment that only its run shows?"""

from __future__ import annotations

from reactors.errors import ReactorError


class SimulationError(ReactorError):
    """An environment that raised, or gave a wrong answer: which one of its reactor, with which seed.

    What it raised itself is the `__cause__`.

    Attributes:
        index: which environment of the reactor, from 0; -1 where all are meant.
        seed: what it was seeded with; None if it never was.
    """

    def __init__(self, message: str, index: int = -1, seed: int | None = None) -> None:
        super().__init__(message)
        self.index = index
        self.seed = seed

    def __reduce__(self) -> tuple[type, tuple[str, int, int | None]]:
        return type(self), (str(self), self.index, self.seed)


class NotFiniteError(ReactorError, ArithmeticError):
    """A number in training that is none: an observation, reward, loss or weight, and the step at which it came."""


class CheckpointError(ReactorError):
    """A checkpoint that cannot be written, or that is damaged or not of this training: what is wrong with it."""


class RunFolderError(ReactorError):
    """A folder that is none of a run, or of another one."""
