"""Where does "auto" put the reactors of a program that has no banks, so that its parts run at the same time?

Reactions count as equally heavy, but for those that run once, at the start or the end. Two things gain: parts with
reactions of one level, which cannot affect one another at a tag; and, where events recur, parts on which nothing before
them waits, for what comes before can be at a later tag already.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from reactors_runtime.program import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors_runtime.program import Program

_ONCE = (Kind.STARTUP, Kind.SHUTDOWN, Kind.RESET)
_ACTIONS = (Kind.ACTION, Kind.PHYSICAL_ACTION)
_ALL = -1  # in the place of a part: every part


def guessed(program: Program, workers: int) -> list[int]:
    """A worker for each reactor, all 0 where nothing is known to gain."""
    tree = _Tree(program)
    for parts in (tree.children(), tree.leaves()):
        model = _Model(program, parts)
        for placed in (_beside(model, workers), _ahead(model, workers)):
            if placed:
                return [placed[part] for part in model.part_of]
    return [0] * len(program.reactors)


def is_serial(program: Program) -> bool:
    """Whether nothing ever runs beside anything else, wherever it is; False if only measured times could show it."""
    model = _Model(program, [[number] for number, each in enumerate(program.reactors) if not each.relay])
    return bool(model.total) and not (model.slack or _beside(model, 2) or _ahead(model, 2))


class _Tree:
    """Which reactor contains which, by number."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.inside: dict[int, list[int]] = defaultdict(list)
        number_of = {each.path: number for number, each in enumerate(program.reactors) if not each.relay}
        for path, number in number_of.items():
            container = number_of.get(path.rpartition(".")[0])
            if container is not None:
                self.inside[container].append(number)
        self.acting = {reaction.reactor for reaction in program.reactions}

    def all_of(self, number: int) -> Iterator[int]:
        """A reactor and all that is in it."""
        yield number
        for child in self.inside[number]:
            yield from self.all_of(child)

    def children(self) -> list[list[int]]:
        """Parts: what the outermost reactor contains that contains several, each with all that is in it."""
        number = 0
        while len(self.inside[number]) == 1 and number not in self.acting:
            number = self.inside[number][0]
        return [[*self.all_of(child)] for child in self.inside[number] if self.program.reactors[child].mode < 0]

    def leaves(self) -> list[list[int]]:
        """Parts: the reactors that contain none, where no mode decides where they are."""

        def free(number: int) -> Iterator[int]:
            if self.program.reactors[number].mode < 0:
                inside = self.inside[number]
                yield from (leaf for child in inside for leaf in free(child)) if inside else iter([number])

        return [[leaf] for leaf in free(0)]


class _Model:
    """What each part has to do, and what it waits for. Part 0 is all that is in none, and stays on worker 0."""

    def __init__(self, program: Program, parts: list[list[int]]) -> None:
        self.part_of = [0] * len(program.reactors)
        for n, numbers in enumerate(parts, 1):
            for number in numbers:
                self.part_of[number] = n
        self.loads: list[Counter[int]] = [Counter() for _ in range(len(parts) + 1)]  # level -> reactions
        self.recurs: set[int] = set()  # parts that act again and again by themselves
        self.delays: dict[tuple[int, int], tuple[int, int]] = {}  # (part, one that reads it) -> the least delay
        self.slack = False  # something waits for what comes later by a time, not by microsteps
        self.longest = max((element.period for element in program.elements), default=0)
        writers: dict[int, list[int]] = defaultdict(list)
        for element in program.elements:
            if element.period or element.kind in _ACTIONS:
                self.recurs.add(self.part_of[element.reactor])
        for reaction in program.reactions:
            part = self.part_of[reaction.reactor]
            if any(program.elements[e].kind not in _ONCE for e in reaction.triggers):
                self.loads[part][reaction.level] += 1
            for effect in reaction.effects:
                writers[effect].append(part)
            if reaction.stop is not None:  # nothing goes beyond a tag at which the program may stop
                self._reads(part, _ALL, reaction.stop)
        for reaction in program.reactions:
            part = self.part_of[reaction.reactor]
            for e in (*reaction.triggers, *reaction.uses):
                element = program.elements[e]
                self.slack = self.slack or element.physical or element.offset[0] > 0
                for writer in writers[element.source] if element.source >= 0 and not element.physical else ():
                    self._reads(writer, part, element.offset)
                    if writer == part and element.offset > (0, 0):
                        self.recurs.add(part)

    def _reads(self, writer: int, reader: int, delay: tuple[int, int]) -> None:
        if writer != reader:
            self.delays[writer, reader] = min(delay, self.delays.get((writer, reader), delay))

    @property
    def total(self) -> int:
        """All reactions that count."""
        return sum(load.total() for load in self.loads)

    def groups(self) -> list[list[int]]:
        """Parts that wait for one another, group by group in the order in which values go through them.

        A part that waits only for values of more than the longest period ago is free to be ahead.
        """
        import networkx as nx

        graph: nx.DiGraph[int] = nx.DiGraph()
        parts = [n for n, load in enumerate(self.loads) if load]
        graph.add_edges_from((_ALL, n) for n in parts)
        graph.add_edges_from(ends for ends, (ns, _) in self.delays.items() if ns <= self.longest)
        whole = nx.condensation(graph.subgraph([_ALL, *parts]))
        members = {n: sorted(whole.nodes[n]["members"]) for n in whole}
        order = nx.lexicographical_topological_sort(whole, key=lambda n: members[n][0])
        return [found for n in order if (found := [part for part in members[n] if part != _ALL])]


def _beside(model: _Model, workers: int) -> list[int]:
    """The worker of each part, if parts with reactions of one level gain by it; else nothing."""
    placed = [0] * len(model.loads)
    done = [Counter(model.loads[0]), *(Counter[int]() for _ in range(workers - 1))]  # of each worker, by level
    most = Counter(model.loads[0])  # of any worker
    for part in sorted(range(1, len(placed)), key=lambda part: -model.loads[part].total()):
        load = model.loads[part]
        longer = [sum(max(0, own[at] + n - most[at]) for at, n in load.items()) for own in done]
        placed[part] = longer.index(min(longer))
        done[placed[part]].update(load)
        for at in load:
            most[at] = max(most[at], done[placed[part]][at])
    return placed if most.total() < model.total else []


def _ahead(model: _Model, workers: int) -> list[int]:
    """The worker of each part, if events recur and what comes first can be ahead of what comes later; else nothing."""
    placed = [0] * len(model.loads)
    before = 0
    recurs = False
    for group in model.groups():
        load = sum(model.loads[part].total() for part in group)
        for part in group:
            placed[part] = (2 * before + load) * workers // (2 * model.total) if recurs else 0  # where its middle is
        recurs = recurs or len(group) > 1 or group[0] in model.recurs
        before += load
    home = placed[0]
    swapped = [0 if worker == home else home if worker == 0 else worker for worker in placed]
    return swapped if any(swapped) else []
