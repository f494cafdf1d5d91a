"""How is a diagram written for the program `dot`?

Values flow from left to right. The reactions of a reactor are the rows of one table, for only so does `dot` keep them
in order. It puts the head of every wire to the right of its tail, so the wires of a cycle that lead back are turned
round for it: those with a delay, where there are such, for they are what closes cycles.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, TypeAlias

from reactors.drawing.diagram import NOTHING, colour, heat, times

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors.drawing.diagram import Box, Diagram, DrawnWire, Symbol, SymbolKind, WireKind

_INK, _GREY, _LINE, _PAPER = "#1e293b", "#64748b", "#94a3b8", "#ffffff"
_FILLS = ("#f8fafc", "#eef2f7")  # of boxes in boxes, by turns
_ON_INK = {"stop": "#fca5a5", "deadline": "#fcd34d"}  # notes on the dark of a reaction, by their first word
_MOST_CHIPS = 16
_FONT = 'fontname="Helvetica,Arial,sans-serif"'

_SHAPES: dict[SymbolKind, str] = {
    "input": 'shape=box style="filled,rounded"',
    "output": 'shape=box style="filled,rounded"',
    "reaction": f'shape=box style="filled,rounded" color="{_INK}" fillcolor="{_INK}" fontcolor="{_PAPER}"',
    "timer": 'shape=ellipse margin="0.02,0.01"',
    "logical action": 'shape=plain style=""',
    "physical action": 'shape=plain style=""',
    "startup": 'shape=ellipse margin="0.02,0.01"',
    "shutdown": 'shape=octagon margin="0.01,0.01"',
    "reset": 'shape=ellipse margin="0.02,0.01"',
}
_BADGES: dict[SymbolKind, tuple[str, str]] = {"logical action": ("L", _GREY), "physical action": ("P", "#b45309")}
_LINES: dict[WireKind, str] = {
    "connection": f'color="{_INK}"',
    "trigger": "",
    "use": "style=dashed",
    "effect": "",
    "order": "style=dashed arrowhead=open",
    "through": "style=invis",  # it is there for the order from left to right
}

Tables: TypeAlias = dict[str, tuple[str, int]]  # of reactions that are rows of a table: its name, and the row


def dot_text(diagram: Diagram) -> str:
    """The diagram in the DOT language.

    >>> from reactors.drawing.diagram import Box, Diagram, Symbol
    >>> print(dot_text(Diagram([Box("main", "main", "Hello", symbols=[Symbol("main.n", "output", "n")])], [])))
    digraph {...
      subgraph "cluster main" {...
        "main.n" [shape=box style="filled,rounded" label=<n>]
      }
    }
    """
    return "\n".join(_lines(diagram))


def _lines(diagram: Diagram) -> Iterator[str]:
    yield "digraph {"
    yield f'  graph [rankdir=LR nodesep=0.16 ranksep=0.4 {_FONT} fontsize=12 bgcolor="{_PAPER}"]'
    yield f'  node [{_FONT} fontsize=10 fontcolor="{_INK}" height=0.25 width=0.3 margin="0.1,0.04"]'
    yield f'  node [style=filled fillcolor="{_PAPER}" color="{_GREY}"]'
    yield f'  edge [{_FONT} fontsize=9 fontcolor="{_INK}" arrowsize=0.6 color="{_GREY}"]'
    if diagram.workers or diagram.note:
        yield f"  graph [label={_legend(diagram)} labelloc=b labeljust=l]"
    tables: Tables = {}
    beside = _beside(diagram)
    for box in diagram.boxes:
        yield from _cluster(box, 1, {}, tables, beside)
    back = backward(diagram, tables)
    for n, wire in enumerate(diagram.wires):
        yield f"  {_edge(wire, tables, turned=n in back)}"
    yield "}"


def _cluster(box: Box, depth: int, around: dict[int, int], tables: Tables, beside: dict[str, float]) -> Iterator[str]:
    """A box; the tables of those of its symbols that are rows of a table are added to `tables`.

    Symbols next to a table come in the order of the rows that they are `beside`, and `dot` begins with that order.
    """
    at = "  " * depth
    fill = colour(*box.workers) if len(box.workers) == 1 else _FILLS[depth % 2]
    chips = box.workers if len(box.workers) > 1 and box.workers != around else {}
    yield f"{at}subgraph {_quoted(f'cluster {box.id}')} {{"
    yield f"{at}  label={_title(box, chips)} labelloc=t labeljust=l"
    yield f'{at}  style="filled,rounded" fillcolor="{fill}" color="{_LINE}"'
    rows = [symbol for symbol in box.symbols if symbol.kind == "reaction" and box.in_order and not box.boxes]
    for symbol in sorted(box.symbols, key=lambda symbol: beside.get(symbol.id, 0.0)) if rows else box.symbols:
        if symbol not in rows:
            yield f"{at}  {_node(symbol)}"
    if rows:
        table = f"{box.id}|reactions"
        tables.update((symbol.id, (table, symbol.number)) for symbol in rows)
        yield f'{at}  {_quoted(table)} [shape=plain style="" tooltip={_quoted(f"reactions of {box.id}")} label=<'
        yield f'{at}    <table border="0" cellborder="1" cellspacing="4" cellpadding="4" color="{_INK}">'
        for symbol in rows:
            ground = _INK if symbol.load is None else heat(symbol.load)
            look = f'style="rounded" bgcolor="{ground}"'
            yield f'{at}    <tr><td port="{symbol.number}" {look}>{_label(symbol)}</td></tr>'
        yield f"{at}    </table>>]"
    if not box.symbols and not box.boxes:
        yield f'{at}  {_quoted(box.id)} [shape=plain style="" label="{NOTHING[box.closed]}" fontcolor="{_GREY}"]'
    for inner in box.boxes:
        yield from _cluster(inner, depth + 1, box.workers, tables, beside)
    yield f"{at}}}"


def _beside(diagram: Diagram) -> dict[str, float]:
    """The mean number of the reactions that a symbol leads to or comes from."""
    number = {symbol.id: symbol.number for symbol in diagram.symbols() if symbol.kind == "reaction"}
    rows: dict[str, list[int]] = {}
    for wire in diagram.wires:
        for one, other in ((wire.source, wire.target), (wire.target, wire.source)):
            if other in number and one not in number:
                rows.setdefault(one, []).append(number[other])
    return {symbol: sum(found) / len(found) for symbol, found in rows.items()}


def _title(box: Box, chips: dict[int, int]) -> str:
    kind = f' <font color="{_GREY}">{_marked_up(box.kind)}</font>' if box.kind else ""
    title = f"<b>{_marked_up(box.name)}{times(box.count)}</b>{kind}"
    if not chips:
        return f"<{title}>"
    shown = sorted(chips)[:_MOST_CHIPS]
    cells = [f'<td bgcolor="{colour(worker)}"><font point-size="9"> {worker} </font></td>' for worker in shown]
    if len(chips) > len(shown):
        cells.append(f'<td border="0"><font point-size="9">+{len(chips) - len(shown)}</font></td>')
    table = f'<table border="0" cellborder="1" cellspacing="2" cellpadding="1" color="{_LINE}">'
    return f'<{table}<tr><td border="0">{title} </td>{"".join(cells)}</tr></table>>'


def _node(symbol: Symbol) -> str:
    look = _SHAPES[symbol.kind]
    if symbol.load is not None:
        look = f'shape=box style="filled,rounded" color="{_INK}" fillcolor="{heat(symbol.load)}"'
    elif symbol.workers:
        total = sum(symbol.workers.values())
        shares = [f"{colour(worker)};{n / total:.4f}" for worker, n in sorted(symbol.workers.items())]
        fill = ":".join((*shares[:-1], colour(max(symbol.workers))))
        style = "striped" if len(shares) > 1 else "filled,rounded"
        look = f'shape=box style="{style}" color="{_GREY}" fillcolor="{fill}"'
    tooltip = f" tooltip={_quoted(symbol.detail)}" if symbol.detail else ""
    return f"{_quoted(symbol.id)} [{look} label=<{_label(symbol)}>{tooltip}]"


def _label(symbol: Symbol) -> str:
    on_ink = symbol.kind == "reaction" and not symbol.workers and symbol.load is None
    name = f"<b>{symbol.number}</b>  {_marked_up(symbol.name)}" if symbol.number else _marked_up(symbol.name)
    lines = [f'<font color="{_PAPER}">{name}</font>' if on_ink else name]
    for note in symbol.notes:
        shade = _ON_INK.get(note.partition(" ")[0], _LINE) if on_ink else _GREY if symbol.load is None else _INK
        lines.append(f'<font point-size="8" color="{shade}">{_marked_up(note)}</font>')
    text = "<br/>".join(lines)
    if symbol.kind not in _BADGES:
        return text
    letter, shade = _BADGES[symbol.kind]
    badge = f'<td bgcolor="{shade}"><font color="{_PAPER}"><b>{letter}</b></font></td>'
    table = f'<table border="0" cellborder="1" cellspacing="0" cellpadding="3" color="{shade}">'
    return f'{table}<tr>{badge}<td bgcolor="{_PAPER}">{text}</td></tr></table>'


def _edge(wire: DrawnWire, tables: Tables, *, turned: bool) -> str:
    heavy = wire.channels > 1 and wire.kind == "connection"
    looks = [_LINES[wire.kind], "penwidth=2" if heavy else "", "style=dotted" if wire.physical else ""]
    looks += [f'color="{heat(1.0)}" penwidth=2'] if wire.hot else []
    looks += ["dir=back" if turned else "", f"label={_quoted(wire.note)}" if wire.note else ""]
    tail, head = (wire.target, wire.source) if turned else (wire.source, wire.target)
    look = " ".join(filter(None, looks))
    return f"{_end(tail, tables, 'e')} -> {_end(head, tables, 'w')}" + (f" [{look}]" if look else "")


def _end(symbol: str, tables: Tables, side: str) -> str:
    if symbol not in tables:
        return _quoted(symbol)
    table, row = tables[symbol]
    return f"{_quoted(table)}:{row}:{side}"


def _legend(diagram: Diagram) -> str:
    workers, rows = diagram.workers, []
    if workers:
        chips = [
            f'<td bgcolor="{colour(worker)}"> worker {worker} </td>' for worker in range(min(workers, _MOST_CHIPS))
        ]
        if workers > _MOST_CHIPS:
            chips.append(f'<td border="0">and {workers - _MOST_CHIPS} more</td>')
        rows.append("".join(chips))
    if diagram.note:
        rows.append(f'<td border="0" align="left" colspan="{_MOST_CHIPS + 1}">{_marked_up(diagram.note)}</td>')
    cells = "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<<table border="0" cellborder="1" cellspacing="4" color="{_LINE}">{cells}</table>>'


def backward(diagram: Diagram, tables: Tables) -> set[int]:
    """The wires, by their place in the list, that close cycles: those with a delay where the others form none.

    Among the others, a connection is chosen, and not what is within a reactor.
    """
    import networkx as nx

    node = {symbol.id: tables[symbol.id][0] if symbol.id in tables else symbol.id for symbol in diagram.symbols()}
    ends = [(node[wire.source], node[wire.target]) for wire in diagram.wires]
    cycle = {n: k for k, part in enumerate(nx.strongly_connected_components(nx.DiGraph(ends))) for n in part}
    inside = [n for n, (a, b) in enumerate(ends) if cycle[a] == cycle[b]]
    at_once: nx.DiGraph[str] = nx.DiGraph()
    # A search visits them in this order; what it comes to first is the last in the picture, so they go backwards. What
    # closes a cycle leads to where the search began: at an input.
    starts = [symbol for symbol in reversed([*diagram.symbols()]) if node[symbol.id] in cycle]
    at_once.add_nodes_from(node[symbol.id] for symbol in sorted(starts, key=lambda symbol: symbol.kind != "input"))
    at_once.add_edges_from(ends[n] for n in inside if not diagram.wires[n].delayed)
    finished = {name: k for k, name in enumerate(nx.dfs_postorder_nodes(at_once))}
    return {n for n in inside if finished[ends[n][0]] <= finished[ends[n][1]]}


def _quoted(text: str) -> str:
    escaped = _printable(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _marked_up(text: str) -> str:
    """Any text in a label that is marked up."""
    return escape(_printable(text))


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
