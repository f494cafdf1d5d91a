"""How is the journal of a run kept in a file that can be read at any time?

As CSV, row by row. When a figure comes that has no column yet, the file is written anew beside its place and put there
at once; else a row is appended and flushed. So whoever reads sees whole rows, and a crash leaves them.
"""

from __future__ import annotations

import contextlib
import csv
import os
from typing import TYPE_CHECKING, Any

from reactors.rl.errors import RunFolderError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Row = dict[str, float]


class JournalFile:
    """Writes rows as they come. `rows` are those that are known already.

    >>> import tempfile; from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = JournalFile(Path(folder) / "journal.csv", [])
    ...     file.add([{"global_step": 8}])
    ...     file.add([{"global_step": 8}, {"global_step": 16, "losses/td_loss": 0.5}])
    ...     file.close()
    ...     read(Path(folder) / "journal.csv")
    [{'global_step': 8.0}, {'global_step': 16.0, 'losses/td_loss': 0.5}]
    """

    def __init__(self, path: Path, rows: Sequence[Row]) -> None:
        self.path = path
        self._names: dict[str, None] = {}
        self._file: Any = None
        if rows:
            with self._writing():
                self._begin(rows)

    def add(self, rows: Sequence[Row]) -> None:
        """The last of `rows` is new."""
        with self._writing():
            if self._file is None or any(name not in self._names for name in rows[-1]):
                self._begin(rows)
            else:
                self._writer.writerow(rows[-1])
                self._file.flush()

    def close(self) -> None:
        """No more rows."""
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

    def _begin(self, rows: Sequence[Row]) -> None:
        known = self._names if self._file is not None else {}
        self.close()
        new = rows[-1:] if known else rows
        self._names = {**known, **dict.fromkeys(name for row in new for name in row)}
        beside = self.path.with_name(f".{self.path.name}.new")
        with beside.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(self._names), restval="")
            writer.writeheader()
            writer.writerows(rows)
        beside.replace(self.path)
        self._file = self.path.open("a", newline="")
        self._writer = csv.DictWriter(self._file, list(self._names), restval="")


class Tail:
    """Reads what is new in a journal that somebody else writes."""

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
            self._names = next(csv.reader([self._file.readline()]))
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
        """Read no more."""
        if self._file is not None:
            self._file.close()
            self._file = None


def read(path: Path) -> list[Row]:
    """All rows of a journal."""
    tail = Tail(path)
    try:
        return tail.new()
    finally:
        tail.close()


def _row(names: Sequence[str], values: Sequence[str]) -> Row:
    return {name: float(value) for name, value in zip(names, values, strict=False) if value}
