"""What does the code of a reaction do with its reactor's ports?

Read from the bytecode, so that it works without source, in a notebook as in a file. Only what is certain is reported:
an attribute of `self`, used on the spot (`self.count.set(...)`, `self.terms[i].value`). A port that is passed
elsewhere, a `self` that is assigned again, a value that could come from two branches: all of that is left to the check
at run time.
"""

from __future__ import annotations

import dis
from functools import lru_cache
from inspect import unwrap
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, NamedTuple

from reactors.location import Location

if TYPE_CHECKING:
    from collections.abc import Iterator

ASSIGNED = "="  # the use of an attribute that is assigned to


class Use(NamedTuple):
    """`self.<name>.<use>` at a line; `self.<name> = ...` has the use ASSIGNED, and `self.<name>(...)` the use "()"."""

    name: str
    use: str
    line: int


@lru_cache(maxsize=4096)
def uses_of_self(code: CodeType) -> tuple[Use, ...]:
    """What a method and the functions within it do with attributes of its first argument.

    >>> class Counter:
    ...     def step(self, other):
    ...         self.count.set(self.n)
    ...         other.count.set(1)
    >>> [(use.name, use.use) for use in uses_of_self(Counter.step.__code__)]
    [('count', 'set')]
    """
    if not code.co_argcount:
        return ()
    me = code.co_varnames[0]
    found = list(_uses(code, me))
    return () if None in found else tuple(use for use in found if use is not None)


@lru_cache(maxsize=4096)
def deep_assignments(code: CodeType) -> tuple[Use, ...]:
    """Those uses that assign to an attribute of an attribute: `self.child.port = ...`."""
    return tuple(use for use in uses_of_self(code) if use.use.startswith(ASSIGNED) and use.use != ASSIGNED)


def assignment(function: object, name: str) -> Location | None:
    """Where a method assigns to this attribute of `self`, if its code says so."""
    function = unwrap(function) if callable(function) else function
    if not isinstance(function, FunctionType):
        return None
    lines = (use.line for use in uses_of_self(function.__code__) if use == (name, ASSIGNED, use.line))
    line = next(lines, None)
    return None if line is None else Location(function.__code__.co_filename, line)


def _uses(code: CodeType, me: str) -> Iterator[Use | None]:
    """The uses; None if `me` is assigned to, so that nothing is certain."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "EXTENDED_ARG", "NOP")]
    line = code.co_firstlineno
    for at, step in enumerate(steps):
        if step.positions is not None and step.positions.lineno is not None:
            line = step.positions.lineno
        if step.opname.startswith(("STORE_FAST", "STORE_DEREF", "DELETE_FAST", "DELETE_DEREF")) and _stores(step, me):
            yield None
        if _loads(step, me):
            use = _use_after(steps[at + 1 : at + 6], line)
            if use is not None:
                yield use
    for inner in code.co_consts:
        if isinstance(inner, CodeType) and me in inner.co_freevars:
            yield from _uses(inner, me)


def _loads(step: dis.Instruction, me: str) -> bool:
    if not step.opname.startswith(("LOAD_FAST", "LOAD_DEREF", "STORE_FAST_LOAD_FAST")):
        return False
    loaded = step.argval[-1] if isinstance(step.argval, tuple) else step.argval
    return bool(loaded == me)


def _stores(step: dis.Instruction, me: str) -> bool:
    if isinstance(step.argval, tuple):
        return me in (step.argval[:1] if "LOAD" in step.opname else step.argval)
    return bool(step.argval == me)


def _use_after(steps: list[dis.Instruction], line: int) -> Use | None:
    """What is done to `self`, which has just been loaded, in the steps that follow."""
    straight = []
    for step in steps:
        if step.is_jump_target:
            break
        straight.append(step)
    names = [step.opname for step in straight]
    match names:
        case ["STORE_ATTR", *_]:
            return Use(straight[0].argval, ASSIGNED, line)
        case ["COPY" | "DUP_TOP", "LOAD_ATTR", *_]:  # self.n += 1
            return Use(straight[1].argval, ASSIGNED, line)
        case ["LOAD_METHOD", *_]:
            return Use(straight[0].argval, "()", line)
        case ["LOAD_ATTR", "LOAD_ATTR" | "LOAD_METHOD", *_]:
            return Use(straight[0].argval, straight[1].argval, line)
        case ["LOAD_ATTR", "STORE_ATTR", *_]:
            return Use(straight[0].argval, ASSIGNED + straight[1].argval, line)
        case ["LOAD_ATTR", _, "BINARY_SUBSCR", "STORE_ATTR", *_] if _is_index(straight[1]):
            return Use(straight[0].argval, ASSIGNED + straight[3].argval, line)
        case ["LOAD_ATTR", _, "BINARY_SUBSCR", "LOAD_ATTR" | "LOAD_METHOD", *_] if _is_index(straight[1]):
            return Use(straight[0].argval, straight[3].argval, line)
        case ["LOAD_ATTR", *_] if "NULL" in straight[0].argrepr:  # 3.12 and later: a method call
            return Use(straight[0].argval, "()", line)
    return None


def _is_index(step: dis.Instruction) -> bool:
    return step.opname.startswith(("LOAD_FAST", "LOAD_CONST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_SMALL_INT"))
