"""`reactors trace`: what a run did, in short, or for other programs to show."""

from __future__ import annotations

from pathlib import Path

import click

from reactors.command.tracebacks import reported
from reactors.command.values import OneOf
from reactors.tracing.accounting import accounts
from reactors.tracing.trace import Trace

SUFFIXES = {"perfetto": ".pftrace", "chrome": ".json", "otlp": ".otlp.json"}


@click.command("trace", short_help="Say where a run's time went, or turn its trace into what others show.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--to", "kind", type=OneOf(tuple(SUFFIXES)), help="A format to turn it into.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Where to write that.")
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
        click.echo("\n".join(table(trace)))


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
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    seconds = max((account.wall for account in found), default=0.0)
    cut = "" if trace.end is not None else ", and was cut off"
    return [
        f"{trace.header['program']} ran for {seconds:.3f} s{cut}",
        *("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines),
    ]
