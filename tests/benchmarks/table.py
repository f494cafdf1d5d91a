"""Put the results of `make bench` into docs/benchmarks.md, a line for each ratio that is asked for.

python tests/benchmarks/table.py tests/benchmarks/results/20261123-053122.json

A run that was made in parts has a file for each; of a row that is in several the last one counts.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from run import short

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- results: tests/benchmarks/table.py writes this -->\n", "<!-- end of results -->\n"


def lines(result: dict[str, Any]) -> Iterator[str]:
    """A line a bar, and one for a variant that has none."""
    efficiency = "" if result["efficiency"] is None else f"{result['efficiency']['ratio']:.2f}"
    for bar in result["bars"]:
        mine = result["figures"][bar["ours"]]["values"]
        against = bar["peer"] if isinstance(bar["peer"], str) else f"{bar['peer']:g} {result['unit']}"
        word = "met" if bar["met"] else "MISSED"
        yield row(
            f"`{result['row']}`", result["variant"], bar["ours"].removeprefix("reactors, "),
            f"{short(sorted(mine)[len(mine) // 2])} {result['unit']}", against,
            f"{bar['ratio']:.2f} ({bar['low']:.2f} to {bar['high']:.2f})", f"{bar['at_least']:g}, {word}",
            efficiency, f"{result['capacity']:.2f}",
        )  # fmt: skip


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


def section(found: dict[str, Any]) -> str:
    """What stands between the marks."""
    about, bars = found["machine"], [bar for result in found["results"] for bar in result["bars"]]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    said = (
        textwrap.fill(f"{about['cores']} cores, Python {about['python']}; {versions}.", 100, break_on_hyphens=False)
        + f"\n\n{sum(bar['met'] for bar in bars)} of {len(bars)} ratios are as asked for.\n\n"
    )
    names = ("row", "variant", "ours", "median", "against", "ratio", "asked for", "efficiency", "two processes")
    table = row(*names) + row(*["---"] * len(names))
    return (
        BEGIN
        + "\n"
        + said
        + table
        + "".join(line for result in found["results"] for line in lines(result))
        + "\n"
        + END
    )


def main() -> None:
    """Replace what stood there."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("results", type=Path, nargs="+")
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    parts = [json.loads(path.read_text()) for path in parser.parse_args().results]
    rows = {(each["row"], each["variant"]): each for part in parts for each in part["results"]}
    PAGE.write_text(before + section({"machine": parts[0]["machine"], "results": list(rows.values())}) + after)


if __name__ == "__main__":
    main()
