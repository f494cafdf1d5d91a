"""Does this value survive this dtype?

What is kept as a whole number or a bool has to be just that number. What is kept as a float may be rounded, as every
float64 is in a float32, but a finite number stays finite. All else has to come out as it went in.
"""

from __future__ import annotations

from typing import Any

import numpy as np

NUMBERS = "biufc"
MOST = int(np.finfo(np.float64).max)


class LostError(ValueError):
    """A value that a dtype does not hold.

    Attributes:
        value: which.
        at: its place in the array; () of a single value.
    """

    def __init__(self, value: Any, at: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        super().__init__(f"{value}, which {dtype} does not hold")
        self.value, self.at = value, at


def lossless(value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """`value`, a scalar or anything that NumPy makes an array of, as an array of `dtype`; itself if it is that already.

    Raises `LostError` for the first value that would be lost, `TypeError` for a dtype whose values are of another kind,
    text for numbers, and `ValueError` for what is no array.

    >>> lossless([0.1, 2], np.dtype("f4"))
    array([0.1, 2. ], dtype=float32)
    >>> lossless([1, 300], np.dtype("i1"))
    Traceback (most recent call last):
    reactors.lossless.LostError: 300, which int8 does not hold
    """
    array = np.asarray(value)
    if array.dtype == dtype:
        return array
    if array.dtype.kind == "O" and all(isinstance(each, int) for each in array.flat):  # beyond 64 bits
        lost = ~_whole(array, dtype) if dtype.kind in "biu" else np.asarray(np.abs(array) > MOST)
        if dtype.kind in "biu" or lost.any():
            raise _lost(array, lost, dtype)
        array = array.astype(np.float64)
    if array.dtype.kind in NUMBERS and dtype.kind in NUMBERS:
        return _number(array, dtype)
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        raise TypeError(f"{array.dtype} is no kind of {dtype}")
    made = array.astype(dtype)
    kept = made == array
    if array.dtype.kind in "mM":
        kept |= np.isnat(array)
    if not kept.all():
        raise _lost(array, ~kept, dtype)
    return made


def _number(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if np.can_cast(array.dtype, dtype, "safe"):
        return array.astype(dtype)
    if array.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"{array.dtype} is no kind of {dtype}")
    if dtype.kind in "biu":
        whole = _whole(array, dtype)
        if not whole.all():
            raise _lost(array, ~whole, dtype)
        return array.astype(dtype)
    try:
        with np.errstate(over="raise"):
            return array.astype(dtype)
    except FloatingPointError:
        with np.errstate(over="ignore"):
            made = array.astype(dtype)
        raise _lost(array, np.isfinite(array) & ~np.isfinite(made), dtype) from None


def _whole(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Which numbers are whole ones that a dtype for such has."""
    low, beyond = (0, 2) if dtype.kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max) + 1)
    if array.dtype.kind == "f":
        array = array.astype(np.float64, copy=False) if array.itemsize < 8 else array  # in which the bounds are exact
    found: np.ndarray[Any, Any] = np.asarray((array >= low) & (array < beyond))
    return found & (array == np.trunc(array)) if array.dtype.kind == "f" else found


def _lost(array: np.ndarray[Any, Any], where: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> LostError:
    at = tuple(int(i) for i in np.argwhere(where)[0])
    return LostError(array[at], at, dtype)
