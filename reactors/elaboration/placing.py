"""On which worker does each reactor run?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reactors.errors import PlacementError
from reactors_runtime.planning import placement as placements
from reactors_runtime.planning.grouping import grouped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reactors_runtime.program import Program


def placed(program: Program, workers: int, placement: Any, machine_of: Sequence[int] = ()) -> list[int]:
    """The worker of each reactor; `machine_of` each worker, where there are several machines."""
    reactors = program.reactors
    if placement == "auto":
        return automatic(program, workers, machine_of)
    if not isinstance(placement, Mapping) and not callable(placement):
        raise PlacementError(
            f'placement of rx.run is {placement!r}; write "auto", a dict or a function of path -> worker'
        )
    try:
        return placements.overridden(reactors, workers, placement)
    except KeyError as error:
        raise PlacementError(
            f"placement names {error.args[0]!r}, and there is no such reactor; paths look like {reactors[-1].path!r}"
        ) from None
    except ValueError as error:
        raise PlacementError(f"placement of {error}; workers are whole numbers from 0 to {workers - 1}") from None


def automatic(program: Program, workers: int, machine_of: Sequence[int] = ()) -> list[int]:
    """Banks are spread, over machines together with what they talk to; else by what can run at the same time.

    >>> import reactors as rx
    >>> class Clock(rx.Reactor):
    ...     tick = rx.Timer(0, "1 ms")
    ...     @rx.reaction(tick)
    ...     def on_tick(self): ...
    >>> class Main(rx.Reactor):
    ...     def __init__(self):
    ...         self.one, self.other = Clock(), Clock()
    >>> automatic(rx.Graph(Main()).program, 2)
    [0, 0, 1]
    """
    found = placements.spread(program.reactors, workers)
    if any(found) and any(machine_of):
        return grouped(program, machine_of)
    if workers == 1 or any(found):
        return found
    from reactors_runtime.planning.spreading import guessed

    return guessed(program, workers)


def by_hand(placement: Any) -> list[str]:
    """The reactors that a placement names one by one, whose places are not to be searched."""
    return sorted(placement) if isinstance(placement, Mapping) else []
