"""How is the program of a training made again, to be executed as it was, from the start or from a checkpoint?

Without what it left on disk: it writes no journal and no checkpoint. All else is as it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import reactors as rx
from reactors.errors import ReplayError
from reactors.rl.checkpoints.files import kept, load, versions
from reactors.rl.dataflow.agents.program import AgentsTraining
from reactors.rl.dataflow.program import Training
from reactors.rl.learning.learners import learners_of
from reactors.rl.options import Options, names
from reactors.rl.rounds import ROUND, STOP
from reactors.rl.runs.run_folder import RunFolder

if TYPE_CHECKING:
    import os

    from reactors.rl.checkpoints.files import Saved
    from reactors.rl.contract.algorithm import Algorithm
    from reactors.rl.runs.run_folder import Leg


@dataclass(frozen=True)
class Beginning:
    """A place from which a training can be executed again: its start, or a checkpoint."""

    run: RunFolder
    saved: Saved | None

    @property
    def total_steps(self) -> int:
        """What the schedules cover that were followed from here on."""
        return self.run.legs[self._leg].total_steps

    @property
    def _leg(self) -> int:
        first = 0 if self.saved is None else self.saved.next_round
        return max(i for i, leg in enumerate(self.run.legs) if leg.first <= first or i == 0)

    @property
    def _other(self) -> Leg | None:
        """The first leg later on with other schedules or new episodes, resumed from a checkpoint that may be gone."""
        schedules = self.run.algorithm.has_schedules
        return next(
            (
                leg
                for leg in self.run.legs[self._leg + 1 :]
                if leg.new_episodes or (schedules and leg.total_steps != self.total_steps)
            ),
            None,
        )

    @property
    def cut(self) -> str:
        """Why nothing later than `ends` can be executed from here, though the run went on."""
        if (other := self._other) is None:
            return ""
        how = f"with total_steps={other.total_steps} instead of {self.total_steps}"
        if other.new_episodes:
            how = "where environments that do not tell their state began new episodes"
        return (
            f"{self.run.path} was resumed at round {other.first} {how}, so that from {self.name} it is executed again "
            "only up to there; later rounds are from its checkpoints on"
        )

    @property
    def name(self) -> str:
        """What it is called."""
        return "its start" if self.saved is None else str(self.saved.path)

    @property
    def first(self) -> int:
        """The time of its first round, in ns."""
        return 0 if self.saved is None else self.saved.next_round * ROUND

    @property
    def seed(self) -> int:
        """That of the run."""
        return int(self.run.config["seed"])

    @property
    def ends(self) -> int:
        """The logical time at which the run was over, or was to be, or went on in another way, in ns."""
        if (other := self._other) is not None:
            return (other.first - 1) * ROUND + STOP
        steps = self.run.result.get("steps") or self.run.config["total_steps"]
        return (rounds_of(self.run.algorithm, steps) - 1) * ROUND + STOP

    def graph(self) -> rx.Graph:
        """The program as it begins there."""
        run = self.run
        algorithm, spaces = run.algorithm.scheduled(self.total_steps), run.spaces
        algorithm.check(*spaces)
        said: dict[str, Any] = {name: run.config[name] for name in names("program", "run") if name in run.config}
        said["total_steps"] = self.total_steps
        options = replace(Options(**said), view_every=None, checkpoint_every=None)
        learners = learners_of(algorithm, options)
        kind: Any = AgentsTraining if run.many else Training
        return rx.Graph(kind(algorithm, run.maker(), *spaces, options, learners=learners, saved=self.saved))


def rounds_of(algorithm: Algorithm, steps: int) -> int:
    """How many rounds make so many steps; one at least."""
    return max(1, steps // (algorithm.horizon * algorithm.num_envs))


def beginnings(folder: str | os.PathLike[str], **given: Any) -> list[Beginning]:
    """From where a run can be executed again, its start first; `given` is what `RunFolder` takes.

    From a checkpoint in which environments do not tell their state only if the run itself went on from there.

    `ReplayError` if no second run of it is like the first.
    """
    run = RunFolder(Path(folder), **given)
    config = run.config
    if config["mode"] == "free":
        raise ReplayError(
            f'{run.path} was trained with mode="free", where what actors play depends on timing: no second run is like '
            'it, so there is nothing to go back to; train with "sync" or "pipelined"'
        )
    then, now = config.get("versions", {}), versions()
    changed = [f"{name} was {then.get(name)} and is {now[name]}" for name in now if then.get(name) != now[name]]
    if changed:
        raise ReplayError(
            f"{run.path} was trained with other versions: {'; '.join(changed)}; use those, for with these the last "
            "bits may differ, and then all"
        )
    resumed = {leg.first for leg in run.legs[1:]}
    saved = [load(path) for path in kept(run.path)]
    return [
        Beginning(run, None),
        *(Beginning(run, each) for each in saved if not each.meta["notes"] or each.next_round in resumed),
    ]
