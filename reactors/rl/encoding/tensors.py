"""How are arrays written to a file that others can read by name, and found to be what was written?

The format is safetensors (a length, a JSON header, bytes). Arrays are written and read piece by piece, since a replay
buffer may be larger than what is free beside it, and checksums are found on the way.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

PIECE = 1 << 24  # bytes that are copied at a time
LONGEST = 100_000_000  # bytes of a header, as the format has it
NAMES = {
    "b1": "BOOL", "u1": "U8", "i1": "I8", "u2": "U16", "i2": "I16", "u4": "U32", "i4": "I32", "u8": "U64", "i8": "I64",
    "f2": "F16", "f4": "F32", "f8": "F64",
}  # fmt: skip
KINDS = {name: np.dtype(kind) for kind, name in NAMES.items()}


class Form(NamedTuple):
    """What an array is, before there is one."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Of the whole array."""
        return self.dtype.itemsize * math.prod(self.shape)


# ---- a part of a file ----


def header(arrays: Mapping[str, NDArray[Any] | Form], metadata: Mapping[str, str] | None) -> bytes:
    """What a file of these arrays begins with: where each lies, and what is no array."""
    entries: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    at = 0
    for name, array in arrays.items():
        kind = NAMES[array.dtype.str[1:]]
        entries[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def read_header(file: BinaryIO) -> bytes:
    """What `header` gave. `ValueError` if the file does not begin with one, or is cut off within it."""
    begin = file.read(8)
    length = int.from_bytes(begin, "little")
    if not 2 <= length <= min(os.fstat(file.fileno()).st_size - 8, LONGEST):
        raise ValueError("it is cut off, or no safetensors file")
    return begin + file.read(length)


def put(file: BinaryIO, array: NDArray[Any], crc: int = 0) -> int:
    """Append an array, which may be strided; the checksum of its bytes, after `crc` of those before them."""
    for part in _parts(array):
        piece = np.ascontiguousarray(part).view(np.uint8).reshape(-1).data
        crc = zlib.crc32(piece, crc)
        file.write(piece)
    return crc


def take(file: BinaryIO, array: NDArray[Any], crc: int = 0) -> int:
    """Read what `put` wrote into an array, which may be strided; the checksum, as `put` gave it."""
    for part in _parts(array):
        data = file.read(part.nbytes)
        crc = zlib.crc32(data, crc)
        part[...] = np.frombuffer(data, array.dtype).reshape(part.shape)
    return crc


def _parts(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    rows = np.atleast_1d(array)
    step = max(1, PIECE // max(1, rows.itemsize * math.prod(rows.shape[1:])))
    for at in range(0, len(rows) if rows.size else 0, step):
        yield rows[at : at + step]


# ---- a whole file, under one checksum ----


def write(path: Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None) -> str:
    """Write a file of arrays, down to the disk; the checksum of its bytes.

    >>> import tempfile; from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checksum = write(Path(folder) / "x", {"a": np.arange(3, dtype="f4")})
    ...     found, again, _ = read(Path(folder) / "x")
    >>> found["a"], checksum == again
    (array([0., 1., 2.], dtype=float32), True)
    """
    head = header(arrays, metadata)
    crc = zlib.crc32(head)
    with path.open("wb") as file:
        file.write(head)
        for array in arrays.values():
            crc = put(file, array, crc)
        file.flush()
        os.fsync(file.fileno())
    return f"{crc:08x}"


def read(path: Path) -> tuple[dict[str, NDArray[Any]], str, dict[str, str]]:
    """The arrays of a file, the checksum of its bytes, and its metadata. `ValueError` says what is wrong with it."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = read_header(file)
        crc = zlib.crc32(head)
        try:
            entries: dict[str, Any] = json.loads(head[8:])
            metadata = entries.pop("__metadata__", {})
            plan: list[Any] = sorted(
                ((name, KINDS[entry["dtype"]], _whole(entry["shape"]), *_whole(entry["data_offsets"]))
                 for name, entry in entries.items()),
                key=lambda entry: entry[3:],
            )  # fmt: skip
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError("its header is garbled") from error
        arrays = {}
        at = 0
        for name, kind, shape, first, last in plan:
            if (first, last) != (at, at + math.prod(shape) * kind.itemsize) or len(head) + last > size:
                raise ValueError(f"it is cut off, or its header is garbled: {name!r} does not lie in it")
            array = np.empty(shape, kind)
            crc = take(file, array, crc)
            if kind == np.bool_ and (array.view(np.uint8) > 1).any():
                raise ValueError(f"{name!r} has a bool that is neither 0 nor 1")
            arrays[name], at = array, last
        if len(head) + at != size:
            raise ValueError("it is longer than its header says")
    return arrays, f"{crc:08x}", metadata


def _whole(numbers: Any) -> tuple[int, ...]:
    if any(type(number) is not int or number < 0 for number in numbers):
        raise ValueError(f"{numbers!r} is no shape, and no place in a file")
    return tuple(numbers)
