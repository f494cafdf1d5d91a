"""Where is a run to stop on its way: before a reaction, after a write to a port, where a condition holds?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reactors.errors import ArgumentError
from reactors.model.ports import Port
from reactors.slicing.slice import ports_of
from reactors_runtime.suggestions import did_you_mean
from reactors_runtime.values import dumps

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactors.graph import Graph
    from reactors.rewinding.places import Breaks


def with_stop(
    breaks: Breaks,
    graph: Graph,
    where: str | Port[Any] | Callable[[Any], bool],
    when: Callable[[Any], bool] | None,
) -> Breaks:
    """One breakpoint more; `when` is a condition of the value of a port. `ArgumentError` if there is no such place."""
    path: Any = where.path if isinstance(where, Port) else where
    ports = ports_of(graph)
    if path in graph.names:
        return replace(breaks, reactions=breaks.reactions | {graph.names.index(path)})
    if path in ports:
        source = graph.program.elements[ports[path]].source
        at = source if source >= 0 else ports[path]
        return replace(breaks, ports={**breaks.ports, at: None if when is None else dumps(when)})
    if isinstance(path, str) and path.startswith("main.") and path.replace(".", "").isidentifier():
        known = [*graph.names, *ports]
        raise ArgumentError(f"stop_at: there is no reaction or port {path!r}{did_you_mean(path, known)}")
    if isinstance(path, str):
        try:
            compile(path, "stop_at", "eval")
        except SyntaxError as error:
            raise ArgumentError(f"stop_at: {path!r} is no reaction, no port, and no expression: {error.msg}") from None
    if when is not None:
        raise ArgumentError(f"stop_at: when= is a condition of the value of a port, and {path!r} is none")
    return replace(breaks, conditions=(*breaks.conditions, path if isinstance(path, str) else dumps(path)))


def port_at(graph: Graph, path: str) -> int:
    """The port with a path, as the program counts; `ArgumentError` if there is none."""
    ports = ports_of(graph)
    if path not in ports:
        raise ArgumentError(f"there is no port {path!r}{did_you_mean(path, [*ports])}")
    return ports[path]
