"""Stage 1, growing: which channels does each connection join, and how much later?

Every connection is checked against the hierarchy, and becomes one row for each of its channels. Its delay and its mode
are looked up in the reactor that contains it, and are numbers from here on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from reactors.elaboration.contents import is_around
from reactors.errors import ContainmentError, WidthError, WiringError
from reactors.model.actions import resolved_duration
from reactors.model.connect import alternating
from reactors.model.declaration import spelled
from reactors.model.modes import bound
from reactors.model.ports import Input, Output, Port

if TYPE_CHECKING:
    from reactors.elaboration.tree import Tree
    from reactors.model.connect import Connection
    from reactors.model.declaration import Owner


class Wire(NamedTuple):
    """What a connection does to one channel; source and target are elements."""

    source: int
    target: int
    delay: tuple[int, int]  # ns, microsteps
    physical: bool
    mode: int  # the one that it belongs to; -1: none, or one around the reactor that contains it
    container: int  # the reactor in which it lies
    connection: Connection


def wires(tree: Tree) -> list[Wire]:
    """All connections of a program, channel by channel; those of modes last."""
    connections: dict[int, Connection] = {}
    for place in tree.places:
        for port in place.ports:
            for connection in port._connections:
                connections[id(connection)] = connection
    found: list[Wire] = []
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
        delay = None
        for source, target in zip(given, taken, strict=True):
            if not _allowed(source, target):
                raise WiringError(_misplaced(connection, source, target))
            around = _around(source, target)
            if delay is None:
                delay = _delay(connection, around)
            mode = -1 if connection.mode is None else _mode(connection, around)
            ends = source._element, target._element
            found.append(Wire(*ends, delay, connection.physical, mode, around._index, connection))
    return sorted(found, key=lambda wire: wire.mode >= 0)  # it is stable


def _around(source: Port[Any], target: Port[Any]) -> Owner:
    """The reactor that contains a connection of these; nothing contains one of the main reactor to itself but that."""
    a, b = source._owner, target._owner
    assert a is not None
    around = a if isinstance(source, Input) else b if isinstance(target, Output) else a._container
    return around or a


def _delay(connection: Connection, around: Owner) -> tuple[int, int]:
    """What a connection adds to a tag; the name of an attribute is one of the reactor that contains it."""
    if connection.after is None:
        return 0, 0
    ns = resolved_duration(connection.after, "after", connection, around)
    return (ns, 0) if ns else (0, 1)


def _mode(connection: Connection, around: Owner) -> int:
    """The mode of a connection, which has to be one of the reactor that contains it; -1 if that lies in it."""
    mode = connection.mode
    assert mode is not None
    return -1 if is_around(mode, around) else bound(mode, around, f"the {connection.where()}")._index


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
    if not ports:
        return "no channels (of an empty bank or list)"
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
