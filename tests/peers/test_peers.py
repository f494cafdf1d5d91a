"""Does `make peers` run a folder of tests with our classes in the places of theirs?"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

THEIRS = """
from gymnasium.vector import AsyncVectorEnv

def test_whose_it_is():
    envs = AsyncVectorEnv(["CartPole-v1", "CartPole-v1"], workers=1)
    assert type(envs).__module__ == "reactors.rl.vector.vector_env"
    envs.close()

def test_incompatible_custom_worker():
    AsyncVectorEnv([], worker=print)
"""


def peers(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.peers", *arguments], capture_output=True, text=True, check=False, timeout=300
    )


def test_a_folder_of_tests_runs_with_our_classes(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "vector"
    folder.mkdir(parents=True)
    (folder / "test_theirs.py").write_text(THEIRS)
    done = peers(str(tmp_path))
    assert "1 passed, 1 xfailed" in done.stdout
    assert done.returncode == 0


def test_a_folder_without_tests_of_theirs_is_refused(tmp_path: Path) -> None:
    for arguments in ((), ("",), (str(tmp_path),)):
        done = peers(*arguments)
        assert "make peers SUITE=" in done.stdout
        assert done.returncode == 2
