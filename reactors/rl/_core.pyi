# The parts in C as cffi compiles them; csrc/rl/api.inc says what each name means.

from typing import Any

ffi: Any
lib: Any
