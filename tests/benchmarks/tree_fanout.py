"""The sum tree by its fan-out: one call that draws a batch, and one that sets the priorities of one.

As in PAL's micro-benchmark (arXiv 2110.01101), but random numbers are drawn before the clock runs.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from row import Measure, Row, Sample

from reactors import rl

if TYPE_CHECKING:
    from collections.abc import Iterator

CAPACITIES = {"10^4": 10**4, "10^6": 10**6, "10^7": 10**7}
BATCHES = (128, 512)
FANOUTS = (2, 4, 8, 16, 32, 64)

row = Row(
    title="sum tree by fan-out, a batch",
    unit="us",
    variants=(),
    further=tuple(f"{does} {n}, {name} slots" for name in CAPACITIES for n in BATCHES for does in ("sample", "update")),
    work=lambda _: 1,
    check_rounds=200,
)


def enter(fanout: int) -> None:
    @row.peer(f"K={fanout}", group="trees")
    def peer(variant: str) -> Iterator[Measure]:
        does, n, name, _ = variant.replace(",", "").split()
        capacity, batch, rng = CAPACITIES[name], int(n), np.random.default_rng(0)
        tree = rl.SumTree(capacity, fanout=fanout)
        for first in range(0, capacity, 1 << 16):
            slots = np.arange(first, min(capacity, first + (1 << 16)))
            tree.set(slots, rng.random(len(slots)) + 0.01)
        chosen = [rng.integers(capacity, size=batch) for _ in range(64)]
        priorities = [rng.random(batch) + 0.01 for _ in range(65)]

        def measure(rounds: int) -> Sample:
            began = time.perf_counter()
            for i in range(rounds):
                if does == "sample":
                    tree.sample(batch, rng)
                else:
                    tree.set(chosen[i % 64], priorities[i % 65])
            return Sample(time.perf_counter() - began)

        yield measure


for fanout in FANOUTS:
    enter(fanout)
