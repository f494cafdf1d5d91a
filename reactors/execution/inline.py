"""A worker of this process, with the caller's own objects: this thread alone."""

from __future__ import annotations

import signal
import traceback
from typing import TYPE_CHECKING, Any

from reactors.execution.binding import Binding
from reactors.execution.session import Session
from reactors_runtime.engine import Engine, ReactionFailed
from reactors_runtime.settings import cores, numeric_threads

if TYPE_CHECKING:
    from reactors.graph import Graph
    from reactors.reports.progress import Progress
    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image


def inline(graph: Graph, image: Image, memory: Memory, line: Progress, debug: bool) -> None:  # noqa: ARG001
    """In this thread, where a debugger can follow."""
    binding = Binding(graph.elements, debug=debug)
    try:
        with numeric_threads.limited():
            work(graph, image, memory, 0, binding, {})
    except ReactionFailed as failed:
        if _is_of_a_signal(failed.exception):
            raise failed.exception from None
        raise
    finally:
        binding.detach()


def _is_of_a_signal(error: BaseException) -> bool:
    """Whether a signal handler raised it, which is no fault of the reaction that it came upon."""
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {code for handler in handlers if (code := getattr(handler, "__code__", None)) is not None}
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))


def work(graph: Graph, image: Image, memory: Memory, worker: int, binding: Binding, shared: dict[int, Any]) -> None:
    """One worker, from its beginning to its end."""
    engine = Engine(image, worker, memory, shared)
    session = Session(engine, (r for r in graph.reactors if image.placement[r._index] == worker), binding)
    try:
        session.begin()
        with session.executing(), cores.stay(image.options.core(worker)):
            engine.run(*graph.bodies_of(engine.reactions))
    finally:
        session.end()
        engine.close()
