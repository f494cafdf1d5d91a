"""Do equal things have one hash, whatever they are made of, and others another?"""

from __future__ import annotations

import copy
import enum
import pickle
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from reactors_runtime._doors import content_hash


@dataclass
class Point:
    x: float
    names: set[str]


class Color(enum.Enum):
    RED = 1


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a: object) -> None:
        self.a = a


THINGS: list[Any] = [
    *(None, True, False, 0, 1, -1, 2**80, -(2**80), 0.0, -0.0, 1.0, float("inf"), 1j, "", "a", "ab", b"", b"a", b"ab"),
    *("\ud800", bytearray(b"a"), (), [], {}, set(), frozenset({1}), (1,), [1], [[1], 2], [[1, 2]], [1, [2]]),
    *({"a": 1}, {"a": 2}, {"b": 1}, {"a": 1, "b": 2}, {"b": 2, "a": 1}, {1, 2}, {1, 3}, {(1, 2), "x"}),
    *(np.zeros(3), np.zeros(4), np.zeros((3, 1)), np.zeros(3, np.float32), np.zeros(3, np.int64), np.arange(100.0)),
    *(np.zeros((), np.float32), np.array(["a", "b"]), np.array([1j]), np.array([1, "x"], object), np.zeros(3, ">f4")),
    *(np.array([(1, 2.0)], [("a", "u1"), ("b", "f8")]), np.datetime64("2020-01-01"), np.longdouble(1)),
    *(np.float64(1.0), np.float32(1.0), np.int64(1), np.int32(1), np.bool_(True), np.zeros(3, np.float16)),
    *(
        Point(1.0, {"a"}),
        Point(1.0, {"b"}),
        Point,
        Color.RED,
        Slotted([1]),
        Slotted([2]),
        len,
        np.random.default_rng(1),
    ),
]


def test_different_things_have_different_hashes() -> None:
    found = [content_hash(thing) for thing in THINGS]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("thing", THINGS, ids=range(len(THINGS)))  # what they look like is not the same everywhere
def test_a_copy_by_pickle_has_the_same_hash(thing: Any) -> None:
    assert content_hash(pickle.loads(pickle.dumps(thing, 5))) == content_hash(thing)
    assert content_hash(copy.deepcopy([thing])) == content_hash([thing])


def test_it_does_not_matter_which_parts_are_one_object() -> None:
    text, row = str(b"left", "ascii"), [1, 2]
    assert content_hash((text, "left")) == content_hash(("left", "left"))
    assert content_hash([row, row]) == content_hash([[1, 2], [1, 2]])


def test_what_lies_in_itself_has_a_hash() -> None:
    row: list[Any] = [1]
    row.append(row)
    again: list[Any] = [1]
    again.append(again)
    assert content_hash(row) == content_hash(again) != content_hash([1, [1]])
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert content_hash(deep) == content_hash([deep])  # what lies deeper than 500 counts as deep


def test_pieces_of_arrays_count_as_what_they_hold() -> None:
    block = np.arange(60.0).reshape(6, 10)
    assert content_hash(block[::2, 1:4]) == content_hash(block[::2, 1:4].copy())
    assert content_hash(block.T) == content_hash(np.ascontiguousarray(block.T)) != content_hash(block)
    assert content_hash(np.array([1], np.longlong)) == content_hash(np.array([1], np.int64))
    for size in range(200):  # any length, and wherever it lies
        data = np.frombuffer(bytes(range(256)), np.uint8)
        found = {
            content_hash(data[:size].copy()),
            content_hash(memory(data[:size], 1)),
            content_hash(memory(data[:size], 7)),
        }
        assert len(found) == 1
        if size:
            for at in (0, size // 2, size - 1):
                other = data[:size].copy()
                other[at] ^= 1
                assert content_hash(other) not in found


def memory(data: np.ndarray[Any, Any], offset: int) -> np.ndarray[Any, Any]:
    """The same bytes at another alignment."""
    room = np.zeros(len(data) + 64, np.uint8)
    part = room[offset : offset + len(data)]
    part[:] = data
    return part


def test_tensors_count_by_their_numbers() -> None:
    torch = pytest.importorskip("torch")
    one = torch.arange(6.0).reshape(2, 3)
    assert content_hash(one) == content_hash(one.clone().requires_grad_()) == content_hash(one.t().contiguous().t())
    assert content_hash(one) != content_hash(one.double())
    assert content_hash(one.bfloat16()) == content_hash(one.bfloat16().clone()) != content_hash(one.half())


def test_what_cannot_be_pickled_counts_by_its_class() -> None:
    assert content_hash(sys._getframe()) == content_hash(sys._getframe().f_back)


def test_hashes_of_text_do_not_matter() -> None:
    program = (
        "from reactors_runtime._doors import content_hash; import __main__\n"
        "class A: pass\n"
        "a = A(); a.names = {chr(97 + i) * 3 for i in range(20)}; print(content_hash([a, A, {'x': frozenset('abc')}]))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1
