"""Reactions that are C functions: no Python while the program runs, and a small part of its cost.

A counter counts its ticks and a sum adds the counts up, once with bodies in Python, once compiled by Numba, and once as
C source compiled with cffi. A C body is `void f(void **data, unsigned char *present, void *state)`: data[k] is the
memory, present[k] the presence of the k-th of the reaction's triggers, uses and effects, in that order.

Run:   python native.py
       python native.py --bodies cffi --ticks 10000000
Needs: numba (pip install numba) for the bodies by Numba; cffi and a C compiler for those in C
"""

import argparse
import importlib
import importlib.util
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import cffi
import numpy as np

import reactors as rx

SOURCE = """
#include <stdint.h>

void count(void **data, unsigned char *present, void *state) {
    int64_t *n = state, *output = data[1];      /* data[0] is the timer's, which has no value */
    *output = ++*n;
    present[1] = 1;
}

void add(void **data, unsigned char *present, void *state) {
    int64_t *total = state, *input = data[0];
    *total += *input;
}
"""


class Counter(rx.Reactor):
    tick = rx.Timer(period="1 us")
    count = rx.Output(shape=(1,), dtype=np.int64)

    def __init__(self, body: Any) -> None:
        self.n = np.zeros(1, np.int64)
        self.add_reaction(self.tick, rx.native(body, self.n) if body else self.on_tick, effects=self.count)

    def on_tick(self) -> None:
        self.n += 1
        self.count.set(self.n)


class Sum(rx.Reactor):
    count = rx.Input(shape=(1,), dtype=np.int64)

    def __init__(self, body: Any) -> None:
        self.total = np.zeros(1, np.int64)
        self.add_reaction(self.count, rx.native(body, self.total) if body else self.on_count)

    def on_count(self) -> None:
        self.total += self.count.value


class Counting(rx.Reactor):
    def __init__(self, count: Any = None, add: Any = None) -> None:
        self.counter = Counter(count)
        self.sum = Sum(add)
        rx.connect(self.counter.count, self.sum.count)


def by_numba() -> tuple[Any, Any]:
    """The two bodies, compiled from Python by Numba."""
    numba: Any = importlib.import_module("numba")
    types = numba.types

    def count(data, present, state):  # type: ignore[no-untyped-def]  # Numba knows the types
        n, output = numba.carray(state, 1, np.int64), numba.carray(data[1], 1, np.int64)
        n[0] += 1
        output[0] = n[0]
        present[1] = 1

    def add(data, present, state):  # type: ignore[no-untyped-def]  # noqa: ARG001
        total, value = numba.carray(state, 1, np.int64), numba.carray(data[0], 1, np.int64)
        total[0] += value[0]

    compiled = numba.cfunc(types.void(types.CPointer(types.voidptr), types.CPointer(types.uint8), types.voidptr))
    return compiled(count), compiled(add)


def by_cffi() -> tuple[Any, Any]:
    """The two bodies, compiled from C."""
    ffi: Any = cffi.FFI()
    ffi.cdef("void count(void **, unsigned char *, void *); void add(void **, unsigned char *, void *);")
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "bodies.c", Path(folder) / "bodies.so"
        source.write_text(SOURCE)
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
        lib = ffi.dlopen(str(library))  # stays loaded when the file is gone
    return ffi.addressof(lib, "count"), ffi.addressof(lib, "add")


def by_python() -> tuple[Any, Any]:
    """No C bodies."""
    return None, None


BODIES = {"python": by_python, "numba": by_numba, "cffi": by_cffi}


def missing(bodies: str) -> str | None:
    """What is not installed of that which the bodies need."""
    if bodies == "numba" and importlib.util.find_spec("numba") is None:
        return "the package numba (pip install numba)"
    if bodies == "cffi" and shutil.which("cc") is None:
        return "a C compiler (cc)"
    return None


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bodies", nargs="+", default=list(BODIES), choices=BODIES)
    options.add_argument("--ticks", type=int, default=1_000_000)
    args = options.parse_args()
    for bodies in args.bodies:
        if lacking := missing(bodies):
            print(f"{bodies:7} left out: it needs {lacking}, which is not installed")
            continue
        program = Counting(*BODIES[bodies]())
        result = rx.run(program, fast=True, timeout=f"{args.ticks - 1} us")
        ns = result.wall_time / result.reactions * 1e9
        print(f"{bodies:7} sum {program.sum.total[0]:,}, {result.reactions:,} reactions of {ns:,.1f} ns each")


if __name__ == "__main__":
    main()
