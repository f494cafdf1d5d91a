"""Does `rl.SumTree` do what NumPy's sums say, take what users have, and say what is wrong with the rest?"""

from __future__ import annotations

import math
import mmap
import os
import pickle
import threading

import numpy as np
import pytest

import reactors as rx
from reactors import rl

DTYPES = [np.int8, np.uint8, np.int32, np.uint64, np.int64, ">i4"]
REALS = [np.float16, np.float32, np.float64, ">f8", np.int16, np.bool_]


def test_sets_and_gets_priorities() -> None:
    tree = rl.SumTree(1000, dtype="f8")
    rng = np.random.default_rng(1)
    model = np.zeros(1000)
    for _ in range(50):
        slots = rng.integers(1000, size=rng.integers(40))
        priorities = rng.random(len(slots)) * rng.integers(0, 2, len(slots))
        tree[slots] = priorities
        model[slots] = priorities
    assert np.array_equal(tree[:], model)
    assert math.isclose(tree.total, model.sum())
    assert tree.minimum == model[model > 0].min()
    assert len(tree) == 1000


@pytest.mark.parametrize("slots", DTYPES)
@pytest.mark.parametrize("priorities", REALS)
def test_takes_any_integers_and_any_reals(slots: str, priorities: str) -> None:
    tree = rl.SumTree(100)
    tree.set(np.array([7, 9], slots), np.array([1, 1], priorities))
    tree.set(np.arange(20, dtype=slots)[::-2][:2], np.ones((2, 2), priorities)[:, 0])
    assert tree.get(np.arange(100)).nonzero()[0].tolist() == [7, 9, 17, 19]


def test_takes_lists_scalars_and_slices() -> None:
    tree = rl.SumTree(10)
    tree[[1, 2]] = [1, 2]
    tree[5] = 3.0
    tree[8:] = 4
    tree[6:8] = [0.5, 0.25]
    tree[::9] = 7
    tree[[]] = []
    assert tree[:].tolist() == [7, 1, 2, 0, 0, 3, 0.5, 0.25, 4, 7]
    assert tree[5] == 3.0
    assert tree[[[1, 2], [5, 8]]].tolist() == [[1, 2], [3, 4]]


def test_finds_the_owner_of_every_mass() -> None:
    priorities = np.random.default_rng(2).integers(0, 4, 500)
    tree = rl.SumTree(500, fanout=4)
    tree[:] = priorities
    masses = np.arange(0, priorities.sum(), 0.25)
    assert np.array_equal(tree.find(masses), np.searchsorted(priorities.cumsum(), masses, side="right"))
    assert tree.find(1e9) == priorities.nonzero()[0][-1]


@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_samples_in_proportion_to_priorities(dtype: str, stratified: bool) -> None:
    tree, rng = rl.SumTree(40, dtype=dtype), np.random.default_rng(3)
    model = rng.random(40) * (rng.random(40) < 0.7)
    tree[:] = model
    n = 200_000
    slots, priorities = tree.sample(n, rng, stratified)
    assert np.array_equal(priorities, tree[slots])
    counts = np.bincount(slots, minlength=40)
    expected = n * model / model.sum()
    assert not counts[model == 0].any()
    assert np.abs(counts - expected).max() < (2 if stratified else 5 * math.sqrt(expected.max()))
    assert stratified == bool(np.all(np.diff(slots) >= 0))


def test_the_same_seed_samples_the_same_after_another_history() -> None:
    rng = np.random.default_rng(4)
    first, second = rl.SumTree(3000), rl.SumTree(3000)
    for _ in range(100):
        first[rng.integers(3000, size=64)] = rng.random(64)
    second.load_state_dict(first.state_dict())
    assert first.total == second.total
    for one, other in zip(*(tree.sample(100, np.random.default_rng(5)) for tree in (first, second)), strict=True):
        assert np.array_equal(one, other)


def test_lies_in_memory_of_the_caller_and_is_found_there_again() -> None:
    with mmap.mmap(-1, rl.SumTree.size(100)) as memory:
        tree = rl.SumTree(100, memory=memory)
        tree[3] = 2.0
        assert rl.SumTree(100, memory=memory).total == 2.0
        with pytest.raises(rx.ArgumentError, match="holds something else, or a tree of another shape"):
            rl.SumTree(99, memory=memory)
        with pytest.raises(rx.ArgumentError, match="multiple of 64 bytes"):
            rl.SumTree(10, memory=memoryview(memory)[8:])
        del tree


def test_memory_too_small_is_refused() -> None:
    size = rl.SumTree.size(100)
    with pytest.raises(rx.ArgumentError, match=f"it has {size - 1} bytes, and {size} are needed"):
        rl.SumTree(100, memory=mmap.mmap(-1, size - 1))


def test_a_forked_child_shares_the_tree() -> None:
    tree = rl.SumTree(100)
    child = os.fork()
    if not child:
        tree[[1, 2]] = [1.0, 2.0]
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert tree.total == 3.0


def test_long_batches_of_threads_go_through_the_tree_together() -> None:
    tree = rl.SumTree(40_000)

    def write(first: int) -> None:
        for turn in range(20):
            tree[np.arange(first, 40_000, 4)] = float(first + turn)

    writers = [threading.Thread(target=write, args=(first,)) for first in range(4)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        if tree.total:
            assert (tree.sample(5000, np.random.default_rng(6))[1] > 0).all()
    assert np.array_equal(tree[:], np.arange(40_000) % 4 + 19)
    assert tree.total == 10_000 * (19 + 20 + 21 + 22)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, 1e39])
def test_a_priority_that_cannot_be_is_named_and_changes_nothing(bad: float) -> None:
    tree = rl.SumTree(10)
    with pytest.raises(rl.SumTreeError, match=r"SumTree\(10.*: slot 4 cannot have priority") as caught:
        tree[[3, 4, 5]] = [1.0, bad, 1.0]
    assert str(bad) in str(caught.value)
    with pytest.raises(rl.SumTreeError, match="cannot have priority"):
        tree[2:5] = bad
    assert tree.total == 0


@pytest.mark.parametrize("slot", [-1, 10, 2**40])
def test_a_slot_that_there_is_not_is_named_and_nothing_changed(slot: int) -> None:
    tree = rl.SumTree(10)
    with pytest.raises(rl.SumTreeError, match=f"has no slot {slot}"):
        tree[[3, slot]] = [1.0, 1.0]
    with pytest.raises(rl.SumTreeError, match=f"has no slot {slot}"):
        tree.get([3, slot])
    assert tree.total == 0


def test_what_else_is_wrong_is_said() -> None:
    tree = rl.SumTree(10, minimum=False)
    rng = np.random.default_rng(0)
    with pytest.raises(rl.SumTreeError, match="nothing to sample"):
        tree.sample(1, rng)
    with pytest.raises(rl.SumTreeError, match="nothing to sample"):
        tree.find([0.0])
    tree[0] = 1.0
    with pytest.raises(rl.SumTreeError, match=r"the mass -1\.0"):
        tree.find([0.0, -1.0])
    with pytest.raises(rl.SumTreeError, match="3 slots, but 2 priorities"):
        tree[[0, 1, 2]] = [1.0, 2.0]
    with pytest.raises(rx.ArgumentError, match="slots are integers, not float64"):
        tree[[0.5]] = [1.0]
    with pytest.raises(rx.ArgumentError, match="slots are integers, not bool"):
        tree.get(np.ones(10, bool))
    with pytest.raises(rl.SumTreeError, match="no slot 18446744073709551615"):
        tree.get(np.array([2**64 - 1], np.uint64))
    with pytest.raises(rx.ArgumentError, match="real numbers, not complex128"):
        tree[0] = 1j
    with pytest.raises(rx.ArgumentError, match="keeps no minimum"):
        _ = tree.minimum
    with pytest.raises(rx.ArgumentError, match="cannot be pickled"):
        pickle.dumps(tree)
    with pytest.raises(rl.SumTreeError, match=r"priorities of shape \(9,\)"):
        tree.load_state_dict({"priorities": np.ones(9)})
    tree[:] = 3e38
    with pytest.raises(rl.SumTreeError, match="more than float32 holds"):
        tree.sample(1, rng)


def test_a_tree_that_cannot_be_is_refused() -> None:
    for capacity in (0, 2**32 + 1):
        with pytest.raises(rx.ArgumentError, match=f"capacity is {capacity}"):
            rl.SumTree(capacity)
    with pytest.raises(rx.ArgumentError, match="fanout is 12"):
        rl.SumTree(10, fanout=12)
    with pytest.raises(rx.ArgumentError, match="dtype is float16"):
        rl.SumTree(10, dtype="f2")


def test_without_any_priority_there_is_no_least_one() -> None:
    assert rl.SumTree(10).minimum == math.inf
