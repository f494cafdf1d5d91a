"""Where does "auto" put reactors on several machines, so that what talks within a tag does so on one of them?

Units are members of banks, each with all that it contains, and single reactors. Those that talk without a delay come
into one group, first those that have the fewest others to talk to: each simulator joins its own model before all of
them would join their learner. A group is no more than one worker's share of all reactions, then no more than one
machine's. Machines, and workers on them, take whole groups in the order of elaboration.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reactors_runtime.program import Program


def grouped(program: Program, machine_of: Sequence[int]) -> list[int]:
    """A worker for each reactor, with the machine of each worker."""
    workers, machines = len(machine_of), machine_of[-1] + 1
    units = _Units(program)
    units.join(units.total / workers)
    on_worker = [*units.group_of]
    units.join(units.total / machines)
    machine = _shared_out(units.group_of, units.weight, machines)
    found = [0] * len(units.weight)
    for at in range(machines):
        here = [unit for unit, its in enumerate(machine) if its == at]
        its_workers = [worker for worker, its in enumerate(machine_of) if its == at]
        groups, weight = [on_worker[unit] for unit in here], [units.weight[unit] for unit in here]
        for unit, worker in zip(here, _shared_out(groups, weight, len(its_workers)), strict=True):
            found[unit] = its_workers[worker]
    return [found[unit] for unit in units.of]


class _Units:
    """What cannot be divided, how heavy each is, and in which group, which is named by its first unit."""

    def __init__(self, program: Program) -> None:
        self.of: list[int] = []  # by reactor
        inside, unit = "", -1  # the bank's member that we are in
        for reactor in program.reactors:
            if not (inside and reactor.path.startswith(inside)):
                unit += 1
                inside = "" if reactor.bank is None else f"{reactor.path}."
            self.of.append(unit)
        self.weight = [0] * (unit + 1)
        self.group_of = [*range(unit + 1)]
        self.members = [[each] for each in self.group_of]  # by group
        self.talks: dict[int, set[int]] = defaultdict(set)  # to whom within a tag
        writers: dict[int, set[int]] = defaultdict(set)
        for reaction in program.reactions:
            self.weight[self.of[reaction.reactor]] += 1
            for effect in reaction.effects:
                writers[effect].add(self.of[reaction.reactor])
        for reaction in program.reactions:
            reader = self.of[reaction.reactor]
            for e in (*reaction.triggers, *reaction.uses):
                element = program.elements[e]
                for writer in writers[element.source] - {reader} if element.undelayed else ():
                    self.talks[writer].add(reader)
                    self.talks[reader].add(writer)
        self.total = sum(self.weight)

    def join(self, most: float) -> None:
        """Groups that talk become one, as long as it is no heavier than this."""
        pairs = [(unit, other) for unit, others in self.talks.items() for other in others if unit < other]
        load = [sum(self.weight[unit] for unit in members) for members in self.members]
        for pair in sorted(pairs, key=lambda pair: (max(len(self.talks[unit]) for unit in pair), pair)):
            first, second = sorted(self.group_of[unit] for unit in pair)
            if first != second and load[first] + load[second] <= most:
                load[first] += load[second]
                for unit in self.members[second]:
                    self.group_of[unit] = first
                self.members[first] += self.members[second]
                self.members[second] = []


def _shared_out(group_of: Sequence[int], weight: Sequence[int], parts: int) -> list[int]:
    """Which of so many equal parts each unit belongs to: that in which the middle of its group lies."""
    loads: dict[int, int] = defaultdict(int)
    for group, its in zip(group_of, weight, strict=True):
        loads[group] += its
    total, before, part = sum(loads.values()) or 1, 0, {}
    for group in sorted(loads):
        part[group] = (2 * before + loads[group]) * parts // (2 * total)
        before += loads[group]
    return [min(part[group], parts - 1) for group in group_of]
