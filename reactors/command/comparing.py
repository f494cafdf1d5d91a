"""`reactors diff` and `reactors same`: where do two runs part?"""

from __future__ import annotations

import sys
from itertools import chain, count, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from reactors.command.options import of_env, of_own_algorithm, run_in
from reactors.command.tracebacks import reported
from reactors.errors import JournalError
from reactors.journals.comparison import Comparison
from reactors.journals.journal import Journal
from reactors.journals.words import lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
    if said := _same_in_other_parts(one, other):
        click.echo(said)
        return
    comparison, same = _compared(one, other)
    click.echo("\n".join(lines(comparison)))
    if comparison.divergence is None:
        same, said = _decided(one, other, comparison, same=same)
        if same != comparison.same:
            click.echo(said)
    if values and comparison.divergence is not None and comparison.divergence.ports:
        click.echo("executed again up to there:")
        with reported():
            click.echo("\n".join(_distances(one, other, comparison, comparison.divergence)))
    sys.exit(0 if same else 1)


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
        if said := _same_in_other_parts(folder, other):
            yield f"{first} and {name}: {said}"
            continue
        try:
            comparison, same = _first_unlike(folder, other)
        except JournalError as error:
            yield str(error)
            continue
        found = comparison.divergence
        equal = f"{comparison.compared:,} equal executions"
        if found is None:
            same, said = _decided(folder, other, comparison, same=same)
            if same != comparison.same:
                yield f"{first} and {name}: {said}"
                continue
            yield f"{first} and {name} do the same: {equal}" + (f"; {comparison.longer}" if comparison.longer else "")
        else:
            settings = ", ".join(map(str, comparison.settings[:3]))
            yield f"{first} and {name} part after {equal}, at {found.tag}, in {found.path}" + (
                f" ({settings})" if settings else ""
            )


def _once_more(folder: Path, algorithm: str | None, env: str | None) -> tuple[bool, str]:
    """Whether a training does now what it did, as `_same` says it."""
    if not folder.is_dir():
        raise click.UsageError(f"{folder} is no folder of a training; say which other journal it is to be held against")
    from reactors.rl.runs.retrained import retrained

    with TemporaryDirectory() as out:
        try:
            retrained(run_in(folder, algorithm, env), Path(out))
        except Exception as error:  # noqa: BLE001 - any code of the user's
            click.echo(f"{folder} cannot be trained once more: {type(error).__name__}: {error}", err=True)
            sys.exit(_UNTESTED)
        return _same(folder, Path(out))


def _same(one: Path, other: Path) -> tuple[bool, str]:
    """Whether two runs did the same, and in words: by their journals, or by the digests of trainings without them.

    Journals of one that was resumed overlap, or have a gap, if it was interrupted: there, too, digests decide.
    """
    if one.is_dir() and other.is_dir() and not all(_has_one(each) for each in (one, other)):
        found = _by_digests(one, other)
        if found is None:
            lacks = next(each for each in (one, other) if _digest(each) is None)
            fact = (
                "journals of a run that was resumed, and no digest"
                if _has_some(lacks)
                else "neither values.rxj nor a digest"
            )
            click.echo(f"Error: {lacks} has {fact}, for the run has not ended", err=True)
            sys.exit(2)
        same, said = found
        return same, said if same else f"{said}; of runs with --journal-values, reactors diff says where"
    comparison, same = _compared(one, other)
    if (divergence := comparison.divergence) is not None:
        return False, f"they part at {divergence.tag}, in {divergence.path}"
    return _decided(one, other, comparison, same=same)


def _has_some(folder: Path) -> bool:
    return (folder / "values.rxj").exists()


def _has_one(folder: Path) -> bool:
    return _has_some(folder) and len(journals_in(folder)) == 1


def _decided(one: Path, other: Path, comparison: Comparison, *, same: bool) -> tuple[bool, str]:
    """Whether two runs did the same whose journals do not part, and in words: digests are also of what has none."""
    found = _by_digests(one, other) if one.is_dir() and other.is_dir() else None
    if found is not None and found[0] != comparison.same:
        return found
    if same or (found is not None and comparison.same):
        return True, f"the same: {comparison.compared:,} executions"
    return False, comparison.longer or f"one of {one} and {other} was resumed more often, and has more journals"


def _same_in_other_parts(one: Path, other: Path) -> str:
    """That two trainings are the same, though one was interrupted more often, and journals tell of that; or nothing."""
    if not (one.is_dir() and other.is_dir() and _has_some(one) and _has_some(other)):
        return ""
    found = None if len(journals_in(one)) == len(journals_in(other)) else _by_digests(one, other)
    return found[1] if found is not None and found[0] else ""


def _by_digests(one: Path, other: Path) -> tuple[bool, str] | None:
    """Whether two trainings have the same digest, and in words; None if one of them has not ended."""
    mine, its = _digest(one), _digest(other)
    if mine is None or its is None:
        return None
    return mine == its, f"the same: digest {mine}" if mine == its else f"their digests differ: {mine} and {its}"


def _digest(folder: Path) -> str | None:
    """Of the training in a folder, if it has ended."""
    found: str | None = run_in(folder, None, None).result.get("digest")
    return found


def _compared(one: Path, other: Path) -> tuple[Comparison, bool]:
    try:
        return _first_unlike(one, other)
    except JournalError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)


def _first_unlike(one: Path, other: Path) -> tuple[Comparison, bool]:
    """The first of their journals that are not the same, or the last ones; and whether all are the same."""
    mine, its = journals_in(one), journals_in(other)
    comparison = Comparison(Journal(mine[0]), Journal(its[0]))
    for pair in zip(mine[1:], its[1:], strict=False):
        if not comparison.same:
            break
        comparison = Comparison(*map(Journal, pair))
    return comparison, comparison.same and len(mine) == len(its)


@click.command("same", short_help="Whether two runs did the same.")
@click.argument("one", type=_run)
@click.argument("other", type=_run, required=False)
@of_own_algorithm
@of_env
def same_command(one: Path, other: Path | None, *, algorithm: str | None, env: str | None) -> None:
    """Whether two runs did the same; the exit status says it: 0, or 1, or 2 if they cannot be compared.

    ONE and OTHER are journals or folders of training; folders without values.rxj, or of runs that were resumed, are
    compared by their digests. Without
    OTHER, the training in the folder ONE is trained once more, with the code that is there now: for `git bisect
    run reactors same DIR`, which finds the commit since which it learns something else. The status is 125, which makes
    git skip a commit, where it cannot be trained.
    """
    if other is not None and (algorithm or env):
        raise click.UsageError("--algorithm and --env are for a folder that is trained once more: leave out OTHER")
    with reported():
        same, said = _once_more(one, algorithm, env) if other is None else _same(one, other)
    click.echo(said, err=not same)
    sys.exit(0 if same else 1)
