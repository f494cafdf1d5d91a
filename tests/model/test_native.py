"""Reactions that are C functions."""

import gc
import subprocess
from pathlib import Path
from typing import Any

import cffi
import numba
import numpy as np
import pytest

import reactors as rx
from reactors_runtime.program import NativeFunction

ffi = cffi.FFI()
SIGNATURE = "void(void **, unsigned char *, void *)"


@ffi.callback(SIGNATURE)
def nothing(data: Any, present: Any, state: Any) -> None: ...


class Idle(rx.Reactor):
    tick = rx.Timer(period="1 ms")
    act = rx.LogicalAction()
    terms = rx.Input(dtype="f8", width=2)
    total = rx.Output(dtype="f8")

    def __init__(self, cfunction: object, state: object = None) -> None:
        self.add_reaction(
            [self.tick, rx.startup, rx.shutdown], rx.native(cfunction, state), effects=[self.total, self.act]
        )


def native_of(*arguments: Any) -> NativeFunction:
    function = rx.Graph(Idle(*arguments)).program.reactions[0].native
    assert function is not None
    return function


def test_cffi_function_pointer() -> None:
    assert native_of(nothing).address == int(ffi.cast("uintptr_t", nothing))  # pyright: ignore[reportArgumentType]  # it is a cdata
    assert native_of(nothing).state == 0


def test_numba_cfunc() -> None:
    pointer = numba.types.CPointer
    signature = numba.types.void(pointer(numba.types.voidptr), pointer(numba.types.uint8), numba.types.voidptr)

    @numba.cfunc(signature)
    def compiled(data: Any, present: Any, state: Any) -> None:
        present[0] = 1

    assert native_of(compiled).address == compiled.address
    graph = rx.Graph(Idle(compiled))
    assert graph.names == ["main.compiled"]
    assert isinstance(graph.bodies[0], rx.native(nothing).__class__)


def test_state_is_memory() -> None:
    array = np.zeros(3)
    memory = ffi.new("double[3]")
    assert native_of(nothing, array).state == array.ctypes.data
    assert native_of(nothing, memory).state == int(ffi.cast("uintptr_t", memory))
    assert native_of(nothing, 4096).state == 4096
    assert native_of(nothing, array).keep == (nothing, array)


def test_native_reaction_in_a_class() -> None:
    class Declared(rx.Reactor):
        tick = rx.Timer(period="1 ms")
        out = rx.Output(dtype="f8")
        step = rx.reaction(tick, effects=out)(rx.native(nothing))

    declared = Declared()
    graph = rx.Graph(declared)
    assert graph.names == ["main.step"]
    assert graph.root.reactions[0].native
    with pytest.raises(rx.DeclarationError, match="is a C function; it runs when it is triggered and cannot be called"):
        declared.step()


def test_a_library_stays_loaded_while_one_of_its_functions_is_a_body(tmp_path: Path) -> None:
    """Though nothing else refers to it, and its file is gone."""
    source, library = tmp_path / "count.c", tmp_path / "count.so"
    source.write_text("void count(void **data, unsigned char *present, void *state) { ++*(long *)state; }")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    here: Any = cffi.FFI()
    here.cdef("void count(void **, unsigned char *, void *);")
    total = np.zeros(1, np.int64)
    body = rx.native(here.addressof(here.dlopen(str(library)), "count"), total)
    library.unlink()
    gc.collect()
    assert "count.so" in Path("/proc/self/maps").read_text()

    class Count(rx.Reactor):
        tick = rx.Timer(period="1 ms")
        step = rx.reaction(tick)(body)

    rx.run(Count(), fast=True, timeout="9 ms")
    assert total[0] == 10


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((len,), "takes a cffi function pointer or a Numba cfunc, and was given <built-in function len>"),
        ((5,), "of type int; a Python function is a body by itself, without rx.native"),
        ((ffi.callback("int(int)", lambda i: i),), r"the C function is int\(\*\)\(int\); it has to be void \(\*\)"),
        ((nothing, "x"), "state is 'x', of type str; give a NumPy array, a cffi pointer, or an address"),
    ],
)
def test_native_refuses(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(rx.ArgumentError, match=words):
        rx.native(*arguments)
