"""How are spans read that were packed (csrc/drain.c)?

A column each, as differences where the next is near the last, in as few bytes a number as the greatest takes: some
fifteen bytes a span instead of 64.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors_runtime import tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEAD = struct.Struct("<II9B3x")  # spans, bytes of names, bytes of a number in each column


class UnreadableError(ValueError):
    """Bytes that are no packed spans."""


def unpack(packed: bytes) -> tuple[NDArray[Any], list[str]]:
    """The rows, without those that have names, and the names. Raises `UnreadableError`."""
    if len(packed) < _HEAD.size:
        raise UnreadableError(f"{len(packed)} bytes are too few")
    count, size, *widths = _HEAD.unpack_from(packed)
    wanted = _HEAD.size + count * sum(widths) + size
    if not {*widths} <= {0, 1, 2, 4, 8} or len(packed) != wanted or count > len(packed):
        raise UnreadableError(f"{count} spans of {sum(widths)} bytes each are not {len(packed)} bytes")
    columns, at = [], _HEAD.size
    for width in widths:
        found = np.frombuffer(packed, f"<u{width}", count, at) if width else np.zeros(count, np.uint8)
        columns.append(found.astype(np.uint64))
        at += width * count
    kind, reaction, time, microstep, gap, duration, reads, writes, queued = columns
    spans = np.zeros(count, tables.SPAN)
    spans["kind"], spans["reaction"] = kind, (reaction - np.uint64(1)).astype(np.uint32)
    spans["tag"]["time"], spans["tag"]["microstep"] = np.cumsum(_unfolded(time)), microstep
    lengths = _unfolded(duration)
    spans["end"] = np.cumsum(_unfolded(gap) + lengths)
    spans["start"] = spans["end"] - lengths
    spans["reads"], spans["writes"], spans["queued"] = reads, writes, queued
    return spans, packed[at:].decode(errors="replace").split("\0")[:-1]


def _unfolded(folded: NDArray[np.uint64]) -> NDArray[np.int64]:
    """0, 1, 2, 3 stand for 0, -1, 1, -2."""
    return (folded >> np.uint64(1)).view(np.int64) ^ -(folded & np.uint64(1)).view(np.int64)
