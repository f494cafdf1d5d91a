"""Stage 4, resolving: where does the value on each port come from, and how much later?

Each port is followed up to the one whose values reactions write, and the delays on the way are composed. What remains
is one source and one offset per port, however deep the hierarchy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactors.errors import CausalityError
from reactors.model.layout import Layout, check_flow
from reactors.time import LONGEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from reactors.elaboration.connections import Wire
    from reactors.elaboration.tree import Tree
    from reactors.elaboration.wiring import Wiring
    from reactors_runtime.program import Element


def compose(first: tuple[int, int], then: tuple[int, int]) -> tuple[int, int]:
    """One offset after another: a positive delay drops the microsteps gathered before it, and the longest is never.

    >>> compose((0, 1), (0, 1)), compose((0, 1), (5, 0)), compose((5, 0), (0, 1))
    ((0, 2), (5, 0), (5, 1))
    """
    if then[0] > 0:
        return min(first[0] + then[0], LONGEST), then[1]
    return first[0], first[1] + then[1]


def resolve(tree: Tree, wiring: Wiring) -> list[Element]:
    """The elements with their sources and offsets. What a source carries has to fit where it arrives."""
    elements, up = [*tree.elements], wiring.up
    for e in wiring.written:
        element = elements[e]
        elements[e] = element.driven(e, (0, 0), False, element.dtype, element.shape)
    tops: dict[int, int] = {}  # where the way up ends, written or not
    for e in up:
        way: list[int] = []
        at = e
        while at not in tops and at in up:
            if at in way:
                raise _endless(tree, wiring, way[way.index(at) :])
            way.append(at)
            at = up[at].source
        for below in reversed(way):
            wire = up[below]
            over = elements[wire.source]
            tops[below] = tops.get(wire.source, wire.source)
            later = (0, 1) if wire.physical and wire.delay == (0, 0) else wire.delay
            dtype, shape = _fitting(tree, elements, tops[below], below, wire)
            offset, physical = compose(over.offset, later), over.physical or wire.physical
            elements[below] = elements[below].driven(over.source, offset, physical, dtype, shape)
    return elements


def _fitting(
    tree: Tree, elements: Sequence[Element], top: int, below: int, wire: Wire
) -> tuple[np.dtype[Any] | None, tuple[int, ...] | None]:
    """The layout of a port that has these values; one that takes anything takes arrays where they lie."""
    over, element = elements[top], elements[below]
    if over.dtype is element.dtype and over.shape == element.shape and over.type is element.type:
        return element.dtype, element.shape
    given, wanted = Layout(over.type, over.shape, over.dtype), Layout(element.type, element.shape, element.dtype)
    check_flow(tree.handles[top], tree.handles[below], given, wanted, f"the connection at {wire.connection.location}")
    fit = given if wanted.dtype is None else wanted
    return fit.dtype, fit.shape


def _endless(tree: Tree, wiring: Wiring, way: list[int]) -> CausalityError:
    steps = [
        f"  {tree.elements[e].path} <- {tree.elements[wiring.up[e].source].path} ({wiring.up[e].connection.location})"
        for e in way
    ]
    return CausalityError(
        "these ports are connected in a circle, and no reaction writes any of them:\n"
        + "\n".join(steps)
        + "\nremove one of the connections, or let a reaction write one of the ports"
    )
