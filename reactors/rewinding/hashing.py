"""When are two values, or the states of two reactors, the same?

A hash of the content: of what was computed, not of where it lies or how it came there. This is the one place that
decides it for this room.
"""

from __future__ import annotations

import struct
from collections import deque
from hashlib import blake2b
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.model.declaration import Declared
from reactors.model.reactor import Reactor
from reactors.shipping.parcels import attributes

if TYPE_CHECKING:
    from collections.abc import Callable

_BY_NAME = (type, FunctionType, BuiltinFunctionType, ModuleType)


def content_hash(value: Any) -> int:
    """64 bits of a value: equal for equal content.

    >>> content_hash({"a": np.arange(3)}) == content_hash({"a": np.arange(3)})
    True
    >>> content_hash(1) == content_hash(1.0)
    False
    """
    digest = blake2b(digest_size=8)
    _feed(value, digest.update, {})
    return int.from_bytes(digest.digest(), "little")


def state_hash(reactor: Reactor) -> int:
    """64 bits of all that a reactor has, but for its ports and for other reactors."""
    digest = blake2b(digest_size=8)
    known: dict[int, int] = {}
    for name, value in sorted(attributes(reactor).items()):
        if not isinstance(value, Declared | Reactor):
            digest.update(name.encode() + b"\0")
            _feed(value, digest.update, known)
    _feed(reactor._rng, digest.update, known)
    return int.from_bytes(digest.digest(), "little")


def _feed(value: Any, feed: Callable[[bytes], None], known: dict[int, int]) -> None:
    """Feed all that makes a value what it is."""
    kind = type(value)
    if value is None or kind in (bool, int):
        feed(f"{kind.__name__} {value};".encode())
    elif kind is float:
        feed(b"f" + struct.pack("<d", value))
    elif kind in (str, bytes, bytearray):
        data = value.encode("utf-8", "surrogatepass") if kind is str else bytes(value)
        feed(f"{kind.__name__} {len(data)} ".encode() + data)
    elif isinstance(value, _BY_NAME):
        feed(f"{getattr(value, '__module__', '')}:{getattr(value, '__qualname__', value.__name__)};".encode())
    elif isinstance(value, Reactor):
        feed(f"reactor {value.path};".encode())
    elif isinstance(value, Declared):
        feed(f"{kind.__name__} {value.path};".encode())
    elif id(value) in known:
        feed(f"again {known[id(value)]};".encode())
    else:
        known[id(value)] = len(known)
        feed(f"{kind.__module__}.{kind.__qualname__} ".encode())
        _feed_parts(value, feed, known)


def _feed_parts(value: Any, feed: Callable[[bytes], None], known: dict[int, int]) -> None:
    """What is more than a few bytes, and what may hold itself."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        feed(f"{value.dtype.str if value.dtype.names is None else value.dtype.descr}{value.shape} ".encode())
        feed(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, np.generic):
        feed(f"{value.dtype} ".encode() + value.tobytes())
    elif isinstance(value, np.random.Generator):
        _feed(value.bit_generator.state, feed, known)
    elif isinstance(value, MethodType):
        _feed(value.__func__, feed, known)
        _feed(value.__self__, feed, known)
    elif isinstance(value, list | tuple | deque):
        feed(f"{len(value)} ".encode())
        for part in value:
            _feed(part, feed, known)
    elif isinstance(value, set | frozenset):
        for part in sorted(map(content_hash, value)):
            feed(struct.pack("<Q", part))
    elif isinstance(value, dict):
        feed(f"{len(value)} ".encode())
        for key, part in value.items():
            _feed(key, feed, known)
            _feed(part, feed, known)
    elif hasattr(value, "detach") and hasattr(value, "cpu"):  # a tensor
        tensor: Any = value
        _feed(tensor.detach().cpu().numpy(), feed, known)
    else:
        _feed_object(value, feed, known)


def _feed_object(value: Any, feed: Callable[[bytes], None], known: dict[int, int]) -> None:
    """An object by its attributes, or by what pickle would make it of again; else by its class alone."""
    own = getattr(value, "__dict__", None)
    if type(own) is dict:
        _feed(own, feed, known)
        return
    try:
        reduced = value.__reduce_ex__(4)
    except Exception:  # noqa: BLE001 - a class may refuse in any way
        return
    if isinstance(reduced, str):
        feed(reduced.encode())
        return
    for part in reduced[1:3]:
        _feed(part, feed, known)
    for items in reduced[3:5]:
        if items is not None:
            _feed(list(items), feed, known)
