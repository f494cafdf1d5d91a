"""How is the journal of a run kept in a file that can be read at any time?

As CSV, row by row. When a figure comes that has no column yet, the file is written again beside its place and put there
at once; else a row is appended and flushed. So a reader sees whole rows, and a crash leaves them. Memory holds
none of them, however long the run is.
"""

from __future__ import annotations

import contextlib
import csv
import os
import zlib
from itertools import islice
from typing import TYPE_CHECKING, Any

from reactors.rl.errors import CheckpointError, RunFolderError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Row = dict[str, float]

EVALUATION, EVALUATED_AT = "eval/mean_return", "eval/global_step"
AGAINST_CHANCE = "eval/random/return"
"""With opponents: of an agent, on average, while those that it does not learn with act by chance."""


def joined(before: Row, row: Row) -> Row:
    """What is known after a row: what it lacks is as it was; of an evaluation also the step at which it was.

    >>> joined({"global_step": 8, "eval/mean_return": 3.0, "eval/global_step": 8}, {"global_step": 16})
    {'global_step': 16, 'eval/mean_return': 3.0, 'eval/global_step': 8}
    """
    evaluated = {EVALUATED_AT: row["global_step"]} if EVALUATION in row else {}
    return {**before, **row, **evaluated}


class JournalFile:
    """Writes rows as they come, after those that are in the file already.

    >>> import tempfile; from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = JournalFile(Path(folder) / "journal.csv")
    ...     file.add({"global_step": 8})
    ...     file.add({"global_step": 16, "losses/td_loss": 0.5})
    ...     file.close()
    ...     read(Path(folder) / "journal.csv")
    [{'global_step': 8}, {'global_step': 16, 'losses/td_loss': 0.5}]
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._names: list[str] = []
        self._file: Any = None

    def add(self, row: Row) -> None:
        """Append a row; a new column has the whole file written again."""
        with self._writing():
            if self._file is None and self.path.exists():
                with self.path.open(newline="") as there:
                    self._names = _header(there.readline())
                self._file = self.path.open("a", newline="")
            new = [name for name in row if name not in self._names]
            if new:
                self._widen(new)
            file: Any = self._file
            csv.DictWriter(file, self._names, restval="").writerow(row)
            file.flush()

    def sync(self) -> None:
        """Have what was written on the disk."""
        if self._file is not None:
            with self._writing():
                os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; another row opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            file, self._file = self._file, None
            with contextlib.suppress(OSError):  # it has not written all
                if file is not None:
                    file.close()
            raise RunFolderError(
                f"{self.path} cannot be written ({error.strerror}); rows before this one stay"
            ) from error

    def _widen(self, new: Sequence[str]) -> None:
        """Have columns more, which are empty in the rows that are there."""
        there = self._file is not None
        self.close()
        self._names += new
        beside = self.path.with_name(f".{self.path.name}.new")
        with beside.open("w", newline="") as file:
            csv.writer(file).writerow(self._names)
            if there:
                with self.path.open(newline="") as before:
                    before.readline()
                    file.writelines(line.rstrip("\r\n") + "," * len(new) + "\r\n" for line in before)
        beside.replace(self.path)
        self._file = self.path.open("a", newline="")


def checksum(sum_so_far: int, row: Row) -> int:
    """Of all rows so far and this one, the order of whose figures does not matter."""
    text = "".join(f"{name} {float(row[name]).hex()}\n" for name in sorted(row))
    return zlib.crc32(text.encode(errors="surrogateescape"), sum_so_far)  # a damaged file has names of any bytes


@contextlib.contextmanager
def taking_over(source: Path, path: Path, count: int, checked: int) -> Iterator[None]:
    """Leave in the file at `path` the first rows of another, or of itself: those of a checkpoint, and no later ones.

    At its end; before its beginning `CheckpointError` if they are not there as they were.
    """
    beside = JournalFile(path.with_name(f".{path.name}.old"))
    beside.path.unlink(missing_ok=True)
    try:
        for row in _of_checkpoint(source, count, checked):
            beside.add(row)
        beside.close()
        yield
        if count:
            beside.path.replace(path)
        else:
            path.unlink(missing_ok=True)
    finally:
        beside.close()
        beside.path.unlink(missing_ok=True)


def _of_checkpoint(source: Path, count: int, checked: int) -> Iterator[Row]:
    try:
        yield from verified(source, count, checked)
    except RunFolderError as error:
        raise CheckpointError(
            f"the journal is not what it was at the checkpoint: {error}; put it back as it was, or remove it: then "
            "the journal begins where the run goes on"
        ) from error


class Tail:
    """Reads what is new in a journal that another process writes."""

    def __init__(self, path: Path) -> None:
        self.path, self.count = path, 0
        self._file: Any = None
        self._names: list[str] = []

    def new(self) -> list[Row]:
        """The rows that came since the last time."""
        found = []
        if self._replaced():
            self.close()
            self._file = self.path.open(newline="")
            self._names = _header(self._file.readline())
            for _ in range(self.count):
                self._file.readline()
        if self._file is None:
            return []
        while True:
            at = self._file.tell()
            line = self._file.readline()
            if not line.endswith("\n"):
                self._file.seek(at)
                break
            found.append(_row(self._names, next(csv.reader([line]))))
        self.count += len(found)
        return found

    def _replaced(self) -> bool:
        if not self.path.exists():
            return False
        return self._file is None or os.fstat(self._file.fileno()).st_ino != self.path.stat().st_ino

    def close(self) -> None:
        """Close the file that is read."""
        if self._file is not None:
            self._file.close()
            self._file = None


def each(path: Path) -> Iterator[Row]:
    """The rows of a journal, one by one; none if there is no file. `RunFolderError` if it is damaged."""
    number = 1
    try:
        with path.open(newline="", encoding="utf-8", errors="surrogateescape") as file:  # so that the line is known
            names = _header(file.readline())
            for line in file:
                number += 1
                if line.endswith("\n"):  # else it is being written
                    yield _row(names, next(csv.reader([line])))
    except FileNotFoundError:
        return
    except OSError as error:
        raise RunFolderError(f"{path} cannot be read ({error.strerror})") from error
    except (ValueError, OverflowError, StopIteration, csv.Error) as error:
        raise RunFolderError(f"{path} is damaged in line {number} ({error}); all rows before it are good") from error


def read(path: Path) -> list[Row]:
    """All rows of a journal, as they are."""
    return list(each(path))


def verified(path: Path, count: int, checked: int) -> Iterator[Row]:
    """The first rows of a journal, one by one; `RunFolderError` in the end if they have not this checksum."""
    found, rows = 0, 0
    for row in islice(each(path), count):
        found, rows = checksum(found, row), rows + 1
        yield row
    if rows < count or found != checked:
        fact = f"it has {rows} of {count} rows" if rows < count else "its checksum is another"
        raise RunFolderError(f"{path} was changed since a run wrote it: {fact}")


def _header(line: str) -> list[str]:
    names = next(csv.reader([line]), [])
    if line[-1:] != "\n" or names[:1] != ["global_step"] or len({*names}) < len(names):
        raise ValueError("its first line is not the names of figures")
    return names


def _row(names: Sequence[str], values: Sequence[str]) -> Row:
    if len(values) != len(names) or not values[0]:
        raise ValueError(f"it has {len(values)} figures of {len(names)}")
    row = {name: float(value) for name, value in zip(names, values, strict=True) if value}
    row["global_step"] = int(row["global_step"])
    return row
