"""The command `reactors`: run a program, draw it, look at the machine; train, and what comes after it.

Exit status: 0, or 1 when something went wrong, 2 for a command that makes no sense, 130 after Ctrl-C.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reactors.command import doctor as diagnosis
from reactors.command.comparing import diff_command, same_command
from reactors.command.joining import join_command
from reactors.command.parameters import arguments, options_of
from reactors.command.rewinding import bisect_command, replay_command
from reactors.command.runs import compare_command, eval_command, play_command
from reactors.command.tracebacks import reported, whole_tracebacks
from reactors.command.traces import place_command, trace_command
from reactors.command.train import presets_command, train_command
from reactors.command.tune import tune_command
from reactors.command.values import COUNT, NATURAL, WORKERS, OneOf
from reactors.command.viewing import report_command, top_command, view_command
from reactors.drawing.draw import RENDERED, WRITTEN, Look, dot, draw
from reactors.elaboration.workers import BACKENDS, Workers
from reactors.errors import DurationError
from reactors.graph import Graph
from reactors.launch import run
from reactors.machines.machines import Machines
from reactors.reports.json_text import json_line
from reactors.script import WrongTarget, reactor_class, split
from reactors.time import duration

if TYPE_CHECKING:
    from reactors.model.reactor import Reactor
    from reactors.reports.result import Result

_CLASS, _OPTIONS = "reactors.class", "reactors.options"  # of the context: the class, and an option for each parameter


class ClassCommand(click.Command):
    """A command on FILE[:CLASS], with the parameters of the class as further options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Find the class first, for it decides what else there can be."""
        target = None if ctx.resilient_parsing else self._target(ctx, args)
        if target is not None:
            taken = {name for option in self.get_params(ctx) for name in (*option.opts, *option.secondary_opts)}
            try:
                with reported():
                    ctx.meta[_CLASS] = reactor_class(target)
            except WrongTarget as error:
                raise click.UsageError(str(error), ctx) from None
            ctx.meta[_OPTIONS] = options_of(ctx.meta[_CLASS], taken)
        return super().parse_args(ctx, args)

    def _target(self, ctx: click.Context, args: list[str]) -> str | None:
        """The argument that names a file; what options there are is not yet known, so any of them could be a value."""
        parser = self.make_parser(ctx)
        parser.ignore_unknown_options = True
        try:
            values, others, _ = parser.parse_args(list(args))
        except click.UsageError:
            return None  # it will come up again
        found = [word for word in (values.get("target"), *others) if isinstance(word, str) and word[:1] != "-"]
        return next((word for word in found if split(word)[0].is_file()), found[0] if found else None)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own, and those of the class."""
        return [*super().get_params(ctx), *ctx.meta.get(_OPTIONS, ())]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Its own, then those of the class under a heading of their own."""
        theirs: list[click.Option] = ctx.meta.pop(_OPTIONS, [])
        super().format_options(ctx, formatter)
        ctx.meta[_OPTIONS] = theirs
        if theirs:
            with formatter.section(f"Parameters of {ctx.meta[_CLASS].__name__}"):
                formatter.write_dl([record for option in theirs if (record := option.get_help_record(ctx))])


def _duration(_ctx: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    try:
        if value is not None:
            duration(value)
    except DurationError as error:
        raise click.BadParameter(str(error)) from None
    return value


def _placement(_ctx: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> dict[str, int] | str | None:
    if len(values) == 1 and (values[0].startswith("profile:") or values[0].endswith(".toml")):
        return values[0]
    placement = {}
    for value in values:
        path, _, worker = value.rpartition("=")
        if not (path and worker.isdecimal()):
            raise click.BadParameter(f"{value!r}; write PATH=WORKER, as in main.learner=1")
        placement[path] = int(worker)
    return placement or None


def _file(_ctx: click.Context, _option: click.Parameter, value: Path | None) -> Path | None:
    if value is not None and not value.parent.is_dir():
        raise click.BadParameter(f"there is no folder {str(value.parent)!r}")
    return value


def _picture(ctx: click.Context, option: click.Parameter, value: Path | None) -> Path | None:
    if value is not None and value.suffix.lower() not in (*RENDERED, *WRITTEN):
        raise click.BadParameter(f"{str(value)!r}; a picture ends in {', '.join((*RENDERED, *WRITTEN))}")
    return _file(ctx, option, value)


_target = click.argument("target", metavar="FILE[:CLASS]")
_place = click.option(
    "--placement",
    multiple=True,
    metavar="PATH=WORKER",
    callback=_placement,
    help="Where a reactor runs (repeatable), or profile:run.rxt, or the FILE.toml of reactors place.",
)
_path = click.Path(dir_okay=False, path_type=Path)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="reactors", prog_name="reactors")
def main() -> None:
    """Deterministic dataflow: run and draw programs of reactors."""
    here = os.getcwd()  # noqa: PTH109 - as `python -m` has it
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)


@main.command("run", cls=ClassCommand, short_help="Run a program.")
@_target
@click.option(
    "--workers",
    type=WORKERS,
    metavar="N",
    default=1,
    show_default=True,
    help="Workers that run at the same time; auto: one for each core.",
)
@click.option("--backend", type=OneOf(BACKENDS), default="auto", show_default=True, help="Threads or processes.")
@click.option(
    "--pin/--no-pin",
    default=None,
    help="Pin each worker to a core of its own, or none. [default: a worker moves only where two share a core]",
)
@click.option("--fast", is_flag=True, help="Do not wait for physical time.")
@click.option("--timeout", metavar="DURATION", callback=_duration, help='Logical time after which to stop: "10 s".')
@click.option("--keepalive/--no-keepalive", default=None, help="Wait for physical actions when nothing else is left.")
@click.option(
    "--seed",
    type=NATURAL,
    metavar="N",
    default=0,
    show_default=True,
    help="The seed of all random numbers.",
)
@_place
@click.option("--machines", type=COUNT, metavar="N", help="Run on N machines, this one included.")
@click.option(
    "--listen", metavar="HOST:PORT", help="Where other machines join by reactors join. [default: all are this one]"
)
@click.option("--token-file", type=_path, metavar="FILE", help="With --listen: the secret that others must have.")
@click.option("--certificate", type=_path, metavar="FILE", help="With --listen: encrypt, and show this (PEM).")
@click.option("--key", type=_path, metavar="FILE", help="The certificate's.  [default: in the same file]")
@click.option(
    "--trace",
    type=_path,
    callback=_file,
    metavar="FILE",
    help="Trace everything that runs: run.rxt, or a timeline run.json.",
)
@click.option("--live", is_flag=True, help="Show what the workers do, also to `reactors top` and `reactors view`.")
@click.option("--record", type=_path, metavar="LOG", help="Record what comes from outside.")
@click.option(
    "--replay", type=_path, metavar="LOG", help="Take what comes from outside from this log, and from nowhere else."
)
@click.option(
    "--journal",
    type=_path,
    callback=_file,
    metavar="FILE.rxj",
    help="Hash all values that reactions write, for reactors diff.",
)
@click.option(
    "--journal-states", type=COUNT, metavar="N", help="With --journal: hash attributes, too, every N executions."
)
@click.option(
    "--digest",
    type=click.Choice(["behaviour", "values"]),
    default="behaviour",
    show_default=True,
    help='With "values", also a digest of all values that reactions write.',
)
@click.option("--progress/--no-progress", default=None, help="Show the progress. [default: on a terminal]")
@click.option("--debug", is_flag=True, help="Run checks that are too slow for normal use.")
@click.option("--max-microsteps", type=COUNT, metavar="N", help="Stop with an error after N microsteps at one time.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one line of JSON, the last one.")
def run_command(
    *,
    as_json: bool,
    progress: bool | None,
    placement: dict[str, int] | str | None,
    pin: bool | None,
    machines: int | None,
    listen: str | None,
    token_file: Path | None,
    certificate: Path | None,
    key: Path | None,
    **values: Any,
) -> None:
    """Run the program that the reactor CLASS of FILE is.

    Without CLASS, it is the one named like the file, or Main, or the only one that no other class of the file contains.
    """
    given = {name: values[name] for name in _RUN}
    if progress is None:
        progress = sys.stderr.isatty() and not os.environ.get("CI")
    with reported():
        given["pin"] = "auto" if pin is None else pin
        if machines is None and (listen or token_file or certificate or key):
            raise click.UsageError(
                "--listen, --token-file, --certificate and --key are for --machines; say how many there are"
            )
        if machines is not None:
            given["machines"] = Machines(
                count=machines, listen=listen, token_file=token_file, certificate=certificate, key=key
            )
        result = run(_made(values), progress=progress, placement=placement or "auto", **given)
    click.echo(_as_json(result) if as_json else f"\n{result.summary()}")


_RUN = (
    "workers",
    "backend",
    "fast",
    "timeout",
    "keepalive",
    "seed",
    "trace",
    "live",
    "record",
    "replay",
    "journal",
    "journal_states",
    "digest",
    "debug",
    "max_microsteps",
)


@main.command("graph", cls=ClassCommand, short_help="Draw a program.")
@_target
@click.option(
    "-o", "--output", type=_path, callback=_picture, metavar="PICTURE", help="A .svg, .png, .pdf, .dot or .mmd."
)
@click.option("--apg", is_flag=True, help="Draw the precedence graph: what has to wait for what.")
@click.option("--expand", is_flag=True, help="Draw every member of a bank or list.")
@click.option("--depth", type=COUNT, metavar="N", help="Draw reactors at this depth closed.")
@click.option("--workers", type=WORKERS, metavar="N", help="Show where each reactor runs with N workers.")
@_place
@click.option("--profile", type=_path, metavar="TRACE", help="Show the load that a run had, from its trace.")
def graph_command(
    *,
    output: Path | None,
    apg: bool,
    expand: bool,
    depth: int | None,
    workers: Workers | None,
    placement: dict[str, int] | str | None,
    profile: Path | None,
    **values: Any,
) -> None:
    """Draw the program that the reactor CLASS of FILE is; without -o, print it in the DOT language.

    Without CLASS, it is the one named like the file, or Main, or the only one that no other class of the file contains.
    """
    look: Look = {
        "apg": apg, "expand": expand, "depth": depth, "workers": workers, "placement": placement, "profile": profile,
    }  # fmt: skip
    with reported():
        graph = Graph(_made(values))
        if output is None:
            click.echo(dot(graph, **look))
        else:
            click.echo(f"{draw(graph, output, **look)}: {graph!r}")


@main.command("doctor", short_help="Check whether this machine has what programs need.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--report", is_flag=True, help="Print it as Markdown for an issue, with versions and the machine.")
def doctor_command(as_json: bool, report: bool) -> None:
    """Look whether this machine has what programs need; the exit status is 1 if something is missing."""
    if as_json and report:
        raise click.UsageError("--json and --report exclude each other")
    findings = diagnosis.examine()
    if report:
        click.echo(diagnosis.report(findings))
    elif as_json:
        click.echo(json_line([dataclasses.asdict(finding) for finding in findings]))
    else:
        click.echo(diagnosis.table(findings))
    if any(finding.verdict == "bad" for finding in findings):
        sys.exit(1)


for command in (
    join_command,
    presets_command,
    train_command,
    tune_command,
    eval_command,
    play_command,
    compare_command,
    diff_command,
    same_command,
    trace_command,
    place_command,
    top_command,
    view_command,
    report_command,
    replay_command,
    bisect_command,
):
    main.add_command(command)
for command in main.commands.values():
    whole_tracebacks(command)


def _made(values: dict[str, Any]) -> Reactor:
    kind: type[Reactor] = click.get_current_context().meta[_CLASS]
    positional, named = arguments(kind, {name: value for name, value in values.items() if value is not None})
    return kind(*positional, **named)


def _as_json(result: Result) -> str:
    plain = {"final_tag": result.final_tag._asdict(), "started_at": result.started_at.isoformat()}
    return json_line({**dataclasses.asdict(result), **plain})
