"""Which executions made a value?

A dynamic backward slice (Korel and Laski 1988), of executions instead of statements: the one that made the value, and
for each of these, those that made what it had read. What a port had, its writer at that tag made, or at the tag from
which a delay leads there; an action, the execution that scheduled it; an attribute, the last one that changed it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from reactors.slicing.observing import Attribute
from reactors.slicing.pending import AsTag, Pending
from reactors_runtime.program import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors.slicing.observing import Observation
    from reactors_runtime.program import Program

Thing = int | Attribute  # an element, or an attribute


class Read(NamedTuple):
    """What an execution had read, and which one made it; -1: none did, it comes from elsewhere, as `origin` says."""

    what: str
    by: int
    origin: str
    made: str  # the name that it has for its maker: of a port, the one that was written


Maker = tuple[int, tuple[int, int]]  # a reaction, and a tag at which it was executed


class Needed(NamedTuple):
    """An execution of the slice, what it made of what: names, and for what it had read, by whom that was made."""

    tag: tuple[int, int]
    reaction: int
    made: tuple[str, ...]
    reads: tuple[tuple[str, Maker | None, str], ...]


class Found(NamedTuple):
    """A slice: its last executions, and what there is to say of all."""

    last: list[Needed]
    counts: dict[int, int]  # of executions, by reaction
    spans: dict[int, tuple[tuple[int, int], tuple[int, int]]]  # the tags of the first and the last one
    things: dict[str, int]  # how often each port, action or attribute was read or made
    origins: dict[str, str]  # what no execution made, and where it comes from


class Slicer:
    """Finds what made a value, in the executions so far."""

    def __init__(self, program: Program, executions: list[Observation]) -> None:
        self.program, self.executions = program, executions
        self._changes: dict[Attribute, list[int]] = defaultdict(list)  # executions, by what they changed
        self._writes: dict[int, list[int]] = defaultdict(list)  # by port
        self._schedulers: dict[tuple[int, tuple[int, int]], int] = {}  # by action, and tag at which it fires
        self._arrivals: dict[tuple[int, tuple[int, int]], int] = {}  # by port with a delay, and tag of the arrival
        self._delayed: dict[int, list[int]] = defaultdict(list)  # ports, by the one that drives them
        for element, row in enumerate(program.elements):
            if row.kind == Kind.PORT and row.offset != (0, 0):
                self._delayed[self._source(element)].append(element)
        self._arrived: dict[int, tuple[AsTag, AsTag]] = {}  # of the last message: when it was written, when it came
        pending = {e: Pending(row) for e, row in enumerate(program.elements) if row.kind == Kind.ACTION}
        for i, each in enumerate(executions):
            for attribute in each.changed:
                self._changes[attribute].append(i)
            for element in (*each.wrote, *each.kept):
                self._writes[element].append(i)
                for target in self._delayed.get(element, ()):
                    self._sent(target, each.tag, i)
            for element in each.found:
                if element in pending and (element, each.tag) not in self._schedulers:
                    self._schedulers[element, each.tag] = pending[element].fire(each.tag)
            for event in each.scheduled:
                pending[event.action].schedule(each.tag, event.tag, i)

    def _sent(self, element: int, tag: tuple[int, int], by: int) -> None:
        """A message is sent over a delay: two that would be there at one tag come a microstep apart."""
        (ns, microsteps), (time, microstep) = self.program.elements[element].offset, tag
        arrival = (time + ns, microsteps) if ns else (time, microstep + microsteps)
        written, last = self._arrived.get(element, (None, arrival))
        if written == tag:  # written again by another reaction of that tag
            arrival = last
        elif written is not None and arrival <= last:
            arrival = last[0], last[1] + 1
        self._arrived[element] = tag, arrival
        self._arrivals[element, arrival] = by

    def found(self, thing: Thing, most: int) -> Found:
        """The slice of what a port or an attribute is now, with so many executions one by one."""
        found = Found([], {}, {}, {}, {})
        for needed in self.of(thing):
            reaction = needed.reaction
            found.counts[reaction] = found.counts.get(reaction, 0) + 1
            found.spans[reaction] = needed.tag, found.spans.get(reaction, (needed.tag, needed.tag))[1]
            if len(found.last) < most:
                found.last.append(needed)
            for made in needed.made:
                found.things[made] = found.things.get(made, 0) + 1
            for what, maker, origin in needed.reads:
                found.things[what] = found.things.get(what, 0) + 1
                if maker is None:
                    found.origins[what] = origin
        return found

    def of(self, thing: Thing) -> Iterator[Needed]:
        """The executions of a slice, the last one first."""
        first = self._maker_now(thing)
        made: dict[int, list[str]] = {first: [self.name(thing)]}
        ahead = [-first]
        while ahead:
            at = -heappop(ahead)
            if at < 0:
                return
            reads = tuple(self._reads(at))
            for read in reads:
                if read.by >= 0:
                    if read.by not in made:
                        made[read.by] = []
                        heappush(ahead, -read.by)
                    made[read.by].append(read.made)
            said = tuple((read.what, self._maker(read.by), read.origin) for read in reads)
            yield Needed(
                self.executions[at].tag, self.executions[at].reaction, tuple(dict.fromkeys(made.pop(at))), said
            )

    def _maker(self, execution: int) -> Maker | None:
        if execution < 0:
            return None
        return self.executions[execution].reaction, self.executions[execution].tag

    def _maker_now(self, thing: Thing) -> int:
        """Who made what a port or an attribute has now; what is still on its way over a delay is not there."""
        if isinstance(thing, Attribute):
            return self._last(self._changes[thing], len(self.executions))
        if self.program.elements[thing].offset == (0, 0) or not self.executions:
            return self._last(self._writes[self._source(thing)], len(self.executions))
        now = self.executions[-1].tag
        arrived = [tag for element, tag in self._arrivals if element == thing and tag <= now]
        return self._arrivals[thing, max(arrived)] if arrived else -1

    def _reads(self, at: int) -> Iterator[Read]:
        execution = self.executions[at]
        elements = self.program.elements
        for element in execution.found or self.program.reactions[execution.reaction].triggers:
            if execution.found or elements[element].kind in _NOT_HELD:
                yield self._through(element, at)
        for element in execution.kept:
            yield Read(self.name(element), self._last(self._writes[element], at), "", self.name(element))
        for attribute in execution.read:
            name = self.name(attribute)
            elsewhere = attribute in execution.elsewhere
            by = -1 if elsewhere else self._last(self._changes[attribute], at)
            yield Read(name, by, "changed by another name" if elsewhere else "as it was made", name)
        for reactor in execution.draws:
            yield Read(f"{self.program.reactors[reactor].path}.rng", -1, "its random numbers", "")

    def _through(self, element: int, at: int) -> Read:
        """What an execution found at a port, timer or action."""
        row, tag, name = self.program.elements[element], self.executions[at].tag, self.name(element)
        if row.kind != Kind.PORT:
            return Read(name, self._schedulers.get((element, tag), -1), _ORIGINS[row.kind], name)
        if row.physical:
            return Read(name, -1, "from outside", "")
        source = self._source(element)
        if row.offset == (0, 0):
            by = self._last(self._writes[source], at)
            by = by if by >= 0 and self.executions[by].tag == tag else -1
        else:
            by = self._arrivals.get((element, tag), -1)
        return Read(name, by, "written in C", self.name(source))

    def _source(self, element: int) -> int:
        source = self.program.elements[element].source
        return source if source >= 0 else element

    def _last(self, makers: list[int], before: int) -> int:
        """The last of these executions before another one; -1: there was none."""
        n = bisect_left(makers, before)
        return makers[n - 1] if n else -1

    def name(self, thing: Thing) -> str:
        """The path of a port, an action or an attribute."""
        if isinstance(thing, Attribute):
            return f"{self.program.reactors[thing.reactor].path}.{thing.name}"
        return self.program.elements[thing].path


_NOT_HELD = (Kind.STARTUP, Kind.SHUTDOWN, Kind.RESET)  # which no reactor has as an object that says it is present

_ORIGINS = {
    Kind.TIMER: "a timer",
    Kind.STARTUP: "the start",
    Kind.SHUTDOWN: "the end",
    Kind.RESET: "a mode that was entered",
    Kind.ACTION: "scheduled in C",
    Kind.PHYSICAL_ACTION: "from outside",
}
