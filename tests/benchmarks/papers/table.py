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

    from run import Bench

PAGES = Path(__file__).parents[3] / "docs" / "papers"


@dataclass(frozen=True)
class Table:
    """One table or figure. `make` gives its rows, the first of them the names of columns."""

    name: str
    """By which --only finds it; what is before the first hyphen is the page."""
    make: Any

    @property
    def page(self) -> Path:
        """Where it stands."""
        return PAGES / f"{self.name.partition('-')[0]}.md"


def put(page: Path, name: str, rows: Iterable[Sequence[object]]) -> None:
    """Write a table between its marks."""
    head, *others = ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    lines = [head, "|" + " --- |" * (head.count("|") - 1), *others]
    text = page.read_text()
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, _, after = text.partition(begin)
    if not after:
        raise SystemExit(f"{page} has no mark {begin.strip()}")
    page.write_text(f"{before}{begin}\n" + "\n".join(lines) + f"\n\n{end}{after.partition(end)[2]}")


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
