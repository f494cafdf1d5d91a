"""What is the smallest program that still fails?

Greedy: leave out one thing after the other, for as long as the rest fails in the same way.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.oracle.declarations import Class, Program

Cut = Callable[[], None]


def reduced(program: Program, fails: Callable[[Program], bool], seconds: float = 30.0) -> Program:
    """The program without what does not matter to its failure; as far as that can be found out in time."""
    end = time.monotonic() + seconds
    smaller = True
    while smaller:
        smaller = False
        n = 0
        while time.monotonic() < end:
            candidate = copy.deepcopy(program)
            cuts = list(cuts_of(candidate))
            if n == len(cuts):
                break
            cuts[n]()
            if str(candidate) != str(program) and fails(candidate):
                program, smaller = candidate, True
            else:
                n += 1
    return program


def cuts_of(program: Program) -> Iterator[Cut]:
    """Everything that can be left out, the larger things first. What others refer to cannot: the rest would not run."""
    for cls in reversed(program.classes):
        for things in (
            cls.children,
            cls.reactions,
            cls.wires,
            cls.timers,
            cls.actions,
            cls.states,
            cls.ports,
            cls.modes,
        ):
            yield from (without(things, k) for k in range(len(things)))
    for cls in program.classes:
        for reaction in cls.reactions:
            for parts in (
                reaction.body,
                reaction.peeks,
                reaction.transitions,
                reaction.effects,
                reaction.uses,
                reaction.triggers,
            ):
                yield from (without(parts, k) for k in range(len(parts)))
        yield from simplifications(cls)
    yield lambda: vars(program).update(keepalive=False)
    yield lambda: vars(program).update(timeout=None)


def without(things: list[Any], k: int) -> Cut:
    return lambda: things.__delitem__(k)


def simplifications(cls: Class) -> Iterator[Cut]:
    yield lambda: vars(cls).update(in_init=False)
    for things, change in (
        (cls.children, {"count": None}),
        (cls.ports, {"width": None}),
        (cls.wires, {"after": None}),
        (cls.timers, {"period": None}),
        (cls.timers, {"offset": 0}),
        (cls.actions, {"min_delay": 0}),
        (cls.actions, {"min_spacing": None, "policy": "defer"}),
        (cls.ports, {"mutable": False}),
        (cls.wires, {"interleaved": False}),
        (cls.wires, {"physical": False}),
        (cls.wires, {"mode": None}),
        (cls.timers, {"mode": None}),
        (cls.actions, {"mode": None}),
        (cls.children, {"mode": None}),
        (cls.reactions, {"transitions": []}),
        (cls.reactions, {"deadline": None}),
        (cls.reactions, {"stop": None}),
        (cls.reactions, {"inherited": False, "overrides": False}),
        (cls.reactions, {"overrides": False}),
        (cls.states, {"own": False}),
        (cls.states, {"mode": None}),
    ):
        yield from (changed(thing, change) for thing in things)


def changed(thing: Any, change: dict[str, Any]) -> Cut:
    return lambda: vars(thing).update(change)
