"""Stage 2, relays: how does a connection of a mode carry nothing while its reactor is in another one?

It is a reaction: a relay, which belongs to the mode, reads the one end and sets the other. So several modes may connect
to one port. With a delay there are two relays, one at each end of it: what is under way waits while the mode does.
Relays come after all reactors, elements and reactions of the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from reactors.elaboration.connections import Wire
from reactors.elaboration.reactions import Enlisted
from reactors.elaboration.tree import Place, Tree
from reactors.model.connect import Connection
from reactors.model.ports import Input, Output, Port
from reactors.model.reactor import Reactor
from reactors_runtime.program import Element, Kind
from reactors_runtime.program import Reaction as Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reactors.location import Location


class Relay(Reactor):
    """Passes on what it gets, to a port of its own or to the target of the connection."""

    value = Input[Any]()
    out = Output[Any]()

    def __init__(self, source: Port[Any], target: Port[Any] | None) -> None:
        self.value._layout = self.out._layout = source._carried()
        self.target = self.out if target is None else target
        self.add_reaction(self.value, self.pass_on, effects=self.target)

    def pass_on(self) -> None:
        """Set the target to the value that has come."""
        self.target.set(self.value.value)


class Relayed(NamedTuple):
    """A program in which no connection belongs to a mode any more."""

    tree: Tree
    reactions: Sequence[Enlisted]
    wires: Sequence[Wire]


def add_relays(tree: Tree, reactions: Sequence[Enlisted], wires: Sequence[Wire]) -> Relayed:
    """Put relays in the place of all connections that belong to modes."""
    of_modes = [wire for wire in wires if wire.mode >= 0]
    if not of_modes:
        return Relayed(tree, reactions, wires)
    adding = _Adding(tree)
    for wire in of_modes:
        adding.add(wire)
    whole = tree._replace(
        places=[*tree.places, *adding.places],
        elements=[*tree.elements, *adding.elements],
        handles=[*tree.handles, *adding.handles],
    )
    direct = (wire for wire in wires if wire.mode < 0)
    return Relayed(whole, [*reactions, *adding.reactions], [*direct, *adding.wires])


class _Adding:
    """The rows of relays."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.places: list[Place] = []
        self.elements: list[Element] = []
        self.handles: list[Port[Any]] = []
        self.reactions: list[Enlisted] = []
        self.wires: list[Wire] = []

    def add(self, wire: Wire) -> None:
        """One relay, or two if the connection has a delay."""
        tree, location = self.tree, wire.connection.location
        source, target = tree.handles[wire.source], tree.handles[wire.target]
        assert isinstance(source, Port)
        assert isinstance(target, Port)
        path = f"{tree.modes[wire.mode].path}: {source.path} -> {target.path}"
        direct = Connection([source], [target], location)
        undelayed = Wire(wire.source, -1, (0, 0), False, -1, wire.container, direct)
        if wire.delay == (0, 0) and not wire.physical:
            self._add(_made(source, target, location), wire.mode, path, undelayed)
            return
        before = _made(source, None, location)
        self._add(before, wire.mode, f"{path}, before", undelayed)
        # The values of this one are under way while time passes in the mode.
        behind = wire._replace(source=before.out._element, mode=-1)
        self._add(_made(source, target, location), wire.mode, path, behind, under_way=wire.mode)

    def _add(self, relay: Relay, mode: int, path: str, wire: Wire, under_way: int = -1) -> None:
        """A relay of a mode to which this wire leads."""
        index = relay._index = len(self.tree.places) + len(self.places)
        relay._path = path
        for port, of_mode in ((relay.value, under_way), (relay.out, -1)):
            layout = port._carried()
            port._element = len(self.tree.elements) + len(self.elements)
            self.handles.append(port)
            self.elements.append(
                Element(
                    f"{path}.{port.name}",
                    Kind.PORT,
                    index,
                    dtype=layout.dtype,
                    shape=layout.shape,
                    type=layout.type,
                    mode=of_mode,
                )
            )
        self.wires.append(wire._replace(target=relay.value._element))
        (reaction,) = relay._added_reactions
        row = Row(index, 0, reaction.name, 0, [relay.value._element], [], [relay.target._element], mode=mode)
        self.reactions.append(Enlisted(row, reaction, f"{path}.{reaction.name}"))
        self.places.append(Place(relay, path, path, None, -1, mode, reactions=[(reaction, mode)], is_relay=True))


def _made(source: Port[Any], target: Port[Any] | None, location: Location) -> Relay:
    """A relay that stands for a connection which was made at that line."""
    relay = Relay(source, target)
    relay._made_at = relay._added_reactions[0]._location = location
    return relay
