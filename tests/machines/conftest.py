"""A machine that is elsewhere in time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.machines.test_runs import free_port

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def in_other_time(tmp_path: Path) -> Callable[[str], str]:
    """What a program prints, given an address, at which another machine joins whose clock is 1,000 s ahead."""
    ahead = ["unshare", "--time", "--monotonic", "1000"]
    if shutil.which("unshare") is None or os.geteuid() != 0:
        pytest.skip("time namespaces need the command unshare, and root")
    if subprocess.run([*ahead, "true"], check=False, capture_output=True).returncode:
        pytest.skip("there are no time namespaces here")

    def run(program: str) -> str:
        (tmp_path / "program.py").write_text(program)
        (tmp_path / "token").write_text("a token of enough bytes\n")
        address = f"127.0.0.1:{free_port()}"
        words = [*ahead, sys.executable, "-m", "reactors", "join", address, "--token-file", "token"]
        joins = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        words = [sys.executable, "program.py", address]
        leads = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        _, complaints = joins.communicate(timeout=60)
        assert (leads.returncode, joins.returncode) == (0, 0), leads.stderr + complaints
        return leads.stdout

    return run
