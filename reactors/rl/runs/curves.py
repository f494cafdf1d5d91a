"""How did it go, in one picture, and in one table?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactors.rl.monitoring.aligned import aligned
from reactors.rl.monitoring.journal_file import AGAINST_CHANCE, EVALUATION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from reactors.rl.monitoring.journal_file import Row

RETURN = "charts/episodic_return"
SHOWN = 12  # first characters of a digest
NO_FIGURES = {"global_step", "round", "seconds"}  # of a row of the journal
WORDS = 4  # columns of the table before those of numbers
MOST = 10  # parts of a run that are shown


def parts(rows: Sequence[Row]) -> dict[str, tuple[str, str]]:
    """The groups in the journal of many agents, or the agents if all are one group: names of their returns.

    In training, and in evaluations. More than ten, or a single one, are left out. With opponents there is also what an
    agent gets in evaluations against agents that act by chance.

    >>> parts([{"groups/good/episodic_return": 1.0, "groups/bad/episodic_return": -1.0}])["bad"]
    ('groups/bad/episodic_return', 'eval/groups/bad/mean_return')
    """
    names = dict.fromkeys(name for row in rows for name in row)
    for kind in ("groups/", "agents/"):
        end = "/episodic_return"
        found = [x.removeprefix(kind).removesuffix(end) for x in names if x.startswith(kind) and x.endswith(end)]
        if found:
            few = found if 1 < len(found) <= MOST else []
            each_of = {each: (f"{kind}{each}{end}", f"eval/{kind}{each}/mean_return") for each in few}
            return each_of | ({"an agent against random": ("", AGAINST_CHANCE)} if AGAINST_CHANCE in names else {})
    return {}


def curve(runs: Mapping[str, Sequence[Row]], path: Path) -> None:
    """Returns over steps and over time, of one run or of many; evaluations as dots. Needs no display.

    Of many agents, the sum is solid, and each part is dashed.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4), layout="constrained")
    FigureCanvasAgg(figure)
    lines = [*_lines(runs)]
    drawn: list[Any] = []
    for axes, by, label in zip(
        figure.subplots(1, 2, sharey=True), ("global_step", "seconds"), ("environment steps", "seconds"), strict=True
    ):
        drawn.clear()
        for i, (name, rows, shown, evaluated, style) in enumerate(lines):
            drawn += axes.plot(*_points(rows, by, shown), style, color=f"C{i % 10}", label=name)
            axes.plot(*_points(rows, by, evaluated), "o", color=f"C{i % 10}", markersize=4)
        axes.set_xlabel(label)
        axes.grid(alpha=0.3)
    dotted = any(evaluated in row for _, rows, _, evaluated, _ in lines for row in rows)
    figure.axes[0].set_ylabel("return (dots: greedy)" if dotted else "return")
    if runs:
        legend = figure.axes[1].legend(drawn, [""] * len(drawn), loc="lower right", fontsize="small")
        for text, line in zip(legend.get_texts(), drawn, strict=True):
            text.set(parse_math=False, text=line.get_label())  # a legend leaves out labels that begin with "_"
    figure.savefig(path, dpi=120, format="png")


def _lines(runs: Mapping[str, Sequence[Row]]) -> Iterator[tuple[str, Sequence[Row], str, str, str]]:
    """What is drawn: its name, the rows, the names of its returns in training and in evaluations, and how."""
    for name, rows in runs.items():
        yield name, rows, RETURN, EVALUATION, "-"
        for part, (shown, evaluated) in parts(rows).items():
            yield f"{name}: {part}", rows, shown, evaluated, "--"


def _points(rows: Sequence[Row], by: str, name: str) -> tuple[list[float], list[float]]:
    found = [(row[by], row[name]) for row in rows if name in row and by in row]
    return [x for x, _ in found], [y for _, y in found]


def results(runs: Sequence[Any]) -> list[tuple[str, ...]]:
    """A table, its header first: a line for each run, a folder, and below it lines for the parts of many agents."""
    lines: list[tuple[str, ...]] = [
        (
            "run", "algorithm", "environment", "mode", "workers", "seed", "steps", "seconds", "steps/s", "return",
            "best eval", "digest",
        )
    ]  # fmt: skip
    for run in runs:
        config, rows = run.config, run.rows
        last = rows[-1] if rows else {}
        evaluated = [row for row in rows if EVALUATION in row]
        best: Row = max(evaluated, key=lambda row: float(row[EVALUATION]), default={})
        lines.append(
            (
                run.name, config["algorithm"], config["env"], config["mode"], str(config["workers"]),
                str(config.get("seed", "-")),
                f"{last.get('global_step', 0):,.0f}", f"{last.get('seconds', 0):,.1f}",
                f"{last.get('charts/SPS', 0):,.0f}", *_last_and_in(best, rows, RETURN, EVALUATION),
                run.result.get("digest", "-")[:SHOWN],
            )
        )  # fmt: skip
        blank = ("",) * (len(lines[0]) - 4)
        lines += [(f"  {part}", *blank, *_last_and_in(best, rows, *names), "") for part, names in parts(rows).items()]
    return lines


def table(runs: Sequence[Any]) -> str:
    """The results of these runs, to be printed."""
    return aligned(results(runs), words=WORDS)


def settings(runs: Sequence[Any]) -> list[tuple[str, ...]]:
    """A table, its header first: hyperparameters and options in which these runs differ, a column for each run."""
    said = [{**facts["Hyperparameters"], **facts["Options"]} for facts in (run.facts() for run in runs)]
    names = dict.fromkeys(name for each in said for name in each)
    found = [(name, *(str(each.get(name, "-")) for each in said)) for name in names]
    return [("setting", *(run.name for run in runs)), *(row for row in found if len({*row[1:]}) > 1)]


def _last_and_in(best: Row, rows: Sequence[Row], shown: str, evaluated: str) -> tuple[str, str]:
    """The last return, and that in the best evaluation."""
    returns = [row[shown] for row in rows if shown in row]
    return f"{returns[-1]:,.1f}" if returns else "-", f"{best[evaluated]:,.1f}" if evaluated in best else "-"


def over_steps(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[float, float]]]:
    """Of a training's journal: every figure over the steps, returns first."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        for name, value in row.items():
            if name not in NO_FIGURES and isinstance(value, int | float):
                found.setdefault(name, []).append((row["global_step"], value))
    first = [name for name in found if name.endswith("/episodic_return") or name.startswith("eval/")]
    return {name: found[name] for name in [*first, *(each for each in found if each not in first)]}
