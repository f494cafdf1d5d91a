"""What of an environment is no state: functions, methods, classes and modules, as long as they stay what they are?

A new environment has them already. Whether they are still the same is known by how they are described.
"""

from __future__ import annotations

from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

UNCHANGING = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, partial)
_PLAIN = (type(None), bool, int, float, str)


def described(value: object) -> str:
    """A value in words that are the same in another process; of what is neither a function nor plain, its class.

    >>> described(partial(max, 3, key=abs)), described("".join), described(None)
    ('partial(max, 3, key=abs)', 'str.join', 'None')
    """
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, partial):
        given = [*map(described, value.args), *(f"{name}={described(each)}" for name, each in value.keywords.items())]
        return f"partial({', '.join([described(value.func), *given])})"
    if isinstance(value, FunctionType):
        return value.__qualname__ + _closure(value)
    if isinstance(value, MethodType):
        return f"{type(value.__self__).__qualname__}.{value.__name__}"
    named: Any = value if isinstance(value, UNCHANGING) else type(value)
    return str(getattr(named, "__qualname__", named.__name__))


def _closure(function: FunctionType) -> str:
    """What a function has from around it."""
    found: list[str] = []
    for cell in function.__closure__ or ():
        try:
            there = cell.cell_contents
        except ValueError:  # nothing yet
            continue
        found.append(there.__qualname__ if isinstance(there, FunctionType) else described(there))
    return f" with {', '.join(found)}" if found else ""
