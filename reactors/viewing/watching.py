"""What does a run do right now, seen from another process?

Its counters are in memory that all its workers share. Another process of the same user maps them, and reads: the run
does nothing for that, and does not notice.
"""

from __future__ import annotations

import json
import mmap
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from reactors.errors import WatchingError
from reactors.names.indices import without_indices
from reactors.tag import Tag
from reactors.viewing.board import whole
from reactors_runtime import tables
from reactors_runtime.waits import WAITS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Sample:
    """All counters at one moment.

    By worker `tags`, `reactions`, `waited` (ns, by reason) and where each is, `now`; by reaction `count`, `late` and
    `seconds`.
    """

    clock: float
    since_start: float
    tags: NDArray[np.int64]
    reactions: NDArray[np.int64]
    waited: NDArray[np.int64]
    now: list[Tag]
    over: bool
    count: NDArray[np.int64]
    late: NDArray[np.int64]
    seconds: NDArray[np.float64]


class Watched:
    """The run of a process, to be looked at. `WatchingError` where there is none that can be."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        try:
            self.said = _board(pid)
            with Path(f"/proc/{pid}/fd/{self.said['arena']}").open("rb") as file:
                self._map = mmap.mmap(file.fileno(), self.said["size"], access=mmap.ACCESS_READ)
        except (OSError, KeyError, ValueError) as error:
            raise WatchingError(f"process {pid} has ended its run meanwhile ({error})") from None
        self.workers = int(self.said["workers"])
        self.paths = [each["path"] for each in self.said["reactions"]]
        self._image = np.ndarray((), tables.IMAGE, self._map, 0)
        self._bells = np.ndarray((self.workers,), tables.BELL, self._map, self.said["bells"])
        self._now = [np.ndarray((), tables.TAG, self._map, part["now"]) for part in self.said["parts"]]
        self._stats = [
            np.ndarray((len(part["reactions"]),), tables.STATS, self._map, part["stats"]) for part in self.said["parts"]
        ]

    def close(self) -> None:
        """Look no more."""
        del self._image, self._bells, self._now, self._stats
        self._map.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def sample(self) -> Sample:
        """Look once."""
        count, late = np.zeros(len(self.paths), np.int64), np.zeros(len(self.paths), np.int64)
        seconds = np.zeros(len(self.paths))
        for part, stats in zip(self.said["parts"], self._stats, strict=True):
            rows, there = stats.copy(), part["reactions"]
            count[there], late[there] = rows["count"], rows["late"]
            seconds[there] = tables.seconds(rows)
        bells, clock = self._bells.copy(), time.monotonic()
        started = int(self._image["start_ns"])
        return Sample(
            clock, max(0.0, clock - started / 1e9) if started else 0.0, bells["tags"].astype(np.int64),
            bells["reactions"].astype(np.int64), bells["waited_ns"].astype(np.int64),
            [Tag(int(now["time"]), int(now["microstep"])) for now in self._now],
            bool(bells["finished"].all()) or bool(self._image["abort"]) or not self.runs(), count, late, seconds,
        )  # fmt: skip

    def runs(self) -> bool:
        """Whether the process has not ended."""
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    def processes(self) -> list[tuple[str, float, float]]:
        """The process and those that it has started: name, MB of memory, seconds of processor time."""
        return [found for pid in _family(self.pid) if (found := _process(pid)) is not None]


@dataclass(frozen=True)
class Between:
    """What happened from one look to the next."""

    watched: Watched
    before: Sample
    after: Sample

    @property
    def seconds(self) -> float:
        """How long that was."""
        return max(1e-9, self.after.clock - self.before.clock)

    @property
    def rate(self) -> float:
        """Reactions a second."""
        return float((self.after.reactions - self.before.reactions).sum()) / self.seconds

    def parts(self, worker: int) -> list[tuple[str, float]]:
        """Which part of the time a worker spent on what; the rest is the engine's, or what it is still at."""
        waited = (self.after.waited[worker] - self.before.waited[worker]) / 1e9 / self.seconds
        there = self.watched.said["parts"][worker]["reactions"]
        ran = float((self.after.seconds[there] - self.before.seconds[there]).sum()) / self.seconds
        reasons = [(name, float(part)) for (_, name), part in zip(WAITS.items(), waited, strict=True) if part > 0]
        total = sum(part for _, part in reasons) + ran
        shrink = min(1.0, 1.0 / total) if total else 1.0
        scaled = [(name, part * shrink) for name, part in [("reactions", ran), *reasons]]
        return [*scaled, ("the rest", max(0.0, 1.0 - sum(part for _, part in scaled)))]

    def loads(self) -> dict[str, float]:
        """By reaction as it is drawn, members of a bank as one: the part of a worker's time."""
        spent = (self.after.seconds - self.before.seconds) / self.seconds
        found: dict[str, float] = {}
        workers: dict[str, set[int]] = {}
        for number, path in enumerate(self.watched.paths):
            name = without_indices(path)
            found[name] = found.get(name, 0.0) + float(spent[number])
            workers.setdefault(name, set()).add(self.watched.said["reactions"][number]["worker"])
        return {name: part / len(workers[name]) for name, part in found.items()}

    def reactions(self, most: int) -> list[tuple[str, float, float, int]]:
        """Reactions as they are drawn, the costliest first: runs a second, part of a worker's time, late so far."""
        loads, runs, late = self.loads(), dict[str, float](), dict[str, int]()
        for number, path in enumerate(self.watched.paths):
            name = without_indices(path)
            runs[name] = (
                runs.get(name, 0.0) + float(self.after.count[number] - self.before.count[number]) / self.seconds
            )
            late[name] = late.get(name, 0) + int(self.after.late[number])
        order = sorted(loads, key=lambda name: (-loads[name], name))[:most]
        return [(name, runs[name], loads[name], late[name]) for name in order]


def watchable() -> list[int]:
    """Processes of this user with a run that can be watched."""
    pids = (int(each.name) for each in Path("/proc").iterdir() if each.name.isdecimal())
    return sorted(pid for pid in pids if _descriptor(pid) is not None)


def _descriptor(pid: int) -> Path | None:
    """Where the board of a process is; of one that was forked it is its parent's."""
    try:
        for each in sorted(Path(f"/proc/{pid}/fd").iterdir()):
            if whole(each):
                return each
    except OSError:
        pass
    return None


def _board(pid: int) -> dict[str, Any]:
    found = _descriptor(pid)
    if found is None:
        if not Path(f"/proc/{pid}").exists():
            raise WatchingError(f"there is no process {pid}")
        others = [each for each in watchable() if each != pid]
        raise WatchingError(
            f'process {pid} has no run that can be watched, or is another user\'s: rx.run(..., live="attach") lets '
            f"others look on, and rl.train with a folder; there {_listed(others)}"
        )
    said: dict[str, Any] = json.loads(found.read_bytes())
    return said


def _listed(pids: list[int]) -> str:
    return f"are {', '.join(map(str, pids))}" if pids else "is none now"


def _family(pid: int) -> Iterator[int]:
    """A process, and all that descend from it."""
    yield pid
    try:
        for task in sorted(Path(f"/proc/{pid}/task").iterdir()):
            for child in (task / "children").read_text().split():
                yield from _family(int(child))
    except OSError:
        return


def _process(pid: int) -> tuple[str, float, float] | None:
    try:
        name, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return None
    fields = rest.split()
    spent = (int(fields[11]) + int(fields[12])) / _TICK
    return f"{pid} {name.partition('(')[2]}", pages * mmap.PAGESIZE / 1e6, spent
