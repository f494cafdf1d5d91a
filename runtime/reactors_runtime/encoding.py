"""How is a value kept in a file that anyone may have written? Without pickle: reading it runs no code.

None, booleans, numbers, strings, bytes, arrays and NumPy scalars, and tuples, lists and dicts of them (keys of
dicts are none of the last five); a letter for the kind, then what it takes.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

_KEYS = (str, int, float, bool, bytes, type(None))


def encode(value: Any) -> bytes:
    """A value as bytes. Raises `TypeError` for what has no such form.

    >>> decode(encode({"a": (1, -2.5, None), "b": ["x", b"y", True]}))
    {'a': (1, -2.5, None), 'b': ['x', b'y', True]}
    """
    parts: list[bytes] = []
    _put(value, parts)
    return b"".join(parts)


def _sized(kind: bytes, data: bytes) -> bytes:
    return kind + struct.pack("<Q", len(data)) + data


def _put(value: Any, parts: list[bytes]) -> None:
    kind = type(value)
    if value is None:
        parts.append(b"N")
    elif kind is bool:
        parts.append(b"T" if value else b"F")
    elif kind is int:
        parts.append(_sized(b"i", str(value).encode()))
    elif kind is float:
        parts.append(b"f" + struct.pack("<d", value))
    elif kind is str:
        parts.append(_sized(b"s", value.encode("utf-8", "surrogatepass")))
    elif kind is bytes:
        parts.append(_sized(b"b", value))
    elif kind is list or kind is tuple:
        parts.append((b"l" if kind is list else b"t") + struct.pack("<Q", len(value)))
        for each in value:
            _put(each, parts)
    elif kind is dict:
        parts.append(b"d" + struct.pack("<Q", len(value)))
        for key, each in value.items():
            if type(key) not in _KEYS:
                raise TypeError(
                    f"the key {key!r} of a dict is of type {type(key).__name__}, "
                    "and none of: None, bool, int, float, str, bytes"
                )
            _put(key, parts)
            _put(each, parts)
    elif (kind is np.ndarray or isinstance(value, np.generic)) and value.dtype.kind in "biufcSUmM":
        parts.append(b"g" if isinstance(value, np.generic) else b"a")
        _put(value.dtype.str, parts)
        _put(value.shape, parts)
        parts.append(_sized(b"b", value.tobytes()))
    else:
        raise TypeError(f"{kind.__name__} is none of: None, bool, int, float, str, bytes, array, list, tuple, dict")


def decode(data: bytes | memoryview) -> Any:
    """What `encode` made. Raises `ValueError` for anything else."""
    try:
        value, end = _get(memoryview(data), 0)
    except (struct.error, IndexError, TypeError, UnicodeDecodeError) as error:
        raise ValueError(f"these are no values: {error}") from None
    if end != len(data):
        raise ValueError("these are no values: something follows them")
    return value


def _get(data: memoryview, at: int) -> tuple[Any, int]:
    kind, at = bytes(data[at : at + 1]), at + 1
    if kind == b"N":
        return None, at
    if kind in (b"T", b"F"):
        return kind == b"T", at
    if kind == b"f":
        return struct.unpack_from("<d", data, at)[0], at + 8
    if kind in (b"a", b"g"):
        dtype, at = _get(data, at)
        shape, at = _get(data, at)
        raw, at = _get(data, at)
        array = np.frombuffer(raw, np.dtype(dtype)).reshape(shape)
        return (array[()] if kind == b"g" else array), at
    (size,) = struct.unpack_from("<Q", data, at)
    at += 8
    if kind in (b"l", b"t", b"d"):
        items = []
        for _ in range(2 * size if kind == b"d" else size):
            item, at = _get(data, at)
            items.append(item)
        if kind == b"d":
            return dict(zip(items[::2], items[1::2], strict=True)), at
        return (items if kind == b"l" else tuple(items)), at
    if at + size > len(data):
        raise IndexError("they end too early")
    raw, at = bytes(data[at : at + size]), at + size
    if kind == b"b":
        return raw, at
    if kind in (b"i", b"s"):
        text = raw.decode("utf-8", "surrogatepass")
        return (int(text) if kind == b"i" else text), at
    raise TypeError(f"there is no kind {kind!r}")
