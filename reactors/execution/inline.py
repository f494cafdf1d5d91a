"""A worker of this process, with the caller's own objects: this thread alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactors.execution.binding import Binding
from reactors.execution.session import Session
from reactors_runtime.engine import Engine
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
        with numeric_threads.limited_from_the_start():
            work(graph, image, memory, 0, binding, {})
    finally:
        binding.detach()


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
