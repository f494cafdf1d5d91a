"""Which values go where, and when do they arrive?

`connect` pairs the channels of its two sides in order. The hierarchy is not known yet while reactors are being made,
and neither are widths that depend on parameters, so a connection is only noted here, at its ports;
`elaboration/connections.py` checks and resolves all of them when the program is elaborated.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from reactors.errors import ArgumentError, StructureError, WiringError
from reactors.location import Call, Location
from reactors.model.actions import checked_duration
from reactors.model.bank import Bank, Ports
from reactors.model.declaration import spelled
from reactors.model.keywords import spelled_out
from reactors.model.modes import Mode, current
from reactors.model.ports import Port
from reactors.model.reactor import Reactor
from reactors.model.thread_state import executing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reactors.time import Duration

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)


class Source(Protocol[T_co]):
    """What a value can come from: a port that gives a T."""

    def _gives(self) -> T_co: ...


class Sink(Protocol[T_contra]):
    """What a value can go to: a port that takes a T."""

    def _takes(self, value: T_contra, /) -> None: ...


class Connection:
    """One call of `connect`: two lists of ports, a delay, and how they are paired."""

    __slots__ = (
        "after",
        "broadcast",
        "interleaved",
        "location",
        "mode",
        "physical",
        "sources",
        "targets",
    )

    word = "connection"

    def __init__(
        self,
        sources: list[Port[Any]],
        targets: list[Port[Any]],
        after: Duration | None,
        physical: bool,
        broadcast: bool,
        interleaved: list[list[Port[Any]]] | None,
        mode: Mode | None,
        location: Location,
    ) -> None:
        self.sources = sources
        self.targets = targets
        self.after = after  # as it is written
        self.physical = physical
        self.broadcast = broadcast
        self.interleaved = interleaved  # the sources by bank, if the channels of each are to alternate
        self.mode = mode
        self.location = location

    def __repr__(self) -> str:
        return f"<{self.where()}>"

    def where(self) -> str:
        """Its ends, file and line, as errors name it."""
        return f"connection {_spell(self.sources)} -> {_spell(self.targets)} ({self.location})"


@spelled_out("rx.connect")
def connect(
    src: Source[T] | Sequence[Source[T]] | Ports[Any],
    dst: Sink[T] | Sequence[Sink[T]] | Ports[Any],
    *,
    after: Duration | None = None,
    physical: bool = False,
    broadcast: bool = False,
    interleaved: bool = False,
    mode: Mode | None = None,
) -> None:
    """Connects ports: what is set on `src` appears on `dst`, at the same tag or `after` that long.

    Either side is a port, a multiport, a bank's ports, or a list of these; their channels are paired in order, and the
    numbers have to agree, unless `broadcast` repeats the left side. `after=0` is one microstep; a string may name an
    attribute of the reactor in which the connection is, as in a timer. A `physical` connection
    gives a value the tag of the moment at which it arrives. A bank's multiports are taken member by member, all
    channels of each; if they are `interleaved`, those on the left side give channel 0 of all members, then channel 1.

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
    if after is not None:
        checked_duration(after, "delay (after)", Call("rx.connect", location))
    attach(src, dst, location, after, physical, broadcast, interleaved, current(mode, Call("rx.connect", location)))


def interleaved(ports: Port[T] | Ports[T] | Sequence[Port[T]]) -> list[Port[T]]:
    """The channels of a bank's multiports as `connect` takes them with interleaved=True, to be used on either side.

    >>> import reactors as rx
    >>> class Two(rx.Reactor):
    ...     out = rx.Output(width=2)
    >>> class Main(rx.Reactor):
    ...     def __init__(self):
    ...         self.bank = rx.bank(3, Two)
    >>> main = Main()
    >>> _ = rx.Graph(main)
    >>> [port.path for port in rx.interleaved(main.bank.out)][:4]
    ['main.bank[0].out[0]', 'main.bank[1].out[0]', 'main.bank[2].out[0]', 'main.bank[0].out[1]']
    """
    return alternating(list(_ports(ports, "side", Location.caller())))


def _by_bank(given: Any) -> list[list[Port[Any]]]:
    """The ports of each bank, of each list that has ports alone, and single ones by themselves."""
    if isinstance(given, Port):
        return [[given]]
    if isinstance(given, Ports) or all(isinstance(each, Port) for each in given):
        return [list(_ports(given, "source", Location.caller()))]
    return [group for each in given for group in _by_bank(each)]


def alternating(ports: list[Port[Any]]) -> list[Port[Any]]:
    """Channel 0 of each of these, then channel 1 of each that has one, and so on."""
    rows = [[port] if (channels := port._open()) is None else channels for port in ports]
    return [channel for k in zip_longest(*rows) for channel in k if channel is not None]


def attach(
    src: object,
    dst: object,
    location: Location,
    after: Duration | None = None,
    physical: bool = False,
    broadcast: bool = False,
    interleaved: bool = False,
    mode: Mode | None = None,
) -> None:
    """Note a connection at the ports on both its sides."""
    sources = [src] if isinstance(src, Port) else list(_ports(src, "source", location))
    targets = [dst] if isinstance(dst, Port) else list(_ports(dst, "target", location))
    banks = _by_bank(src) if interleaved else None
    connection = Connection(sources, targets, after, physical, broadcast, banks, mode, location)
    if executing.program:
        raise _too_late(connection)
    for port in sources + targets:
        if port._class is not None:
            raise WiringError(
                f"rx.connect ({location}): {port.where()} is the declaration in the class; connect the port of a "
                f"reactor: make one (self.x = {spelled(port._class)}(...)) and write self.x.{port.name}"
            )
        if port._owner is not None and port._owner._engine is not None:
            raise _too_late(connection)
        whole = port._whole
        if isinstance(whole._connections, tuple):  # none so far
            whole._connections = []
        whole._connections.append(connection)


def _too_late(connection: Connection) -> StructureError:
    return StructureError(f"the {connection.where()} is drawn while the program runs; draw it in __init__")


def _ports(given: object, side: str, location: Location) -> Iterator[Port[Any]]:
    if isinstance(given, Port):
        yield given
    elif isinstance(given, Ports | list | tuple):
        for each in given:
            yield from _ports(each, side, location)
    else:
        if isinstance(given, type) and issubclass(given, Port):
            wrong = f"rx.{given.__name__} itself, which is a class"
        elif isinstance(given, Reactor | Bank):
            wrong = f"{given!r}; name one of its ports"
        else:
            wrong = f"{given!r}, of type {type(given).__name__}"
        raise ArgumentError(
            f"rx.connect ({location}): the {side} is {wrong}; it has to be a port, a bank's ports, or a list of these"
        )


def _spell(ports: list[Port[Any]]) -> str:
    paths = [port.path for port in ports[:3]] + ["..."] * (len(ports) > 3)
    return paths[0] if len(paths) == 1 else f"[{', '.join(paths)}]"
