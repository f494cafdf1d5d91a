"""What happened, round by round?"""

from __future__ import annotations

import csv
import statistics
import time
from collections import deque
from typing import TYPE_CHECKING

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reactors.rl.episode import Episode


class Journal(rx.Reactor):
    """Collects episodes of all actors, the learner's figures, and evaluations, under CleanRL's names.

    `rows` has one dict for each round in which something was told: `global_step`, `seconds` since the start, and what
    there is. Each is also given to `tell`, and written to the CSV file at the end.
    """

    episodes = rx.Input(tuple, width="actors")
    figures = rx.Input(dict)
    evaluation = rx.Input(dict)

    def __init__(
        self,
        actors: int,
        steps: int,
        *,
        stop_at: float | None,
        lag: int,
        file: Path | None,
        tell: Callable[[dict[str, float]], None] | None,
    ) -> None:
        self.actors, self.steps, self.stop_at, self.file, self.tell = actors, steps, stop_at, file, tell
        self.rows: list[dict[str, float]] = []
        self.returns: deque[float] = deque(maxlen=20)
        self.lengths: deque[float] = deque(maxlen=20)
        self.count = 0
        self.add_reaction((self.episodes, self.figures, self.evaluation), self.note)
        if stop_at is not None:  # that much later, lest everybody waits for this word
            self.add_reaction(self.episodes, self.stop, effects=rx.stop.after(f"{lag} us"))

    @rx.reaction(rx.startup)
    def begin(self) -> None:
        """The clock starts."""
        self.began = time.perf_counter()

    def note(self) -> None:
        """One round."""
        row: dict[str, float] = {"global_step": (self.tag.time // 1000 + 1) * self.steps}
        row["seconds"] = round(time.perf_counter() - self.began, 3)
        for i in self.episodes.present:
            told: tuple[Episode, ...] = self.episodes[i].value
            self.count += len(told)
            self.returns += [episode.total for episode in told]
            self.lengths += [episode.length for episode in told]
        if self.returns:
            row["charts/episodic_return"] = statistics.fmean(self.returns)
            row["charts/episodic_length"] = statistics.fmean(self.lengths)
        row["charts/SPS"] = row["global_step"] / max(row["seconds"], 1e-9)
        for port in (self.figures, self.evaluation):
            if port.value is not None:
                row.update(port.value)
        self.rows.append(row)
        if self.tell is not None:
            self.tell(row)

    def stop(self) -> None:
        """Good enough."""
        if self.stop_at is not None and len(self.returns) == 20 and statistics.fmean(self.returns) >= self.stop_at:
            self.request_stop()

    @rx.reaction(rx.shutdown)
    def write(self) -> None:
        """The table, as a file."""
        if self.file is None or not self.rows:
            return
        names = dict.fromkeys(name for row in self.rows for name in row)
        with self.file.open("w", newline="") as out:
            writer = csv.DictWriter(out, list(names), restval="")
            writer.writeheader()
            writer.writerows(self.rows)
