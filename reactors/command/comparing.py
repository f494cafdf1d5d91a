"""`reactors diff` and `reactors same`: where do two runs part?"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from itertools import chain, count, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import click

from reactors.command.options import of_env, of_own_algorithm, run_in
from reactors.command.tracebacks import reported
from reactors.errors import JournalError
from reactors.journals.comparison import Comparison, GraphsDifferError
from reactors.journals.journal import Journal
from reactors.journals.words import lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from reactors.journals.comparison import Divergence

_run = click.Path(path_type=Path)
_UNTESTED = 125  # `git bisect run` skips such a commit


@click.command("diff", short_help="Say where two runs part, and why.")
@click.argument("one", type=_run)
@click.argument("other", type=_run)
@click.option("--values", is_flag=True, help="Of two folders: execute both again up to there, and say how far apart.")
def diff_command(one: Path, other: Path, *, values: bool) -> None:
    """Say what differs between two runs: what ran, then the first execution that wrote something else.

    ONE and OTHER are journals, which rx.run(..., journal=FILE) has written, or folders of training with
    journal_values. The exit status is 0 if the runs are the same, 1 if they differ, 2 if they cannot be compared.
    """
    if values and not (one.is_dir() and other.is_dir()):
        raise click.UsageError("--values is for two folders of training, which can be executed again")
    with _incomparable():
        for each in (one, other):
            journals_in(each)
        found = _verdict(one, other)
    comparison = found.comparison
    if comparison is not None:
        click.echo("\n".join(lines(comparison)))
    if comparison is None or found.same != comparison.same:
        click.echo(found.words)
    if values and comparison is not None and comparison.divergence is not None and comparison.divergence.ports:
        click.echo("executed again up to there:")
        with reported():
            click.echo("\n".join(_distances(one, other, comparison, comparison.divergence)))
    sys.exit(0 if found.same else 1)


@contextmanager
def _incomparable() -> Iterator[None]:
    """End with status 2 where two runs cannot be compared."""
    try:
        yield
    except JournalError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)


def journals_in(path: Path) -> list[Path]:
    """The journal that a file is, or those that a run's folder has: one more each time that it was resumed."""
    if not path.is_dir():
        return [path]
    names = chain(["values.rxj"], (f"values-{number}.rxj" for number in count(2)))
    found = [*takewhile(Path.exists, map(path.joinpath, names))]
    if not found:
        raise JournalError(f"{path} has no values.rxj; reactors train --journal-values writes one")
    return found


def _distances(one: Path, other: Path, comparison: Comparison, found: Divergence) -> Iterator[str]:
    """How far the values are apart in which two runs differ, port by port."""
    from reactors.rewinding.distance import distance, journal_hash, written_again
    from reactors.rewinding.replay import Replay

    made = []
    for folder in (one, other):
        with Replay(folder) as replay:
            made.append(written_again(replay, found.tag, found.path))
    rows = (comparison.one, found.one), (comparison.other, found.other)
    hashes = [journal.written(row) for journal, row in rows if row is not None]
    dtypes = {element["path"]: element.get("dtype") for element in comparison.one.elements}
    for port in found.ports:
        pairs = [(each.get(port), each_hash[port]) for each, each_hash in zip(made, hashes, strict=True)]
        again = [journal_hash(value, dtypes[port]) == was for value, was in pairs]
        if not all(again):
            which = " and ".join(str(folder) for folder, same in zip((one, other), again, strict=True) if not same)
            yield (
                f"  {port}: what {which} wrote is not written again: {found.path} does not do the same each time, or "
                "its code, or the environment's, is another one by now"
            )
            continue
        apart = distance(pairs[0][0], pairs[1][0])
        yield f"  {port}: {apart or 'they differ in something else than numbers of the same shape'}"


def parting(runs: Mapping[str, Path]) -> Iterator[str]:
    """Where each of some runs with a journal parts from the first of them, in a line each."""
    with_journal = {name: folder for name, folder in runs.items() if (folder / "values.rxj").exists()}
    (first, folder), *others = with_journal.items() or [("", Path())]
    for name, other in others:
        try:
            verdict = _verdict(folder, other)
        except JournalError as error:
            yield str(error)
            continue
        comparison = verdict.comparison
        if comparison is None or (comparison.divergence is None and verdict.same != comparison.same):
            yield f"{first} and {name}: {verdict.words}"
            continue
        found, equal = comparison.divergence, f"{comparison.compared:,} equal executions"
        if found is None:
            yield f"{first} and {name} do the same: {equal}" + (f"; {comparison.longer}" if comparison.longer else "")
        else:
            settings = ", ".join(map(str, comparison.settings[:3]))
            yield f"{first} and {name} part after {equal}, at {found.tag}, in {found.path}" + (
                f" ({settings})" if settings else ""
            )


def _once_more(folder: Path, algorithm: str | None, env: str | None) -> Verdict:
    """Whether a training does now what it did."""
    if not folder.is_dir():
        raise click.UsageError(f"{folder} is no folder of a training; say which other journal it is to be held against")
    from reactors.rl.runs.retrained import retrained

    with TemporaryDirectory() as out:
        try:
            retrained(run_in(folder, algorithm, env), Path(out))
        except Exception as error:  # noqa: BLE001 - any code of the user's
            click.echo(f"{folder} cannot be trained once more: {type(error).__name__}: {error}", err=True)
            sys.exit(_UNTESTED)
        return _verdict(folder, Path(out))


class Verdict(NamedTuple):
    """Whether two runs did the same, in words, too; and the comparison that says where they part, if there is one."""

    same: bool
    words: str
    comparison: Comparison | None = None


def _verdict(one: Path, other: Path) -> Verdict:
    """By journals, and by the digests of trainings, which are also of what no journal has; else `JournalError`.

    A training that was interrupted has more journals than the same one that was not, and they overlap or have a gap.
    """
    mine, its = (journals_in(each) if _has_journals(each) else [] for each in (one, other))
    digests = [_digest(each) for each in (one, other)] if one.is_dir() and other.is_dir() else [None, None]
    known, equal = None not in digests, digests[0] == digests[1]
    by_digest = f"the same: digest {digests[0]}" if equal else "their digests differ: {} and {}".format(*digests)
    if known and equal and len(mine) != len(its):
        return Verdict(True, by_digest)
    if not (mine and its):
        if not known:
            raise JournalError(
                f"{one} and {other} have nothing to be compared by: not both have values.rxj, which --journal-values "
                "writes, nor both a digest, which a training has when it has ended"
            )
        return Verdict(equal, by_digest if equal else f"{by_digest}; with --journal-values, reactors diff says where")
    try:
        comparison = _first_unlike(mine, its)
    except GraphsDifferError:  # as where one is watched and the other is not, of which their digests know nothing
        if known and equal:
            return Verdict(True, by_digest)
        raise
    if (found := comparison.divergence) is not None:
        return Verdict(False, f"they part at {found.tag}, in {found.path}", comparison)
    if known and equal != comparison.same:
        return Verdict(equal, by_digest, comparison)
    if comparison.same and (known or len(mine) == len(its)):
        return Verdict(True, f"the same: {comparison.compared:,} executions", comparison)
    return Verdict(False, comparison.longer or "one of them was resumed more often", comparison)


def _has_journals(path: Path) -> bool:
    return not path.is_dir() or (path / "values.rxj").exists()


def _digest(folder: Path) -> str | None:
    """Of the training in a folder, if it has ended."""
    found: str | None = run_in(folder, None, None).result.get("digest")
    return found


def _first_unlike(mine: Sequence[Path], its: Sequence[Path]) -> Comparison:
    """The first of their journals, in order, that are not the same, or else the last ones."""
    comparison = Comparison(Journal(mine[0]), Journal(its[0]))
    for pair in zip(mine[1:], its[1:], strict=False):
        if not comparison.same:
            break
        comparison = Comparison(*map(Journal, pair))
    return comparison


@click.command("same", short_help="Whether two runs did the same.")
@click.argument("one", type=_run)
@click.argument("other", type=_run, required=False)
@of_own_algorithm
@of_env
def same_command(one: Path, other: Path | None, *, algorithm: str | None, env: str | None) -> None:
    """Whether two runs did the same; the exit status says it: 0, or 1, or 2 if they cannot be compared.

    ONE and OTHER are journals or folders of training; folders without values.rxj are compared by their digests. Without
    OTHER, the training in the folder ONE is trained once more, with the code that is there now: for `git bisect
    run reactors same DIR`, which finds the commit since which it learns something else. The status is 125, which makes
    git skip a commit, where it cannot be trained.
    """
    if other is not None and (algorithm or env):
        raise click.UsageError("--algorithm and --env are for a folder that is trained once more: leave out OTHER")
    with reported(), _incomparable():
        found = _once_more(one, algorithm, env) if other is None else _verdict(one, other)
    click.echo(found.words, err=not found.same)
    sys.exit(0 if found.same else 1)
