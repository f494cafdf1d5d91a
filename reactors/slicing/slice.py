"""What made a value: the executions, and where it came into the program, as text and as a picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reactors.errors import ArgumentError
from reactors.slicing.observing import Attribute, is_structure
from reactors.tag import Tag
from reactors_runtime.program import Kind
from reactors_runtime.suggestions import did_you_mean

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from reactors.graph import Graph
    from reactors.slicing.slicer import Found, Thing

_SHOWN = 6  # steps, one by one


@dataclass(frozen=True)
class Ingredient:
    """A port, action or attribute that an execution had read, and by which reaction and when it was made.

    None: by none; `origin` says where it comes from then: a timer, from outside, as it was made.
    """

    what: str
    by: tuple[str, Tag] | None
    origin: str


@dataclass(frozen=True)
class SliceStep:
    """An execution of the slice: what of all that it made the others needed, and what it had read."""

    tag: Tag
    reaction: str
    made: tuple[str, ...]
    read: tuple[Ingredient, ...]


@dataclass(frozen=True)
class Slice:
    """What made a value that a port or an attribute had: executions, the last one first, back to where it began.

    Every write to a port and every change of an attribute counts as made of all that its execution had read: ports and
    actions that were present, attributes, random numbers. What an execution did not find is not in it, nor what C
    functions do, nor what a reaction keeps elsewhere than in its reactor, or in a file, a generator, or the like.

    `steps` are the last `most` of them; `counts` says of all how many executions each reaction has.
    """

    place: str
    steps: tuple[SliceStep, ...]
    counts: dict[str, int]
    spans: dict[str, tuple[Tag, Tag]]  # the first and last execution of each reaction
    things: dict[str, int]  # how often each port, action or attribute was read or made
    origins: dict[str, str]  # where it begins: what no execution made, and where that comes from
    graph: Graph = field(repr=False, compare=False)

    def __len__(self) -> int:
        return sum(self.counts.values())

    def draw(self, file: str | os.PathLike[str]) -> Path:
        """Draw the program with the way that the value came in colour, as `Graph.draw` does."""
        return self.graph.draw(file, why=self)

    def __str__(self) -> str:
        if not self.steps:
            return f"{self.place} is as it was made: no execution has changed it"
        lines = [
            f"{self.place} was made by {_number(len(self), 'execution')} of {_number(len(self.counts), 'reaction')}"
        ]
        for step in self.steps[:_SHOWN]:
            lines.append(f"  {step.reaction} at {step.tag} made {', '.join(step.made)} of")
            lines += [f"    {self._said(read)}" for read in step.read] or ["    nothing"]
        if len(self) > _SHOWN:
            lines.append("in all")
            for reaction, n in self.counts.items():
                first, last = self.spans[reaction]
                lines.append(
                    f"  {reaction}: {_number(n, 'execution')}, {first if first == last else f'{first} to {last}'}"
                )
        lines.append("it begins with")
        lines += [f"  {what}, {origin}" for what, origin in self.origins.items()]
        return "\n".join(lines)

    def _said(self, read: Ingredient) -> str:
        if read.by is None:
            return f"{read.what}, {read.origin}"
        return f"{read.what}, by {read.by[0]} at {read.by[1]}"


def slice_of(graph: Graph, place: str, found: Found) -> Slice:
    """What the process of a run has found, as users see it."""
    names = graph.names
    steps = tuple(
        SliceStep(
            Tag(*each.tag),
            names[each.reaction],
            each.made,
            tuple(
                Ingredient(what, None if by is None else (names[by[0]], Tag(*by[1])), origin)
                for what, by, origin in each.reads
            ),
        )
        for each in found.last
    )
    return Slice(
        place,
        steps,
        {names[reaction]: n for reaction, n in found.counts.items()},
        {names[reaction]: (Tag(*first), Tag(*last)) for reaction, (first, last) in found.spans.items()},
        found.things,
        found.origins,
        graph,
    )


def ports_of(graph: Graph) -> dict[str, int]:
    """The ports of a program by path, as it counts them; of a multiport each channel."""
    return {row.path: element for element, row in enumerate(graph.program.elements) if row.kind == Kind.PORT}


def thing_at(graph: Graph, place: str) -> Thing:
    """The port, by its number, or the attribute that a place names; `ArgumentError` if there is none."""
    program, ports = graph.program, ports_of(graph)
    if place in ports:
        return ports[place]
    for number in sorted(range(len(program.reactors)), key=lambda n: -len(program.reactors[n].path)):
        path = program.reactors[number].path
        name = place.removeprefix(f"{path}.").partition(".")[0].partition("[")[0]
        if place.startswith(f"{path}.") and name in (has := vars(graph.reactors[number])):
            if not is_structure(has[name]):
                return Attribute(number, name)
            break
    kept = [(each, name, value) for each in graph.reactors for name, value in vars(each).items()]
    known = [*ports, *(f"{each.path}.{name}" for each, name, value in kept if not is_structure(value))]
    raise ArgumentError(f"why: there is no port or attribute {place!r}{did_you_mean(place, known)}")


def _number(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' * (n != 1)}"
