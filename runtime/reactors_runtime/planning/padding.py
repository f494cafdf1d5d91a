"""Which bytes of a value say something?

Between the fields of a record, and in a long double, lie bytes that nobody writes on purpose. They differ from run to
run, so they are not hashed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LONG = np.dtype(np.longdouble).itemsize
_USED = 10 if np.finfo(np.longdouble).nmant == 63 else _LONG  # bytes of a long double: x86_64 has numbers of 80 bits


def solid(dtype: np.dtype[Any]) -> list[tuple[int, int]]:
    """The parts of a value that say something, by offset and size; none: all of it does.

    >>> solid(np.dtype([("a", "u1"), ("b", "f8")], align=True))
    [(0, 1), (8, 8)]
    >>> solid(np.dtype([("a", "u1"), ("b", "f8")])), solid(np.dtype("f4"))
    ([], [])
    """
    counts = _counts(dtype)
    if counts.all():
        return []
    ends = np.flatnonzero(np.diff(counts, prepend=False, append=False)).tolist()
    return [(begin, end - begin) for begin, end in zip(ends[::2], ends[1::2], strict=True)]


def _counts(dtype: np.dtype[Any]) -> NDArray[np.bool_]:
    """Whether each byte does."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return np.tile(_counts(base), math.prod(shape))
    found = np.full(dtype.itemsize, dtype.fields is None)
    for kind, offset, *_ in (dtype.fields or {}).values():
        found[offset : offset + kind.itemsize] |= _counts(kind)
    if dtype.char in "gG":
        found.reshape(-1, _LONG)[:, _USED:] = False
    return found
