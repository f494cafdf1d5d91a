"""How far apart are two values that one execution wrote in two runs?

A journal has hashes alone, so both runs are executed again up to there. A value that has the journal's hash then is the
one that was written; another one is not, for its reaction does not do the same each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reactors.tag import Tag
from reactors.time import Measured
from reactors_runtime._core import lib
from reactors_runtime._doors import content_hash
from reactors_runtime.planning.padding import solid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reactors.rewinding.replay import Replay


class Distance(NamedTuple):
    """Of two values: how many of their numbers differ, and the two that do most, by `ulp`, where they are, as texts.

    `ulp` counts the floats between them, units in the last place; of integers it is their difference.
    """

    differ: int
    of: int
    ulp: int
    where: str
    one: str
    other: str

    def __str__(self) -> str:
        return (
            f"{self.differ:,} of {self.of:,} numbers differ, by {self.ulp:,} ulp at most: {self.one} and {self.other} "
            f"{self.where}"
        ).rstrip()


def written_again(replay: Replay, tag: Tag, reaction: str) -> dict[str, Any]:
    """What an execution writes, executed again, by port; empty: it does not come to it."""
    replay.to(Tag(tag.time, tag.microstep - 1) if tag.microstep else Tag(tag.time - 1, (1 << 63) - 1))
    while not replay.over:
        there = replay.next == reaction
        replay.step()
        if replay.tag is not None and replay.tag > tag:
            return {}
        if there and replay.tag == tag:
            return replay.written
    return {}


def distance(one: Any, other: Any) -> Distance | None:
    """How far two values are apart; None: they do not have numbers in the same places, of the same types.

    >>> import numpy as np
    >>> str(distance(np.array([1.0, 2.0]), np.array([1.0, np.nextafter(2.0, 3.0)])))
    '1 of 2 numbers differ, by 1 ulp at most: 2.0 and 2.0000000000000004 at [1]'
    """
    mine, theirs = [*_arrays(one, "")], [*_arrays(other, "")]
    shapes = [[(where, each.shape, each.dtype) for where, each in found] for found in (mine, theirs)]
    if not mine or shapes[0] != shapes[1]:
        return None
    differ = of = most = 0
    found = "", "", ""
    for (where, a), (_, b) in zip(mine, theirs, strict=True):
        apart = _ulps(a, b)
        of += apart.size
        differ += int(np.count_nonzero(apart))
        if apart.size and (greatest := int(apart.max())) > most:
            at = np.unravel_index(int(apart.argmax()), apart.shape) if apart.ndim else ()
            index = f"[{', '.join(map(str, map(int, at)))}]" if at else ""
            place = f"at {where}{index}" if where or index else ""
            most, found = greatest, (place, str(a[at].item()), str(b[at].item()))
    return Distance(differ, of, most, *found) if differ else None


def journal_hash(value: Any, dtype: str | None) -> int:
    """The hash that a journal has of a value: of its bytes but for padding, on a typed port, else of its content."""
    if dtype is None:
        return content_hash(value)
    array = np.asarray(value)
    array = np.ascontiguousarray(array, None if array.dtype.names else dtype)  # of records it has no names
    data, parts = array.tobytes(), solid(array.dtype)
    if not parts:
        return int(lib.rx_hash(data, len(data)))
    found = 0
    for at in range(0, len(data), array.itemsize):
        for offset, size in parts:
            found = lib.rx_fold(found, lib.rx_hash(data[at + offset : at + offset + size], size))
    return int(found)


def _arrays(value: Any, where: str) -> Iterator[tuple[str, NDArray[Any]]]:
    """All numbers in a value, with the places where they are."""
    if type(value).__module__ == "torch" and hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    if isinstance(value, Measured):
        return
    if isinstance(value, np.ndarray | np.generic | int | float):
        array = np.asarray(value)
        for name in array.dtype.names or ():
            yield from _arrays(array[name], f"{where}[{name!r}]")
        if array.dtype.kind in "fiub":
            yield where, array
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _arrays(each, f"{where}[{key!r}]")
    elif isinstance(value, list | tuple):
        names = getattr(value, "_fields", None)
        for n, each in enumerate(value):
            yield from _arrays(each, f"{where}.{names[n]}" if names else f"{where}[{n}]")
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _arrays(getattr(value, field.name), f"{where}.{field.name}")


def _ulps(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.uint64]:
    """For each pair of numbers, how many steps lead from the one to the other."""
    a, b = _ordered(one), _ordered(other)
    return np.maximum(a, b) - np.minimum(a, b)


def _ordered(numbers: NDArray[Any]) -> NDArray[np.uint64]:
    """Whole numbers in the order of these, in which neighbours are one apart."""
    if numbers.dtype.kind == "f":
        size = min(8, numbers.dtype.itemsize)
        bits = np.frombuffer(numbers.astype(f"f{size}").tobytes(), f"u{size}").astype(np.uint64).reshape(numbers.shape)
        sign = np.uint64(1 << (8 * size - 1))
        magnitude = bits & ~sign
        return np.where(bits & sign, sign - magnitude, sign + magnitude)
    if numbers.dtype.kind == "i":
        return numbers.astype(np.int64).view(np.uint64) ^ np.uint64(1 << 63)
    return numbers.astype(np.uint64)
