"""Makes the images that the C tests run, each from lines of names with numbers, as build.h writes them.

A line for each element, reaction and block, and one for the image, which lies in the memory whose descriptor the test
has. The answer, when it is written, is the static order, the number of each reaction as declared, and -1.
"""

import os
import sys
from graphlib import TopologicalSorter
from typing import Any

import numpy as np

from reactors_runtime.memory import Memory
from reactors_runtime.planning.image import Image
from reactors_runtime.planning.options import RunOptions
from reactors_runtime.program import FOREVER, Element, Kind, NativeFunction, Program, Reaction, Reactor


def read(pair: str) -> tuple[str, Any]:
    """A name with a number, or with numbers that have a comma behind each."""
    name, _, value = pair.partition("=")
    return name, [int(number) for number in value.split(",") if number] if "," in value else int(value)


def element(name: str, given: dict[str, Any]) -> Element:
    """What can be present at a tag."""
    port, size = given["kind"] == Kind.PORT, 0 if given["object"] else given["bytes"]
    return Element(
        name, Kind(given["kind"]), given["reactor"], given["source"] if port else -1, tuple(given["offset"]),
        bool(given["physical"]), np.dtype(np.uint8) if port and not given["object"] else None, (size,),
        first=given["first"], period=given["period"], min_delay=given["min_delay"],
    )  # fmt: skip


def reaction(name: str, given: dict[str, Any]) -> Reaction:
    """It has no level yet."""
    deadline, stop = given["deadline"], tuple(given["stop"])
    return Reaction(
        given["reactor"], given["number"], name, 0, given["triggers"], given["uses"], given["effects"],
        None if deadline == FOREVER else deadline, stop=None if stop[0] < 0 else stop,
        native=NativeFunction(0, 0) if given["native"] else None,
    )  # fmt: skip


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


def write(program: Program, given: dict[str, Any]) -> None:
    """One image, for one of its machines, into memory that the test has."""
    options = RunOptions(
        fast=not given["real_time"] and not given["virtual_time"], virtual_time=bool(given["virtual_time"]),
        keepalive=bool(given["keepalive"]), processes=bool(given["processes"]), timeout=given["timeout"],
        spin=given["spin_ns"], trace=given["trace"], max_microsteps=given["max_microsteps"],
        values=bool(given["journal"]), journal="" if given["journal"] else None,
        moves_off=True, machine_of=tuple(given["machine_of"]),
    )  # fmt: skip
    image = Image(program, given["placement"], given["workers"], options)
    descriptor = os.open(f"/proc/{given['process']}/fd/{given['descriptor']}", os.O_RDWR)
    with Memory.attach(descriptor, image.size) as memory:
        image.write(memory, given["machine"])


def main() -> None:
    """Until the test ends."""
    elements: list[Element] = []
    declared: list[Reaction] = []
    blocks: list[list[int]] = []
    for line in sys.stdin:
        what, *pairs = line.split()
        given = dict(map(read, pairs))
        if what == "element":
            elements.append(element(f"main.{given['reactor']}.{len(elements)}", given))
        elif what == "reaction":
            declared.append(reaction(str(len(declared)), given))
        elif what == "block":
            blocks.append(given["ports"])
        else:
            rows = levelled(elements, declared)
            order = sorted(range(len(rows)), key=lambda r: (rows[r].level, rows[r].reactor, rows[r].number))
            reactors = [Reactor(f"main.{n}") for n in range(len(given["placement"]))]
            write(Program(reactors, elements, [rows[r] for r in order], blocks), given)
            print(*order, -1, flush=True)
            elements, declared, blocks = [], [], []


if __name__ == "__main__":
    main()
