"""What does a run leave in files, however it ends?"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from reactors.errors import ReactorWarning, ReplayError
from reactors.reports import recording as logs
from reactors_runtime import callers

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from reactors.graph import Graph
    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image


@contextmanager
def left_behind(
    graph: Graph, image: Image, memory: Memory, trace: str | os.PathLike[str] | None, seed: int, way: str
) -> Iterator[None]:
    """Write the trace while the program runs, and the end of it and of the log, however the run ends.

    If that fails, it never hides what the run ended with: then it is a note of that. Without a trace a run is as good;
    without the end of its log it is not what was asked for.
    """
    traced: list[str] = []
    try:
        with _traced(graph, image, memory, trace, seed, way, traced):
            yield
    except BaseException as error:
        for problem in (logs.finished(image, memory), *traced):
            if problem and problem not in str(error):
                error.add_note(problem)
        raise
    problem = logs.finished(image, memory)
    if problem:
        raise ReplayError(f"{graph.main.path}: {problem}")
    for problem in traced:
        callers.warn(problem, ReactorWarning)


def _traced(
    graph: Graph,
    image: Image,
    memory: Memory,
    trace: str | os.PathLike[str] | None,
    seed: int,
    way: str,
    problems: list[str],
) -> AbstractContextManager[None]:
    """What writes a trace, imported only if one is wanted."""
    if trace is None:
        return nullcontext()
    from reactors.reports.trace_writer import traced

    return traced(trace, graph, image, memory, seed, way, problems)
