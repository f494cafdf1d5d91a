"""What does a run leave in files, however it ends?"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from reactors.errors import ReactorWarning, ReplayError
from reactors.reports import recording as logs
from reactors.reports import timeline
from reactors_runtime import callers

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from reactors.graph import Graph
    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image


@contextmanager
def left_behind(graph: Graph, image: Image, memory: Memory, trace: str | os.PathLike[str] | None) -> Iterator[None]:
    """Write the end of the log and the trace, however the run ends.

    If that fails, it never hides what the run ended with: then it is a note of that. Without a trace a run is as good;
    without the end of its log it is not what was asked for.
    """
    try:
        yield
    except BaseException as error:
        traced = "" if trace is None else timeline.written(trace, graph, image, memory)
        for problem in (logs.finished(image, memory), traced):
            if problem and problem not in str(error):
                error.add_note(problem)
        raise
    problem = logs.finished(image, memory)
    if problem:
        raise ReplayError(f"{graph.main.path}: {problem}")
    if trace is not None and (problem := timeline.written(trace, graph, image, memory)):
        callers.warn(problem, ReactorWarning)
