"""Stage 3, wiring: what drives each port?

One connection, or reactions; nothing may have two sources that can be active at one tag.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from reactors.errors import WiringError
from reactors.model.layout import refuse_too_many
from reactors.model.ports import Port

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reactors.elaboration.connections import Wire
    from reactors.elaboration.reactions import Enlisted
    from reactors.elaboration.tree import Tree


class Wiring(NamedTuple):
    """What drives each port."""

    up: Mapping[int, Wire]  # port -> the connection that leads there
    written: Mapping[int, Sequence[int]]  # port -> the reactions that write it, in order


def wire(tree: Tree, reactions: Sequence[Enlisted], wires: Sequence[Wire]) -> Wiring:
    """Join all ports with what drives them."""
    several = len(tree.elements) + len(reactions)
    refuse_too_many(several, lambda: f"{tree.places[0].path} has {several:,} ports, timers, actions and reactions")
    up: dict[int, Wire] = {}
    for each in wires:
        other = up.setdefault(each.target, each)
        if other.connection is not each.connection or other.source != each.source:
            target, first, source = (tree.handles[e] for e in (each.target, other.source, each.source))
            raise WiringError(
                f"{target.where()} has two sources: {first.where()}, connected at {other.connection.location}, and "
                f"{source.where()}, connected at {each.connection.location}; a port has one: remove a connection, or "
                f"declare a multiport (width=...)"
            )
    return Wiring(up, _written(tree, reactions, up))


def _written(tree: Tree, reactions: Sequence[Enlisted], up: Mapping[int, Wire]) -> dict[int, list[int]]:
    """The reactions that write each port; no port may have a connection besides."""
    written: dict[int, list[int]] = {}
    ports = tree.handles
    for r, reaction in enumerate(reactions):
        for e in reaction.row.effects:
            if isinstance(ports[e], Port):
                written.setdefault(e, []).append(r)
    for e in sorted(written.keys() & up.keys()):
        _, declaration, path = reactions[written[e][0]]
        raise WiringError(
            f"{ports[e].where()} has two sources: the reaction {path} ({declaration.location}) and "
            f"{ports[up[e].source].where()}, connected at {up[e].connection.location}; a port has one: remove either"
        )
    for e, writers in written.items():
        if len({reactions[r].row.reactor for r in writers}) > 1:
            _check_relays(tree, reactions, e, writers)
    return written


def _check_relays(tree: Tree, reactions: Sequence[Enlisted], e: int, writers: Sequence[int]) -> None:
    """Connections and reactions may lead to one port from different modes of one reactor only."""
    relays = [r for r in writers if tree.places[reactions[r].row.reactor].is_relay]
    taken: dict[int, int] = {}
    for r in (*relays, *(r for r in writers if r not in relays)):
        mode = reactions[r].row.mode
        other = taken.get(mode, next(iter(taken.values()), r) if mode < 0 else r)
        if other != r and (r in relays or other in relays):
            both = f"{_source(tree, reactions[other])} and {_source(tree, reactions[r])}"
            raise WiringError(
                f"{tree.handles[e].where()} has two sources that can be active at one tag: {both}; put them into "
                "different modes of one reactor, or remove one"
            )
        taken.setdefault(mode, r)
    if len({tree.modes[m].reactor for m in taken if m >= 0}) > 1:
        raise WiringError(
            f"{tree.handles[e].where()} has sources in modes of different reactors; it can have one for each mode of "
            "one reactor"
        )


def _source(tree: Tree, reaction: Enlisted) -> str:
    place = tree.places[reaction.row.reactor]
    return f"the connection {place.path}" if place.is_relay else f"the reaction {reaction.path}"
