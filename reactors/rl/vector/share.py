"""Some environments of a vector environment on one worker, as seen by that worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactors.rl.errors import SimulationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reactors.rl.envs.simulation import OnError
    from reactors.rl.vector.whereabouts import Whereabouts

Infos = list[tuple[int, Any]]  # which environment, what it said


class RefusedError(Exception):
    """Carries the error of an environment that has to be reset first out of a step."""

    def __init__(self, error: SimulationError) -> None:
        super().__init__()
        self.error = error


class Share:
    """Environments from `first` on, made by `makers`; `room` is the number of rows in their blocks.

    `number` is the number of this share, `own` are the indices of its environments, and `where` is told which of them
    is being stepped.
    """

    def __init__(
        self, makers: Sequence[Callable[[], Any]], first: int, room: int, where: Whereabouts, *, on_error: OnError
    ) -> None:
        self.makers, self.first, self.room = list(makers), first, room
        self.on_error: OnError = on_error
        self.own = slice(first, first + len(self.makers))
        self.number, self.where = first // room, where
        self.restarts = 0

    def obey(self, order: tuple[Any, ...]) -> Any:
        """Call the method that an order names; returns its result, or the exception that it raises."""
        verb, *arguments = order
        try:
            return getattr(self, verb)(*arguments)
        except SimulationError:
            raise
        except Exception as error:  # noqa: BLE001 - the environments go on
            error.__traceback__ = None
            return error
