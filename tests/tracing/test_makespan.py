"""Whether csrc/makespan.c says what a plain reading of its rules says, for random models."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import pytest

from reactors_runtime import tables
from reactors_runtime._core import ffi, lib

FOREVER = (1 << 62, 0)
Tag = tuple[int, int]


@dataclass
class Case:
    """Reactions by rank, with whom they read from and how late; executions by tag and rank, with who wrote for them."""

    reads: list[list[tuple[int, Tag]]]
    executions: list[tuple[Tag, int, int]]  # tag, reaction, cost
    sources: list[list[int]]
    present: list[bool]
    worker: list[int]
    workers: int
    hop: int
    latency: int
    machine_of: list[int]
    earliest: list[int] | None = None
    end: list[int] = field(default_factory=list)


def plus(tag: Tag, delay: Tag) -> Tag:
    """As tags and delays are added."""
    return (tag[0] + delay[0], delay[1]) if delay[0] else (tag[0], tag[1] + delay[1])


def ways(case: Case) -> list[list[Tag | None]]:
    """The least delay from worker to worker; None: there is no way."""
    n = case.workers
    found: list[list[Tag | None]] = [[(0, 0) if i == j else None for j in range(n)] for i in range(n)]
    for to, reads in enumerate(case.reads):
        for writer, delay in reads:
            i, j = case.worker[writer], case.worker[to]
            old = found[i][j]
            found[i][j] = delay if old is None else min(old, delay)
    for via in range(n):
        for i in range(n):
            for j in range(n):
                one, two, old = found[i][via], found[via][j], found[i][j]
                if one is not None and two is not None:
                    way = plus(one, two)
                    found[i][j] = way if old is None else min(old, way)
    return found


def before(case: Case, reaction: int) -> set[int]:
    """Reactions that decide at the same tag whether this one has something to read."""
    found: set[int] = set()
    open_ = [reaction]
    while open_:
        for writer, delay in case.reads[open_.pop()]:
            if delay == (0, 0) and writer not in found:
                found.add(writer)
                open_.append(writer)
    return found


def way(case: Case, worker: int, other: int) -> int:
    """ns between two."""
    return case.hop if case.machine_of[worker] == case.machine_of[other] else case.latency


def makespan(case: Case) -> int:
    """By the rules, the slow way."""
    delays, n = ways(case), case.workers
    free, begun, gates = [0] * n, [None] * n, [0] * n
    end: list[int] = []

    def passed(worker: int, me: int, holds: list[bool]) -> int:
        ends = [end[i] for i in range(len(end)) if case.worker[case.executions[i][1]] == worker and holds[i]]
        return max(ends) + way(case, worker, me) if ends and max(ends) else 0

    for i, (tag, reaction, cost) in enumerate(case.executions):
        me = case.worker[reaction]
        if begun[me] != tag:
            begun[me] = tag  # type: ignore[call-overload]
            gate = 0 if case.earliest is None else case.earliest[i]
            for other in range(n):
                delay = delays[other][me]
                if other == me or delay is None:
                    continue
                at = [plus(case.executions[k][0], delay) for k in range(len(end))]
                gate = max(gate, passed(other, me, [its < tag if delay == (0, 0) else its <= tag for its in at]))
            gates[me] = gate
        start = max(free[me], gates[me])
        for source in case.sources[i]:
            its = case.worker[case.executions[source][1]]
            start = max(start, end[source] + (0 if its == me else way(case, its, me)))
        if not case.present[i]:
            for other in range(n):
                ranks = [each for each in before(case, reaction) if case.worker[each] == other]
                if other != me and ranks:
                    limit = (tag, max(ranks))
                    start = max(start, passed(other, me, [case.executions[k][:2] <= limit for k in range(len(end))]))
        end.append(start + cost)
        free[me] = end[-1]
    return max(end, default=0)


def random_case(seed: int) -> Case:
    """Some reactions, some of which read from others, executed at some tags."""
    rng = random.Random(seed)
    n = rng.randint(1, 7)
    reads: list[list[tuple[int, Tag]]] = []
    for to in range(n):
        some: list[tuple[int, Tag]] = []
        for _ in range(rng.randint(0, 2)):
            writer = rng.randrange(n)
            delay = rng.choice([(0, 0), (0, 1), (3, 0), (5, 0)])
            if writer < to or delay != (0, 0):
                some.append((writer, delay))
        reads.append(some)
    tags = sorted({(rng.randrange(12), rng.randrange(2)) for _ in range(rng.randint(1, 10))})
    executions = [(tag, r, rng.randint(1, 20)) for tag in tags for r in range(n) if rng.random() < 0.6]
    sources, present = [], []
    for i, (tag, reaction, _) in enumerate(executions):
        found = [
            k
            for writer, delay in reads[reaction]
            for k in range(i)
            if executions[k][1] == writer and plus(executions[k][0], delay) == tag
        ]
        sources.append(sorted(set(found)))
        present.append(len(found) == len(reads[reaction]))
    workers = rng.randint(1, 4)
    earliest = [10 * tag[0] for tag, *_ in executions] if rng.random() < 0.3 else None
    worker, hop = [rng.randrange(workers) for _ in range(n)], rng.choice([0, 2])
    machine_of = sorted(rng.randrange(2) for _ in range(workers))
    return Case(reads, executions, sources, present, worker, workers, hop, hop + 7, machine_of, earliest)


def in_c(case: Case) -> int:
    """What C says."""
    arrays = {
        "time": ("int64_t", np.array([tag[0] for tag, *_ in case.executions], np.int64)),
        "microstep": ("uint64_t", np.array([tag[1] for tag, *_ in case.executions], np.uint64)),
        "reaction": ("uint32_t", np.array([r for _, r, _ in case.executions], np.uint32)),
        "cost": ("int64_t", np.array([cost for *_, cost in case.executions], np.int64)),
        "present": ("uint8_t", np.array(case.present, np.uint8)),
        "first_edge": ("uint64_t", np.cumsum([0, *map(len, case.sources)]).astype(np.uint64)),
        "source": ("uint64_t", np.array([s for each in case.sources for s in each], np.uint64)),
        "first_read": ("uint32_t", np.cumsum([0, *map(len, case.reads)]).astype(np.uint32)),
        "writer": ("uint32_t", np.array([w for each in case.reads for w, _ in each], np.uint32)),
        "delay": ("rx_tag", np.array([d for each in case.reads for _, d in each], np.int64)),
    }
    if case.earliest is not None:
        arrays["earliest"] = "int64_t", np.array(case.earliest, np.int64)
    if len({*case.machine_of}) > 1:
        arrays["machine_of"] = "uint32_t", np.array(case.machine_of, np.uint32)
    model = ffi.new("rx_model *")
    kept = []
    for name, (kind, array) in arrays.items():
        kept.append(ffi.from_buffer(f"{kind}[]", array))
        setattr(model, name, kept[-1])
    model.n, model.n_reactions, model.hop, model.latency = len(case.executions), len(case.reads), case.hop, case.latency
    busy = np.zeros(case.workers, np.int64)
    worker = np.array(case.worker, np.uint32)
    found = lib.rx_makespan(
        model, ffi.from_buffer("uint32_t[]", worker), case.workers, ffi.from_buffer("int64_t[]", busy)
    )
    assert busy.sum() == sum(cost for *_, cost in case.executions)
    end, cause = (np.zeros(len(case.executions) + 1, np.int64) for _ in range(2))
    last = lib.rx_critical_path(model, ffi.from_buffer("int64_t[]", end), ffi.from_buffer("int64_t[]", cause))
    assert (last < 0) == (not case.executions)
    if last >= 0:
        assert end[last] == critical(case)
        assert end[last] <= found
        assert follows(case, cause.tolist(), last) == end[last]
    return int(found)


def critical(case: Case) -> int:
    """The longest way through what waits for what."""
    end: list[int] = []
    for i, (_, _, cost) in enumerate(case.executions):
        start = 0 if case.earliest is None else case.earliest[i]
        end.append(max([start, *(end[k] for k in case.sources[i])]) + cost)
    return max(end)


def follows(case: Case, cause: list[int], last: int) -> int:
    """What lies on the way back from the last one, and when its first one could begin."""
    total = 0
    while True:
        total += case.executions[last][2]
        if cause[last] < 0:
            return total + (0 if case.earliest is None else case.earliest[last])
        assert cause[last] in case.sources[last]
        last = cause[last]


@pytest.mark.parametrize("first", range(0, 2000, 500))
def test_the_makespan_is_that_of_a_plain_reading(first: int) -> None:
    assert tables.TAG.itemsize == 16
    for seed in range(first, first + 500):
        case = random_case(seed)
        assert in_c(case) == makespan(case), seed
