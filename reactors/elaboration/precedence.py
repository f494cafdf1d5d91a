"""Stage 5, ordering: in which order do the reactions of one tag run, and is there one?

By inferred deadline, then by level, then in order of elaboration. Reaction A comes before B if both belong to one
reactor and A stands first, or if A may write a port that B reads without delay. This relation is the acyclic precedence
graph. A topological order of it (Kahn's algorithm) gives each reaction its level: the length of the longest chain
before it. The way back, as in the method of the critical path, gives its inferred deadline: the least of its own and
those of all that must run after it, so sorting by it first still puts everything after what it needs. A cycle means
reactions that wait for each other, and the error shows a shortest one port by port (a breadth-first search).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from reactors.elaboration.reactions import Enlisted
from reactors.errors import CausalityError
from reactors_runtime.program import FOREVER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from reactors.elaboration.tree import Tree
    from reactors.elaboration.wiring import Wiring
    from reactors_runtime.program import Element, Mode
    from reactors_runtime.program import Reaction as Row


class Precedence(NamedTuple):
    """The precedence graph: reactions by their number in order of elaboration."""

    reactions: Sequence[Row]
    elements: Sequence[Element]
    written: Mapping[int, Sequence[int]]  # element -> the reactions that write it, in order
    modes: Sequence[Mode]

    def edges(self) -> list[tuple[int, int, int]]:
        """All of it as (before, after, element that the latter reads); -1: their order in one reactor."""
        found = [(before, r, -1) for before, r in self.in_order()]
        for r, reaction in enumerate(self.reactions):
            for e in dict.fromkeys((*reaction.triggers, *reaction.uses)):
                if self.elements[e].undelayed:
                    found += [(writer, r, e) for writer in self.written.get(self.elements[e].source, ())]
        return found

    def in_order(self) -> Iterator[tuple[int, int]]:
        """Reactions of one reactor are in order, but for those of different modes: each with those right before it."""
        last: dict[int, int] = {}  # mode -> the last reaction so far; -1: of no mode of this reactor
        for r, reaction in enumerate(self.reactions):
            if not r or self.reactions[r - 1].reactor != reaction.reactor:
                last.clear()
            own = reaction.mode if reaction.mode >= 0 and self.modes[reaction.mode].reactor == reaction.reactor else -1
            if own < 0:
                yield from ((before, r) for before in last.values())
                last.clear()
            elif own in last:
                yield last[own], r
            elif -1 in last:
                yield last[-1], r
            last[own] = r


def order(tree: Tree, reactions: Sequence[Enlisted], wiring: Wiring, elements: Sequence[Element]) -> list[Enlisted]:
    """The reactions with their levels and inferred deadlines, in the order in which those of one tag run."""
    rows = [each.row for each in reactions]
    precedence = Precedence(rows, elements, wiring.written, tree.modes)
    followers = _followers(precedence)
    levels = _levels(followers)
    if levels is None:
        raise _cycle_error(precedence, tree, wiring, reactions)
    deadlines = [FOREVER if row.deadline is None else row.deadline for row in rows]
    if any(row.deadline is not None for row in rows):
        for r in sorted(range(len(rows)), key=levels.__getitem__, reverse=True):
            deadlines[r] = min([deadlines[r], *(deadlines[after] for after in followers[r])])
    static = sorted(range(len(rows)), key=lambda r: (deadlines[r], levels[r]))  # it is stable
    return [Enlisted(rows[r].ordered(levels[r], deadlines[r]), *reactions[r][1:]) for r in static]


def _followers(precedence: Precedence) -> list[list[int]]:
    """The reactions that have to wait for each."""
    reactions, elements, written = precedence.reactions, precedence.elements, precedence.written
    followers: list[list[int]] = [[] for _ in reactions]
    for before, r in precedence.in_order():
        followers[before].append(r)
    for r, reaction in enumerate(reactions):
        for ends in (reaction.triggers, reaction.uses):
            for e in ends:
                element = elements[e]
                if element.undelayed:
                    for writer in written[element.source]:
                        followers[writer].append(r)
    return followers


def _levels(followers: Sequence[Sequence[int]]) -> list[int] | None:
    """The level of each reaction, by Kahn's algorithm; None if there is a cycle."""
    waiting = [0] * len(followers)
    for each in followers:
        for after in each:
            waiting[after] += 1
    levels = [0] * len(followers)
    done = [r for r, n in enumerate(waiting) if not n]
    for r in done:  # by level, so the last one before a reaction is the highest
        for after in followers[r]:
            levels[after] = levels[r] + 1
            waiting[after] -= 1
            if not waiting[after]:
                done.append(after)
    return levels if len(done) == len(followers) else None


def _cycle_error(precedence: Precedence, tree: Tree, wiring: Wiring, reactions: Sequence[Enlisted]) -> CausalityError:
    """The error that shows a shortest cycle."""
    edges = precedence.edges()
    outgoing: dict[int, list[tuple[int, int]]] = {}
    for before, after, e in edges:
        outgoing.setdefault(before, []).append((after, e))
    cycle = min((found for r in _on_cycles(outgoing) if (found := _way_back(outgoing, r))), key=len)
    first = cycle.index(min(cycle))
    cycle = cycle[first:] + cycle[:first]
    lines = ["a causality cycle: within one tag, each of these would have to happen before the next"]
    for k, (r, e, after) in enumerate(cycle):
        lines.append(_line(tree, reactions[r], cycle[k - 1][1]))
        if e < 0:
            lines.append(f"    and stands before {reactions[after].path} in the same reactor")
        else:
            lines.append(f"    sets {_flow(tree, wiring, e)}")
    lines.append(f"  {reactions[cycle[0][0]].path} again")
    orders = any(e < 0 for _, e, _ in cycle)
    ordered = ", or declare the reaction that reads below the one that writes" if orders else ""
    wires = any(e >= 0 and e in wiring.up for _, e, _ in cycle)
    remedy = (
        "delay one of these connections (after=0 is one microstep)"
        if wires
        else "let one of them act through an action"
    )
    return CausalityError("\n".join(lines) + f"\n{remedy}{ordered}")


def _on_cycles(outgoing: dict[int, list[tuple[int, int]]]) -> list[int]:
    """Some reactions that lie on cycles: followed far enough, every way among what cannot run ends in one."""
    found: dict[int, None] = {}
    done: set[int] = set()
    for start, first in outgoing.items():
        if start in done:
            continue
        position = {start: 0}
        stack = [(start, iter(first))]
        while stack:
            r, ways = stack[-1]
            for after, _ in ways:
                if after in position:
                    found[after] = None
                elif after not in done:
                    position[after] = len(stack)
                    stack.append((after, iter(outgoing.get(after, ()))))
                    break
            else:
                done.add(r)
                del position[r]
                stack.pop()
        if len(found) > 32:
            break
    return list(found)


def _way_back(outgoing: dict[int, list[tuple[int, int]]], start: int) -> list[tuple[int, int, int]]:
    """A shortest way from a reaction to itself, as (reaction, element it goes through, next reaction)."""
    came: dict[int, tuple[int, int]] = {}
    queue = deque([start])
    while queue:
        r = queue.popleft()
        for after, e in outgoing.get(r, ()):
            if after == start:
                way = [(r, e, start)]
                while r != start:
                    before, through = came[r]
                    way.append((before, through, r))
                    r = before
                return way[::-1]
            if after not in came:
                came[after] = (r, e)
                queue.append(after)
    return []


def _line(tree: Tree, reaction: Enlisted, read: int) -> str:
    row, declaration, path = reaction
    text = f"  {path} ({declaration.location})"
    if read < 0:
        return text
    verb = "is triggered by" if read in row.triggers else "reads"
    return f"{text} {verb} {tree.elements[read].path}"


def _flow(tree: Tree, wiring: Wiring, e: int) -> str:
    steps = [tree.elements[e].path]
    while (wire := wiring.up.get(e)) is not None:
        steps.append(f"{tree.elements[wire.source].path} -({wire.connection.location})-> ")
        e = wire.source
    first = tree.handles[e]
    return "".join(reversed(steps)) if len(steps) > 1 else f"{first.path}, which the next one reads"
