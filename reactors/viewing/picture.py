"""How does a picture come from what a run says of itself, where the program is not at hand?

As `rx.Graph` draws it, a little simpler: members of banks and lists are one, and connections lead from where a value
was written to where it is read, whatever lies between.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from reactors.drawing.diagram import Box, Diagram, DrawnWire, Symbol, in_order
from reactors.names.indices import without_indices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors.drawing.diagram import SymbolKind, WireKind

_KINDS: dict[str, SymbolKind] = {
    "timer": "timer", "action": "logical action", "physical_action": "physical action", "startup": "startup",
    "shutdown": "shutdown", "reset": "reset",
}  # fmt: skip


def diagram(header: Mapping[str, Any]) -> Diagram:
    """Of the header of a trace, or of a run that is watched."""
    picture = _Picture(header)
    return Diagram([picture.boxes[""]], in_order(picture.wires.values(), picture.boxes[""].all_symbols()))


class _Picture:
    def __init__(self, header: Mapping[str, Any]) -> None:
        self.header = header
        self.boxes: dict[str, Box] = {}
        self.symbols: dict[str, Symbol] = {}
        self.wires: dict[tuple[str, str, str], DrawnWire] = {}
        self._draw_reactors()
        self._draw_elements()
        self._draw_reactions()

    def _draw_reactors(self) -> None:
        counts = Counter(without_indices(each["path"]) for each in self.header["reactors"])
        for each in self.header["reactors"]:
            path = without_indices(each["path"])
            if path in self.boxes:
                continue
            several = counts[path] if counts[path] > 1 else None
            box = self.boxes[path] = Box(path, path.rpartition(".")[2], each["class"], several)
            around = self.boxes.get(path.rpartition(".")[0])
            if around is None:
                self.boxes.setdefault("", box)
            else:
                around.boxes.append(box)

    def _box_of(self, reactor: int) -> Box:
        return self.boxes[without_indices(self.header["reactors"][reactor]["path"])]

    def _draw_elements(self) -> None:
        elements = self.header["elements"]
        read = {e for each in self.header["reactions"] for e in (*each["triggers"], *each["uses"])}
        written = {e for each in self.header["reactions"] for e in each["effects"]}
        for number, each in enumerate(elements):
            path = without_indices(each["path"])
            if path in self.symbols:
                continue
            if each["kind"] == "port":
                if number not in read and number not in written:
                    continue  # it only passes on what another one has
                kind: SymbolKind = "output" if number in written else "input"
            elif number in read and each["kind"] in _KINDS:
                kind = _KINDS[each["kind"]]
            else:
                continue
            self._add(path, kind, each["reactor"])
        for number in sorted(read):
            source, offset = elements[number].get("source", -1), elements[number].get("offset")
            if source < 0 or source == number:
                continue
            delayed = bool(offset and any(offset))
            self._wire(elements[source]["path"], elements[number]["path"], "connection", delayed=delayed)

    def _add(self, path: str, kind: SymbolKind, reactor: int, number: int = 0) -> None:
        symbol = self.symbols[path] = Symbol(path, kind, path.rpartition(".")[2], number=number)
        self._box_of(reactor).symbols.append(symbol)

    def _draw_reactions(self) -> None:
        numbers: Counter[int] = Counter()
        for each in self.header["reactions"]:
            numbers[each["reactor"]] += 1
            path = without_indices(each["path"])
            if path not in self.symbols:
                self._add(path, "reaction", each["reactor"], numbers[each["reactor"]])
            for element in each["triggers"]:
                self._wire(self.header["elements"][element]["path"], path, "trigger")
            for element in each["uses"]:
                self._wire(self.header["elements"][element]["path"], path, "use")
            for element in each["effects"]:
                self._wire(path, self.header["elements"][element]["path"], "effect")

    def _wire(self, source: str, target: str, kind: WireKind, *, delayed: bool = False) -> None:
        ends = without_indices(source), without_indices(target)
        if all(end in self.symbols for end in ends):
            wire = self.wires.setdefault((*ends, kind), DrawnWire(*ends, kind=kind, delayed=delayed, channels=0))
            wire.channels += 1
