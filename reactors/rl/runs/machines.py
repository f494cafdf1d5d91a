"""How does a training go on that has lost a machine? From its last checkpoint, with the workers of the others."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import reactors as rx
from reactors.lowlevel import where_to_run
from reactors.rl.checkpoints.files import FOLDER, latest
from reactors.rl.runs.run_folder import folder_of

if TYPE_CHECKING:
    from reactors.rl.options import Options

O = TypeVar("O", bound="Options")


def _folder(resume: Path) -> Path:
    """Of the run that went on from there: a run's folder, or a checkpoint, which may be gone since for later ones."""
    return resume if latest(resume / FOLDER) is not None else folder_of(resume)


def without_lost(given: O, lost: rx.MachineLost) -> O:
    """What to train with now; raises `lost` where that was not asked for, or there is nothing to go on from."""
    machines, out = given.machines, given.out
    if out is None and given.resume is not None:
        out = _folder(Path(given.resume))
    if given.on_machine_lost == "raise" or machines is None:
        raise lost
    if out is None or latest(Path(out) / FOLDER) is None:
        lost.add_note("there is no checkpoint to go on from: write out= and checkpoint_every=")
        raise lost
    left = machines.count - len(lost.machines)
    workers = where_to_run(given.workers, given.backend, given.of) // machines.count * left
    warnings.warn(
        f"{lost}; going on from the last checkpoint in {out} with {workers} worker{'s' * (workers != 1)} on {left} "
        f"machine{'s' * (left != 1)}",
        rx.ReactorWarning,
        stacklevel=4,
    )
    return replace(
        given, machines=replace(machines, count=left) if left > 1 else None, workers=workers, out=None, resume=out
    )
