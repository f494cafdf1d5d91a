"""What is said where workers have nothing to do?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reactors.errors import ReactorWarning
from reactors_runtime import callers

if TYPE_CHECKING:
    from reactors.graph import Graph


def warn_of_idleness(graph: Graph, where: list[int], workers: int) -> None:
    """Warn where nothing will happen, or nothing at the same time."""
    program = graph.program
    if not program.reactions and len(where) == 1:
        message = f"main (made at {graph.main._made_at}) has no reactions and contains no reactor; is a self. missing?"
        callers.warn(message, ReactorWarning)
    written = sum(not reactor.relay for reactor in program.reactors)
    if workers > 1 and written > 1 and not any(where):
        from reactors_runtime.planning.spreading import is_serial

        what = (
            f"its reactions wait for one another, and no placement changes that: leave workers={workers} out"
            if is_serial(program)
            else "only measured times could show which of them gain by running apart; trace= and reactors place find "
            "that out from a run, or placement= says it"
        )
        callers.warn(
            f"all {written} reactors of {graph.main.path} run on worker 0, and the others have nothing to do: {what}",
            ReactorWarning,
        )
