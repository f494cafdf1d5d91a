"""Values in files come back as what they were, and bytes that are none are refused."""

import math
from typing import Any

import numpy as np
import pytest

from reactors_runtime.encoding import decode, encode

VALUES: list[Any] = [
    None, True, False, 0, -(2**80), 2.5, -0.0, math.inf, "", "wörds", "\ud800", b"", b"\0N", [], [1, [2.0]], (),
    (1, (True,)), {}, {"a": {1: b"x", None: []}, 2.5: (1,)}, np.float32(0.1), np.int8(-3), np.datetime64("2020-01-01"),
]  # fmt: skip
ARRAYS = [np.arange(6).reshape(2, 3), np.zeros((0, 2), "f4"), np.array([True]), np.array(["a", "bc"])]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back(value: Any) -> None:
    found = decode(encode(value))
    assert (type(found), repr(found)) == (type(value), repr(value))


@pytest.mark.parametrize("array", ARRAYS, ids=repr)
def test_an_array_comes_back(array: Any) -> None:
    found = decode(encode(array))
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert (found == array).all()


@pytest.mark.parametrize("value", [*VALUES, *ARRAYS], ids=repr)
def test_what_is_cut_off_or_goes_on_is_refused(value: Any) -> None:
    whole = encode(value)
    for end in range(len(whole)):
        with pytest.raises(ValueError, match="these are no values"):
            decode(whole[:end])
    with pytest.raises(ValueError, match="something follows them"):
        decode(whole + b"N")


@pytest.mark.parametrize(
    "value", [object(), {(1,): 2}, {1, 2}, np.array([None])], ids=["object", "dict", "set", "array"]
)
def test_what_has_no_such_form_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        encode(value)
