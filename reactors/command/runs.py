"""The commands `reactors eval`, `play` and `compare`: what is done with runs.

What they need, torch before all, is imported inside of them, so that `reactors --help` is quick.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reactors.command.comparing import parting
from reactors.command.options import as_json as _json
from reactors.command.options import misuse, of_env, of_own_algorithm, of_run, options, runs_in
from reactors.command.values import COUNT
from reactors.errors import ArgumentError
from reactors.reports.json_text import json_line
from reactors.rl.options import Options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reactors.rl.runs.run_folder import RunFolder

_NO_FOLDERS = frozenset({"random", "past"})  # opponents


def of_opponents(text: str) -> Callable[[Any], Any]:
    """The option --against."""
    return click.option("--against", "opponents", multiple=True, metavar="random|past|DIR", help=f"{text} Repeatable.")


def _with_opponents(
    folder: Path, opponents: Sequence[str], algorithm: str | None, env: str | None
) -> tuple[RunFolder, dict[str, Any]]:
    """The run in a folder, and opponents by what they were called."""
    from reactors.rl.runs.trained_policy import loaded

    runs = runs_in([folder, *(Path(each) for each in opponents if each not in _NO_FOLDERS)], algorithm, env)
    return runs[folder], {each: each if each in _NO_FOLDERS else loaded(runs[Path(each)]) for each in opponents}


@click.command("eval", short_help="Play greedy episodes with a trained policy.")
@of_run
@of_own_algorithm
@of_env
@click.option("--episodes", type=COUNT, metavar="N", default=100, show_default=True)
@of_opponents("Many agents: play each group against this opponent, and print a table.")
@options(Options, "seed")
@_json
def eval_command(
    *, folder: Path, algorithm: str | None, env: str | None, episodes: int, opponents: tuple[str, ...],
    seed: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Play greedy episodes with the policy of the run in DIR: their mean, minimum and maximum return.

    With many agents also of each group, or of each agent if all are one group; --json has both.
    """
    with misuse():
        from reactors.rl.monitoring.evaluator import play
        from reactors.rl.runs.trained_policy import loaded

        run, others = _with_opponents(folder, opponents, algorithm, env)
        if opponents:
            table = loaded(run).against(others, episodes=episodes, seed=seed or 0)
            click.echo(json_line({"scores": [each._asdict() for each in table]}) if as_json else str(table))
            return
        found = play(run.policy(), run.maker(), *run.spaces, episodes, seed or 0)
    if as_json:
        by_name = {"groups": found.groups, "agents": found.agents} if found.agents else {}
        parts = {kind: {name: x.figures() for name, x in each.items()} for kind, each in by_name.items()}
        click.echo(json_line({"episodes": episodes, **found.figures(), **parts}))
    elif found.parts:
        click.echo(f"{episodes} greedy episodes\n{found.table()}")
    else:
        said = "{episodes} greedy episodes: mean {mean:.2f}, minimum {min:.2f}, maximum {max:.2f}"
        click.echo(said.format(episodes=episodes, **found.figures()))


@click.command("play", short_help="Watch a trained policy, in a window or as a video.")
@of_run
@of_own_algorithm
@of_env
@click.option("--episodes", type=COUNT, metavar="N", help="[default: 1; with --against, all matches once]")
@of_opponents("Many agents: let this opponent play all but one group, or agent; each of them has its turn.")
@options(Options, "seed")
@click.option(
    "--video",
    is_flag=False,
    flag_value="",
    metavar="[DIR|FILE.mp4]",
    help="Write videos into a folder, or one into a file, and open no window.  [without a name: DIR/played]",
)
def play_command(
    *, folder: Path, algorithm: str | None, env: str | None, episodes: int | None, opponents: tuple[str, ...],
    seed: int | None, video: str | None,
) -> None:  # fmt: skip
    """Watch the policy of the run in DIR play."""
    with misuse():
        from reactors.rl.monitoring.scores import Matches
        from reactors.rl.monitoring.watching import check_video, checked_target, film, headless, rendering, watch
        from reactors.rl.runs.trained_policy import loaded, opposing

        run, others = _with_opponents(folder, opponents, algorithm, env)
        trained = loaded(run)
        matches = Matches(*opposing(trained, others), seed or 0) if others else None
        n, target = episodes or (len(matches) if matches else 1), None
        if video is not None:
            target = checked_target(Path(video) if video else folder / "played", n, "--video")
        if target is not None:
            check_video(run.maker())
            found = film(trained.policy, run.maker(), target, n, seed or 0, matches)
        else:
            if headless():
                click.echo(
                    "there is no display here (DISPLAY and WAYLAND_DISPLAY are not set), so no window opens; to see it "
                    f"play: reactors play {folder} --video",
                    err=True,
                )
            found = watch(trained.policy, rendering(run.maker(), "human"), n, seed or 0, playing=matches)
    for i, total in enumerate(found.returns):
        parts = ", ".join(f"{name} {each.returns[i]:.2f}" for name, each in found.parts.items())
        match = f", {matches[i].side} against {matches[i].opponent}" if matches else ""
        click.echo(f"episode {i + 1}: return {total:.2f}{parts and f' ({parts})'}{match}")
    if target is not None:
        click.echo(f"videos are in {target}" if target.is_dir() else f"the video is {target}")


@click.command("compare", short_help="Compare runs: curves and a table.")
@click.argument("paths", metavar="DIR...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PNG|HTML",
    default=Path("compare.png"),
    show_default=True,
    help="Write a picture, or a page with all curves.",
)
def compare_command(*, paths: tuple[Path, ...], output: Path) -> None:
    """Compare runs: their curves over steps and over time in one picture, or on one page, and tables.

    Tables have results, and settings in which the runs differ. Files among the folders are left out, so that `reactors
    compare runs/*` is all runs.
    """
    with misuse():
        from reactors.rl.monitoring.aligned import aligned
        from reactors.rl.runs.curves import curve, over_steps, results, settings, table
        from reactors.rl.runs.run_folder import RunFolder

        if not output.absolute().parent.is_dir():
            raise ArgumentError(f"there is no folder {str(output.parent)!r} for {output.name}")
        folders = [path for path in paths if path.is_dir()]
        if not folders:
            raise ArgumentError(f"{', '.join(map(str, paths))}: none is a folder of a run")
        runs = [RunFolder(folder) for folder in folders]
        click.echo(table(runs))
        if len(differing := settings(runs)) > 1:
            click.echo(f"\n{aligned(differing, words=len(differing[0]))}\n")
        names = [run.name for run in runs]
        named = {run.name if names.count(run.name) == 1 else str(run.path): run for run in runs}
        for line in parting({name: run.path for name, run in named.items()}):
            click.echo(line)
        if output.suffix == ".html":
            from reactors.viewing.report import contents, write

            tables = {"Results": results(runs), "Settings in which they differ": differing}
            curves: dict[str, dict[str, list[tuple[float, float]]]] = {}
            for name, run in named.items():
                for figure, points in over_steps(run.rows).items():
                    curves.setdefault(figure, {})[name] = points
            facts = {
                f"{name}: {title.lower()}": rows for name, run in named.items() for title, rows in run.facts().items()
            }
            write(output, contents(", ".join(named), [], None, tables=tables, curves=curves, facts=facts))
        else:
            curve({name: run.rows for name, run in named.items()}, output)
    click.echo(f"curves are in {output}", file=sys.stdout)
