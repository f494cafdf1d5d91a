"""On which worker does each reactor run?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reactors.errors import PlacementError
from reactors_runtime.planning import placement as placements

if TYPE_CHECKING:
    from reactors_runtime.program import Program


def placed(program: Program, workers: int, placement: Any) -> list[int]:
    """The worker of each reactor."""
    reactors = program.reactors
    if placement == "auto":
        return placements.spread(reactors, workers)
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
