"""How does a program lose its own machine?"""

import os
from pathlib import Path


def machine() -> int:
    """The process that is this machine: `reactors join`, above the one that has forked this worker."""
    pid = os.getppid()
    while b"join" not in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid
