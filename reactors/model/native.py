"""How can a reaction be a C function?

`native` takes the address of a function `void f(void **data, unsigned char *present, void *state)`. data[k] and
present[k] belong to the k-th port or action of the reaction: first those that it reads, in the order of the
declaration, triggers before uses; then its effects, ports first, then rx.stop if it has that, then actions. Multiports
count channel by channel. To set an effect, the function writes to data[k], if there is something to write, and sets
present[k] to 1. Such a reaction runs inside the core and never touches Python, so its ports need a shape and dtype, and
its actions have no value. After a missed deadline, a method or another such function may run instead.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import Any

import numpy as np

from reactors.errors import ArgumentError
from reactors.names.keywords import spelled_out
from reactors_runtime.program import NativeFunction

SIGNATURE = "void (*)(void **data, unsigned char *present, void *state)"


class Native:
    """A C function as the body of a reaction; made by `rx.native`."""

    def __init__(self, cfunction: object, state: object) -> None:
        self.cfunction = cfunction
        self.state = state
        self.function = NativeFunction(_function_address(cfunction), _state_address(state), (cfunction, state))

    def __repr__(self) -> str:
        return f"rx.native({self.cfunction!r})"


@spelled_out("rx.native")
def native(cfunction: object, state: object = None) -> Native:
    """A reaction's body in C: a cffi function pointer or a Numba `cfunc`.

    `state` is passed to every call: a NumPy array, a cffi pointer, an address, or nothing.

    >>> import cffi, reactors as rx
    >>> ffi = cffi.FFI()
    >>> @ffi.callback("void(void **, unsigned char *, void *)")     # any C function of this type, here one in Python
    ... def nothing(data, present, state): ...
    >>> class Idle(rx.Reactor):
    ...     tick = rx.Timer(period="1 ms")
    ...     def __init__(self):
    ...         self.add_reaction(self.tick, rx.native(nothing))
    >>> rx.Graph(Idle()).program.reactions[0].native is not None
    True
    """
    return Native(cfunction, state)


def _cffi() -> Any:
    import _cffi_backend  # type: ignore[import-untyped]  # the C half of cffi, and all that is needed here

    return _cffi_backend.FFI()


def _function_address(cfunction: object) -> int:
    if type(cfunction).__module__ == "_cffi_backend":
        ffi = _cffi()
        ctype = ffi.typeof(cfunction)
        if ctype.kind == "function":
            arguments = [argument.cname for argument in ctype.args]
            if arguments != ["void * *", "unsigned char *", "void *"] or ctype.result.cname != "void":
                raise ArgumentError(f"rx.native: the C function is {ctype.cname}; it has to be {SIGNATURE}")
            function = int(ffi.cast("uintptr_t", cfunction))
            _keep_loaded(function)
            return function
    address = getattr(cfunction, "address", None)
    if isinstance(address, int) and address:
        signature = getattr(cfunction, "_sig", None)
        if signature is not None and len(signature.args) != 3:
            raise ArgumentError(f"rx.native: the Numba cfunc is {signature}; it has to be {SIGNATURE}")
        return address
    raise ArgumentError(
        f"rx.native takes a cffi function pointer or a Numba cfunc, and was given {cfunction!r}, of type "
        f"{type(cfunction).__name__}; a Python function is a body by itself, without rx.native"
    )


class _Symbol(ctypes.Structure):
    """The result of dladdr(3) for an address."""

    _fields_ = (
        ("library", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def _keep_loaded(address: int) -> None:
    """Keep the library of a function loaded: a cffi function does not keep the library that it was taken from."""
    found = _Symbol()
    if ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(found)) and found.library:
        with contextlib.suppress(OSError):  # it is the program itself
            ctypes.CDLL(os.fsdecode(found.library), mode=os.RTLD_NOLOAD | os.RTLD_NOW)  # which ctypes never unloads


def _state_address(state: object) -> int:
    if state is None:
        return 0
    if isinstance(state, int) and not isinstance(state, bool):
        return state
    if isinstance(state, np.ndarray):
        return int(state.ctypes.data)
    if isinstance(state, ctypes._SimpleCData | ctypes.Structure | ctypes.Array):
        return ctypes.addressof(state)
    if type(state).__module__ == "_cffi_backend":
        ffi = _cffi()
        if ffi.typeof(state).kind in ("pointer", "array"):
            return int(ffi.cast("uintptr_t", state))
    raise ArgumentError(
        f"rx.native: state is {state!r}, of type {type(state).__name__}; give a NumPy array, a cffi pointer, or an "
        "address"
    )
