"""What does code name? `time.perf_counter`, `self.env.step`: chains of attributes, and sets that it builds.

For guesses at what a reaction depends on beside what it reads: a chain says more than its last name, for
`self.tag.time` is no clock.
"""

from __future__ import annotations

import dis
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

from reactors.code.bytecode import uses_of_self
from reactors.code.functions import own_code

if TYPE_CHECKING:
    from collections.abc import Iterator

A_SET = "{...}"
_FUNCTIONS = 64  # that are looked into, at most


def named(function: FunctionType, kind: type) -> list[str]:
    """The chains of a function, of what is within it, of methods of `kind` that it calls, and of its file's functions.

    >>> def roll(self):
    ...     return self.rng.normal() + len({each for each in self.names})
    >>> named(roll, object)
    ['len', 'self.names', 'self.rng.normal', '{...}']
    """
    found: set[str] = set()
    seen: set[FunctionType] = set()
    waiting = [function]
    while waiting and len(seen) < _FUNCTIONS:
        each = waiting.pop(0)
        if each in seen:
            continue
        seen.add(each)
        chains = {chain for code in within(each.__code__) for chain in _chains(code)}
        found |= chains
        called = [getattr(kind, use.name, None) for use in uses_of_self(each.__code__) if use.use == "()"]
        called += [each.__globals__.get(chain) for chain in sorted(chains) if chain in each.__globals__]
        for thing in called:
            inner = own_code(thing) if not isinstance(thing, type) else None
            if inner is not None and inner.__module__ == function.__module__:
                waiting.append(inner)
    return sorted(found)


def within(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of the functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from within(constant)


def _chains(code: CodeType) -> Iterator[str]:
    chain = ""
    for step in dis.get_instructions(code):
        if step.opname in ("CACHE", "EXTENDED_ARG", "NOP"):
            continue
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain:
            chain += f".{step.argval}"
            continue
        if chain.strip("?"):
            yield chain
        chain = ""
        if step.opname in ("BUILD_SET", "SET_ADD", "SET_UPDATE"):
            yield A_SET
        elif step.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF")):
            names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
            chain = str(names[-1])
            if step.opname.startswith("LOAD_FAST") and chain != "self":
                chain = "?"  # a variable says nothing by its name
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            chain = f"?.{step.argval}"  # of what a call has returned
    if chain.strip("?"):
        yield chain
