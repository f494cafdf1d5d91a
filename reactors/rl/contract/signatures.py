"""Do the methods of a user's algorithm take the arguments that they are called with?"""

from __future__ import annotations

import inspect
from types import FunctionType

from reactors.errors import ArgumentError


def check_signatures(thing: object, base: type, of: str) -> None:
    """Refuse a `thing` with methods that cannot be called like those of its `base`; `of` is the algorithm's name."""
    for name, declared in vars(base).items():
        if name.startswith("_") or not isinstance(declared, FunctionType):
            continue
        method, (own, *wanted) = getattr(thing, name), inspect.signature(declared).parameters.values()
        where = f"{type(thing).__name__}.{name}() of {of}"
        plain = inspect.Signature([each.replace(annotation=each.empty) for each in (own, *wanted)])
        if not callable(method):
            raise ArgumentError(f"{where} is {method!r}, and no method; write def {name}{plain}")
        try:
            found = inspect.signature(method)
        except ValueError:  # native code has no signature
            continue
        try:
            found.bind(*wanted)
        except TypeError:
            taken = found.replace(
                parameters=[each.replace(annotation=each.empty) for each in found.parameters.values()],
                return_annotation=found.empty,
            )
            raise ArgumentError(f"{where} takes {taken}; write def {name}{plain}") from None
