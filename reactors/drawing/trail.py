"""Which way did a value come through the program?"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors.drawing.diagram import Diagram


class Trail(Protocol):
    """What made a value: executions of reactions, and ports and actions, by path."""

    @property
    def counts(self) -> Mapping[str, int]:
        """How many executions each reaction had."""
        ...

    @property
    def things(self) -> Mapping[str, int]:
        """How often each port, action or attribute was read or made."""
        ...


_LEAST = 0.3  # of the colour, for what came once


def show_trail(diagram: Diagram, trail: Trail) -> None:
    """Put the trail of a value into a diagram: all that it came through in colour, and the wires between."""
    counts = _with_folded({**trail.things, **trail.counts})
    most = max(trail.counts.values(), default=1)
    for symbol in diagram.symbols():
        n = counts[symbol.id.partition(", level ")[0].replace("|", ".")]  # of startup: "main.a|startup"
        symbol.load = _LEAST + (1 - _LEAST) * min(1.0, n / most) if n else 0.0
        if n and symbol.kind == "reaction":
            symbol.notes.append(f"\N{MULTIPLICATION SIGN}{n:,}")
    on_it = {symbol.id for symbol in diagram.symbols() if symbol.load}
    for wire in diagram.wires:
        wire.hot = wire.source in on_it and wire.target in on_it and wire.kind != "order"


def _with_folded(counts: Mapping[str, int]) -> Counter[str]:
    """By path, and by that without indices, as members of a bank that is drawn once have it."""
    found = Counter(counts)
    for path, n in counts.items():
        if (folded := re.sub(r"\[\d+\]", "", path)) != path:
            found[folded] += n
    return found
