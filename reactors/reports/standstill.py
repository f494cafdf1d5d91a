"""Where does time stand still? A Zeno behaviour, in the words of hybrid systems.

Microsteps can go on for ever where reactions start one another in a circle and none of its delays is positive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reactors_runtime.program import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    import networkx as nx

    from reactors_runtime.program import Program


def circle(program: Program, suspects: Sequence[int]) -> list[int]:
    """Reactions that start one another at one time, in a circle: through the first of `suspects` that is in one.

    The suspects themselves if there is no circle, for physical actions can do it too.
    """
    import networkx as nx

    graph = _starts(program)
    circles = [part for part in nx.strongly_connected_components(graph) if _is_circle(graph, part)]
    for suspect in suspects:
        for part in circles:
            if suspect in part:
                return [a for a, _ in nx.find_cycle(graph.subgraph(part), suspect)]
    return [a for a, _ in nx.find_cycle(graph.subgraph(circles[0]))] if circles else list(suspects)


def _is_circle(graph: nx.DiGraph[int], part: set[int]) -> bool:
    return len(part) > 1 or any(graph.has_edge(r, r) for r in part)


def _starts(program: Program) -> nx.DiGraph[int]:
    """Which reaction triggers which, at the same tag or some microsteps later."""
    import networkx as nx

    triggered: dict[int, list[int]] = {}
    for r, reaction in enumerate(program.reactions):
        for e in reaction.triggers:
            triggered.setdefault(e, []).append(r)
    fed: dict[int, list[int]] = {}  # source -> ports that have its values at the same time
    for e, element in enumerate(program.elements):
        at_once = element.kind == Kind.PORT and element.offset[0] == 0 and not element.physical
        if at_once or (element.kind == Kind.ACTION and not element.min_delay):
            fed.setdefault(element.source if at_once else e, []).append(e)
    graph: nx.DiGraph[int] = nx.DiGraph()
    for r, reaction in enumerate(program.reactions):
        graph.add_edges_from(
            (r, after) for e in reaction.effects for p in fed.get(e, ()) for after in triggered.get(p, ())
        )
    return graph
