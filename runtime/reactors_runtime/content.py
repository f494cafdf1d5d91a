"""What is an object made of, whose content is hashed (csrc/python/content.c)?

Numbers, texts, tuples, lists, dicts and sets are gone through in C, and so are plain arrays. Of everything else `parts`
makes such things: what pickle would keep of it, but functions, classes and modules by their names, and what cannot be
pickled by its class alone. An object with `__content__` says itself what counts of it.
"""

from __future__ import annotations

import copyreg
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np


def parts(value: Any) -> Any:
    """What counts of a value, made of tuples, lists, dicts, texts, numbers and arrays, and of objects again.

    >>> parts(complex(1, 2))
    ('builtins.complex', 1.0, 2.0)
    >>> parts(print)
    ('builtins.print',)
    """
    kind = type(value)
    if isinstance(value, type | FunctionType | BuiltinFunctionType):
        return (named(value),)
    if isinstance(value, ModuleType):
        return ("module", value.__name__)
    if isinstance(value, np.generic):
        return (named(kind), str(value.dtype), np.asarray(value))
    if kind is np.ndarray:
        return of_array(value)
    if kind is np.recarray:
        return (named(kind), of_array(np.asarray(value)))
    if kind is complex:
        return (named(kind), value.real, value.imag)
    if kind is bytearray or kind is memoryview:
        return (named(kind), bytes(value))
    if hasattr(kind, "__content__"):
        return ("content", value.__content__())
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return of_tensor(value)
    return reduced(value)


def named(thing: Any) -> str:
    """A class or a function by its name, wherever its code came from."""
    return f"{getattr(thing, '__module__', None)}.{getattr(thing, '__qualname__', type(thing).__name__)}"


def of_array(array: np.ndarray[Any, Any]) -> Any:
    """An array that does not lie in one piece, or not of plain numbers."""
    dtype = array.dtype
    if dtype.names is not None:  # field by field: what lies between them is no content
        return ("numpy", array.shape, [(name, array[name]) for name in dtype.names])
    if dtype.hasobject:
        return ("numpy", dtype.str, array.shape, array.ravel().tolist())
    if dtype.char in "gG":  # whose bytes have holes
        return ("numpy", dtype.str, array.shape, [str(each) for each in array.ravel()])
    if dtype.kind in "biuf" and dtype.isnative:
        return np.ascontiguousarray(array)
    return ("numpy", dtype.str, array.shape, array.tobytes())


def of_tensor(tensor: Any) -> Any:
    """A tensor: where it lies is no content."""
    dense = tensor.detach().resolve_conj().resolve_neg().cpu()
    try:
        return ("torch", str(tensor.dtype), dense.contiguous().numpy())
    except (TypeError, RuntimeError):  # NumPy has no such numbers, bfloat16 for one
        import torch

        return ("torch", str(tensor.dtype), [*tensor.shape], dense.contiguous().reshape(-1).view(torch.uint8).numpy())


def reduced(value: Any) -> Any:
    """Any other object as pickle keeps it: what makes it again, from what, and its state."""
    kind = type(value)
    try:
        reduce = copyreg.dispatch_table.get(kind)
        made = reduce(value) if reduce is not None else value.__reduce_ex__(4)
    except Exception:  # noqa: BLE001 - the object's own code; there is nothing to compare
        return (named(kind),)
    if isinstance(made, str):
        return (named(kind), made)
    function, arguments, *rest = made
    state, items, pairs = (*rest[:3], None, None, None)[:3]
    return (
        named(kind),
        named(function),
        arguments,
        state,
        None if items is None else [*items],
        None if pairs is None else [*pairs],
    )
