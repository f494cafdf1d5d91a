"""Was a number of nanoseconds meant for seconds?

A bare number counts nanoseconds, which is right for programs that count rounds in them: these run with `fast=True`, or
by a virtual clock. Where a program waits for physical time, less than a millisecond is seldom what is meant.
"""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

from reactors.errors import ReactorWarning
from reactors.time import names_attribute
from reactors_runtime import callers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors.graph import Graph
    from reactors.location import Location

_LESS_THAN = 1_000_000
_CALLED = "rx.stop.after"  # all others are arguments or attributes


class Written(NamedTuple):
    """A duration as it is written: of what, declared where, under which name."""

    where: str
    location: Location | None
    what: str
    given: Any


def warn_of_bare_numbers(graph: Graph, timeout: object) -> None:
    """Warn, once, of the bare numbers in a program that waits for physical time and is run with this timeout."""
    found: dict[Any, Written] = {}
    for each in _written(graph, timeout):
        if is_bare(each.given):
            found.setdefault((each.location, each.what), each)  # of all members of a bank, one
    if not found:
        return
    first, *others = found.values()
    more = ", ".join(f"{_spelled(each.what, each.given)} of {each.where}" for each in others[:3])
    more = f"; the same goes for {more}{', ...' * (len(others) > 3)}" if others else ""
    callers.warn(spelled_twice(first.where, first.what, first.given) + more, ReactorWarning)


def is_bare(given: object) -> bool:
    """Whether a duration is a number, and of less than a millisecond; none at all is as good as spelled."""
    return isinstance(given, Integral) and 0 < int(given) < _LESS_THAN


def spelled_twice(where: str, what: str, given: object) -> str:
    """What a bare number means, and how to write that, or what it was perhaps to mean."""
    seconds, nanoseconds = (_spelled(what, f'"{given} {unit}"') for unit in ("s", "ns"))
    meant = f"{given} nanosecond{'s' * (given != 1)}"
    return (
        f"{_spelled(what, given)} of {where} is {meant}, and the program waits for physical time; write "
        f"{seconds} if it is to be seconds, and {nanoseconds} if not"
    )


def _spelled(what: str, given: object) -> str:
    return f"{what}({given})" if what == _CALLED else f"{what}={given}"


def _written(graph: Graph, timeout: object) -> Iterator[Written]:
    yield Written("rx.run", None, "timeout", timeout)
    for place in graph._tree.places:
        for timed in place.timed:
            for what in ("offset", "period", "min_delay", "min_spacing"):
                given = getattr(timed._declared, f"_{what}", None)
                yield _looked_up(place.reactor, timed.where(), timed.location, what, given)
        for reaction, _ in place.reactions:
            where = f"{place.path}.{reaction.name} ({reaction.location})"
            yield _looked_up(place.reactor, where, reaction.location, "deadline", reaction.limit)
            if reaction.stop is not None:
                yield _looked_up(place.reactor, where, reaction.location, _CALLED, reaction.stop.delay)
    connections = {id(wire.connection): wire for wire in reversed(graph._wires)}
    for wire in reversed(connections.values()):
        each, container = wire.connection, graph.reactors[wire.container]
        yield _looked_up(container, f"the {each.where()}", each.location, "after", each.after)


def _looked_up(owner: object, where: str, location: Location, what: str, given: Any) -> Written:
    if names_attribute(given):
        what, given = f"self.{given}", getattr(owner, given)
    return Written(where, location, what, given)
