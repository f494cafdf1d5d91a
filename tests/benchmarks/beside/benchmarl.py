"""BenchMARL, which wants another TorchRL than the rest: a process of its own interpreter trains."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from beside.task import Learned

if TYPE_CHECKING:
    from beside.task import Task

HERE = Path(__file__).parents[1]
PYTHON = HERE.parents[1] / ".venv-benchmarl/bin/python"


def run(task: Task) -> Learned:
    """What its last line says."""
    command = [PYTHON, "-W", "ignore", "-m", "beside.benchmarl_alone", task.algorithm, str(task.steps), str(task.seed)]
    said = subprocess.run(command, cwd=HERE, check=True, stdout=subprocess.PIPE, text=True).stdout
    return Learned(**json.loads(said.splitlines()[-1]))
