"""How is a diagram written in Mermaid, which code forges and notebooks show without a program of their own?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reactors.drawing.diagram import NOTHING, colour, spans, times

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors.drawing.diagram import Box, Diagram, DrawnWire, Symbol, SymbolKind

_SHAPES: dict[SymbolKind, tuple[str, str]] = {
    "input": ("([", "])"),
    "output": ("([", "])"),
    "reaction": (">", "]"),
    "timer": ("((", "))"),
    "logical action": ("[/", "/]"),
    "physical action": ("[/", "/]"),
    "startup": ("((", "))"),
    "shutdown": ("{{", "}}"),
    "reset": ("((", "))"),
}
_LETTERS: dict[SymbolKind, str] = {"logical action": "L ", "physical action": "P "}
_MOST_WORKERS = 16  # in the legend


def mermaid_text(diagram: Diagram) -> str:
    """The diagram as a Mermaid flowchart.

    >>> from reactors.drawing.diagram import Box, Diagram, Symbol, DrawnWire
    >>> symbols = [Symbol("main.tick", "timer", "tick"), Symbol("main.act", "reaction", "act", number=1)]
    >>> box = Box("main", "main", "Hello", symbols=symbols)
    >>> print(mermaid_text(Diagram([box], [DrawnWire("main.tick", "main.act", "trigger")])))
    flowchart LR
      subgraph main["main: Hello"]
        main_tick(("tick"))
        main_act>"1 act"]:::reaction
      end
      main_tick --> main_act
      classDef reaction fill:#1e293b,stroke:#1e293b,color:#ffffff
    """
    return "\n".join(_lines(diagram))


def _lines(diagram: Diagram) -> Iterator[str]:
    names = _Names()
    yield "flowchart LR"
    for box in diagram.boxes:
        yield from _subgraph(box, names, 1)
    for wire in diagram.wires:
        yield f"  {names[wire.source]} {_arrow(wire)} {names[wire.target]}"
    if diagram.note:
        yield f'  {names["note"]}["{_text(diagram.note)}"]'
    yield "  classDef reaction fill:#1e293b,stroke:#1e293b,color:#ffffff"
    if diagram.workers:
        shown = range(min(diagram.workers, _MOST_WORKERS))
        yield f'  subgraph {names["legend"]}["{diagram.workers} worker{"s" * (diagram.workers > 1)}"]'
        yield from (f'    {names[f"legend {worker}"]}["worker {worker}"]:::worker{worker}' for worker in shown)
        yield "  end"
        for worker in range(diagram.workers):
            yield f"  classDef worker{worker} fill:{colour(worker)},stroke:#94a3b8,color:#1e293b"


def _subgraph(box: Box, names: _Names, depth: int) -> Iterator[str]:
    at = "  " * depth
    kind = f": {box.kind}" if box.kind else ""
    yield f'{at}subgraph {names[box.id]}["{_text(f"{box.name}{times(box.count)}{kind}{_several(box.workers)}")}"]'
    for symbol in box.symbols:
        yield f"{at}  {_node(symbol, names)}"
    if not box.symbols and not box.boxes:
        yield f'{at}  {names[f"{box.id} empty"]}["{NOTHING[box.closed]}"]'
    for inner in box.boxes:
        yield from _subgraph(inner, names, depth + 1)
    yield f"{at}end"
    if len(box.workers) == 1:
        yield f"{at}class {names[box.id]} worker{next(iter(box.workers))}"


def _node(symbol: Symbol, names: _Names) -> str:
    left, right = _SHAPES[symbol.kind]
    name = f"{symbol.number} {symbol.name}" if symbol.number else _LETTERS.get(symbol.kind, "") + symbol.name
    look = ":::reaction" if symbol.kind == "reaction" else ""
    if len(symbol.workers) == 1:
        look = f":::worker{next(iter(symbol.workers))}"
    lines = map(_text, (name, *symbol.notes, *filter(None, (_several(symbol.workers).strip(),))))
    return f'{names[symbol.id]}{left}"{"<br/>".join(lines)}"{right}{look}'


def _several(workers: dict[int, int]) -> str:
    return f" (workers {spans(sorted(workers))})" if len(workers) > 1 else ""


def _arrow(wire: DrawnWire) -> str:
    if wire.kind == "through":
        return "~~~"
    if wire.kind in ("use", "order") or wire.physical:
        arrow = "-.->"
    else:
        arrow = "==>" if wire.kind == "connection" and wire.channels > 1 else "-->"
    return f'{arrow}|"{_text(wire.note)}"|' if wire.note else arrow


class _Names(dict[str, str]):
    """A name that Mermaid can read for each id, made when it is first asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._taken: set[str] = set()

    def __missing__(self, identity: str) -> str:
        name = plain = re.sub(r"\W", "_", identity, flags=re.ASCII)
        n = 1
        while name in self._taken:
            n += 1
            name = f"{plain}_{n}"
        self._taken.add(name)
        self[identity] = name
        return name


def _text(text: str) -> str:
    """Any text between quotation marks."""
    return "".join(f"#{ord(c)};" if c in '"#<>&`\\' else c if c.isprintable() else " " for c in text)
