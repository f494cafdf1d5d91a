"""What does a run leave in files, however it ends?"""

from __future__ import annotations

import errno
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from reactors.errors import ReactorWarning, ReplayError
from reactors.reports import recording as logs
from reactors_runtime import callers, engine

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from reactors.graph import Graph
    from reactors.reports.trace_writer import TraceWriter
    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image


class Files:
    """The log and the trace of a run, to which other machines give what they have kept."""

    def __init__(self, image: Image, memory: Memory, writer: TraceWriter | None) -> None:
        self._image, self._memory, self._writer = image, memory, writer

    def append(self, file: str, piece: bytes) -> None:
        """Part of the "trace" or of the log, "record"; the workers of this machine have ended."""
        if file == "trace" and self._writer is not None:
            self._writer.append(piece)
        elif self._image.options.record is not None:
            try:
                with Path(self._image.options.record).open("ab") as log:
                    log.write(piece)
            except OSError as error:
                self.lacks("record", error.errno or errno.EIO)

    def lacks(self, file: str, error: int) -> None:
        """What another machine has kept is not all there, because of this errno."""
        if file == "trace" and self._writer is not None:
            self._writer.fails_with(error)
        elif file == "record" and self._image.options.record is not None:
            engine.bells(self._memory, self._image)["unrecorded"][0] = error


@contextmanager
def left_behind(
    graph: Graph, image: Image, memory: Memory, trace: str | os.PathLike[str] | None, seed: int, way: str
) -> Iterator[Files]:
    """Write trace and journal while the program runs, and the end of them and of the log, however the run ends.

    If that fails, it never hides what the run ended with: then it is a note of that. Without those a run is as good;
    without the end of its log it is not what was asked for.
    """
    traced: list[str] = []
    try:
        with (
            _journaled(graph, image, memory, seed, way, traced),
            _traced(graph, image, memory, trace, seed, way, traced) as writer,
        ):
            yield Files(image, memory, writer)
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


def _journaled(
    graph: Graph, image: Image, memory: Memory, seed: int, way: str, problems: list[str]
) -> AbstractContextManager[None]:
    """Who sees to the journal, imported only if one is wanted."""
    if image.options.journal is None:
        return nullcontext()
    from reactors.reports.journal_writer import journaled

    return journaled(graph, image, memory, seed, way, problems)


def _traced(
    graph: Graph,
    image: Image,
    memory: Memory,
    trace: str | os.PathLike[str] | None,
    seed: int,
    way: str,
    problems: list[str],
) -> AbstractContextManager[TraceWriter | None]:
    """What writes a trace, imported only if one is wanted."""
    if trace is None:
        return nullcontext()
    from reactors.reports.trace_writer import traced

    return traced(trace, graph, image, memory, seed, way, problems)
