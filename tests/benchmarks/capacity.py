"""How much do all cores together do, compared with one? On a quiet machine, as many times as there are cores.

A virtual machine may be granted less. What is found here is the ceiling of any gain by a second worker then: a
figure taken under a low ceiling says little about the program.
"""

from __future__ import annotations

import os
import time

from row import CORES


def turns(seconds: float) -> int:
    """What one process counts to in that time."""
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(1000):
            pass
        count += 1
    return count


def together(processes: int, seconds: float) -> int:
    """What so many processes count to at once."""
    reader, writer = os.pipe()
    children = []
    for _ in range(processes):
        child = os.fork()
        if not child:
            os.write(writer, turns(seconds).to_bytes(8, "little"))
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    counts = os.read(reader, 8 * processes)
    os.close(reader)
    os.close(writer)
    return sum(int.from_bytes(counts[i : i + 8], "little") for i in range(0, len(counts), 8))


def capacity(seconds: float = 0.1) -> float:
    """The work of all cores over the work of one, the better of two tries."""
    return max(together(CORES, seconds) / max(1, together(1, seconds)) for _ in range(2))


if __name__ == "__main__":
    print(f"{CORES} processes do {capacity(0.5):.2f} times the work of one")
