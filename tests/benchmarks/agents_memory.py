"""How much memory training of many agents takes, beyond what the process had before: its own, and that of its workers.

It is the most that was seen by looking every tenth of a second; pages that processes share are counted once.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Self

import agents_training
import psutil
from row import ALL, ONE, Bar, Measure, Row, Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

row = Row(
    title="training of many agents: memory",
    unit="bytes",
    variants=agents_training.row.variants,
    work=lambda _: 1,
    bars=(Bar(ONE, "loop", 1.0), Bar(ALL, agents_training.RAY, 1.0)),
    rounds=lambda _: 1,
    check_rounds=1,
)


def taken() -> int:
    """Bytes of this process and those it started."""
    found = 0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with suppress(psutil.Error):  # it has ended meanwhile
            found += process.memory_full_info().pss
    return found


class Most:
    """The most that is taken while the body of a `with` runs, beyond what was before."""

    def __enter__(self) -> Self:
        self.before = self.most = taken()
        self.over, self.thread = threading.Event(), threading.Thread(target=self.look)
        self.thread.start()
        return self

    def look(self) -> None:
        while not self.over.wait(0.1):
            self.most = max(self.most, taken())

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()


def most(name: str, variant: str) -> Iterator[Measure]:
    import torch._dynamo  # what torch imports with its first optimizer is no matter of agents  # noqa: F401

    def measure(_: int) -> Sample:
        with Most() as seen, agents_training.row.peers[name].setup(variant) as train:
            train(10)
        return Sample(seen.most - seen.before)

    yield measure


for each in (ALL, ONE, "loop", agents_training.RAY):

    @row.peer(each)
    def peer(variant: str, name: str = each) -> Iterator[Measure]:
        yield from most(name, variant)
