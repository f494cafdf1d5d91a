"""The bare tree of prioritized replay, without rows: 8 inserts in one call, one sample of 256, one update of 256.

Everybody is called as a caller in Python would, with int64 slots and float64 priorities: random numbers, conversions
and a total that has to be asked for count. Updates go round 16 sets of slots and 17 of priorities, so that no tree gets
the values that it has already.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from row import OURS, Bar, Row, Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from row import Measure

INSERTS, BATCH = 8, 256
CAPACITIES = {"1e6": 10**6, "2^24": 1 << 24}
DOES = ("loop", "insert 8", "sample 256", "update 256")
SMALLER = f"{OURS} at 1e6"
PEERS = ("torchrl (C++)", "sumtree (Rust)", "Tianshou (Numba)")

row = Row(
    title="Bare sum tree: 8 inserts, 1 sample of 256, 1 update of 256",
    unit="calls/s",
    variants=tuple(f"{does}, {capacity}" for capacity in CAPACITIES for does in DOES),
    work=lambda _: 1,
    bars=(
        *(Bar(OURS, peer, 2.0, tuple(f"loop, {capacity}" for capacity in CAPACITIES)) for peer in PEERS),
        Bar(OURS, SMALLER, 0.5, tuple(f"{does}, 2^24" for does in DOES)),
    ),
)


class Tree(Protocol):
    """What is asked of each."""

    def set(self, slots: Any, priorities: Any) -> None: ...
    def sample(self, rng: np.random.Generator) -> Any: ...


def measured(tree: Tree, does: str, capacity: int) -> Iterator[Measure]:
    """Fill the tree and time what is named."""
    rng = np.random.default_rng(1)
    for first in range(0, capacity, 1 << 16):
        slots = np.arange(first, min(capacity, first + (1 << 16)))
        tree.set(slots, rng.random(len(slots)) + 0.01)
    chosen = [rng.integers(capacity, size=BATCH) for _ in range(16)]
    priorities = [rng.random(BATCH) + 0.01 for _ in range(17)]
    fresh = [rng.random(INSERTS) + 0.01 for _ in range(17)]
    following = np.arange(capacity - capacity % INSERTS).reshape(-1, INSERTS)[: 1 << 16]

    def insert(i: int) -> None:
        tree.set(following[i % len(following)], fresh[i % 17])

    def sample(_: int) -> None:
        tree.sample(rng)

    def update(i: int) -> None:
        tree.set(chosen[i % 16], priorities[i % 17])

    def loop(i: int) -> None:
        insert(i)
        tree.set(tree.sample(rng), priorities[i % 17])

    call: Callable[[int], None] = dict(zip(DOES, (loop, insert, sample, update), strict=True))[does]

    def measure(rounds: int) -> Sample:
        for i in range(20):
            call(i)
        start = time.perf_counter()
        for i in range(rounds):
            call(i)
        return Sample(time.perf_counter() - start)

    yield measure


def split(variant: str) -> tuple[str, int]:
    does, capacity = variant.split(", ")
    return does, CAPACITIES[capacity]


class Ours:
    def __init__(self, capacity: int) -> None:
        from reactors.rl import SumTree

        self.tree = SumTree(capacity)
        self.set = self.tree.set

    def sample(self, rng: np.random.Generator) -> Any:
        return self.tree.sample(BATCH, rng)[0]


@row.peer(OURS)
def ours(variant: str) -> Iterator[Measure]:
    does, capacity = split(variant)
    yield from measured(Ours(capacity), does, capacity)


@row.peer(SMALLER, variants=tuple(variant for variant in row.variants if variant.endswith("2^24")))
def smaller(variant: str) -> Iterator[Measure]:
    yield from measured(Ours(CAPACITIES["1e6"]), split(variant)[0], CAPACITIES["1e6"])


def loaded(package: str, file: str) -> Any:
    """One module of a package, without the rest of it and what that needs."""
    found = importlib.util.find_spec(package)
    if not found or not found.origin:
        raise ModuleNotFoundError(package)
    path = next(Path(found.origin).parent.glob(file))
    spec = importlib.util.spec_from_file_location(f"{package}.{path.name.split('.')[0]}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TorchRL:
    """Its C++ tree. The extension is built for another torch, but what its trees use is there: so, lazily bound."""

    def __init__(self, capacity: int) -> None:
        import torch  # noqa: F401 - the extension wants its libraries

        flags = sys.getdlopenflags()
        sys.setdlopenflags(os.RTLD_LAZY)
        try:
            self.tree = loaded("torchrl", "_torchrl*.so").SumSegmentTreeFp32(capacity)
        finally:
            sys.setdlopenflags(flags)
        self.capacity = capacity

    def set(self, slots: Any, priorities: Any) -> None:
        self.tree[slots] = priorities

    def sample(self, rng: np.random.Generator) -> Any:
        masses = rng.uniform(0.0, self.tree.query(0, self.capacity), BATCH)
        slots = np.minimum(self.tree.scan_lower_bound(masses), self.capacity - 1)
        self.tree[slots]  # the priorities, which the others give too
        return slots


class Rust:
    """The package sumtree. It draws its random numbers itself."""

    def __init__(self, capacity: int) -> None:
        import sumtree

        self.tree = sumtree.SumTree(capacity)
        for _ in range(capacity):
            self.tree.add(0.0)
        self.set = self.tree.update_batched

    def sample(self, _: np.random.Generator) -> Any:
        return self.tree.sample_batched(BATCH)[0]


class Tianshou:
    def __init__(self, capacity: int) -> None:
        self.tree = loaded("tianshou", "data/utils/segtree.py").SegmentTree(capacity)

    def set(self, slots: Any, priorities: Any) -> None:
        self.tree[slots] = priorities

    def sample(self, rng: np.random.Generator) -> Any:
        slots = self.tree.get_prefix_sum_idx(rng.random(BATCH) * self.tree.reduce())
        self.tree[slots]
        return slots


def enter(name: str, made: Callable[[int], Tree]) -> None:
    @row.peer(name)
    def peer(variant: str) -> Iterator[Measure]:
        does, capacity = split(variant)
        yield from measured(made(capacity), does, capacity)


for name, made in zip(PEERS, (TorchRL, Rust, Tianshou), strict=True):
    enter(name, made)
