"""Writes the C source of `reactors_runtime._core`. Run by CMake, never imported: `python ffi_build.py OUTPUT`."""

import sys
from pathlib import Path

import cffi

here = Path(__file__).parent
ffi = cffi.FFI()
ffi.cdef((here / "api.inc").read_text())  # API mode: the C compiler refuses any drift from the header
ffi.set_source("reactors_runtime._core", '#include "gil.h"')
ffi.emit_c_code(sys.argv[1])
