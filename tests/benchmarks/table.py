"""Put the results of `make bench` into docs/benchmarks.md, a line for each ratio that is asked for.

python tests/benchmarks/table.py tests/benchmarks/results/20261123-053122.json

A run that was made in parts has a file for each; of a figure that is in several the last one counts.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from run import short

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- results: tests/benchmarks/table.py writes this -->\n", "<!-- end of results -->\n"


def lines(result: dict[str, Any]) -> Iterator[str]:
    """A line a bar; of growth, and of a variant without bars, one for each figure."""
    efficiency = "" if result["efficiency"] is None else f"{result['efficiency']['ratio']:.2f}"
    if not result["bars"] or result["row"].startswith("growth"):
        for name, figure in result["figures"].items():
            if figure["values"]:
                median = f"{short(middle(figure))} {result['unit']}"
                yield row(f"`{result['row']}`", result["variant"], name.removeprefix("reactors, "), median, *[""] * 5)
    for bar in result["bars"]:
        against = bar["peer"] if isinstance(bar["peer"], str) else f"{bar['peer']:g} {result['unit']}"
        word = "met" if bar["met"] else "MISSED"
        yield row(
            f"`{result['row']}`", result["variant"], bar["ours"].removeprefix("reactors, "),
            f"{short(bar['mine'])} {result['unit']}", against,
            f"{bar['ratio']:.2f} ({bar['low']:.2f} to {bar['high']:.2f})", f"{bar['at_least']:g}, {word}",
            efficiency, f"{result['capacity']:.2f}",
        )  # fmt: skip


def middle(figure: dict[str, Any]) -> float:
    """The median of a figure."""
    values: list[float] = figure["values"]
    return sorted(values)[len(values) // 2]


def merged(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The results of all parts: of each figure, and of each ratio, the last."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for result in (result for part in parts for result in part["results"]):
        for bar in result["bars"]:
            bar["mine"] = middle(result["figures"][bar["ours"]])
        before = found.get((result["row"], result["variant"]), {"bars": [], "figures": {}})
        again = {(bar["ours"], bar["peer"]) for bar in result["bars"]}
        kept = [bar for bar in before["bars"] if (bar["ours"], bar["peer"]) not in again]
        found[result["row"], result["variant"]] = result | {
            "bars": kept + result["bars"], "figures": before["figures"] | result["figures"]
        }  # fmt: skip
    return list(found.values())


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
    PAGE.write_text(before + section({"machine": parts[0]["machine"], "results": merged(parts)}) + after)


if __name__ == "__main__":
    main()
