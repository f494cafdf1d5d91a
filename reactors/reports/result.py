"""What is the result of a run?"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from reactors.reports.statistics import MachineStatistics, ReactionStatistics, WorkerStatistics
from reactors.tag import Tag
from reactors_runtime import engine as engines
from reactors_runtime import tables
from reactors_runtime._core import lib
from reactors_runtime.engine import start_time
from reactors_runtime.waits import WAITS

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from reactors.graph import Graph
    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image


_MOST = 12  # reactions that are shown


@runtime_checkable
class Noted(Protocol):
    """A reactor with its own line in `Result.summary()`, made after the end, in the caller's process."""

    def __note__(self) -> str:
        """The line, without the path of the reactor."""
        ...


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of `rx.run`.

    `digest` is equal for equal behaviour: a hash chain for each reactor over every (tag, reaction, ports present)
    executed, combined in the order of paths. `value_digest` also includes what was written and scheduled; it exists
    with digest="values" or a journal. Neither depends on workers or backend. `tags` is the number of executed tags;
    with several workers, the largest number of any worker.

    >>> import reactors as rx
    >>> class Clock(rx.Reactor):
    ...     tick = rx.Timer(period="1 ms")
    ...     @rx.reaction(tick)
    ...     def on_tick(self): ...
    >>> result = rx.run(Clock(), fast=True, timeout="9 ms")
    >>> result.tags, result.reactions
    (10, 10)
    """

    digest: str
    tags: int
    reactions: int
    wall_time: float  # seconds from tag (0, 0) to the end
    final_tag: Tag
    started_at: datetime  # when tag (0, 0) began, in UTC; with a virtual clock, the beginning of 1970
    seed: int
    backend: str
    workers: list[WorkerStatistics] = field(repr=False)
    statistics: list[ReactionStatistics] = field(repr=False)
    notes: list[str] = field(default_factory=list, repr=False)  # of reactors that count for themselves, as servers do
    program: str = ""  # the class of the main reactor
    trace: str | None = None  # the file of its trace, if that is one that `rx.Trace` reads
    value_digest: str | None = None  # the same as `digest`, with the values that were written; None: not asked for
    machines: list[MachineStatistics] = field(default_factory=list, repr=False)  # several; none: there was one

    def summary(self, most: int = _MOST, *, width: int | None = None) -> str:
        """A table for people: how busy each worker was, the `most` expensive reactions, and `notes`.

        Reactions of a bank's or list's members share one row, which names the slowest member. `share` is the share of
        the time of the workers on which it ran. With a trace, it says what limits the program, and what would help. A
        table is at most as wide as the terminal, or `width` characters.
        """
        from reactors.reports import summary

        return summary.text(self, most, width)

    def report(
        self,
        file: str | os.PathLike[str],
        *,
        curves: Mapping[str, Sequence[tuple[float, float]]] | None = None,
        facts: Mapping[str, Mapping[str, object]] | None = None,
        graph: str = "",
    ) -> Path:
        """Write one page that any browser shows without a network; with a trace, also what limits the program.

        `curves` are points by name, `facts` are tables of names and values by title, and `graph` is a picture as SVG,
        used if no trace has one. Raises `OSError`.
        """
        from reactors.reports import summary
        from reactors.tracing.trace import Trace
        from reactors.viewing import report

        trace = None if self.trace is None else Trace(self.trace)
        told = {"seed": self.seed, "digest": self.digest, "last tag": self.final_tag, "started": self.started_at}
        page = report.contents(
            self.program, [summary.ran(self), *self.notes], trace, reactions=summary.cells(self, 4 * _MOST),
            workers=[
                report.worker(
                    w.worker, self.wall_time, sum(s.seconds for s in self.statistics if s.worker == w.worker), w.waits
                )
                for w in self.workers
            ],
            curves={name: {"": points} for name, points in (curves or {}).items()},
            facts={"The run": told, **(facts or {})}, graph=graph,
        )  # fmt: skip
        return report.write(file, page)

    def _repr_html_(self) -> str:
        from reactors.reports import summary

        return summary.html(self, _MOST)


def final_tag(image: Image, memory: Memory) -> Tag:
    """The last tag that any worker executed."""
    last = [tables.view(memory, part.offsets["now"], 1, tables.TAG)[0] for part in image.parts]
    return max(Tag(int(now["time"]), int(now["microstep"])) for now in last)


def _waits(waited_ns: list[int]) -> dict[str, float]:
    """What a worker has waited for since the start, and how long."""
    found = zip(WAITS.items(), waited_ns, strict=True)
    return {name: ns / 1e9 for (kind, name), ns in found if ns and kind != lib.RX_WAITED_START}


def chained(image: Image, memory: Memory, table: str) -> str:
    """One digest over each reactor's hash in a table of the image, in the order of their paths."""
    chains: dict[int, int] = {}
    for part in image.parts:
        found = tables.view(memory, part.offsets[table], len(part.reactors), np.dtype(np.uint64))
        chains.update(zip(part.reactors, found.tolist(), strict=True))
    digest = blake2b(digest_size=16)
    own = [(reactor.path, number) for number, reactor in enumerate(image.program.reactors) if not reactor.relay]
    for path, number in sorted(own):
        digest.update(path.encode() + b"\0" + chains[number].to_bytes(8, "little") + b"\n")
    return digest.hexdigest()


def value_digest(image: Image, memory: Memory) -> str | None:
    """The digest of everything executed and written; None if it was not asked for."""
    return chained(image, memory, "values") if image.options.values else None


def collect(graph: Graph, image: Image, memory: Memory, seed: int, backend: str, trace: str | None = None) -> Result:
    """Read the outcome of a finished run from the arena."""
    program = image.program
    bells = engines.bells(memory, image)
    wall_time = float(bells["finished"].max()) / 1e9
    reactions, workers = [], []
    classes = [type(reactor).__name__ for reactor in graph.reactors]
    noted = {kind for kind in {type(reactor) for reactor in graph.reactors} if issubclass(kind, Noted)}
    relayed = 0  # what connections of modes did is no reaction of the program
    for worker, part in enumerate(image.parts):
        stats = tables.view(memory, part.offsets["stats"], len(part.reactions), tables.STATS)
        spent = tables.seconds(stats).tolist()
        for number, (count, late, *_), seconds in zip(part.reactions, stats.tolist(), spent, strict=True):
            reaction = program.reactions[number]
            if program.reactors[reaction.reactor].relay:
                relayed += count
                continue
            reactions.append(
                ReactionStatistics(program.name(number), worker, count, late, seconds, classes[reaction.reactor])
            )
        bell = bells[worker]
        workers.append(
            WorkerStatistics(
                worker,
                int(bell["tags"]),
                int(bell["reactions"]),
                _waits(bell["waited_ns"].tolist()),
                int(bell["sleeps"]),
                bell["lag_ns"] / 1e9 / max(1, int(bell["tags"])),
                bell["max_lag_ns"] / 1e9,
                engines.core(memory, worker),
                int(bell["moves"]),
                bool(image.options.cores),
                image.options.machine_of[worker] if image.options.machine_of else 0,
            )
        )
    return Result(
        digest=chained(image, memory, "digests"),
        value_digest=value_digest(image, memory),
        tags=max(w.tags for w in workers),
        reactions=sum(w.reactions for w in workers) - relayed,
        wall_time=wall_time,
        final_tag=final_tag(image, memory),
        started_at=datetime.fromtimestamp(start_time(image, memory) / 1e9, UTC),
        seed=seed,
        backend=backend,
        workers=workers,
        statistics=reactions,
        notes=[
            f"{reactor.path}: {reactor.__note__()}"
            for reactor in graph.reactors
            if type(reactor) in noted and isinstance(reactor, Noted)
        ],
        program=classes[0],
        trace=trace,
        machines=[
            MachineStatistics(machine, clock.host, clock.ahead / 1e9, clock.error / 1e9)
            for machine, clock in enumerate(image.options.clocks)
        ],
    )
