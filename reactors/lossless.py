"""Does this value survive this dtype?

NumPy rounds fractions to the nearest that a dtype has, and so do ports. What does not survive is a number that becomes
infinite, an integer that becomes another one, a fraction among integers, a text that is cut short.
"""

from __future__ import annotations

import reprlib
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

NUMBERS = "biufc"  # kinds of dtypes
_REAL = "buif"


class Lost(NamedTuple):
    """The first value of an array that a dtype does not hold."""

    value: Any
    at: tuple[int, ...]  # its place; () of a single value
    becomes: Any  # there

    def __str__(self) -> str:
        where = f" at [{', '.join(map(str, self.at))}]" if self.at else ""
        return f"{_spelled(self.value)}{where} would become {_spelled(self.becomes)}"


class LostError(ValueError):
    """A value that a dtype does not hold: `value`, and `at`, its place in the array; () of a single value."""

    def __init__(self, lost: Lost, dtype: np.dtype[Any]) -> None:
        super().__init__(f"{lost.value}, which {dtype} does not hold")
        self.value, self.at = lost.value, lost.at


def lossless(value: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """`value`, a scalar or anything that NumPy makes an array of, as an array of `dtype`; itself if it is that already.

    Raises `LostError` for the first value that would be lost, `TypeError` for a dtype whose values are of another kind,
    text for numbers, and `ValueError` for what is no array.

    >>> lossless([0.1, 2], np.dtype("f4"))
    array([0.1, 2. ], dtype=float32)
    >>> lossless([1, 300], np.dtype("i1"))
    Traceback (most recent call last):
    reactors.lossless.LostError: 300, which int8 does not hold
    """
    given = np.asarray(value)
    if given.dtype == dtype:
        return given
    big = given.dtype == object and all(isinstance(each, int) for each in given.flat)  # beyond 64 bits
    numbers = (given.dtype.kind in NUMBERS or big) and dtype.kind in NUMBERS
    real = given.dtype.kind == "c" and dtype.kind != "c"
    if real or not (numbers or np.can_cast(given.dtype, dtype, "same_kind")):
        raise TypeError(f"{given.dtype} is no kind of {dtype}")
    if (lost := first_lost(given, dtype)) is not None:
        raise LostError(lost, dtype)
    return given.astype(dtype)


def lossy(value: Any, dtype: np.dtype[Any]) -> str | None:
    """What of a number, a text, or an array of them would be another one in `dtype`; None if all of it survives.

    >>> lossy(300, np.dtype("int8"))
    '300 would become 44 in int8'
    >>> lossy([0.5, 1e300], np.dtype("float32"))
    '1e+300 at [1] would become inf in float32'
    >>> lossy(0.1, np.dtype("float32")) is None  # rounded to the nearest, as ever
    True
    """
    lost = first_lost(np.asarray(value), dtype)
    return None if lost is None else f"{lost} in {dtype}"


def first_lost(given: NDArray[Any], dtype: np.dtype[Any]) -> Lost | None:
    """The first element that would be another one in `dtype`; None if all survive."""
    if given.dtype == dtype or not given.size or _fits(given, dtype):
        return None
    with np.errstate(all="ignore"):
        there = _cast(given, dtype)
        lost = ~_survives(given, there)
    if not lost.any():
        return None
    at = tuple(int(i) for i in np.argwhere(lost)[0])
    return Lost(given[at], at, there[at])


def _fits(given: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Whether all of it survives for sure; a quick look."""
    kind = given.dtype.kind
    if kind in "iu" and dtype.kind in _REAL + "c":
        least, most = _integers(dtype)
        if not given.ndim:
            return bool(least <= given.item() <= most)
        return bool(least <= np.minimum.reduce(given, axis=None) and np.maximum.reduce(given, axis=None) <= most)
    if kind == "f" and not given.ndim and dtype.kind in "fc":
        return bool(abs(given.item()) <= _integers(dtype)[1]) or np.can_cast(given.dtype, dtype)
    return np.can_cast(given.dtype, dtype)


@cache
def _integers(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The least and the greatest integer between which a dtype has all of them."""
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    most = min(2 << int(np.finfo(dtype).nmant), int(np.finfo(dtype).max))
    return -most, most


def _cast(given: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """All elements in `dtype`, as C would make them."""
    if given.dtype != object:
        return (np.real(given) if given.dtype.kind == "c" and dtype.kind in _REAL else given).astype(dtype)
    # Python's numbers of any size: integers go around, all others come as near as can be.
    if dtype.kind in "iu":
        within = [int(each) % (1 << 8 * dtype.itemsize) for each in given.flat]
        return np.array(within, f"u{dtype.itemsize}").astype(dtype).reshape(given.shape)
    return np.array([_nearest(each) for each in given.flat]).astype(dtype).reshape(given.shape)


def _nearest(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _survives(given: NDArray[Any], there: NDArray[Any]) -> NDArray[np.bool_]:
    """Which elements do, where `there` is what became of them."""
    if given.dtype.kind in "fc" and there.dtype.kind in "fc":
        real: NDArray[np.bool_] = ~(np.isinf(there) & np.isfinite(given))
        return real if there.dtype.kind == "c" else real & (np.imag(given) == 0)
    if given.dtype.kind in _REAL + "cO" and there.dtype.kind in _REAL + "c":
        # As Python's numbers, which compare exactly: as floats, 2**63 and 2**63 - 1 are the same.
        pairs = zip(given.ravel().tolist(), there.ravel().tolist(), strict=True)
        rounds = there.dtype.kind in "fc"
        return np.array([a == b or (rounds and a % 1 != 0) for a, b in pairs], bool).reshape(given.shape)
    back: NDArray[np.bool_] = np.asarray(there.astype(given.dtype) == given)
    return back


def _spelled(element: Any) -> str:
    """As Python writes it, without a mention of NumPy."""
    if isinstance(element, np.datetime64 | np.timedelta64):
        return str(element)
    return reprlib.repr(element.item() if isinstance(element, np.generic) else element)
