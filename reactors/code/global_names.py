"""Which globals does the code of a reaction assign to?

A global is one for all reactors of a process, and another one in every process: what a reaction leaves there is seen by
others on one worker and not on two.
"""

from __future__ import annotations

import dis
from types import CodeType
from typing import TYPE_CHECKING, NamedTuple

from reactors.code.bytecode import uses_of_self
from reactors.code.functions import own_code
from reactors.location import Location

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FunctionType


class Stored(NamedTuple):
    """A global that is assigned to, or deleted, and where."""

    name: str
    location: Location


def stored_globals(function: FunctionType | None, kind: type) -> list[Stored]:
    """Those of a function, of the functions within it, and of the methods of `kind` that it calls on `self`."""
    found: dict[Stored, None] = {}
    seen: dict[FunctionType, None] = {}
    waiting = [] if function is None else [function]
    while waiting:
        each = waiting.pop(0)
        if each in seen:
            continue
        seen[each] = None
        found.update(dict.fromkeys(_stored(each.__code__)))
        called = (use.name for use in uses_of_self(each.__code__) if use.use == "()")
        waiting += [method for name in called if (method := own_code(getattr(kind, name, None))) is not None]
    return list(found)


def _stored(code: CodeType) -> Iterator[Stored]:
    line = code.co_firstlineno
    for step in dis.get_instructions(code):
        if step.positions is not None and step.positions.lineno is not None:
            line = step.positions.lineno
        if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            yield Stored(step.argval, Location(code.co_filename, line))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _stored(inner)
