"""What can be seen of a run while it lasts?

The caller looks into the journal's file now and then, and shows what is new; workers draw nothing. On a terminal it
is one table, if rich is installed, else lines.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from typing import TYPE_CHECKING, Any, Self, TextIO
from warnings import warn

from reactors.errors import ArgumentError, ReactorWarning
from reactors.lowlevel import Aside
from reactors.rl.monitoring.journal_file import EVALUATED_AT, EVALUATION, Tail, joined
from reactors.rl.runs.curves import parts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from reactors.rl.monitoring.journal_file import Row
    from reactors.rl.options import Writer

EVERY_S = 5.0  # between lines


class JournalWatch:
    """Gives new rows of a journal's file to all who want them; called as `rx.run` calls its `progress`."""

    def __init__(self, path: Path, listeners: Sequence[Callable[[Sequence[Row]], None]], *, seen: int = 0) -> None:
        self._tail, self._listeners = Tail(path), listeners
        self._tail.count = seen
        self._readable = True

    def __call__(self, *_: object) -> None:
        """Read what is new in the journal, and give it to all listeners."""
        rows = self._new()
        if rows:
            for listener in self._listeners:
                listener(rows)

    def _new(self) -> Sequence[Row]:
        if not self._readable:
            return ()
        try:
            return self._tail.new()
        except Exception as error:  # noqa: BLE001 - whatever somebody else has written there
            self._readable = False
            warn(f"{self._tail.path} cannot be read ({error}): no more of it is shown", ReactorWarning, stacklevel=3)
            return ()

    def close(self) -> None:
        """Look for the last time."""
        try:
            self()
        finally:
            self._tail.close()


def scalars(writer: Writer) -> Callable[[Sequence[Row]], None]:
    """Passes rows on under CleanRL's names, which they have."""

    def tell(rows: Sequence[Row]) -> None:
        for row in rows:
            for name, value in row.items():
                if "/" in name:
                    writer.add_scalar(name, value, int(row["global_step"]))

    return tell


def summary_writer(folder: Path) -> Any:
    """TensorBoard's own writer; `ArgumentError` if it is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ArgumentError(
            f"scalars for TensorBoard need the package tensorboard ({error}); pip install tensorboard, or "
            "leave them out"
        ) from None

    return SummaryWriter(str(folder))


class Lines:
    """A line now and then, for logs."""

    def __init__(self, total: int, out: TextIO | None = None, every: float = EVERY_S) -> None:
        self.total, self.out, self.every = total, Aside(out or sys.stderr), every
        self._last = float("-inf")
        self._shown: Row = {}
        self._row: Row = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._row and self._row is not self._shown:
            self._print()

    def __call__(self, rows: Sequence[Row]) -> None:
        """The last row counts; what it lacks is as it was."""
        for row in rows:
            self._row = joined(self._row, row)
        if time.monotonic() - self._last >= self.every:
            self._print()

    def _print(self) -> None:
        self._last, self._shown = time.monotonic(), self._row
        print("  ".join(f"{name} {value}" for name, value in figures(self._row, self.total)), file=self.out, flush=True)


class LiveTable:
    """One table, drawn again and again."""

    def __init__(self, title: str, total: int, out: TextIO | None = None) -> None:
        from rich.console import Console
        from rich.live import Live

        self.title, self.total = title, total
        self._row: Row = {}
        seen: Any = Aside(out or sys.stderr)  # rich ends the process where a pipe is broken
        self._live = Live(console=Console(file=seen), auto_refresh=False, redirect_stdout=False, redirect_stderr=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def __call__(self, rows: Sequence[Row]) -> None:
        """Show the last of these rows."""
        from rich.table import Table

        for row in rows:
            self._row = joined(self._row, row)
        table = Table(title=self.title, show_header=False)
        table.add_column(style="bold")
        table.add_column(justify="right")
        for name, value in figures(self._row, self.total):
            table.add_row(name, value)
        self._live.update(table, refresh=True)


def figures(row: Row, total: int) -> list[tuple[str, str]]:
    """What people want to see of a row, as text.

    >>> figures({"global_step": 512, "seconds": 2.0, "charts/SPS": 256.0, "losses/td_loss": 0.25}, 1024)
    [('steps', '512 of 1,024'), ('time', '2.0 s'), ('steps/s', '256'), ('td_loss', '0.25')]
    """
    found = [("steps", f"{row['global_step']:,.0f} of {total:,}"), ("time", f"{row['seconds']:.1f} s")]
    found += [(name, f"{row[key]:,.0f}") for name, key in (("steps/s", "charts/SPS"),) if key in row]
    if "charts/episodic_return" in row:
        found.append(("return", f"{row['charts/episodic_return']:.1f}"))
    if EVALUATION in row:
        found.append(("greedy", f"{row[EVALUATION]:.1f}{_since(row)}"))
    for part, (shown, evaluated) in parts([row]).items():
        returned = [f"{row[shown]:.1f}"] if shown in row else []
        greedy = [f"greedy {row[evaluated]:.1f}"] if evaluated in row else []
        found.append((part, ", ".join(returned + greedy)))
    found += [(key.partition("/")[2], f"{value:.4g}") for key, value in row.items() if key.startswith("losses/")]
    for name, key in (("playing", "time/play"), ("learning", "time/learn")):
        if key in row:
            found.append((name, f"{row[key] * 1000:.1f} ms a round"))
    for name, key in (("updates/s", "rate/update_hz"), ("frames/s", "rate/update_frame_hz")):
        if key in row:
            found.append((name, f"{row[key]:,.0f}"))
    if "charts/weight_age" in row:
        found.append(("weights", f"{row['charts/weight_age']:.1f} rounds old"))
    return found


def _since(row: Row) -> str:
    """When the policy was evaluated last, if that was an earlier one."""
    step = row.get(EVALUATED_AT, row["global_step"])
    return "" if step == row["global_step"] else f" at step {step:,.0f}"


def display(title: str, total: int) -> Lines | LiveTable:
    """What fits where standard error goes."""
    if sys.stderr is not None and sys.stderr.isatty() and importlib.util.find_spec("rich") is not None:
        return LiveTable(title, total)
    return Lines(total)
