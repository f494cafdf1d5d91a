"""Which reactors of a program are drawn, and which are drawn once for many?

The members of a bank that are alike, down to the reactors they contain, become one box with their number on it, and
what leads to any of them leads to that box. Members that differ get a box for each kind. So do those of a list, if what
they are connected to is alike, too, and none of it is another of them. With `expand`, all are drawn.

Reactors at a `depth` are closed boxes: their ports are drawn, and not what is inside.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from reactors.drawing.diagram import Box, Diagram, DrawnWire, Symbol, in_order, spans, times
from reactors.drawing.symbols import ENDS, after, ends, parts, symbols
from reactors.names.indices import without_indices

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from reactors.drawing.diagram import WireKind
    from reactors.drawing.records import ActionNode, Elaborated, ReactionNode, ReactorNode, TimerNode


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of a program is drawn."""

    expand: bool = False  # each reactor by itself
    siblings: bool = False  # all reactors of one container that look the same inside are drawn as one
    depth: int | None = None  # of the reactors that are closed; `main` is at 0

    @property
    def note(self) -> str:
        """What to say to people who have not asked for less than all."""
        less = ["what is alike is drawn once"] * self.siblings
        less += [f"reactors at depth {self.depth} are closed"] * (self.depth is not None)
        more = "expand=True (--expand) draws all" + ", depth= (--depth) more" * (self.depth is not None)
        return f"{', '.join(less)}; {more}" if less else ""


USUAL = Detail()


def reactors(graph: Elaborated, detail: Detail = USUAL, *, placed: Sequence[int] | None = None) -> Diagram:
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
    folding = _Folding(graph, detail, placed)
    box = folding.box_of["main"]
    return Diagram([box], in_order(folding.wires(), box.all_symbols()), folding.workers, detail.note)


def precedence(graph: Elaborated, detail: Detail = USUAL, *, placed: Sequence[int] | None = None) -> Diagram:
    """The precedence graph: a box for each level, with reactions that cannot affect one another at a tag."""
    folding = _Folding(graph, detail, placed)
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
    wires: dict[tuple[str, str], DrawnWire] = {}
    for before, later in graph.apg.edges:
        ports = graph.apg.edges[before, later]["ports"]
        pair = symbol_of[before].id, symbol_of[later].id
        wire = wires.setdefault(pair, DrawnWire(*pair, kind="order", channels=0))
        wire.kind = "connection" if ports else wire.kind
        wire.channels += 1
    return Diagram(levels, in_order(wires.values(), drawn.values()), folding.workers, detail.note)


class _Folding:
    """The boxes and symbols that stand for each reactor, port, timer, action and reaction, by path."""

    def __init__(self, graph: Elaborated, detail: Detail, placed: Sequence[int] | None) -> None:
        self.box_of: dict[str, Box] = {}
        self.symbol_of: dict[str, Symbol] = {}
        self.workers = 0 if placed is None else max(placed) + 1
        self._detail = detail
        self._drawn: list[ReactorNode] = []  # the reactors that are neither folded away nor closed
        self._closed: list[ReactorNode] = []
        self._shapes: dict[Hashable, int] = {}
        self._draw(graph.root, "main", "main", None, 0)
        for reactor, worker in zip(graph.program.reactors, placed or (), strict=False):
            if reactor.relay:
                continue
            self.box_of[reactor.path].workers[worker] += 1

    def _draw(self, node: ReactorNode, identity: str, name: str, count: int | None, depth: int) -> Box:
        box = self.box_of[node.path] = Box(identity, name, node.class_name, count, closed=depth == self._detail.depth)
        if box.closed:
            self._close(node, box, identity)
            return box
        self._drawn.append(node)
        modes = {
            name: Box(f"{identity}|{name}", name, "initial mode" if first else "mode") for name, first in node.modes
        }
        own: list[TimerNode | ActionNode | ReactionNode] = [*node.timers, *node.actions, *node.reactions]
        mode_of = {part.path: part.mode for part in own}
        for path, symbol in symbols(node, identity):
            modes.get(mode_of.get(path, ""), box).symbols.append(symbol)
            self.symbol_of[path] = symbol
        for members, called, number in self._groups(node, closed=depth + 1 == self._detail.depth):
            first, *others = members
            drawn = self._draw(first, f"{identity}.{called}", called, number, depth + 1)
            modes.get(first.mode, box).boxes.append(drawn)
            for other in others:
                self._join(other, first)
            if any(other.class_name != first.class_name for other in others):
                drawn.kind = f"{first.class_name} and others"
        box.boxes.extend(modes.values())
        return box

    def _close(self, node: ReactorNode, box: Box, identity: str) -> None:
        self._closed.append(node)
        ports = {port.path for port in (*node.inputs, *node.outputs)}
        for path, symbol in symbols(node, identity):
            if path in ports:
                box.symbols.append(symbol)
                self.symbol_of[path] = symbol
        inside = self._enclose(node, box)
        box.kind += f", {inside} inside" * bool(inside)

    def _enclose(self, node: ReactorNode, box: Box) -> int:
        """Let a closed box stand for all that a reactor contains, and return how many that are."""
        for child in node.children:
            self.box_of[child.path] = box
        return len(node.children) + sum(self._enclose(child, box) for child in node.children)

    def _join(self, node: ReactorNode, drawn: ReactorNode) -> None:
        """Let what is drawn of one reactor stand for another that looks the same."""
        box = self.box_of[node.path] = self.box_of[drawn.path]
        if box.closed:
            self._enclose(node, box)
            pairs = zip((*node.inputs, *node.outputs), (*drawn.inputs, *drawn.outputs), strict=True)
            self.symbol_of.update((one.path, self.symbol_of[other.path]) for one, other in pairs)
            return
        for one, other in zip(parts(node), parts(drawn), strict=True):
            self.symbol_of[one.path] = self.symbol_of[other.path]
        for child, drawn_child in zip(node.children, drawn.children, strict=True):
            self._join(child, drawn_child)

    def _groups(self, node: ReactorNode, *, closed: bool) -> Iterator[tuple[list[ReactorNode], str, int | None]]:
        """What the reactor contains: those that are drawn as one, their name, and their number if they are several."""
        wired = {} if self._detail.siblings or self._detail.expand else _wired(node)
        alike: dict[Hashable, list[ReactorNode]] = {}
        kinds: Counter[str] = Counter()  # of each bank and list, how many there are
        for child in node.children:
            row = _row(child)
            key: Hashable = child.path
            if not self._detail.expand and (row or self._detail.siblings):
                look = _ports(child) if closed and self._detail.siblings else self._shape(child)
                key = (row, look, wired.get(child.path))
            kinds[row] += key not in alike
            alike.setdefault(key, []).append(child)
        for some in alike.values():
            first, row = some[0], _row(some[0])
            if self._detail.expand or (len(some) == 1 and not first.bank):
                yield some, first.name, None
            elif not row:
                yield some, f"{first.name} to {some[-1].name}", len(some)
            else:
                which = f"[{spans(_index(member) for member in some)}]" if kinds[row] > 1 else ""
                yield some, row.removeprefix(f"{node.path}.") + which, len(some)

    def _shape(self, node: ReactorNode) -> int:
        """A number that is the same for reactors that look the same inside."""
        at = len(node.path)
        key = (
            node.class_name,
            _ports(node),
            (*node.modes, node.mode),
            tuple((timer.name, timer.offset, timer.period, timer.mode) for timer in node.timers),
            tuple((a.name, a.physical, a.min_delay, a.min_spacing, a.policy, a.mode) for a in node.actions),
            tuple((r.name, r.stops, r.deadline, r.native, r.mode, *r.transitions) for r in node.reactions),
            tuple(tuple(end[at:] for end in ends(node, r, group)) for r in node.reactions for group in ENDS),
            tuple((child.name, self._shape(child)) for child in node.children),
            tuple((c.source[at:], c.target[at:], c.delay, c.physical, c.mode) for c in node.connections),
        )
        return self._shapes.setdefault(key, len(self._shapes))

    def wires(self) -> Iterator[DrawnWire]:
        """All that leads from one symbol to another, each once."""
        found: dict[tuple[str, str, str], DrawnWire] = {}
        for wire in chain(*map(self._of, self._drawn), *map(self._through, self._closed)):
            same = found.setdefault((wire.source, wire.target, f"{wire.kind} {wire.note}"), wire)
            same.channels += same is not wire
        return iter(found.values())

    def _of(self, node: ReactorNode) -> Iterator[DrawnWire]:
        for reaction in node.reactions:
            identity = self.symbol_of[reaction.path].id
            groups: tuple[tuple[str, WireKind], ...] = (("triggers", "trigger"), ("uses", "use"))
            for group, kind in groups:
                for end in ends(node, reaction, group):
                    symbol = self._symbol(end)
                    yield DrawnWire(symbol.id, identity, kind, delayed=symbol.kind.endswith("action"))
            for end in ends(node, reaction, "effects"):
                yield DrawnWire(identity, self._symbol(end).id, "effect")
        for c in node.connections:
            mode = f"in {c.mode}" if c.mode else ""
            note = ", ".join(filter(None, (after(c.delay), "physical" if c.physical else "", mode)))
            source, target = self._symbol(c.source).id, self._symbol(c.target).id
            yield DrawnWire(
                source, target, "connection", note, delayed=c.delay != (0, 0) or c.physical, physical=c.physical
            )

    def _through(self, node: ReactorNode) -> Iterator[DrawnWire]:
        """From the inputs of a closed reactor to its outputs, whatever leads there inside."""
        ins, outs = ([self._symbol(port.path).id for port in ports] for ports in (node.inputs, node.outputs))
        for n in range(max(len(ins), len(outs)) if ins and outs else 0):
            yield DrawnWire(ins[min(n, len(ins) - 1)], outs[min(n, len(outs) - 1)], "through")

    def _symbol(self, path: str) -> Symbol:
        return self.symbol_of.get(path) or self.symbol_of[path[: path.rindex("[")]]  # a channel of a multiport


def _ports(node: ReactorNode) -> Hashable:
    return tuple((port.direction, port.name, port.width, port.type) for port in (*node.inputs, *node.outputs))


def _row(node: ReactorNode) -> str:
    """The path of the bank or list that a reactor is in; "" if it is in none."""
    if node.bank is not None:
        return node.bank[0]
    before, _, index = node.path.removesuffix("]").rpartition("[")
    return before if node.path.endswith("]") and index.isdecimal() else ""


def _index(node: ReactorNode) -> int:
    return node.bank[1] if node.bank is not None else int(node.path[:-1].rpartition("[")[2])


def _wired(node: ReactorNode) -> dict[str, Hashable]:
    """What each member of a list is connected to in the reactor that contains it, equal where this is alike."""
    row_of = {child.path: row for child in node.children if child.bank is None and (row := _row(child))}
    owner = {port.path: child.path for child in node.children for port in (*child.inputs, *child.outputs)}
    found: dict[str, set[Hashable]] = {path: set() for path in row_of}

    def note(end: str, other: str, *how: Hashable) -> None:
        port = end if end in owner else end.rpartition("[")[0]  # a channel of a multiport
        mine, theirs = owner.get(port, ""), owner.get(other) or owner.get(other.rpartition("[")[0], "")
        if mine in row_of:
            among = row_of.get(theirs) == row_of[mine]
            found[mine].add((port[len(mine) :], other if among else without_indices(other), *how))

    for c in node.connections:
        note(c.source, c.target, c.delay, c.physical, c.mode)
        note(c.target, c.source, c.delay, c.physical, c.mode)
    for reaction in node.reactions:
        for group in ENDS:
            for end in ends(node, reaction, group):
                note(end, reaction.path, group)
    return {path: frozenset(each) for path, each in found.items()}
