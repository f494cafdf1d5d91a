"""Records of what was played: statistics of episodes, videos, and trajectories to learn from.

`EpisodeStatistics` and `Trajectories` are reactors that are connected to environments; `video` replaces the environment
that is given to one.
"""

from __future__ import annotations

import csv
import importlib.util
import inspect
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import gymnasium as gym
import numpy as np

import reactors as rx
from reactors.errors import ArgumentError, ReactorError
from reactors.lowlevel import offered
from reactors.rl.envs.sources import maker
from reactors.rl.public import public, unknown
from reactors.rl.trajectories import Trajectories

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactors.rl.episode import Episode

__all__ = ["EpisodeStatistics", "Means", "Recorded", "Trajectories", "video"]


class Means(NamedTuple):
    """What `EpisodeStatistics` sends whenever episodes have ended."""

    episodes: int  # that have ended so far
    steps: int  # of these, all together
    mean_return: float  # of the last ones, as many as the window is long
    mean_length: float


@public("rl.record.EpisodeStatistics")
class EpisodeStatistics(rx.Reactor):
    """Running means over the last `window` episodes of `sources` environments, and optionally a CSV file of all.

    The input `episode` has a channel for each source; connect it to the port `episode` of `rl.Env` or a similar
    reactor. Whenever episodes have ended, `means` sends the `Means`. The file `path` has a line for each episode, in
    the order of tags and channels: time (ns), microstep, source, env, number, return, length, failed. After the run,
    `returns` and `lengths` have those of all episodes, and `latest` has the last `Means`.

    >>> import reactors as rx, reactors.rl as rl
    >>> statistics = rl.record.EpisodeStatistics(sources=4, window=10)
    >>> len(statistics.episode), statistics.latest
    (4, None)
    """

    episode: rx.Input[tuple[Episode, ...]] = rx.Input(tuple, width="sources")
    means = rx.Output(Means)
    offered(means)

    def __init__(self, sources: int = 1, *, window: int = 100, path: str | Path | None = None) -> None:
        self.sources, self.window = sources, window
        self.path_of_file = None if path is None else str(path)
        self.returns: list[float] = []
        self.lengths: list[int] = []
        self.latest: Means | None = None
        self._file: IO[str] | None = None
        self._rows: Any = None

    @rx.reaction(rx.startup)
    def open(self) -> None:
        """Open the CSV file, on the worker that writes it."""
        if self.path_of_file is not None:
            self._file = Path(self.path_of_file).open("w", newline="", encoding="utf-8")  # noqa: SIM115 - until shutdown
            self._rows = csv.writer(self._file)
            self._rows.writerow(["time", "microstep", "source", "env", "number", "return", "length", "failed"])

    @rx.reaction(episode, effects=means)
    def count(self) -> None:
        """Add the episodes that ended at this tag."""
        for source in self.episode.present:
            for each in self.episode[source].value:
                self.returns.append(each.total)
                self.lengths.append(each.length)
                if self._rows is not None:
                    self._rows.writerow(
                        [*self.tag, source, each.env, each.number, each.total, each.length, each.failed]
                    )
        last_returns, last_lengths = self.returns[-self.window :], self.lengths[-self.window :]
        self.latest = Means(
            len(self.returns), sum(self.lengths), float(np.mean(last_returns)), float(np.mean(last_lengths))
        )
        self.means.set(self.latest)

    @rx.reaction(rx.shutdown)
    def close(self) -> None:
        """Close the file, so that it can be read."""
        if self._file is not None:
            self._file.close()
        self._file = self._rows = None


class Recorded:
    """A function that makes an environment which records its videos; made by `video`."""

    def __init__(self, make: Callable[[], gym.Env[Any, Any]], folder: str, options: dict[str, Any]) -> None:
        self.unrecorded, self.folder, self.options = make, folder, options

    def __call__(self) -> gym.Env[Any, Any]:
        """Make the environment, and its folder."""
        return gym.wrappers.RecordVideo(self.unrecorded(), self.folder, **self.options)


@public("rl.record.video")
def video(
    env: str | Callable[[], gym.Env[Any, Any]], folder: str | Path, *, every: int | None = None, **options: Any
) -> Recorded:
    """Give this to `rl.Env` instead of an environment: it writes videos into `folder`, on the environment's worker.

    `env` is a name, or a function that makes an environment with `render_mode="rgb_array"`. Every `every`-th episode is
    recorded; by default those that `gymnasium.wrappers.RecordVideo` chooses, which also gets `options`. Environments
    that record at the same time need different folders, or a `name_prefix`. Raises `ReactorError` if moviepy is
    missing, which Gymnasium uses to write videos.

    >>> import reactors.rl as rl
    >>> rl.Env(rl.record.video("CartPole-v1", "runs/videos", every=100))  # doctest: +SKIP
    <reactor Env>
    """
    if importlib.util.find_spec("moviepy") is None:
        raise ReactorError("rl.record.video needs moviepy, with which Gymnasium writes videos: pip install moviepy")
    known = [*inspect.signature(gym.wrappers.RecordVideo.__init__).parameters][3:]  # after self, env and its folder
    for name in options:
        if name not in known:
            raise ArgumentError(unknown("rl.record.video", name, ["env", "folder", "every", *known]))
    make = maker(env, {"render_mode": "rgb_array"}, "rl.record.video") if isinstance(env, str) else env
    if every is not None:
        options["episode_trigger"] = partial(_is_multiple, every)
    return Recorded(make, str(folder), options)


def _is_multiple(of: int, episode: int) -> bool:
    return episode % of == 0
