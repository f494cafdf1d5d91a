"""What is a function, behind what it is wrapped in?"""

from __future__ import annotations

import inspect
from types import FunctionType, MethodType

from reactors.location import Location


def own_code(body: object) -> FunctionType | None:
    """The function behind a body, if there is one to read."""
    plain = inspect.unwrap(body) if callable(body) else body
    if isinstance(plain, MethodType):
        plain = inspect.unwrap(plain.__func__)
    return plain if isinstance(plain, FunctionType) else None


def in_source(function: FunctionType) -> str:
    """Its name, file and line, as errors name it."""
    at = Location(function.__code__.co_filename, function.__code__.co_firstlineno)
    return f"{function.__qualname__.rpartition('<locals>.')[2]} ({at})"
