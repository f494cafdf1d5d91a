"""Some environments of a vector environment, in one place, as who steps them sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactors.rl.errors import SimulationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reactors.rl.envs.simulation import OnError
    from reactors.rl.vector.whereabouts import Whereabouts

Infos = list[tuple[int, Any]]  # which environment, what it said


class RefusedError(Exception):
    """Carries out of a step what an environment raised that has to be reset before."""

    def __init__(self, error: SimulationError) -> None:
        super().__init__()
        self.error = error


class Share:
    """Environments `first` and up, made by `makers`; `room` is how many rows blocks for them have.

    `number` is which share this is, `own` which of all environments are in it, and `where` is told which of them is
    being stepped.
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
        """Call the method that an order names; what it gives, or the exception that it raises."""
        verb, *arguments = order
        try:
            return getattr(self, verb)(*arguments)
        except SimulationError:
            raise
        except Exception as error:  # noqa: BLE001 - the environments go on
            error.__traceback__ = None
            return error
