"""What does a picture of a program need to know?

The tree of reactors as plain records: names, paths, widths, order, delays and source locations, and nothing that runs.
Ends of connections and reactions are paths, so that a picture can be made from these records alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from reactors.model.triggers import BuiltinTrigger
from reactors_runtime.program import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reactors.elaboration.connections import Wire
    from reactors.elaboration.tree import Place, Tree
    from reactors.location import Location
    from reactors.model.ports import Port
    from reactors.model.reaction import Reaction
    from reactors_runtime.program import Mode, Program
    from reactors_runtime.program import Reaction as Row


class Elaborated(Protocol):
    """What is drawn of a `Graph`."""

    @property
    def program(self) -> Program:
        """What the runtime gets."""
        ...

    @property
    def reactors(self) -> Sequence[Any]:
        """The reactors themselves, parallel to `program.reactors`."""
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


def picture(tree: Tree, wires: Sequence[Wire], program: Program, declarations: Sequence[Reaction[Any]]) -> ReactorNode:
    """The records of a whole program; the one of `main` is returned."""
    elements = program.elements
    nodes = [_reactor(place, index, program) for index, place in enumerate(tree.places)]
    for place, node in zip(tree.places, nodes, strict=True):
        if place.container >= 0:
            nodes[place.container].children.append(node)
    for mode in program.modes:
        nodes[mode.reactor].modes.append((_name(mode), mode.initial))
    for reaction, row in sorted(zip(declarations, program.reactions, strict=True), key=lambda each: each[1].number):
        nodes[row.reactor].reactions.append(_reaction(tree.places[row.reactor], reaction, row, program))
    for wire in dict.fromkeys(wires):
        a, b = elements[wire.source], elements[wire.target]
        container = a.reactor if a.reactor == b.reactor else wire.container
        of_mode = "" if wire.connection.mode is None else wire.connection.mode.name
        nodes[container].connections.append(
            ConnectionNode(a.path, b.path, wire.delay, wire.physical, wire.connection.location, of_mode)
        )
    return nodes[0]


def _reactor(place: Place, index: int, program: Program) -> ReactorNode:
    kind = type(place.reactor).__name__
    node = ReactorNode(place.name, place.path, place.reactor, kind, place.bank, place.reactor._made_at)
    node.mode = _mode(place.mode, place.container, program)
    for port in place.ports:
        side = node.inputs if port.word == "input" else node.outputs
        side.append(PortNode(port.name, port.path, port.word, port.width, _spell(port), port.location))
    for timed in place.timed:
        row = program.elements[timed._element]
        mode = _mode(row.mode, index, program)
        if row.kind == Kind.TIMER:
            node.timers.append(TimerNode(timed.name, row.path, row.first, row.period or None, timed.location, mode))
        else:
            spacing = None if row.min_spacing < 0 else row.min_spacing
            node.actions.append(
                ActionNode(
                    timed.name,
                    row.path,
                    row.kind == Kind.PHYSICAL_ACTION,
                    row.min_delay,
                    spacing,
                    row.policy.name.lower(),
                    timed.location,
                    mode,
                )
            )
    return node


def _mode(mode: int, reactor: int, program: Program) -> str:
    """The name of a mode, if it is one of this reactor."""
    return _name(program.modes[mode]) if mode >= 0 and program.modes[mode].reactor == reactor else ""


def _name(mode: Mode) -> str:
    return mode.path.rpartition(".")[2]


def _reaction(place: Place, reaction: Reaction[Any], row: Row, program: Program) -> ReactionNode:
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
        row.native is not None,
        reaction.location,
        _mode(row.mode, row.reactor, program),
        [f"{_name(program.modes[m])}{'' if reset else ' by history'}" for m, reset in row.transitions.items()],
    )


def _spell(port: Port[Any]) -> str:
    layout = port._carried()
    if layout.dtype is not None:
        return f"{layout.dtype}[{', '.join(map(str, layout.shape or ()))}]" if layout.shape else str(layout.dtype)
    return "" if layout.type is None else str(getattr(layout.type, "__name__", layout.type))
