"""`reactors trace` and `reactors place`: what a run did, in short or for other programs, and where it should run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reactors.command.tracebacks import reported
from reactors.command.values import COUNT, COUNTS, OneOf
from reactors.time import duration, measured
from reactors.tracing.accounting import accounts
from reactors.tracing.capacity import LATENCY_NS, Machine
from reactors.tracing.model import Model
from reactors.tracing.placing import best
from reactors.tracing.profile import text
from reactors.tracing.remedies import diagnosis
from reactors.tracing.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

SUFFIXES = {"perfetto": ".pftrace", "chrome": ".json", "otlp": ".otlp.json"}


@click.command("trace", short_help="Report where a run's time went, or convert its trace for other tools.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--to", "kind", type=OneOf(tuple(SUFFIXES)), help="Convert it into this format.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="The file for the converted trace."
)
def trace_command(file: Path, kind: str | None, output: Path | None) -> None:
    """Say where the time of a run went, which rx.run(..., trace=FILE) has traced.

    With --to it becomes what Perfetto (ui.perfetto.dev), chrome://tracing, or a collector of OpenTelemetry reads.
    """
    with reported():
        trace = Trace(file)
        if kind is not None:
            converted(trace, kind, output or file.with_suffix(SUFFIXES[kind]))
            return
        if output is not None:
            raise click.UsageError("-o is where --to writes; name a format")
        click.echo("\n".join([*table(trace), *diagnosis(trace).lines()]))


@click.command("place", short_help="Find where reactors should run, from a trace.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--workers", type=COUNTS, metavar="N,N", help="Numbers of workers to plan for.  [default: as in the run]")
@click.option("--machines", type=COUNT, metavar="N", default=1, help="Machines that share the workers equally.")
@click.option(
    "--latency",
    metavar="DURATION",
    help=f"How long a message between machines takes.  [default: {LATENCY_NS // 1000} us]",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE.toml", help="The file for the placements."
)
def place_command(
    file: Path, workers: tuple[int, ...], machines: int, latency: str | None, output: Path | None
) -> None:
    """Say what a traced program would take on other numbers of workers, and find the best placement for each.

    rx.run(..., placement="FILE.toml") then takes it; reactors that a placement named when it was traced stay there.
    """
    with reported():
        trace = Trace(file)
        model, wanted = Model(trace), workers or (trace.workers,)
        if uneven := [n for n in wanted if n % machines]:
            raise click.UsageError(f"{uneven[0]} workers on {machines} machines; write multiples of {machines}")
        here = Machine.here(trace.workers, *(n // machines for n in wanted))
        machine = replace(
            here, machines=machines, latency=LATENCY_NS if latency is None else duration(latency, "--latency")
        )
        present = [int(each["worker"]) for each in trace.reactors]
        now = model.predicted(present, trace.workers, here).seconds
        found = [best(model, n, machine) for n in wanted]
        click.echo("\n".join(model.assumed(machine, wanted)))
        lines = [("workers", "auto", "best", "of now", "busy")]
        for each in found:
            busy = sum(each.prediction.busy) / each.workers / (each.prediction.seconds or 1.0)
            lines.append((
                f"{each.workers}", measured(each.auto.seconds), measured(each.prediction.seconds),
                f"{now / (each.prediction.seconds or 1.0):.2f}", f"{busy:.0%}",
            ))  # fmt: skip
        click.echo("\n".join(aligned(lines)))
        bound = now / (model.critical_path().seconds or 1.0)
        click.echo(f"with any number of workers at most {bound:.2f} times as fast as now, by its dataflow alone")
        if output is not None:
            try:
                output.write_text(text(trace, found))
            except OSError as error:
                raise click.FileError(str(output), error.strerror or "") from None
            click.echo(f"{output}: placements for {', '.join(map(str, wanted))} workers")


def converted(trace: Trace, kind: str, target: Path) -> None:
    """Write it in another format."""
    if kind == "perfetto":
        from reactors.tracing.perfetto import write
    elif kind == "chrome":
        from reactors.tracing.chrome import write
    else:
        from reactors.tracing.otlp import write
    try:
        reactions = write(trace, target)
    except OSError as error:
        raise click.FileError(str(target), error.strerror or "") from None
    cut = "" if trace.end is not None else "; the run was cut off, and so is the trace"
    click.echo(f"{target}: {reactions:,} reactions{cut}")


def table(trace: Trace) -> list[str]:
    """A line for each worker: which part of its time was in reactions, which in waits, and for what."""
    found = accounts(trace)
    reasons = list(dict.fromkeys(reason for account in found for reason in account.waits))
    lines: list[tuple[str, ...]] = [("worker", "reactions", *(f"waits for {reason}" for reason in reasons), "engine")]
    for account in found:
        parts = (account.reactions, *(account.waits.get(reason, 0.0) for reason in reasons), account.engine)
        shares = (f"{part / account.wall:.1%}" if account.wall else "" for part in parts)
        lines.append((str(account.worker), *shares))
    seconds = max((account.wall for account in found), default=0.0)
    cut = "" if trace.end is not None else ", and was cut off"
    return [
        f"{trace.header['program']} ran for {seconds:.3f} s{cut}",
        *aligned(lines),
    ]


def aligned(lines: Sequence[tuple[str, ...]]) -> list[str]:
    """A table of numbers."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
