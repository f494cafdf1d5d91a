"""What a long run's journal said, some rows of it, in docs/learning/journals: how its policy came to act as it does.

The weights of a run are not kept, and its curve alone does not tell a policy that has stopped to explore from one whose
values explain nothing.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FOLDER = Path(__file__).parents[2] / "docs" / "learning" / "journals"
ROWS = 50
DIGITS = 4  # of a figure; a row of all is then as long as a line or two of text


def keep(name: str, journal: Sequence[Mapping[str, float]]) -> None:
    """Write `name.csv`: every so many rows and the last one, with all figures that any of them has."""
    rows = thinned(journal)
    figures = dict.fromkeys(figure for row in rows for figure in row)
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{name.replace(':', '-')}.csv").open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(figures)
        writer.writerows([_short(row.get(figure)) for figure in figures] for row in rows)


def thinned(journal: Sequence[Mapping[str, float]]) -> list[Mapping[str, float]]:
    """At most `ROWS` of them, which are equally far apart; the last one is there.

    >>> rows = thinned([{"global_step": float(i)} for i in range(1000)])
    >>> len(rows), rows[-2:]
    (50, [{'global_step': 979.0}, {'global_step': 999.0}])
    """
    return [*journal[:: -max(1, -(-len(journal) // ROWS))]][::-1]


def _short(value: float | None) -> str:
    if value is None:
        return ""
    return str(int(value)) if float(value).is_integer() else f"{value:.{DIGITS}g}"
