"""Which order of loads and stores does the core rely on, and does AArch64 keep it? Run by tests/test_ordering.py.

x86 lets a load pass an earlier store of the same thread, and keeps everything else in the order of the program.
AArch64 keeps what it is told to keep. A litmus test is what two or three threads do, as the core does it, and what they
must never see together; `seen` tries it in every execution that AArch64 allows. Memory is one for all: what one other
thread sees, all see (multi-copy atomicity). So an execution takes the steps of each thread in some order that it may
take them in, one thread's step between another's. Steps of one thread stay in order

- at one place;
- behind a load that acquires; before a store that releases; around a fence;
- from a store that releases to a load that acquires; not if the load is `ldapr`, which compilers take where they are
  told that there is one (`rcpc=True`), and never for what is sequentially consistent;
- from a load to a store that happens only if the load brought something particular.

A read-modify-write is a load and a store between which nothing else is written there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Order = Literal["plain", "acquire", "release", "sequential"]
Values = tuple[tuple[str, int], ...]  # of places in memory, or of registers, sorted by name


@dataclass(frozen=True)
class Step:
    """A load into a register, a store of a value, or a fence."""

    kind: Literal["load", "store", "fence"]
    place: str = ""
    order: Order = "plain"
    register: str = ""
    value: int = 0
    only_if: tuple[str, int] | None = None  # a register and what it has to hold, else the store does not happen
    exclusive: str = ""  # of the store of a read-modify-write: the register of its load

    @property
    def acquires(self) -> bool:
        """Whether what follows stays behind it."""
        return self.kind == "load" and self.order in {"acquire", "sequential"}

    @property
    def releases(self) -> bool:
        """Whether what is before it stays there."""
        return self.kind == "store" and self.order in {"release", "sequential"}


def load(register: str, place: str, order: Order = "plain") -> tuple[Step, ...]:
    """Steps of a thread, as all that follow: a load into a register."""
    return (Step("load", place, order, register),)


def store(place: str, value: int, order: Order = "plain", only_if: tuple[str, int] | None = None) -> tuple[Step, ...]:
    """A store, which happens only if a register holds a value."""
    return (Step("store", place, order, value=value, only_if=only_if),)


def swap(register: str, place: str, value: int) -> tuple[Step, ...]:
    """A read-modify-write, `ldaxr` and `stlxr`: it acquires and releases, as all of the core's do."""
    return (
        Step("load", place, "sequential", register),
        Step("store", place, "sequential", value=value, exclusive=register),
    )


FENCE = (Step("fence"),)


def _stay_in_order(first: Step, second: Step, *, rcpc: bool) -> bool:
    if "fence" in {first.kind, second.kind} or first.acquires or second.releases:
        return True
    if first.place == second.place or (second.only_if and second.only_if[0] == first.register):
        return True
    return first.releases and second.acquires and (second.order == "sequential" or not rcpc)


def seen(threads: Sequence[Sequence[Step]], *, rcpc: bool = False) -> set[Values]:
    """What the registers hold at the end of each execution; every place holds 0 at first."""
    before = [
        [{i for i in range(k) if _stay_in_order(steps[i], steps[k], rcpc=rcpc)} for k in range(len(steps))]
        for steps in threads
    ]
    start = (tuple(frozenset[int]() for _ in threads), (), ())
    known, left, ends = {start}, [start], set[Values]()
    while left:
        done, memory, registers = left.pop()
        over = True
        for t, steps in enumerate(threads):
            for k in range(len(steps)):
                if k in done[t] or not before[t][k] <= done[t]:
                    continue
                over = False
                for changed in _after(steps[k], dict(memory), dict(registers)):
                    state = (*done[:t], done[t] | {k}, *done[t + 1 :]), *changed
                    if state not in known:
                        known.add(state)
                        left.append(state)
        if over:
            ends.add(registers)
    return ends


def _after(step: Step, memory: dict[str, int], registers: dict[str, int]) -> Iterator[tuple[Values, Values]]:
    """Memory and registers after a step; none where an exclusive store fails, for then the loop around it goes on."""
    if step.kind == "load":
        registers[step.register] = memory.get(step.place, 0)
    elif step.exclusive and memory.get(step.place, 0) != registers[step.exclusive]:
        return
    elif step.kind == "store" and (step.only_if is None or registers[step.only_if[0]] == step.only_if[1]):
        memory[step.place] = step.value
    yield tuple(sorted(memory.items())), tuple(sorted(registers.items()))
