"""What `make papers` makes: a table of a paper's, measured here, and put between its marks in docs/papers."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from run import short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Sequence

    from matplotlib.figure import Figure
    from run import Bench

PAGES = Path(__file__).parents[3] / "docs" / "papers"


Rows = list[list[str]]
"""Cells as they stand in a page; the first row is the names of columns."""


@dataclass(frozen=True)
class Table:
    """One table. `make` gives its rows, the first of them the names of columns; `draw` makes a picture of them."""

    name: str
    """By which --only finds it; what is before the first hyphen is the page."""
    make: Any
    draw: Callable[[Rows], Figure] | None = None

    @property
    def page(self) -> Path:
        """Where it stands."""
        return PAGES / f"{self.name.partition('-')[0]}.md"


def put(table: Table, rows: Rows, made_by: str) -> None:
    """Write a table and its picture between its marks; `made_by` is the line below it."""
    head, *others = ["| " + " | ".join(row) + " |" for row in rows]
    lines = [head, "|" + " --- |" * len(rows[0]), *others, "", made_by]
    if table.draw is not None:
        table.draw(rows).savefig(PAGES / f"{table.name}.png", dpi=80)
        lines += ["", f"![the table above as a picture]({table.name}.png)"]
    text = table.page.read_text()
    begin, end = f"<!-- {table.name} -->\n", f"<!-- end of {table.name} -->"
    before, _, after = text.partition(begin)
    if not after:
        raise SystemExit(f"{table.page} has no mark {begin.strip()}")
    table.page.write_text(f"{before}{begin}\n" + "\n".join(lines) + f"\n\n{end}{after.partition(end)[2]}")


def doubled(most: int) -> list[int]:
    """One and its doubles, up to `most`.

    >>> doubled(6)
    [1, 2, 4]
    """
    return [1 << n for n in range(most.bit_length())]


def number(cell: str) -> float:
    """The number in a cell, as `short` writes it or as a percentage.

    >>> number("12.9k"), number("50%")
    (12900.0, 0.5)
    """
    return float(cell.rstrip("kM%")) * {"k": 1e3, "M": 1e6, "%": 0.01}.get(cell[-1], 1)


def of_row(
    module: str, first: str, *, variants: Callable[[Any], Sequence[str]] | None = None, ours: str | None = None
) -> Callable[[Bench, argparse.Namespace], Iterable[Sequence[object]]]:
    """The medians of a row of `make bench`, a line a variant, and what `ours` is as a multiple of each peer."""

    def make(bench: Bench, _: argparse.Namespace) -> Iterable[Sequence[object]]:
        row = importlib.import_module(module).row
        chosen = [*row.variants, *row.further] if variants is None else variants(row)
        results = bench.row(module, chosen)
        names = list(dict.fromkeys(name for result in results for name in result["figures"]))
        yield [first, *(f"{name}, {row.unit}" for name in names)]
        for result in results:
            cells = []
            for name in names:
                figure = result["figures"].get(name)
                if figure is None or not figure["values"]:
                    cells.append("")
                    continue
                middle = sorted(figure["values"])[len(figure["values"]) // 2]
                mine = ours and result["figures"].get(ours)
                times = ""
                if mine and mine["values"] and name != ours:
                    best = sorted(mine["values"])[len(mine["values"]) // 2]
                    times = f" ({row.speedup(best, middle):.2f})"
                cells.append(short(middle) + times)
            yield [", ".join(filter(None, (result["variant"], result["about"]))), *cells]

    return make
