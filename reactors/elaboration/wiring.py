"""Where does the value on each port come from, and how much later?

Every connection is checked against the hierarchy and spread over its channels; then each port is followed up to the one
whose values reactions write, and the delays on the way are composed. What remains is one source and one offset per
port, however deep the hierarchy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from reactors.elaboration.relay import relay
from reactors.elaboration.tree import Tree, add_relay, is_around
from reactors.errors import CausalityError, ContainmentError, WidthError, WiringError
from reactors.model.actions import resolved_duration
from reactors.model.connect import Connection, alternating
from reactors.model.declaration import spelled
from reactors.model.layout import Layout, check_flow
from reactors.model.modes import Mode, bound
from reactors.model.ports import Input, Output, Port
from reactors.time import LONGEST

if TYPE_CHECKING:
    from reactors.model.declaration import Owner


class Link(NamedTuple):
    """What a connection does to one channel."""

    source: int
    connection: Connection


class Wiring(NamedTuple):
    """All connections, and what each element is connected to."""

    connections: list[Connection]
    up: dict[int, Link]
    relayed: list[tuple[int, int, Connection]]  # source, target: connections of modes, which are reactions


def compose(first: tuple[int, int], then: tuple[int, int]) -> tuple[int, int]:
    """One offset after another: a positive delay drops the microsteps gathered before it, and the longest is never.

    >>> compose((0, 1), (0, 1)), compose((0, 1), (5, 0)), compose((5, 0), (0, 1))
    ((0, 2), (5, 0), (5, 1))
    """
    if then[0] > 0:
        return min(first[0] + then[0], LONGEST), then[1]
    return first[0], first[1] + then[1]


def wire(tree: Tree) -> Wiring:
    """Check every connection and link the channels it joins."""
    connections: dict[int, Connection] = {}
    for place in tree.places:
        for port in place.ports:
            for connection in port._connections:
                connections[id(connection)] = connection
    up: dict[int, Link] = {}
    relayed: list[tuple[int, int, Connection]] = []
    for connection in connections.values():
        sources, targets = connection.sources, connection.targets
        for port in (*sources, *targets):
            if not tree.holds(port._owner):
                raise _outside(connection, port)
        given, taken = _channels(sources), _channels(targets)
        if connection.interleaved is not None:
            given = [channel for bank in connection.interleaved for channel in alternating(bank)]
        if len(given) != len(taken):
            given = _repeated(connection, given, taken)
        for k, (source, target) in enumerate(zip(given, taken, strict=True)):
            if not _allowed(source, target):
                raise WiringError(_misplaced(connection, source, target))
            if not k:
                connection.container = _around(source, target)
                connection.delay = _delay(connection)
            mode = None if connection.mode is None else _mode(connection, source, target)
            if mode is not None:
                _relay(tree, up, connection, source, target, mode)
                relayed.append((source._element, target._element, connection))
                continue
            other = up.setdefault(target._element, Link(source._element, connection))
            if other.connection is not connection or other.source != source._element:
                first = tree.handles[other.source]
                raise WiringError(
                    f"{target.where()} has two sources: {first.where()}, connected at {other.connection.location}, and "
                    f"{source.where()}, connected at {connection.location}; a port has one: remove a connection, or "
                    f"declare a multiport (width=...)"
                )
    return Wiring(list(connections.values()), up, relayed)


def _around(source: Port[Any], target: Port[Any]) -> Owner:
    """The reactor that contains a connection of these; nothing contains one of the main reactor to itself but that."""
    a, b = source._owner, target._owner
    assert a is not None
    around = a if isinstance(source, Input) else b if isinstance(target, Output) else a._container
    return around or a


def _delay(connection: Connection) -> tuple[int, int]:
    """What a connection adds to a tag; the name of an attribute is one of the reactor that contains it."""
    if connection.after is None:
        return 0, 0
    ns = resolved_duration(connection.after, "after", connection, connection.container)
    return (ns, 0) if ns else (0, 1)


def _mode(connection: Connection, source: Port[Any], target: Port[Any]) -> Mode | None:
    """The mode of a connection, which has to be one of the reactor that contains it; None if that lies in it."""
    mode, around = connection.mode, _around(source, target)
    assert mode is not None
    if is_around(mode, around):
        return None
    return bound(mode, around, f"the {connection.where()}")


def _relay(
    tree: Tree, up: dict[int, Link], connection: Connection, source: Port[Any], target: Port[Any], mode: Mode
) -> None:
    path = f"{mode.path}: {source.path} -> {target.path}"
    undelayed = Connection([source], [target], connection.location)
    first = source
    if connection.delay != (0, 0) or connection.physical:
        before = relay(source, None, connection.location)
        add_relay(tree, before, f"{path}, before", mode._index)
        up[before.value._element] = Link(source._element, undelayed)
        first = before.out
    last = relay(source, target, connection.location)
    add_relay(tree, last, path, mode._index)
    if first is not source:  # its values are under way while time passes, or does not
        tree.elements[last.value._element].mode = mode._index
    up[last.value._element] = Link(first._element, undelayed if first is source else connection)


def _channels(ports: list[Port[Any]]) -> list[Port[Any]]:
    if len(ports) == 1 and ports[0]._declared._width is None:
        return ports
    row: list[Port[Any]] = []
    for port in ports:
        channels = port._open()
        row.extend((port,) if channels is None else channels)
    return row


def _repeated(connection: Connection, given: list[Port[Any]], taken: list[Port[Any]]) -> list[Port[Any]]:
    if connection.broadcast and given and len(taken) % len(given) == 0:
        return given * (len(taken) // len(given))
    if connection.broadcast:
        remedy = "a broadcast repeats the left side, so its width has to divide that of the right"
    elif given and len(taken) % len(given) == 0:
        remedy = "to repeat the left side, write broadcast=True"
    else:
        remedy = "make the widths equal"
    raise WidthError(
        f"the connection at {connection.location} has {_counted(connection.sources, given)} on the left and "
        f"{_counted(connection.targets, taken)} on the right; {remedy}"
    )


def _counted(ports: list[Port[Any]], channels: list[Port[Any]]) -> str:
    several = f"{len(channels)} channel{'s' * (len(channels) != 1)}"
    if len(ports) > 6:
        parts = [f"{ports[0].path} to {ports[-1].path}, {len(ports)} ports"]
    else:
        parts = [port.path if port.width is None else f"{port.path} of width {port.width}" for port in ports]
    return f"{several} ({', '.join(parts)})"


def _allowed(source: Port[Any], target: Port[Any]) -> bool:
    a, b = source._owner, target._owner
    if a is None or b is None:
        return False
    if isinstance(source, Input):
        return b._container is a if isinstance(target, Input) else a is b
    return a._container is b._container if isinstance(target, Input) else a._container is b


_FORMS = (
    "a connection leads from an output to an input of a reactor in the same container, from an input to an input of a "
    "contained reactor, from an output of a contained reactor to an output, or from an input to an output of one "
    "reactor"
)


def _misplaced(connection: Connection, source: Port[Any], target: Port[Any]) -> str:
    a, b = source._owner, target._owner
    if a is None or b is None or a is b:
        fact = (
            f"both are {source.word}s of one reactor"
            if type(source) is type(target)
            else "its ends are the wrong way round"
        )
    elif a._container is b._container:
        fact = f"the {source.word} of one reactor leads to the {target.word} of its neighbour"
    elif b._container is a or a._container is b:
        inner, outer = (target, source) if b._container is a else (source, target)
        fact = f"{inner.path} is an {inner.word} of a contained reactor, {outer.path} an {outer.word} of its container"
    else:
        fact = "it skips a level of the hierarchy; pass it through the ports of the containers in between"
    ends = f"{source.where()} -> {target.where()}"
    return f"the connection {ends}, made at {connection.location}, is not possible: {fact}; {_FORMS}"


def _outside(connection: Connection, port: Port[Any]) -> ContainmentError:
    made = f"the connection at {connection.location}"
    if port._owner is None:
        return ContainmentError(
            f"{made}: the {port.word} declared at {port.location} belongs to no reactor; assign it to an attribute of "
            "one"
        )
    kind = spelled(type(port._owner))
    return ContainmentError(
        f"{made}: {port.path} belongs to a {kind} (made at {port._owner._made_at}) that the program does not contain; "
        f"assign it to an attribute of a reactor in it (self.x = {kind}(...)), or run the reactor that contains both"
    )


def resolve(tree: Tree, wiring: Wiring, written: dict[int, list[int]]) -> None:
    """Give every port its source and offset, and check that what the source carries can arrive there."""
    elements, up = tree.elements, wiring.up
    for e in written:
        elements[e].source = e
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
            above, connection = up[below]
            tops[below] = tops.get(above, above)
            element, over = elements[below], elements[above]
            element.source = over.source
            later = (0, 1) if connection.physical and connection.delay == (0, 0) else connection.delay
            element.offset = compose(over.offset, later)
            element.physical = over.physical or connection.physical
            _match(tree, tops[below], below, connection)


def _match(tree: Tree, top: int, below: int, connection: Connection) -> None:
    over, element = tree.elements[top], tree.elements[below]
    if over.dtype is element.dtype and over.shape == element.shape and over.type is element.type:
        return
    given, wanted = Layout(over.type, over.shape, over.dtype), Layout(element.type, element.shape, element.dtype)
    check_flow(tree.handles[top], tree.handles[below], given, wanted, f"the connection at {connection.location}")
    if given.dtype is not None and wanted.dtype is None:  # whoever takes anything takes arrays where they lie
        element.dtype, element.shape = given.dtype, given.shape


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
