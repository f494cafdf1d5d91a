"""What is there to see in a picture of a program?

Boxes, symbols in them, and wires between these, in the order in which the program declares them: what DOT and Mermaid
texts are written from. What anything looks like is not said here, but for the colours of workers, which both share.
"""

from __future__ import annotations

import colorsys
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SymbolKind = Literal[
    "input", "output", "reaction", "timer", "logical action", "physical action", "startup", "shutdown", "reset"
]
WireKind = Literal["connection", "trigger", "use", "effect", "order", "through"]

NOTHING = {False: "no ports, no reactions", True: "no ports"}  # what an empty box says, by whether it is closed


@dataclass(slots=True)
class Symbol:
    """A port, reaction, timer, action, startup or shutdown."""

    id: str  # its path; in a bank that is drawn once, without the index
    kind: SymbolKind
    name: str
    notes: list[str] = field(default_factory=list)  # what there is to say below the name
    number: int = 0  # of a reaction
    detail: str = ""  # shown where the mouse points
    workers: Counter[int] = field(default_factory=Counter)  # how many of what it stands for each has
    load: float | None = None  # of a reaction: which part of a worker's time it took in a run


@dataclass(slots=True)
class Box:
    """A reactor, several that are alike, or a level of the precedence graph."""

    id: str
    name: str
    kind: str = ""  # its class
    count: int | None = None  # how many members of a bank or list it stands for
    workers: Counter[int] = field(default_factory=Counter)
    symbols: list[Symbol] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    in_order: bool = True  # whether its reactions are executed in their order
    closed: bool = False  # whether nothing but its ports is drawn

    def all_symbols(self) -> Iterator[Symbol]:
        """Its own, then those of the boxes in it."""
        yield from self.symbols
        for box in self.boxes:
            yield from box.all_symbols()

    def all_boxes(self) -> Iterator[Box]:
        """Itself, then those in it."""
        yield self
        for box in self.boxes:
            yield from box.all_boxes()


@dataclass(slots=True)
class DrawnWire:
    """What leads from one symbol to another, on so many channels."""

    source: str
    target: str
    kind: WireKind
    note: str = ""
    delayed: bool = False
    physical: bool = False
    channels: int = 1
    hot: bool = False  # a value came this way that is looked for


@dataclass(slots=True)
class Diagram:
    """A whole picture: boxes with their symbols, wires between symbols, and a note below."""

    boxes: list[Box]
    wires: list[DrawnWire]
    workers: int = 0  # how many the placement that is shown has; 0: none is shown
    note: str = ""  # what is left out, and how it can be seen

    def symbols(self) -> Iterator[Symbol]:
        """All of them, as they come from left to right and top to bottom in the text."""
        for box in self.boxes:
            yield from box.all_symbols()

    def count(self) -> int:
        """How many symbols and boxes there are."""
        return sum(1 for _ in self.symbols()) + sum(1 for box in self.boxes for _ in box.all_boxes())

    def depth(self) -> int:
        """How many boxes lie in one another, at the most."""

        def below(boxes: list[Box]) -> int:
            return max((1 + below(box.boxes) for box in boxes), default=0)

        return below(self.boxes)


def in_order(wires: Iterable[DrawnWire], symbols: Iterable[Symbol]) -> list[DrawnWire]:
    """The wires in the order of the symbols that they lead from and to, so that no text changes by itself."""
    position = {symbol.id: n for n, symbol in enumerate(symbols)}
    return sorted(wires, key=lambda wire: (position[wire.source], position[wire.target], wire.note))


def colour(worker: int) -> str:
    """A light colour for each worker; those of neighbours are far apart.

    >>> colour(0), colour(1)
    ('#d6e8ff', '#ffd6dc')
    """
    red, green, blue = colorsys.hsv_to_rgb((0.594 + worker * 0.382) % 1.0, 0.16, 1.0)
    return "#" + "".join(f"{round(part * 255):02x}" for part in (red, green, blue))


def heat(load: float) -> str:
    """From white to red, by the part of a worker's time.

    >>> heat(0.0), heat(0.5), heat(1.0)
    ('#ffffff', '#ffb080', '#ff6000')
    """
    part = min(1.0, max(0.0, load))
    return f"#ff{round(255 - 159 * part):02x}{round(255 - 255 * part):02x}"


def times(count: int | None) -> str:
    """How a picture says that it shows one for many.

    >>> times(16), times(None)
    (' \u00d716', '')
    """
    return "" if count is None else f" \N{MULTIPLICATION SIGN}{count}"


def spans(numbers: Iterable[int]) -> str:
    """Ascending numbers in few characters.

    >>> spans([0, 1, 2, 3, 7, 9, 10])
    '0-3, 7, 9, 10'
    """
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ", ".join(f"{a}" if a == b else f"{a}, {b}" if b == a + 1 else f"{a}-{b}" for a, b in runs)
