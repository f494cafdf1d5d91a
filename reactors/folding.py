"""Which reactors of a program are drawn, and which are drawn once for many?

The members of a bank that are alike, down to the reactors they contain, become one box with their number on it, and
what leads to any of them leads to that box. Members that differ get a box for each kind. With `expand`, all are drawn.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from reactors.diagram import Box, Diagram, Symbol, Wire, in_order, spans, times
from reactors.symbols import ENDS, after, ends, parts, symbols

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from reactors.diagram import WireKind
    from reactors.graph import Graph
    from reactors.nodes import ActionNode, ReactionNode, ReactorNode, TimerNode


def reactors(graph: Graph, *, expand: bool = False, placed: Sequence[int] | None = None) -> Diagram:
    """The reactors of a program, nested as they are; `placed` has the worker of each.

    >>> import reactors as rx
    >>> class Cell(rx.Reactor):
    ...     inp, out = rx.Input(int), rx.Output(int)
    >>> class Row(rx.Reactor):
    ...     def __init__(self):
    ...         self.cells = rx.bank(3, Cell)
    ...         rx.connect(self.cells[0].out, self.cells[1].inp, after="1 ms")
    >>> diagram = reactors(rx.Graph(Row()))
    >>> [(box.name, box.count) for box in diagram.boxes[0].boxes]
    [('cells', 3)]
    >>> [(wire.source, wire.target, wire.note) for wire in diagram.wires]
    [('main.cells.out', 'main.cells.inp', 'after 1 ms')]
    """
    folding = _Folding(graph, expand=expand, placed=placed)
    box = folding.box_of["main"]
    return Diagram([box], in_order(folding.wires(), box.all_symbols()), folding.workers)


def precedence(graph: Graph, *, expand: bool = False, placed: Sequence[int] | None = None) -> Diagram:
    """The precedence graph: a box for each level, with reactions that cannot affect one another at a tag."""
    folding = _Folding(graph, expand=expand, placed=placed)
    levels: list[Box] = []
    drawn: dict[str, Symbol] = {}
    symbol_of: dict[str, Symbol] = {}
    counts: Counter[str] = Counter()
    for name, row in zip(graph.names, graph.program.reactions, strict=True):
        reactor = graph.program.reactors[row.reactor]
        if reactor.relay:
            box, symbol = Box(reactor.path, reactor.path), Symbol(name, "reaction", "connection", number=1)
        else:
            box, symbol = folding.box_of[reactor.path], folding.symbol_of[name]
        while row.level >= len(levels):
            levels.append(Box(f"level {len(levels)}", f"level {len(levels)}", in_order=False))
        identity = f"{symbol.id}, level {row.level}"
        if identity not in drawn:
            drawn[identity] = Symbol(identity, "reaction", symbol.name, [box.id], symbol.number, symbol.detail)
            levels[row.level].symbols.append(drawn[identity])
        symbol_of[name] = drawn[identity]
        counts[identity] += 1
        if placed is not None:
            drawn[identity].workers[placed[row.reactor]] += 1
    for identity, count in counts.items():
        drawn[identity].notes[0] += times(count if count > 1 else None)
    wires: dict[tuple[str, str], Wire] = {}
    for before, later in graph.apg.edges:
        ports = graph.apg.edges[before, later]["ports"]
        pair = symbol_of[before].id, symbol_of[later].id
        wire = wires.setdefault(pair, Wire(*pair, kind="order", channels=0))
        wire.kind = "connection" if ports else wire.kind
        wire.channels += 1
    return Diagram(levels, in_order(wires.values(), drawn.values()), folding.workers)


class _Folding:
    """The boxes and symbols that stand for each reactor, port, timer, action and reaction, by path."""

    def __init__(self, graph: Graph, *, expand: bool, placed: Sequence[int] | None) -> None:
        self.box_of: dict[str, Box] = {}
        self.symbol_of: dict[str, Symbol] = {}
        self.workers = 0 if placed is None else max(placed) + 1
        self._expand = expand
        self._drawn: list[ReactorNode] = []  # the reactors that are not folded away
        self._shapes: dict[Hashable, int] = {}
        self._draw(graph.root, "main", "main", None)
        for reactor, worker in zip(graph.program.reactors, placed or (), strict=False):
            if reactor.relay:
                continue
            self.box_of[reactor.path].workers[worker] += 1

    def _draw(self, node: ReactorNode, identity: str, name: str, count: int | None) -> Box:
        box = self.box_of[node.path] = Box(identity, name, node.class_name, count)
        self._drawn.append(node)
        modes = {
            name: Box(f"{identity}|{name}", name, "initial mode" if first else "mode") for name, first in node.modes
        }
        own: list[TimerNode | ActionNode | ReactionNode] = [*node.timers, *node.actions, *node.reactions]
        mode_of = {part.path: part.mode for part in own}
        for path, symbol in symbols(node, identity):
            modes.get(mode_of.get(path, ""), box).symbols.append(symbol)
            self.symbol_of[path] = symbol
        for members, called, number in self._groups(node):
            first, *others = members
            drawn = self._draw(first, f"{identity}.{called}", called, number)
            modes.get(first.mode, box).boxes.append(drawn)
            for other in others:
                self._join(other, first)
        box.boxes.extend(modes.values())
        return box

    def _join(self, node: ReactorNode, drawn: ReactorNode) -> None:
        """Let what is drawn of one reactor stand for another of the same shape."""
        self.box_of[node.path] = self.box_of[drawn.path]
        for one, other in zip(parts(node), parts(drawn), strict=True):
            self.symbol_of[one.path] = self.symbol_of[other.path]
        for child, drawn_child in zip(node.children, drawn.children, strict=True):
            self._join(child, drawn_child)

    def _groups(self, node: ReactorNode) -> Iterator[tuple[list[ReactorNode], str, int | None]]:
        """What the reactor contains: those that are drawn as one, their name, and their number if they are a bank."""
        banks: dict[str, list[ReactorNode]] = {}
        for child in node.children:
            banks.setdefault(child.path if child.bank is None or self._expand else child.bank[0], []).append(child)
        for path, members in banks.items():
            if members[0].bank is None or self._expand:
                yield members, members[0].name, None
                continue
            name = path.removeprefix(f"{node.path}.")
            alike: dict[int, list[ReactorNode]] = {}
            for member in members:
                alike.setdefault(self._shape(member), []).append(member)
            for some in alike.values():
                which = f"[{spans(member.bank[1] for member in some if member.bank)}]" if len(alike) > 1 else ""
                yield some, name + which, len(some)

    def _shape(self, node: ReactorNode) -> int:
        """A number that is the same for reactors that look the same inside."""
        at = len(node.path)
        key = (
            node.class_name,
            tuple((port.direction, port.name, port.width, port.type) for port in (*node.inputs, *node.outputs)),
            (*node.modes, node.mode),
            tuple((timer.name, timer.offset, timer.period, timer.mode) for timer in node.timers),
            tuple((a.name, a.physical, a.min_delay, a.min_spacing, a.policy, a.mode) for a in node.actions),
            tuple((r.name, r.stops, r.deadline, r.native, r.mode, *r.transitions) for r in node.reactions),
            tuple(tuple(end[at:] for end in ends(node, r, group)) for r in node.reactions for group in ENDS),
            tuple((child.name, self._shape(child)) for child in node.children),
            tuple((c.source[at:], c.target[at:], c.delay, c.physical, c.mode) for c in node.connections),
        )
        return self._shapes.setdefault(key, len(self._shapes))

    def wires(self) -> Iterator[Wire]:
        """All that leads from one symbol to another, each once."""
        found: dict[tuple[str, str, str], Wire] = {}
        for node in self._drawn:
            for wire in self._of(node):
                same = found.setdefault((wire.source, wire.target, f"{wire.kind} {wire.note}"), wire)
                same.channels += same is not wire
        return iter(found.values())

    def _of(self, node: ReactorNode) -> Iterator[Wire]:
        for reaction in node.reactions:
            identity = self.symbol_of[reaction.path].id
            groups: tuple[tuple[str, WireKind], ...] = (("triggers", "trigger"), ("uses", "use"))
            for group, kind in groups:
                for end in ends(node, reaction, group):
                    symbol = self._symbol(end)
                    yield Wire(symbol.id, identity, kind, delayed=symbol.kind.endswith("action"))
            for end in ends(node, reaction, "effects"):
                yield Wire(identity, self._symbol(end).id, "effect")
        for c in node.connections:
            mode = f"in {c.mode}" if c.mode else ""
            note = ", ".join(filter(None, (after(c.delay), "physical" if c.physical else "", mode)))
            source, target = self._symbol(c.source).id, self._symbol(c.target).id
            yield Wire(source, target, "connection", note, delayed=c.delay != (0, 0) or c.physical, physical=c.physical)

    def _symbol(self, path: str) -> Symbol:
        return self.symbol_of.get(path) or self.symbol_of[path[: path.rindex("[")]]  # a channel of a multiport
