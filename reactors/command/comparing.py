"""`reactors diff` and `reactors same`: where do two runs part?"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from reactors.command.tracebacks import reported
from reactors.errors import JournalError
from reactors.journals.comparison import Comparison
from reactors.journals.journal import Journal
from reactors.journals.words import lines

_run = click.Path(path_type=Path)


@click.command("diff", short_help="Say where two runs part, and why.")
@click.argument("one", type=_run)
@click.argument("other", type=_run)
def diff_command(one: Path, other: Path) -> None:
    """Say what differs between two runs: what ran, then the first execution that wrote something else.

    ONE and OTHER are journals, which rx.run(..., journal=FILE) has written, or folders of training with
    journal_values. The exit status is 0 if the runs are the same, 1 if they differ, 2 if they cannot be compared.
    """
    comparison = _compared(one, other)
    click.echo("\n".join(lines(comparison)))
    sys.exit(0 if comparison.same else 1)


def journal_in(path: Path) -> Path:
    """The journal that a file is, or that a run's folder has."""
    if not path.is_dir():
        return path
    found = path / "values.rxj"
    if not found.exists():
        raise JournalError(f"{path} has no values.rxj; rl.train(..., journal_values=True) writes one")
    return found


def _compared(one: Path, other: Path) -> Comparison:
    try:
        return Comparison(Journal(journal_in(one)), Journal(journal_in(other)))
    except JournalError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)


@click.command("same", short_help="Whether two runs did the same.")
@click.argument("one", type=_run)
@click.argument("other", type=_run)
def same_command(one: Path, other: Path) -> None:
    """Whether two runs did the same; the exit status says it: 0, or 1, or 2 if they cannot be compared."""
    with reported():
        comparison = _compared(one, other)
    divergence = comparison.divergence
    if comparison.same:
        click.echo(f"the same: {comparison.compared:,} executions")
        return
    click.echo(
        comparison.longer if divergence is None else f"they part at {divergence.tag}, in {divergence.path}", err=True
    )
    sys.exit(1)
