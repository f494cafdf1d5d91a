"""How are entries read that were packed (csrc/journal.c)?

A column each, in as few bytes a number as the greatest takes; the hashes of all entries follow one another.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reactors_runtime import tables
from reactors_runtime._core import lib

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAGIC = b"RXJ1"
_HEAD = struct.Struct("<IIQ7Bx")  # entries, hashes, entries of the worker before, bytes of a number in each column
HASHED: int = lib.RX_DID_SCHEDULE | lib.RX_DID_HEAR | lib.RX_DID_LAST  # flags of which each has a hash
_KNOWN: int = HASHED | lib.RX_DID_MISS | lib.RX_DID_STOP


class NoEntriesError(ValueError):
    """Bytes that are no packed entries."""


class Packed(NamedTuple):
    """Some entries of a worker: `rows` as `rx_entry` has them, and their hashes, one after another."""

    before: int  # entries of that worker so far
    rows: NDArray[Any]
    hashes: NDArray[np.uint64]


def unpack(packed: bytes) -> Packed:
    """What is in a block. Raises `NoEntriesError`."""
    if len(packed) < _HEAD.size:
        raise NoEntriesError(f"{len(packed)} bytes are too few")
    count, hashes, before, *widths = _HEAD.unpack_from(packed)
    counts = [*[count] * (len(widths) - 1), hashes]
    wanted = _HEAD.size + sum(n * width for n, width in zip(counts, widths, strict=True))
    if not {*widths} <= {0, 1, 2, 4, 8} or len(packed) != wanted or max(count, hashes) > 1 << 20:
        raise NoEntriesError(f"{count} entries with {hashes} hashes are not {len(packed)} bytes")
    columns, at = [], _HEAD.size
    for n, width in zip(counts, widths, strict=True):
        columns.append(np.frombuffer(packed, f"<u{width}", n, at) if width else np.zeros(n, np.uint8))
        at += width * n
    reaction, time, microstep, flags, reads, writes, hashed = columns
    rows = np.zeros(count, tables.ENTRY)
    rows["reaction"], rows["flags"], rows["reads"], rows["writes"] = reaction, flags, reads, writes
    rows["tag"]["time"], rows["tag"]["microstep"] = np.cumsum(unfolded(time.astype(np.uint64))), microstep
    if (rows["flags"] & ~np.uint32(_KNOWN)).any() or hash_counts(rows).sum() != hashes:
        raise NoEntriesError(f"{hashes} are not as many hashes as the entries say")
    return Packed(before, rows, hashed.astype(np.uint64))


def hash_counts(rows: NDArray[Any]) -> NDArray[np.int64]:
    """How many hashes each entry has: one for each port that it wrote, and for some of what it did besides."""
    found: NDArray[np.int64] = np.bitwise_count(rows["writes"]).astype(np.int64)
    found += np.bitwise_count(rows["flags"] & np.uint32(HASHED))
    return found


def unfolded(folded: NDArray[np.uint64]) -> NDArray[np.int64]:
    """0, 1, 2, 3 stand for 0, -1, 1, -2."""
    return (folded >> np.uint64(1)).view(np.int64) ^ -(folded & np.uint64(1)).view(np.int64)
