"""Makes the images that the C tests run, each from a line of numbers; build.h says which. Answers when it is written.

An image lies in the memory whose descriptor the test has. The answer is the static order, the number of each reaction
as declared, and -1.
"""

import os
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter

import numpy as np

from reactors_runtime.memory import Memory
from reactors_runtime.planning.image import Image
from reactors_runtime.planning.options import RunOptions
from reactors_runtime.program import FOREVER, Element, Kind, NativeFunction, Program, Reaction, Reactor


def elements(numbers: Iterator[int]) -> Iterator[Element]:
    """What can be present at a tag."""
    for n in range(next(numbers)):
        kind, reactor, source, time, microstep, physical, size, first, period, min_delay = (
            next(numbers) for _ in range(10)
        )
        yield Element(
            f"main.{reactor}.{n}", Kind(kind), reactor, source if kind == Kind.PORT else -1, (time, microstep),
            bool(physical), np.dtype(np.uint8) if kind == Kind.PORT and size >= 0 else None, (max(size, 0),),
            first=first, period=period, min_delay=min_delay,
        )  # fmt: skip


def reactions(numbers: Iterator[int]) -> Iterator[Reaction]:
    """In the order of their declaration; they have no level yet."""
    for n in range(next(numbers)):
        reactor, number, deadline, time, microstep, native = (next(numbers) for _ in range(6))
        triggers, uses, effects = (integers(numbers) for _ in range(3))
        yield Reaction(
            reactor, number, str(n), 0, triggers, uses, effects, None if deadline == FOREVER else deadline,
            stop=None if time < 0 else (time, microstep), native=NativeFunction(0, 0) if native else None,
        )  # fmt: skip


def integers(numbers: Iterator[int]) -> list[int]:
    """A list behind its length."""
    return [next(numbers) for _ in range(next(numbers))]


def levelled(all_elements: list[Element], declared: list[Reaction]) -> list[Reaction]:
    """With levels: the length of the longest chain of reactions before each."""
    before: dict[int, set[int]] = {r: set() for r in range(len(declared))}
    for r, reaction in enumerate(declared):
        reads = [all_elements[e] for e in (*reaction.triggers, *reaction.uses)]
        sources = {e.source for e in reads if e.undelayed}
        for other, earlier in enumerate(declared):
            same = earlier.reactor == reaction.reactor and earlier.number < reaction.number
            if same or sources & set(earlier.effects):
                before[r].add(other)
    levels: dict[int, int] = {}
    for r in TopologicalSorter(before).static_order():
        levels[r] = max((levels[b] + 1 for b in before[r]), default=0)
    return [reaction._replace(level=levels[r]) for r, reaction in enumerate(declared)]


def write(numbers: Iterator[int]) -> list[int]:
    """One image; the static order."""
    process, descriptor, workers, fast, virtual, keepalive, processes, timeout, spin, trace, most = (
        next(numbers) for _ in range(11)
    )
    placement = integers(numbers)
    all_elements = list(elements(numbers))
    declared = levelled(all_elements, list(reactions(numbers)))
    blocks = [integers(numbers) for _ in range(next(numbers))]
    order = sorted(range(len(declared)), key=lambda r: (declared[r].level, declared[r].reactor, declared[r].number))
    reactors = [Reactor(f"main.{n}") for n in range(len(placement))]
    program = Program(reactors, all_elements, [declared[r] for r in order], blocks)
    options = RunOptions(
        fast=bool(fast), virtual_time=bool(virtual), keepalive=bool(keepalive), processes=bool(processes),
        timeout=timeout, spin=spin, trace=trace, max_microsteps=most, moves_off=True,
    )  # fmt: skip
    image = Image(program, placement, workers, options)
    with Memory.attach(os.open(f"/proc/{process}/fd/{descriptor}", os.O_RDWR), image.size) as memory:
        image.write(memory)
    return order


def main() -> None:
    """Until the test ends."""
    for line in sys.stdin:
        print(*write(map(int, line.split())), -1, flush=True)


if __name__ == "__main__":
    main()
