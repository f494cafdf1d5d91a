"""Memory and processor time of a peer of a row, and of every process that it starts."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, NamedTuple, Self

import psutil
from run import Process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

EVERY = 0.02  # seconds between two looks at the memory
MORE = 5  # times as many rounds, in which what a start costs is as before


class Used(NamedTuple):
    """Bytes at the peak, what is shared counted once, and processor seconds a round."""

    peak: float
    processor: float


def used(module: str, peer: str, variant: str, rounds: int, log: IO[str]) -> Used:
    """What rounds take: of `rounds`, and of five times as many, so that what a start costs can be taken out."""
    with Process(module, log) as process:
        process.ask(do="open", peer=peer, variant=variant)
        root = psutil.Process(process.popen.pid)
        process.ask(do="measure", peer=peer, rounds=rounds)
        with Peak(root) as peak:
            moments = [processor_time(root)]
            for times in (1, MORE):
                process.ask(do="measure", peer=peer, rounds=times * rounds)
                moments.append(processor_time(root))
        start, once, more = moments
        return Used(peak.bytes, ((more - once) - (once - start)) / ((MORE - 1) * rounds))


def alive(root: psutil.Process) -> Iterator[psutil.Process]:
    """A process and all that descend from it."""
    with contextlib.suppress(psutil.NoSuchProcess):
        yield from (root, *root.children(recursive=True))


def processor_time(root: psutil.Process) -> float:
    """Seconds of all, of those that have ended and were waited for, too."""
    total = 0.0
    for each in alive(root):
        with contextlib.suppress(psutil.NoSuchProcess):
            total += sum(each.cpu_times()[:4])
    return total


class Peak(threading.Thread):
    """Looks at the memory of a process and its descendants for as long as the context is open."""

    def __init__(self, root: psutil.Process) -> None:
        super().__init__(daemon=True)
        self.root, self.bytes = root, 0.0
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(EVERY):
            total = 0
            for each in alive(self.root):
                with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                    total += each.memory_full_info().pss
            self.bytes = max(self.bytes, total)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.join()
