"""`reactors top`, `view` and `report`: a run that goes on, in a terminal or a browser, and one that is over."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reactors.command.tracebacks import reported
from reactors.command.values import COUNT
from reactors.errors import WatchingError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reactors.rl.runs.run_folder import RunFolder


@click.command("top", short_help="Show what the workers of a run do, in a terminal.")
@click.argument("run", metavar="[PID|DIR]", required=False)
@click.option("--every", type=float, metavar="S", default=0.5, show_default=True, help="Seconds between looks.")
@click.option("--rounds", type=COUNT, metavar="N", help="How often to look.  [default: until the run is over]")
def top_command(run: str | None, every: float, rounds: int | None) -> None:
    """Show a run of this user that goes on: by process, by a training's folder, or the only one that there is.

    A run can be watched if it was started with live=, or is a training with a folder.
    """
    with reported():
        from reactors.viewing.top import top

        top(_pid(run), every, rounds)


@click.command("view", short_help="Show a run in a browser.")
@click.argument("run", metavar="[PID|DIR]", required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where to listen.  [default: any that is free]")
@click.option("--open/--no-open", "opens", default=False, help="Open the browser, too.")
def view_command(run: str | None, port: int, opens: bool) -> None:
    """Serve a page, on this machine for this machine alone, that shows a run of this user while it goes on.

    The printed address contains a token; without it, nothing of the run can be seen. Ctrl-C ends it.
    """
    with reported():
        from reactors.viewing.server import ViewServer
        from reactors.viewing.watching import Watched

        with ExitStack() as stack:
            folder = None if run is None or run.isdecimal() else _folder(run)
            watched = stack.enter_context(Watched(_pid(run)))
            try:
                server = ViewServer(watched, port=port, curves=None if folder is None else lambda: curves(folder))
            except OSError as error:
                raise click.ClickException(f"port {port} cannot be listened on: {error.strerror}") from None
            stack.enter_context(server)
            click.echo(server.address)
            if opens:
                click.launch(server.address)
            while watched.runs() and not watched.sample().over:
                time.sleep(0.2)
            time.sleep(2 * server.every)  # the browser sees the end


@click.command("report", short_help="Write what came of a run as one page.")
@click.argument("run", metavar="DIR|TRACE", type=click.Path(exists=True, path_type=Path))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.html", help="Where to.")
def report_command(run: Path, output: Path | None) -> None:
    """Write one page that any browser shows without a network: of a training's folder, or of a trace.

    It has curves, the graph, where the time went, what limits the program and what more workers would give; without a
    trace (--trace) it has what is known without one.
    """
    with reported():
        from reactors.tracing.trace import Trace
        from reactors.viewing.report import contents, write

        facts: dict[str, Mapping[str, object]]
        if run.is_dir():
            folder = _folder(str(run))
            traces = sorted(run.glob("trace*.rxt"), key=lambda each: each.stat().st_mtime)
            trace = Trace(traces[-1]) if traces else None
            said, facts, drawn = folder.name, folder.facts(), curves(folder)
            target = output or run / "report.html"
            if trace is None and output is None and target.exists():
                click.echo(
                    f"{target} is the page that the run wrote at its end, which knows more; -o FILE writes another"
                )
                return
        else:
            trace = Trace(run)
            said, facts, drawn = trace.header["program"], {}, {}
            target = output or run.with_suffix(".html")
        if trace is not None:
            names = ("program", "seed", "backend", "workers", "python", "reactors_version")
            facts = {"The traced run": {name: trace.header[name] for name in names}, **facts}
        try:
            write(
                target,
                contents(said, [], trace, curves={name: {"": points} for name, points in drawn.items()}, facts=facts),
            )
        except OSError as error:
            raise click.FileError(str(target), error.strerror or "") from None
        click.echo(f"{target}: {target.stat().st_size:,} bytes")


def curves(folder: RunFolder) -> dict[str, list[tuple[float, float]]]:
    """Of a training: every figure over its steps."""
    from reactors.rl.runs.curves import over_steps

    return over_steps(_rows(folder))


def _rows(folder: RunFolder) -> Sequence[Mapping[str, Any]]:
    from reactors.rl.monitoring.journal_file import read

    return read(folder.journal_file) if folder.journal_file.exists() else []


def _folder(run: str) -> RunFolder:
    from reactors.rl.runs.run_folder import RunFolder

    return RunFolder(Path(run))


def _pid(run: str | None) -> int:
    """The process that is meant. `WatchingError` if that is not clear."""
    from reactors.viewing.watching import watchable

    if run is not None and run.isdecimal():
        return int(run)
    if run is not None:
        file = _folder(run).pid_file
        try:
            return int(file.read_text())
        except (OSError, ValueError):
            raise WatchingError(
                f"{run} has no run that goes on; reactors report {run} shows one that is over"
            ) from None
    found = watchable()
    if len(found) != 1:
        listed = ", ".join(map(str, found))
        raise WatchingError(
            f"there are several runs, say which: {listed}" if found else "there is no run that can be watched now"
        )
    return found[0]
