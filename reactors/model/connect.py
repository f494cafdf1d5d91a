"""Which values go where, and when do they arrive?

`connect` pairs the channels of its two sides in order. While reactors are being created, the hierarchy is not known
yet, nor are widths that depend on parameters. So a connection is only recorded here, at its ports;
`elaboration/connections.py` checks and resolves all connections when the program is elaborated.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from reactors.errors import ArgumentError, StructureError, WiringError
from reactors.location import Call, Location
from reactors.model.actions import checked_duration
from reactors.model.declaration import Declared, HasPorts, spelled
from reactors.model.layout import T
from reactors.model.modes import current, innermost
from reactors.model.thread_state import executing
from reactors.names.keywords import spelled_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reactors.model.modes import Mode
    from reactors.time import Duration

T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)


class Source(Protocol[T_co]):
    """Where a value can come from: a port with values of type T."""

    def _gives(self) -> T_co: ...


class Sink(Protocol[T_contra]):
    """Where a value can go to: a port for values of type T."""

    def _takes(self, value: T_contra, /) -> None: ...


class Connectable(Generic[T]):
    """One side of a connection: a port, or the ports of a bank."""

    def _single_ports(self) -> list[Any]:
        """The ports that it stands for."""
        raise NotImplementedError

    def __rshift__(self, other: Sink[T] | Sequence[Sink[T]]) -> None:
        location = Location.caller()
        attach(Connection(self._single_ports(), single_ports(other, "target", location), location, mode=innermost()))

    def __rrshift__(self, other: Sequence[Source[T]]) -> None:
        location = Location.caller()
        attach(Connection(single_ports(other, "source", location), self._single_ports(), location, mode=innermost()))

    if TYPE_CHECKING:  # it is a source and a sink

        def _gives(self) -> T: ...
        def _takes(self, value: T, /) -> None: ...


@dataclass(slots=True, eq=False, repr=False)
class Connection:
    """One call of `connect`: two lists of ports, a delay, and how they are paired."""

    sources: list[Any]  # ports, which know their connections
    targets: list[Any]
    location: Location
    after: Duration | None = None  # as it is written
    physical: bool = False
    broadcast: bool = False
    interleaved: list[list[Any]] | None = None  # the sources by bank, if the channels of each are to alternate
    mode: Mode | None = None

    word = "connection"

    def __repr__(self) -> str:
        return f"<{self.where()}>"

    def where(self) -> str:
        """Its ends, file and line, for errors."""
        return f"connection {_spell(self.sources)} -> {_spell(self.targets)} ({self.location})"


@spelled_out("rx.connect")
def connect(
    src: Source[T] | Sequence[Source[T]],
    dst: Sink[T] | Sequence[Sink[T]],
    *,
    after: Duration | None = None,
    physical: bool = False,
    broadcast: bool = False,
    interleaved: bool = False,
    mode: Mode | None = None,
) -> None:
    """Connect ports: a value set on `src` appears on `dst`, at the same tag, or later by `after`.

    Each side is a port, a multiport, a bank's ports, or a list of these. Their channels are paired in order, and their
    numbers must be equal, unless `broadcast` repeats the left side. `after=0` is one microstep; a string may name an
    attribute of the reactor that contains the connection, as in a timer. A `physical` connection gives a value the tag
    of the moment at which it arrives. A bank's multiports are taken member by member, all channels of each. If they are
    `interleaved`, those on the left side give channel 0 of all members, then channel 1, and so on.

    >>> import reactors as rx
    >>> class Source(rx.Reactor):
    ...     out = rx.Output(int)
    >>> class Sink(rx.Reactor):
    ...     inp = rx.Input(int)
    >>> class Main(rx.Reactor):
    ...     def __init__(self):
    ...         self.source, self.sinks = Source(), rx.bank(2, Sink)
    ...         rx.connect(self.source.out, self.sinks.inp, after="1 ms", broadcast=True)
    >>> [str(element.offset) for element in rx.Graph(Main()).program.elements]
    ['(0, 0)', '(1000000, 0)', '(1000000, 0)']
    """
    location = Location.caller()
    for flag, given in (("physical", physical), ("broadcast", broadcast), ("interleaved", interleaved)):
        if not isinstance(given, bool):
            raise ArgumentError(
                f"{flag} of rx.connect ({location}) is {given!r}, of type {type(given).__name__}; write True or False"
            )
    call = Call("rx.connect", location)
    if after is not None:
        checked_duration(after, "delay (after)", call)
    inside = current(mode, call)
    sources, targets = single_ports(src, "source", location), single_ports(dst, "target", location)
    by_bank = _by_bank(src, location) if interleaved else None
    attach(Connection(sources, targets, location, after, physical, broadcast, by_bank, inside))


def _by_bank(given: Any, location: Location) -> list[list[Any]]:
    """The ports of each bank, and of each list that has only ports; single ports by themselves."""
    if isinstance(given, Connectable) or all(isinstance(each, Declared) for each in given):
        return [single_ports(given, "source", location)]
    return [group for each in given for group in _by_bank(each, location)]


def alternating(ports: list[Any]) -> list[Any]:
    """Channel 0 of each of these, then channel 1 of each that has one, and so on."""
    rows = [[port] if (channels := port._open()) is None else channels for port in ports]
    return [channel for k in zip_longest(*rows) for channel in k if channel is not None]


def attach(connection: Connection) -> None:
    """Record a connection at the ports on both its sides."""
    if executing.program:
        raise _too_late(connection)
    for port in connection.sources + connection.targets:
        if port._class is not None:
            raise WiringError(
                f"rx.connect ({connection.location}): {port.where()} is the declaration in the class; connect the port "
                f"of a reactor: make one (self.x = {spelled(port._class)}(...)) and write self.x.{port.name}"
            )
        if port._owner is not None and port._owner._engine is not None:
            raise _too_late(connection)
        whole = port._whole
        if isinstance(whole._connections, tuple):  # none so far
            whole._connections = []
        whole._connections.append(connection)


def _too_late(connection: Connection) -> StructureError:
    return StructureError(f"the {connection.where()} is drawn while the program runs; draw it in __init__")


def single_ports(given: object, side: str, location: Location) -> list[Any]:
    """The single ports that one side of a connection names; refuses anything else."""
    return given._single_ports() if isinstance(given, Connectable) else list(_singles(given, side, location))


def _singles(given: object, side: str, location: Location) -> Iterator[Any]:
    if isinstance(given, Connectable):
        yield from given._single_ports()
    elif isinstance(given, list | tuple):
        for each in given:
            yield from _singles(each, side, location)
    else:
        if isinstance(given, type) and issubclass(given, Connectable):
            wrong = f"rx.{given.__name__} itself, which is a class"
        elif isinstance(given, HasPorts):
            wrong = f"{given!r}; name one of its ports"
        else:
            wrong = f"{given!r}, of type {type(given).__name__}"
        raise ArgumentError(
            f"rx.connect ({location}): the {side} is {wrong}; it has to be a port, a bank's ports, or a list of these"
        )


def _spell(ports: list[Any]) -> str:
    paths = [port.path for port in ports[:3]] + ["..."] * (len(ports) > 3)
    return paths[0] if len(paths) == 1 else f"[{', '.join(paths)}]"
