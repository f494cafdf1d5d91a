"""How is a run trained once more, with the code that is there now, to be held against what it did?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactors.rl.options import names
from reactors.rl.runs.train import train

if TYPE_CHECKING:
    from pathlib import Path

    from reactors.rl.runs.run_folder import RunFolder
    from reactors.rl.runs.train import Trained


def retrained(run: RunFolder, out: Path) -> Trained:
    """Train as a run was trained, as far as it got, into another folder, with a journal of values."""
    said: dict[str, Any] = {name: run.config[name] for name in names("program", "run") if name in run.config}
    return train(
        run.algorithm, run.env, env_kwargs=run.env_kwargs, **said, until=run.result.get("steps"), out=out,
        journal_values=True,
    )  # fmt: skip
