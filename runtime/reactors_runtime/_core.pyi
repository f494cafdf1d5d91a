# The C core as cffi compiles it; csrc/api.inc says what each name means.

from typing import Any

ffi: Any
lib: Any
