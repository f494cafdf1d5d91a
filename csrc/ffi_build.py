"""Writes the C source of a Python module around a library in C. Run by CMake, never imported.

`python ffi_build.py MODULE HEADER API OUTPUT`: the header declares what API, which cffi parses, declares.
"""

import sys
from pathlib import Path

import cffi

module, header, api, output = sys.argv[1:]
ffi = cffi.FFI()
ffi.cdef(Path(api).read_text())  # API mode: the C compiler refuses any drift from the header
ffi.set_source(module, f'#include "{header}"\n#include "gil.h"')
ffi.emit_c_code(output)
