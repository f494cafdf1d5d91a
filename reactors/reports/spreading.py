"""Which placement would let parts of a program run at the same time, where all of it is on worker 0?

Reactions count as equally heavy, but for those that run once, at the start or the end. Two things gain: parts with
reactions of one level, which cannot affect one another at a tag; and, where events recur, parts on which nothing before
them waits, for what comes before can be at a later tag already.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from reactors.errors import ReactorWarning
from reactors_runtime import callers
from reactors_runtime.program import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors.drawing.records import ReactorNode
    from reactors.graph import Graph

_ONCE = (Kind.STARTUP, Kind.SHUTDOWN, Kind.RESET)
_ACTIONS = (Kind.ACTION, Kind.PHYSICAL_ACTION)
_ALL = -1  # in the place of a part: every part
_MOST = 12  # entries of a placement that is to be read and copied


def advice(graph: Graph, workers: int) -> str:
    """What to do about a program that is all on worker 0, as the end of a sentence.

    >>> import reactors as rx
    >>> class Clock(rx.Reactor):
    ...     tick = rx.Timer(0, "1 ms")
    ...     @rx.reaction(tick)
    ...     def on_tick(self): ...
    >>> class Main(rx.Reactor):
    ...     def __init__(self):
    ...         self.one, self.other = Clock(), Clock()
    >>> advice(rx.Graph(Main()), 2)
    'say placement={"main.other": 1}, and what does not wait for the rest runs beside it'
    """
    for parts in (_children(graph), _leaves(graph)):
        model = _Model(graph, parts)
        for placed in (_beside(model, workers), _ahead(model, workers)):
            if placed and (written := _written(parts, placed, workers)):
                return f"say placement={written}, and what does not wait for the rest runs beside it"
    if _is_serial(_Model(graph, [[node] for node in _all(graph.root)])):
        return f"its reactions wait for one another, and no placement changes that: leave workers={workers} out"
    return "placement= says what is to run elsewhere"


def warn_of_idleness(graph: Graph, where: list[int], workers: int) -> None:
    """Warn where nothing will happen, or nothing at the same time."""
    program = graph.program
    if not program.reactions and len(where) == 1:
        message = f"main (made at {graph.main._made_at}) has no reactions and contains no reactor; is a self. missing?"
        callers.warn(message, ReactorWarning)
    written = sum(not reactor.relay for reactor in program.reactors)
    if workers > 1 and written > 1 and not any(where):
        callers.warn(
            f"all {written} reactors of {graph.main.path} run on worker 0, and the others have nothing to do: by "
            f"default, only banks are spread; {advice(graph, workers)}",
            ReactorWarning,
        )


def _all(node: ReactorNode) -> Iterator[ReactorNode]:
    yield node
    for child in node.children:
        yield from _all(child)


def _children(graph: Graph) -> list[list[ReactorNode]]:
    """Parts: what the outermost reactor contains that contains several, each with all that is in it."""
    node = graph.root
    while len(node.children) == 1 and not node.reactions:
        node = node.children[0]
    return [[*_all(child)] for child in node.children if not child.mode]


def _leaves(graph: Graph) -> list[list[ReactorNode]]:
    """Parts: the reactors that contain none, where no mode decides where they are."""

    def free(node: ReactorNode) -> Iterator[ReactorNode]:
        if not node.mode:
            yield from (leaf for child in node.children for leaf in free(child)) if node.children else iter([node])

    return [[leaf] for leaf in free(graph.root)]


class _Model:
    """What each part has to do, and what it waits for. Part 0 is all that is in none, and stays on worker 0."""

    def __init__(self, graph: Graph, parts: list[list[ReactorNode]]) -> None:
        program = graph.program
        self.part_of = [0] * len(program.reactors)
        for n, nodes in enumerate(parts, 1):
            for node in nodes:
                self.part_of[node.reactor._index] = n
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


def _is_serial(model: _Model) -> bool:
    """Whether nothing ever runs beside anything else, wherever it is; False if only measured times could show it."""
    return bool(model.total) and not (model.slack or _beside(model, 2) or _ahead(model, 2))


def _written(parts: list[list[ReactorNode]], placed: list[int], workers: int) -> str:
    """A placement to be copied, with one entry for all members of a list; nothing if it is too long to be read."""
    rows: dict[str, list[tuple[str, int]]] = {}
    for (node, *_), worker in zip(parts, placed[1:], strict=True):
        name = node.path.rpartition("[")[0]
        listed = node.path == f"{name}[{len(rows.get(name, ()))}]"
        rows.setdefault(name if listed else node.path, []).append((node.path, worker))
    single, whole = [], []
    for name, members in rows.items():
        row = [worker for _, worker in members]
        rule = _rule(row, workers) if len(row) > 1 else ""
        if rule:
            whole.append(f'f"{name}[{{i}}]": {rule} for i in range({len(row)})')
        else:
            single += [f'"{path}": {worker}' for path, worker in members if worker]
    if len(single) + len(whole) > _MOST or any(c in name for name in rows for c in '"\\{}'):
        return ""
    if whole and not single and len(whole) == 1:
        return f"{{{whole[0]}}}"
    return f"{{{', '.join([*(f'**{{{each}}}' for each in whole), *single])}}}"


def _rule(row: list[int], workers: int) -> str:
    """The workers of a list as a formula of the index."""
    for first in range(workers):
        if row == [(i + first) % workers for i in range(len(row))]:
            return f"(i + {first}) % {workers}" if first else f"i % {workers}"
    return f"i * {workers} // {len(row)}" if row == [i * workers // len(row) for i in range(len(row))] else ""
