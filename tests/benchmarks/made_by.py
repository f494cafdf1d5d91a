"""Which state of the project makes this run? Rows say so: a later one may round its last bits in another way.

Rows that are older than this file have the commit that brought them.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

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
