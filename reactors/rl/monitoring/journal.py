"""What happened, round by round?"""

from __future__ import annotations

import math
import statistics
import time
from collections import deque
from typing import TYPE_CHECKING, Any

import reactors as rx
from reactors.lowlevel import offered
from reactors.rl.checkpoints.stateful import Stateful
from reactors.rl.encoding.state import count
from reactors.rl.monitoring.agent_returns import WINDOW
from reactors.rl.monitoring.journal_file import EVALUATED_AT, JournalFile, checksum, joined, verified
from reactors.rl.monitoring.rates import Rates
from reactors.rl.rounds import round_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from reactors.rl.episode import Episode
    from reactors.rl.monitoring.agent_returns import AgentReturns
    from reactors.rl.monitoring.journal_file import Row

RESTARTS = "charts/restarts"


class Journal(Stateful):
    """Collects episodes of all actors, the mean of all learners' figures, and evaluations, under CleanRL's names.

    `capacity` is of the replay memory, 0 for none.
    `actors` report episodes, and `players` their time: they are the same, or one inference server.
    A row is one dict for each round in which something was reported: `global_step`, `seconds` since the start, and what
    there is. Returns are of episodes without past policies; those of `agents` are of all. Each row is given to `tell`,
    and appended to the CSV file; only without a file they are kept here, in `rows`, for they are nowhere else. `latest`
    has the last of each figure. `enough` is set when the mean return of the last twenty episodes is `stop_at`, that of
    `return_of` among many `agents`.
    """

    episodes = rx.Input(tuple, width="actors")
    times = rx.Input(tuple, width="players")
    figures = rx.Input(dict, width="learners")
    evaluation = rx.Input(dict)
    enough = rx.Output(bool)
    asked = rx.LogicalAction()
    offered(evaluation)

    def __init__(
        self,
        actors: int,
        players: int,
        steps: int,
        *,
        learners: int,
        capacity: int,
        stop_at: float | None,
        stop_after: int,
        file: Path | None,
        tell: Callable[[dict[str, float]], None] | None,
        agents: AgentReturns | None = None,
        return_of: str | None = None,
    ) -> None:
        self.agents, self.return_of = agents, return_of
        self.actors, self.players, self.learners, self.steps = actors, players, learners, steps
        self.stop_at, self.file, self.tell, self.capacity = stop_at, file, tell, capacity
        self.rows: list[Row] = []
        self.noted, self.checked = 0, 0  # how many rows there are, and their checksum
        self.latest: Row = {}
        self.returns: deque[float] = deque(maxlen=WINDOW)
        self.lengths: deque[float] = deque(maxlen=WINDOW)
        self.count, self.failed = 0, 0  # episodes, and those whose environment was made again
        self.began = 0.0
        self.table: JournalFile | None = None
        self.rates = Rates()
        self.stopping: list[Any] = []  # when the end was first asked for, in ns, and at which `stop_at`
        reported = (self.episodes, self.figures, self.evaluation)
        self.add_reaction(reported, self.note, uses=self.times)
        if stop_at is not None:  # that much later, or all reactors would wait for this word
            end = rx.stop.after(stop_after)
            self.add_reaction(self.episodes, self.stop, effects=(self.enough, end))
            self.stop_after = stop_after
            self.add_reaction(rx.startup, self.remember_stop, effects=self.asked)
            self.add_reaction(self.asked, self.stop_again, effects=end)
        self.add_reaction(rx.shutdown, self.close)  # the last of all: the last round is at the same tag

    @rx.reaction(rx.startup)
    def begin(self) -> None:
        """Measure seconds from now on, or from those of a checkpoint."""
        self.began = time.perf_counter()
        self.go_on()
        self.table = None if self.file is None else JournalFile(self.file)

    def state_dict(self) -> dict[str, Any]:
        """The windows, the clock, and which rows of the file belong to it."""
        if self.table is not None:
            self.table.sync()
        return {
            "rows": self.noted, "checked": self.checked, "latest": self.latest, "returns": self.returns,
            "lengths": self.lengths, "count": self.count, "seconds": time.perf_counter() - self.began,
            "stopping": self.stopping, **({} if self.agents is None else {"agents": self.agents.state_dict()}),
        }  # fmt: skip

    def form(self) -> dict[str, Any]:
        """Rows may be of any figures; 0.1.0 did not say when the end had been asked for."""
        return {
            "rows": 0, "checked": 0, "latest": {}, "returns": deque(), "lengths": deque(), "count": 0, "seconds": 0.0,
            **({} if self.agents is None else {"agents": {"last": []}}),
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` gave."""
        self.noted, self.checked = count(state["rows"]), count(state["checked"])
        self.latest = {str(name): float(value) for name, value in state["latest"].items()}
        for name in ("global_step", EVALUATED_AT):
            if name in self.latest:
                self.latest[name] = count(state["latest"][name])
        self.rates.begin(state["seconds"], self.latest.get("global_step", 0))
        self.returns, self.lengths = (deque(map(float, state[name]), WINDOW) for name in ("returns", "lengths"))
        self.count, self.failed = count(state["count"]), int(self.latest.get(RESTARTS, 0))
        if self.agents is not None:
            self.agents.load_state_dict(state["agents"])
        if state.get("stopping"):
            when, stop_at = state["stopping"]
            self.stopping = [count(when), float(stop_at)]
        self.began -= state["seconds"]

    def note(self) -> None:
        """Write down all that was reported of one round."""
        row: dict[str, float] = {"global_step": (round_of(self.tag) + 1) * self.steps}
        row["seconds"] = round(time.perf_counter() - self.began, 3)
        for i in self.episodes.present:
            ended: tuple[Episode, ...] = self.episodes[i].value
            self.count, self.failed = self.count + len(ended), self.failed + sum(each.failed for each in ended)
            self.returns += [each.total for each in ended if not any(map(math.isnan, each.returns))]
            self.lengths += [episode.length for episode in ended]
            if self.agents is not None:
                for episode in ended:
                    self.agents.add(episode)
        if self.returns:
            row["charts/episodic_return"] = statistics.fmean(self.returns)
        if self.lengths:
            row["charts/episodic_length"] = statistics.fmean(self.lengths)
        if self.failed:
            row[RESTARTS] = float(self.failed)
        by_learner = [
            self.figures[i].value if self.agents is None else self.agents.by_group(i, self.figures[i].value)
            for i in self.figures.present
        ]
        for name in dict.fromkeys(name for figures in by_learner for name in figures):
            numbers = [figures[name] for figures in by_learner if name in figures]
            row[name] = max(numbers) if name == "time/learn" else statistics.fmean(numbers)
        if self.agents is not None:
            row |= self.agents.figures()
        row["global_step"] = int(row["global_step"])
        row["charts/SPS"] = row["global_step"] / max(row["seconds"], 1e-9)
        updates, frames = int(row.pop("updates", 0)), int(row.pop("frames", 0))
        row |= self.rates.after(row["seconds"], row["global_step"], updates, frames)
        if self.capacity:
            row["charts/buffer_fill"] = min(1.0, row["global_step"] / self.capacity)
        if self.evaluation.value is not None:
            row.update(self.evaluation.value)
        seconds, ages = zip(*(self.times[i].value for i in self.times.present), strict=True)
        row["time/play"], row["charts/weight_age"] = max(seconds), statistics.fmean(ages)
        row = {name: float(value) for name, value in row.items()} | {"global_step": int(row["global_step"])}
        self.noted, self.checked = self.noted + 1, checksum(self.checked, row)
        self.latest = joined(self.latest, row)
        if self.table is None:
            self.rows.append(row)
        else:
            self.table.add(row)
        for name, value in row.items():
            self.trace(name, value)  # the age of weights, losses, rates: curves beside what ran
        if self.tell is not None:
            self.tell(row)

    def stop(self) -> None:
        """Ask for the end: the mean return is there."""
        mean = None
        if self.agents is not None and self.return_of is not None:
            mean = self.agents.reached(self.return_of)
        elif len(self.returns) == WINDOW:
            mean = statistics.fmean(self.returns)
        if mean is not None and self.stop_at is not None and mean >= self.stop_at:
            self.enough.set(True)
            self.request_stop()
            self.stopping = self.stopping or [self.tag.time, self.stop_at]

    def remember_stop(self) -> None:
        """In a resumed run: end where it had been asked to, if that is still to come, and for the same mean return."""
        if self.stopping:
            when, stop_at = self.stopping
            if stop_at == self.stop_at and when + self.stop_after >= self.first:
                self.asked.schedule(delay=when)
            else:
                self.stopping = []

    def stop_again(self) -> None:
        """Ask for the end, as had been done."""
        self.request_stop()

    def all_rows(self) -> Iterable[Row]:
        """All rows, wherever they are."""
        return self.rows if self.file is None else verified(self.file, self.noted, self.checked)

    def close(self) -> None:
        """Close the file at the end of the run."""
        table, self.table = self.table, None
        if table is not None:
            table.close()
