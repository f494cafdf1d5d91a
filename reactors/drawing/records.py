"""What does a picture of a program need to know?

The tree of reactors as plain records: names, paths, widths, order, delays and source locations, and nothing that runs.
Ends of connections and reactions are paths, so that a picture can be made from these records alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from reactors.model.actions import Action, PhysicalAction, Timer
from reactors.model.native import Native
from reactors.model.triggers import BuiltinTrigger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reactors.elaboration.tree import Place, Tree
    from reactors.elaboration.wiring import Wiring
    from reactors.location import Location
    from reactors.model.ports import Port
    from reactors.model.reaction import Reaction
    from reactors_runtime.program import Program
    from reactors_runtime.program import Reaction as Row


class Elaborated(Protocol):
    """What is drawn of a `Graph`."""

    @property
    def program(self) -> Program:
        """What the runtime gets."""
        ...

    @property
    def reactors(self) -> Sequence[Any]:
        """Parallel to `program.reactors`."""
        ...

    @property
    def root(self) -> Any:
        """The tree of records, a `ReactorNode`."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """The path of every reaction."""
        ...

    @property
    def apg(self) -> Any:
        """The precedence graph, a `networkx.DiGraph`."""
        ...


@dataclass(slots=True)
class PortNode:
    """An input or output."""

    name: str
    path: str
    direction: str  # "input" or "output"
    width: int | None  # None: a single port
    type: str  # "int", "float32[4, 5]", or "" for any object
    location: Location


@dataclass(slots=True)
class TimerNode:
    """A timer; times in ns, and no period where it fires once."""

    name: str
    path: str
    offset: int
    period: int | None
    location: Location
    mode: str = ""


@dataclass(slots=True)
class ActionNode:
    """A logical or physical action."""

    name: str
    path: str
    physical: bool
    min_delay: int  # ns
    min_spacing: int | None  # ns
    policy: str
    location: Location
    mode: str = ""


@dataclass(slots=True)
class ReactionNode:
    """A reaction.

    Its ends are paths of ports (a multiport as a whole), timers and actions, or "startup" and "shutdown".
    """

    name: str
    path: str
    number: int  # from 1, as it is drawn
    level: int
    triggers: list[str]
    uses: list[str]
    effects: list[str]
    stops: bool  # it may stop the program
    deadline: int | None  # ns
    native: bool  # it is a C function
    location: Location
    mode: str = ""
    transitions: list[str] = field(default_factory=list)  # modes that it may enter: "on", "off by history"


@dataclass(slots=True)
class ConnectionNode:
    """A connection between two ports, or two channels, of the reactor that contains it."""

    source: str
    target: str
    delay: tuple[int, int]  # (ns, microsteps)
    physical: bool
    location: Location
    mode: str = ""  # its name, if it belongs to one


@dataclass(slots=True)
class ReactorNode:
    """A reactor and all that it has; `connections` are those between its ports and those of its children."""

    name: str
    path: str
    reactor: Any
    class_name: str
    bank: tuple[str, int, int] | None  # path of the bank, index, width
    location: Location  # where it is made
    mode: str = ""  # of its container
    modes: list[tuple[str, bool]] = field(default_factory=list)  # names, and whether it is the initial one
    children: list[ReactorNode] = field(default_factory=list)
    inputs: list[PortNode] = field(default_factory=list)
    outputs: list[PortNode] = field(default_factory=list)
    timers: list[TimerNode] = field(default_factory=list)
    actions: list[ActionNode] = field(default_factory=list)
    reactions: list[ReactionNode] = field(default_factory=list)
    connections: list[ConnectionNode] = field(default_factory=list)


def picture(tree: Tree, wiring: Wiring, program: Program) -> ReactorNode:
    """The records of a whole program; the one of `main` is returned."""
    rows = {(row.reactor, row.number): row for row in program.reactions}
    nodes = [_reactor(place, index, rows) for index, place in enumerate(tree.places)]
    for place, node in zip(tree.places, nodes, strict=True):
        node.children = [nodes[child.reactor._index] for child in place.children]
    direct = ((source, target, connection) for target, (source, connection) in wiring.up.items())
    for source, target, connection in (*direct, *wiring.relayed):
        a, b = tree.elements[source], tree.elements[target]
        if tree.places[b.reactor].is_relay:
            continue
        container = nodes[_container(tree, a.reactor, b.reactor)]
        mode = "" if connection.mode is None else connection.mode.name
        container.connections.append(
            ConnectionNode(a.path, b.path, connection.delay, connection.physical, connection.location, mode)
        )
    return nodes[0]


def _container(tree: Tree, a: int, b: int) -> int:
    """The reactor in which a connection between ports of two reactors is drawn."""
    if a == b:
        return a
    above_a, above_b = tree.places[a].reactor._container, tree.places[b].reactor._container
    if above_b is tree.places[a].reactor:
        return a
    if above_a is tree.places[b].reactor or above_a is None:
        return b
    return above_a._index


def _reactor(place: Place, index: int, rows: dict[tuple[int, int], Row]) -> ReactorNode:
    kind = type(place.reactor).__name__
    node = ReactorNode(place.name, place.path, place.reactor, kind, place.bank, place.reactor._made_at)
    node.modes = [(mode.name, mode._declared._initial) for mode in place.modes]
    around, own = place.reactor._container, place.reactor._mode
    node.mode = own.name if own is not None and own in vars(around).values() else ""
    for port in place.ports:
        side = node.inputs if port.word == "input" else node.outputs
        side.append(PortNode(port.name, port.path, port.word, port.width, _spell(port), port.location))
    for timed in place.timed:
        if isinstance(timed, Timer):
            first, period = timed._times()
            mode = _mode(place, timed)
            node.timers.append(TimerNode(timed.name, timed.path, first, period or None, timed.location, mode))
        elif isinstance(timed, Action):
            physical = isinstance(timed, PhysicalAction)
            spacing, policy = timed._min_spacing_ns(), timed._declared._policy.name.lower()
            node.actions.append(
                ActionNode(
                    timed.name,
                    timed.path,
                    physical,
                    timed._min_delay_ns(),
                    None if spacing < 0 else spacing,
                    policy,
                    timed.location,
                    _mode(place, timed),
                )
            )
    for number, reaction in enumerate(place.reactions):
        node.reactions.append(_reaction(place, reaction, rows[index, number]))
    return node


def _mode(place: Place, declared: Any) -> str:
    """The name of the reactor's own mode that something belongs to."""
    mode = declared._declared._mode
    return mode.name if mode is not None and any(mode.name == own.name for own in place.modes) else ""


def _reaction(place: Place, reaction: Reaction[Any], row: Row) -> ReactionNode:
    def ends(group: tuple[Any, ...]) -> list[str]:
        return [
            end.name
            if isinstance(end, BuiltinTrigger)
            else f"{place.path}.{end.name}"
            if reaction._owner is None
            else end.path
            for end in group
        ]

    return ReactionNode(
        reaction.name,
        f"{place.path}.{reaction.name}",
        row.number + 1,
        row.level,
        ends(reaction.triggers),
        ends(reaction.uses),
        ends(reaction.effects),
        row.stop is not None,
        row.deadline,
        isinstance(reaction.body, Native),
        reaction.location,
        _mode(place, reaction),
        [f"{each.mode.name}{'' if each.by_reset else ' by history'}" for each in reaction.transitions],
    )


def _spell(port: Port[Any]) -> str:
    layout = port._carried()
    if layout.dtype is not None:
        return f"{layout.dtype}[{', '.join(map(str, layout.shape or ()))}]" if layout.shape else str(layout.dtype)
    return "" if layout.type is None else str(getattr(layout.type, "__name__", layout.type))
