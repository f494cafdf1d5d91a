"""How did it go, in one picture, and in one table?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactors.rl.monitoring.journal_file import EVALUATION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from reactors.rl.monitoring.journal_file import Row

RETURN = "charts/episodic_return"
SHOWN = 12  # characters of a digest
NO_FIGURES = {"global_step", "round", "seconds"}  # of a row of the journal
WORDS = 4  # columns of the table before those of numbers


def curve(runs: Mapping[str, Sequence[Row]], path: Path) -> None:
    """Returns over steps and over time, of one run or of many; evaluations as dots. Needs no display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, by, label in zip(
        figure.subplots(1, 2, sharey=True), ("global_step", "seconds"), ("environment steps", "seconds"), strict=True
    ):
        for i, (name, rows) in enumerate(runs.items()):
            axes.plot(*_points(rows, by, RETURN), color=f"C{i % 10}", label=name)
            axes.plot(*_points(rows, by, EVALUATION), "o", color=f"C{i % 10}", markersize=4)
        axes.set_xlabel(label)
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("return (dots: greedy)")
    if runs:
        figure.axes[1].legend(loc="lower right", fontsize="small")
    figure.savefig(path, dpi=120, format="png")


def _points(rows: Sequence[Row], by: str, name: str) -> tuple[list[float], list[float]]:
    found = [(row[by], row[name]) for row in rows if name in row and by in row]
    return [x for x, _ in found], [y for _, y in found]


def table(runs: Sequence[Any]) -> str:
    """The runs, given as folders, one on a line; of digests, the beginning."""
    lines = [
        (
            "run", "algorithm", "environment", "mode", "workers", "seed", "steps", "seconds", "steps/s", "return",
            "best eval", "digest",
        )
    ]  # fmt: skip
    for run in runs:
        config, rows = run.config, run.rows
        last = rows[-1] if rows else {}
        returns = [row[RETURN] for row in rows if RETURN in row]
        evaluations = [row[EVALUATION] for row in rows if EVALUATION in row]
        lines.append(
            (
                run.path.name, config["algorithm"], config["env"], config["mode"], str(config["workers"]),
                str(config.get("seed", "-")),
                f"{last.get('global_step', 0):,.0f}", f"{last.get('seconds', 0):,.1f}",
                f"{last.get('charts/SPS', 0):,.0f}", f"{returns[-1]:,.1f}" if returns else "-",
                f"{max(evaluations):,.1f}" if evaluations else "-", run.result.get("digest", "-")[:SHOWN],
            )
        )  # fmt: skip
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    texts = []
    for line in lines:
        pairs = enumerate(zip(line, widths, strict=True))
        aligned = [word.ljust(w) if i < WORDS else word.rjust(w) for i, (word, w) in pairs]
        texts.append("  ".join(aligned).rstrip())
    return "\n".join(texts)


def over_steps(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[float, float]]]:
    """Of a training's journal: every figure over the steps, returns first."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        for name, value in row.items():
            if name not in NO_FIGURES and isinstance(value, int | float):
                found.setdefault(name, []).append((row["global_step"], value))
    first = [name for name in found if name.startswith(("charts/episodic_return", "eval/"))]
    return {name: found[name] for name in [*first, *(each for each in found if each not in first)]}
