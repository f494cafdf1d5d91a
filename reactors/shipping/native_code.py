"""How does a C function get into another process, where nothing lies at the same address?

A function in a shared library is found there again, at the same distance from the library's beginning. One that Numba
has compiled is compiled again. Its state has to be a NumPy array, or nothing: what else an address may point to stays.
"""

from __future__ import annotations

import ctypes
import pickle
from pathlib import Path
from typing import Any

import numpy as np

from reactors.model.native import Native
from reactors_runtime.program import NativeFunction


def recipe(native: Native) -> tuple[Any, ...]:
    """How to make the same in another process, as pickle wants it; PicklingError if that cannot be."""
    state = native.state
    if state is not None and not isinstance(state, np.ndarray):
        raise pickle.PicklingError(f"its state is a {type(state).__name__}; give it a NumPy array")
    compiled = getattr(native.cfunction, "_pyfunc", None), getattr(native.cfunction, "_sig", None)
    if None not in compiled:
        return _compiled, (*compiled, state)
    library, distance = _home(native.function.address)
    if library is None:
        raise pickle.PicklingError("it is a C function in no library, as ffi.callback makes them")
    return _loaded, (library, distance, state)


def _compiled(function: Any, signature: Any, state: Any) -> Native:
    import numba

    return Native(numba.cfunc(signature)(function), state)


def _loaded(library: str, distance: int, state: Any) -> Native:
    loaded = ctypes.CDLL(library)
    native = Native.__new__(Native)
    native.cfunction, native.state = loaded, state
    address = 0 if state is None else int(state.ctypes.data)
    native.function = NativeFunction(_beginning(library) + distance, address, (loaded, state))
    return native


def _home(address: int) -> tuple[str | None, int]:
    """The library in which an address lies, and how far from its beginning."""
    for first, last, path in _mapped():
        if first <= address < last and path.startswith("/"):
            return path, address - _beginning(path)
    return None, 0


def _beginning(library: str) -> int:
    return min(first for first, _, path in _mapped() if path == library)


def _mapped() -> list[tuple[int, int, str]]:
    found = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, _, _, _, _, *path = line.split(maxsplit=5)
        first, last = span.split("-")
        found.append((int(first, 16), int(last, 16), path[0] if path else ""))
    return found
