"""Do bytes that say nothing, between the fields of a record and in a long double, count in what is hashed?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reactors as rx
from reactors.rewinding.distance import journal_hash
from reactors_runtime._doors import content_hash
from tests.journals.programs import run

PAIR = np.dtype([("a", "u1"), ("b", "f8")], align=True)
KINDS = [
    PAIR,
    np.dtype([("first", "u2"), ("pairs", PAIR, (3,)), ("last", "u1")], align=True),
    np.dtype({"names": ["x"], "formats": ["f4"], "offsets": [8], "itemsize": 40}),
    np.dtype(np.longdouble),
    np.dtype(np.clongdouble),
]
kinds = pytest.mark.parametrize("dtype", KINDS, ids=range(len(KINDS)))


def written(dtype: np.dtype[Any], filled: int, number: int = 7) -> np.ndarray[Any, Any]:
    """Records with `number` in each field, in memory that was full of something."""
    array = np.full(4 * dtype.itemsize, filled, np.uint8).view(dtype)
    if dtype.names is None:
        return fill(array, filled, number)
    for name in dtype.names:
        field = array[name]
        for inner in field.dtype.names or ():
            field[inner] = number
        if field.dtype.names is None:
            array[name] = number
    return array


def fill(array: np.ndarray[Any, Any], filled: int, number: int) -> np.ndarray[Any, Any]:
    """Long doubles, behind whose 10 bytes of the processor's something lies."""
    array[:] = number
    if np.finfo(np.longdouble).nmant == 63:
        array.view(np.uint8).reshape(-1, 16)[:, 10:] = filled
    return array


def writer(array: np.ndarray[Any, Any], *, lent: bool) -> rx.Reactor:
    class Writer(rx.Reactor):
        records = rx.Output(shape=array.shape, dtype=array.dtype)
        rows = rx.Output(width=2, shape=array.shape, dtype=array.dtype)

        @rx.reaction(rx.startup, effects=(records, rows))
        def write(self) -> None:
            self.rows[1].set(array)
            if lent:
                self.records.loan().view(np.uint8)[:] = array.view(np.uint8)
                self.records.set(self.records.loan())
            else:
                self.records.set(array)

    return Writer()


@kinds
@pytest.mark.parametrize("lent", [False, True])
def test_the_digest_of_values_is_of_fields(dtype: np.dtype[Any], lent: bool) -> None:
    one, other, more = (
        run(writer(array, lent=lent), digest="values").value_digest
        for array in (written(dtype, 0), written(dtype, 255), written(dtype, 0, 8))
    )
    assert one == other != more


@kinds
def test_what_is_written_again_has_the_hash_of_the_journal(dtype: np.dtype[Any], tmp_path: Any) -> None:
    run(writer(written(dtype, 255), lent=True), tmp_path / "a.rxj")
    journal = rx.Journal(tmp_path / "a.rxj")
    found = journal_hash(written(dtype, 0), dtype.str)
    assert found == journal.written(0)["main.records"] == journal.written(0)["main.rows[1]"]
    assert found != journal_hash(written(dtype, 0, 8), dtype.str)


@kinds
def test_objects_are_hashed_by_their_fields(dtype: np.dtype[Any]) -> None:
    one, other, more = written(dtype, 0), written(dtype, 255), written(dtype, 0, 8)
    for form in (lambda array: array, lambda array: array[::2], lambda array: array[1], lambda array: [{"x": array}]):
        assert content_hash(form(one)) == content_hash(form(other)) != content_hash(form(more))
    if dtype.names:
        records = [content_hash(array.view(np.recarray)) for array in (one, other, more)]
        assert records[0] == records[1] != records[2]
        assert records[0] != content_hash(one)
