"""Which single execution of a reaction is meant, and what of it gets lost?"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from reactors.errors import ArgumentError
from reactors.tag import Tag
from reactors.time import Duration, duration
from reactors_runtime._core import lib
from reactors_runtime.suggestions import did_you_mean
from reactors_runtime.whereabouts import here

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors.graph import Graph

When = int | Duration | Tag


class Execution(NamedTuple):
    """One execution of a reaction: its n-th, counted from 1, or the one at a tag."""

    reaction: int  # as the program counts
    name: str
    n: int | None
    tag: Tag | None

    def __str__(self) -> str:
        return f"execution {self.n:,} of {self.name}" if self.tag is None else f"{self.name} at {self.tag}"


def place_in(graph: Graph, reaction: str, when: When = 1, *, what: str) -> Execution:
    """The execution of a reaction that is meant; `ArgumentError` if there can be none, with `what` was to say it."""
    names = graph.names
    if reaction not in names:
        meant = did_you_mean(str(reaction), names) or f"; there are {', '.join(names[:8])}{', ...' * (len(names) > 8)}"
        raise ArgumentError(f"{what}: there is no reaction {reaction!r} in {graph.main.path}{meant}")
    number = names.index(reaction)
    if isinstance(when, Tag):
        return Execution(number, reaction, None, when)
    if isinstance(when, int) and not isinstance(when, bool):
        if when < 1:
            raise ArgumentError(f"{what}: executions of {reaction} are counted from 1, and this is {when}")
        return Execution(number, reaction, when, None)
    return Execution(number, reaction, None, Tag(duration(when, f"time of {what}"), 0))


@contextmanager
def without(elements: frozenset[int]) -> Iterator[set[int]]:
    """What the reaction that runs here sets of these ports is as if it had not been set; which it set is said then."""
    engine: Any = here.engine
    doors = {element: engine.part.doors[element] for element in elements}
    before = {element: engine.doors[door] for element, door in doors.items()}
    lost: set[int] = set()
    yield lost
    for element, door in doors.items():
        if engine.doors[door] & lib.RX_PRESENT and not before[element] & lib.RX_PRESENT:
            lost.add(element)
        engine.doors[door] &= before[element] | ~lib.RX_PRESENT & 0xFF
