"""Which state of the project makes this run, on what kind of processor? Others may round last bits in another way.

Rows say it. Those that are older than this file have the commit that brought them, and no instructions.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import torch

ROOT = Path(__file__).parents[2]
PARTS = ("reactors", "runtime", "csrc", "tests/benchmarks", "tests/catch.py")


def commit() -> str:
    """The commit that is checked out, with a + where the code differs from it; nothing outside of a clone.

    >>> len(commit().removesuffix("+")) in (0, 12)
    True
    """
    try:
        found, changed = (
            subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
            for command in (["rev-parse", "--short=12", "HEAD"], ["status", "--porcelain", "--", *PARTS])
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return found + "+" * bool(changed)


def instructions() -> str:
    """Who has made the processor, if that is known, and which of its vector instructions torch uses."""
    try:
        maker = re.search(r"vendor_id\s*: (\w+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        maker = None
    return " ".join([*(maker.groups() if maker else ()), torch.backends.cpu.get_cpu_capability()])
