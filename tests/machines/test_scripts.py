"""The scripts of examples/machines, with commands in place of Slurm's and of ssh that run all here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.machines.test_runs import PROGRAM, free_port

SCRIPTS = Path(__file__).parents[2] / "examples" / "machines"
STANDING_IN = {
    "scontrol": "echo localhost; echo elsewhere",
    "srun": """shift
        for n in 0 1; do SLURM_PROCID=$n SLURM_NTASKS=2 "$@" & done
        wait""",
    "ssh": 'shift; exec sh -c "$1"',
}


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program, and the commands."""
    for name, script in STANDING_IN.items():
        command = tmp_path / name
        command.write_text(f"#!/bin/bash\n{script}\n")
        command.chmod(0o755)
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.setenv("PATH", f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}")
    if shutil.which("openssl") is None:
        pytest.skip("tokens and certificates are made by the command openssl")
    return tmp_path


OPTIONS = ("program.py:Main", "--fast", "--timeout", "2 ms", "--placement", "main.says=1", "--json")


def done(folder: Path, *words: str, **environment: str) -> str:
    run = subprocess.run(
        ["bash", *words], cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_slurm_runs_a_program_on_all_its_nodes(commands: Path) -> None:
    given = {
        "SLURM_JOB_NODELIST": "localhost,elsewhere", "SLURM_JOB_ID": f"{free_port()}", "SLURM_JOB_NUM_NODES": "2",
        "SLURM_CPUS_PER_TASK": "1",
    }  # fmt: skip
    out = done(commands, str(SCRIPTS / "slurm.sh"), *OPTIONS, **given)
    assert "said 2" in out
    assert '"digest"' in out
    assert not [*commands.glob(".reactors-token*")]


def test_by_hand_it_runs_where_ssh_leads(commands: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    out = done(commands, str(SCRIPTS / "by_hand.sh"), address, "elsewhere", *OPTIONS, "--workers", "2")
    assert "said 2" in out
    assert '"digest"' in out
