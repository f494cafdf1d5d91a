"""In which order does a worker go through the reactions of one tag?

In the static order it would often wait for what another worker does late, while something else of its own could run. So
those reactions come last that need, directly or not, what comes latest elsewhere. This order is one for all workers:
where each has its own, they could wait for each other.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from reactors_runtime.program import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reactors_runtime.program import Program

Rank = tuple[int, int, int]


def ranks(program: Program, placement: Sequence[int]) -> list[Rank]:
    """By reaction its inferred deadline, the highest level on another worker that it needs (0: none), and its own.

    Of two reactions of which one has to run before the other, it has the lower rank; equal ones have nothing to do with
    each other.
    """
    elements, reactions = program.elements, program.reactions
    if min(placement) == max(placement):
        return [(reaction.inferred_deadline, 0, reaction.level) for reaction in reactions]
    writers: dict[int, list[int]] = defaultdict(list)
    for r, reaction in enumerate(reactions):
        for effect in reaction.effects:
            if elements[effect].kind == Kind.PORT:
                writers[effect].append(r)
    needs = [0] * len(reactions)
    last: dict[int, int] = {}  # reactor -> the highest of its reactions so far
    for r, reaction in enumerate(reactions):
        need = last.get(reaction.reactor, 0)
        here = placement[reaction.reactor]
        for number in (*reaction.triggers, *reaction.uses):
            element = elements[number]
            for w in writers.get(element.source, ()) if element.undelayed else ():
                need = max(need, needs[w])
                if placement[reactions[w].reactor] != here:
                    need = max(need, reactions[w].level + 1)
        needs[r] = last[reaction.reactor] = need
    return [(each.inferred_deadline, need, each.level) for each, need in zip(reactions, needs, strict=True)]
