"""What of an environment is no state: functions, methods, classes and modules, as long as they stay what they are?

A new environment has them already. Whether they are still the same is known by how they are described. What they hold
may change all the same: what a method is bound to, an argument of a partial, a cell of a closure.
"""

from __future__ import annotations

import json
import zlib
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.rl.encoding.state import Settled, encode

if TYPE_CHECKING:
    from collections.abc import Iterable

UNCHANGING = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, partial)
_PLAIN = (type(None), bool, int, float, str)
_FIXED = (bytes, complex, range, slice, np.dtype, Enum)
_OF_C: Any = (np.ufunc, type(np.clip), type(str.join), type(str.__add__))  # functions that hold nothing


def described(value: object, within: tuple[object, ...] = ()) -> str:
    """A value in words that are the same in another process; of what is neither a function nor plain, its class.

    >>> described(partial(max, 3, key=abs)), described("".join), described(None)
    ('partial(max, 3, key=abs)', 'str.join', 'None')
    """
    if isinstance(value, _PLAIN):
        return repr(value)
    if any(value is each for each in within):
        return "..."
    around = (*within, value)
    if isinstance(value, partial):
        given = [described(each, around) for each in (value.func, *value.args)]
        named = [f"{name}={described(each, around)}" for name, each in value.keywords.items()]
        return f"partial({', '.join([*given, *named])})"
    if isinstance(value, FunctionType):
        return value.__qualname__ + _closure(value, around)
    if isinstance(value, MethodType):
        return f"{type(value.__self__).__qualname__}.{getattr(value, '__name__', type(value.__func__).__name__)}"
    kind: Any = value if isinstance(value, UNCHANGING) else type(value)
    return str(getattr(kind, "__qualname__", kind.__name__))


def held(value: object) -> list[object]:
    """What a function or method has from elsewhere, and that may change, or what stands there may.

    >>> held(partial(max, [].append, key=abs)), held(lambda seeds=[1], step=2: sum(seeds) * step), held(str.join)
    ([[]], [2, [1]], [])
    """
    found: list[object] = []
    met: dict[int, object] = {}  # functions may hold each other
    waiting: list[Any] = [value]
    while waiting:
        each = waiting.pop()
        if id(each) in met or isinstance(each, (type, ModuleType, *_OF_C)):
            continue
        met[id(each)] = each
        parts = _parts(each)
        if parts is None:
            found.append(each)
        else:
            waiting += parts
    return found


def _parts(value: Any) -> Iterable[Any] | None:
    """What it holds, if it cannot change itself."""
    if isinstance(value, partial):
        return (value.func, *value.args, *value.keywords.values(), *vars(value).values())
    if isinstance(value, MethodType):
        return (value.__self__, *(_parts(value.__func__) or ()))
    if isinstance(value, BuiltinFunctionType):
        return (value.__self__,)
    if isinstance(value, FunctionType):
        named = {**(value.__kwdefaults__ or {}), **vars(value)}
        return (*_cells(value), *(value.__defaults__ or ()), *named.values())
    return value if type(value) is tuple else None


def content(value: object) -> str:
    """A value in words by which any change of it shows; `StateError` if it has none.

    >>> content([1, 2]), content(slice(3))
    ('[{"held": [1, 2]}, {}]', 'slice(None, 3, None)')
    """
    if isinstance(value, (*_PLAIN, *_FIXED)):
        return repr(value)
    tree, arrays = encode(Settled(held=value))
    sums = {name: (str(array.dtype), array.shape, zlib.crc32(array.tobytes())) for name, array in arrays.items()}
    return json.dumps([tree, sums])


def _closure(function: FunctionType, around: tuple[object, ...]) -> str:
    """What a function has from around it."""
    cells = _cells(function)
    found = [each.__qualname__ if isinstance(each, FunctionType) else described(each, around) for each in cells]
    return f" with {', '.join(found)}" if found else ""


def _cells(function: FunctionType) -> list[Any]:
    return [cell.cell_contents for cell in function.__closure__ or () if cell != CellType()]  # those with something
