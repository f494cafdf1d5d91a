"""How is a run trained once more, with the code that is there now, to be held against what it did?"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from reactors.rl.options import names
from reactors.rl.runs.train import train

if TYPE_CHECKING:
    from pathlib import Path

    from reactors.rl.runs.run_folder import RunFolder
    from reactors.rl.runs.train import Trained


def retrained(run: RunFolder, out: Path) -> Trained:
    """Train as a run was trained, as far as it got, into another folder, with a journal of values.

    Where it went on with another `total_steps`, it goes on there with that, and where it was resumed and environments
    began new episodes, it is resumed, too.
    """
    said: dict[str, Any] = {name: run.config[name] for name in names("program", "run") if name in run.config}
    a_round, legs = run.algorithm.horizon * run.algorithm.num_envs, run.legs
    changes = [after for leg, after in pairwise(legs) if after.new_episodes or after.total_steps != leg.total_steps]
    ends = [*(leg.first * a_round for leg in changes), run.result.get("steps")]
    parts = [
        train(
            run.algorithm, run.env, env_kwargs=run.env_kwargs, **{**said, "total_steps": leg.total_steps}, until=until,
            out=out, resume=None if leg is legs[0] else out, journal_values=True,
        )
        for leg, until in zip([legs[0], *changes], ends, strict=True)
    ]  # fmt: skip
    return parts[-1]
