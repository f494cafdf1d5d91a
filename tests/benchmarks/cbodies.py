"""The bodies of the native reactions, compiled once into results/."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Any

import cffi

import reactors as rx

DECLARATIONS = """
void tick(void **data, unsigned char *present, void *state);
void count(void **data, unsigned char *present, void *state);
void emit(void **data, unsigned char *present, void *state);
void relay(void **data, unsigned char *present, void *state);
void join(void **data, unsigned char *present, void *state);
"""
SOURCE = r"""
#include <stdint.h>
/* data[k], present[k]: the reaction's triggers, then its effects. */
static void tick(void **data, unsigned char *present, void *state)
{ (void)data; (void)present; ++*(int64_t *)state; }                               /* (timer) */
static void count(void **data, unsigned char *present, void *state)
{ (void)data; ++*(int64_t *)state; present[1] = 1; }                              /* (any) -> action */
static void emit(void **data, unsigned char *present, void *state)
{ *(int64_t *)data[1] = ++*(int64_t *)state; present[1] = 1; }                    /* (any) -> port */
static void relay(void **data, unsigned char *present, void *state)
{ (void)state; *(int64_t *)data[1] = *(int64_t *)data[0]; present[1] = 1; }       /* (port) -> port */
static void join(void **data, unsigned char *present, void *state)
{                                                                                 /* (multiport) */
    int64_t *sum_and_width = state;
    for (int64_t i = 0; i < sum_and_width[1]; ++i) if (present[i]) sum_and_width[0] += *(int64_t *)data[i];
}
"""


def load() -> tuple[Any, Any]:
    """Compile, or take what was compiled from the same source."""
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    name = "_bodies_" + hashlib.sha256((DECLARATIONS + SOURCE).encode()).hexdigest()[:12]
    found = list(folder.glob(f"{name}*.so"))
    if not found:
        ffi = cffi.FFI()
        ffi.cdef(DECLARATIONS)
        ffi.set_source(name, SOURCE, extra_compile_args=["-O2"])
        with tempfile.TemporaryDirectory() as build:
            built = Path(ffi.compile(tmpdir=build))
            found = [built.replace(folder / built.name)]
    spec = importlib.util.spec_from_file_location(name, found[0])
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.ffi, module.lib


ffi, lib = load()


def body(name: str, state: Any = None) -> Any:
    """The C function of that name as the body of a reaction."""
    return rx.native(ffi.addressof(lib, name), state)
