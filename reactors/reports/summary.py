"""How do people read the result of a run?

As text that fits a terminal, or as a table in a notebook. Reactions of reactors that are alike, members of banks and
lists, nested ones too, share one row, which names the slowest of them.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Protocol

from reactors.drawing.diagram import spans, times
from reactors.errors import TraceError
from reactors.names.indices import without_indices
from reactors.time import measured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reactors.reports.statistics import MachineStatistics, ReactionStatistics, WorkerStatistics
    from reactors.tag import Tag

_COLUMNS = ("reaction", "worker", "count", "total", "mean", "share", "slowest", "member", "")
_NAMES = ("reaction", "member")  # aligned left, and cut where there is no room; all other columns have numbers
_WIDTH = 100  # where there is no terminal
_LITTLE = 0.001  # of the time: no column of its own
_SHORTEST = 12  # characters that stay of a name on the narrowest terminal


class Ran(Protocol):
    """The outcome of a run, as far as it is shown."""

    @property
    def program(self) -> str: ...  # noqa: D102

    @property
    def digest(self) -> str: ...  # noqa: D102

    @property
    def value_digest(self) -> str | None: ...  # noqa: D102

    @property
    def tags(self) -> int: ...  # noqa: D102

    @property
    def reactions(self) -> int: ...  # noqa: D102

    @property
    def wall_time(self) -> float: ...  # noqa: D102

    @property
    def final_tag(self) -> Tag: ...  # noqa: D102

    @property
    def seed(self) -> int: ...  # noqa: D102

    @property
    def backend(self) -> str: ...  # noqa: D102

    @property
    def workers(self) -> Sequence[WorkerStatistics]: ...  # noqa: D102

    @property
    def statistics(self) -> Sequence[ReactionStatistics]: ...  # noqa: D102

    @property
    def notes(self) -> Sequence[str]: ...  # noqa: D102

    @property
    def trace(self) -> str | None: ...  # noqa: D102

    @property
    def machines(self) -> Sequence[MachineStatistics]: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Row:
    """A reaction, or those of one name of all reactors that are alike."""

    members: list[ReactionStatistics]
    share: float  # of the time of its workers

    def cells(self) -> tuple[str, ...]:
        """What stands below the names in `_COLUMNS`; what lies under the last two is there for several members."""
        one, several = self.members[0].path, len(self.members) > 1
        count, late = (sum(getattr(each, name) for each in self.members) for name in ("count", "late"))
        slowest = max(self.members, key=mean)
        return (
            without_indices(one) + times(len(self.members)) if several else one,
            spans(sorted({each.worker for each in self.members})),
            f"{count:,}",
            measured(self.seconds),
            measured(self.seconds / count if count else 0.0),
            f"{self.share:.1%}",
            measured(mean(slowest)) if several and count else "",
            slowest.path.rpartition(".")[0] if several and count else "",
            f"{late:,} late" if late else "",
        )

    @property
    def seconds(self) -> float:
        """Spent in all of them altogether."""
        return sum(each.seconds for each in self.members)


def rows(result: Ran) -> list[Row]:
    """One for each reaction of reactors that are alike, the most expensive first."""
    alike: dict[tuple[str, str], list[ReactionStatistics]] = {}
    for each in sorted(result.statistics, key=lambda each: (len(each.path), each.path)):
        alike.setdefault((without_indices(each.path), each.class_name), []).append(each)
    found = []
    for members in alike.values():
        available = result.wall_time * len({each.worker for each in members})
        found.append(Row(members, sum(each.seconds for each in members) / available if available else 0.0))
    return sorted(found, key=lambda row: -row.seconds)


def text(result: Ran, most: int, width: int | None = None) -> str:
    """What `Result.summary` returns, as wide as `width`, or as the terminal, at the most."""
    width = width or shutil.get_terminal_size((_WIDTH, 24)).columns
    found = rows(result)
    lines = [
        ran(result),
        f"last tag {result.final_tag}",
        f"digest {result.digest} of what ran when, not of values",
        *((f"digest {result.value_digest} of that and of all values",) if result.value_digest else ()),
        *("", *_aligned(_workers(result), width)),
        *(("", *_clocks(result)) if result.machines else ()),
        *("", *_aligned(_times(result), width)),
        *("", *_aligned(_reactions(found[:most]), width)),
        *_rest(found[most:]),
        *(("", *limits) if (limits := _diagnosed(result)) else ()),
        *(("", *result.notes) if result.notes else ()),
    ]
    return "\n".join(lines)


def html(result: Ran, most: int) -> str:
    """What a notebook shows of a result."""
    found = rows(result)
    header, *body = _reactions(found[:most])
    sides = ["left" if name in _NAMES else "right" for name in header]

    def line(cells: Sequence[str], tag: str) -> str:
        styled = zip(cells, sides, strict=True)
        return "".join(f'<{tag} style="text-align: {side}">{escape(cell)}</{tag}>' for cell, side in styled)

    last, digest = escape(f"last tag {result.final_tag}"), f"digest <code>{escape(result.digest)}</code>"
    parts = [
        f"<p><b>{escape(result.program)}</b>: {escape(ran(result))}<br>{last}<br>{digest}</p>",
        f"<table><thead><tr>{line(header, 'th')}</tr></thead><tbody>",
        *(f"<tr>{line(cells, 'td')}</tr>" for cells in body),
        "</tbody></table>",
        *(f"<p>{escape(note)}</p>" for note in (*_rest(found[most:]), *_diagnosed(result), *result.notes)),
    ]
    return "\n".join(parts)


def cells(result: Ran, most: int) -> list[tuple[str, ...]]:
    """Reaction, count, total, mean and share of the most expensive ones."""
    found = [row.cells() for row in rows(result)[:most]]
    return [tuple(row[n] for n in (0, 2, 3, 4, 5)) for row in found]


def mean(each: ReactionStatistics) -> float:
    """Seconds that one run of a reaction takes."""
    return each.seconds / each.count if each.count else 0.0


def ran(result: Ran) -> str:
    """How much, how long, where."""
    rate = result.reactions / result.wall_time if result.wall_time else 0.0
    reactions = f"{result.reactions:,} reaction{'s' * (result.reactions != 1)}"
    tags = f"{result.tags:,} tag{'s' * (result.tags != 1)}"
    pinned = ", pinned" * any(worker.pinned for worker in result.workers)
    workers = f"{len(result.workers)} worker{'s' * (len(result.workers) != 1)} ({result.backend}{pinned})"
    return f"{reactions} at {tags} in {result.wall_time:.3f} s ({rate:,.0f}/s), {workers}, seed {result.seed}"


def _workers(result: Ran) -> list[tuple[str, ...]]:
    titles = ("worker", "core", "moves", "reactions", "tags", "sleeps", "mean lag", "max lag")
    several = bool(result.machines)
    lines: list[tuple[str, ...]] = [("machine",) * several + titles]
    for w in result.workers:
        where = (*(str(w.machine),) * several, str(w.worker), str(w.core), f"{w.moves:,}")
        counts = (f"{w.reactions:,}", f"{w.tags:,}", f"{w.sleeps:,}")
        lines.append((*where, *counts, measured(w.mean_lag), measured(w.max_lag)))
    return lines


def _clocks(result: Ran) -> list[str]:
    """Whose clocks said how late tags were, and how far these agree."""
    lines = ["lags are by the clock of the worker's machine; logical time 0 was one moment, as far as that is known:"]
    for each in result.machines:
        which = f"machine {each.machine} ({each.host})"
        side = "behind" if each.ahead < 0 else "ahead"
        far = f"{measured(abs(each.ahead))} {side}, give or take {measured(each.error)}"
        lines.append(f"{which}: its clock is {far}" if each.machine else f"{which}: the clock to compare with")
    return lines


def _times(result: Ran) -> list[tuple[str, ...]]:
    """Which part of its time each worker spent on what. The engine's is what is left, for reactions are sampled."""
    wall = result.wall_time or 1.0
    reasons = [
        reason
        for reason in dict.fromkeys(reason for w in result.workers for reason in w.waits)
        if any(w.waits.get(reason, 0.0) >= _LITTLE * wall for w in result.workers)
    ]
    lines: list[tuple[str, ...]] = [("worker", "in reactions", "engine", *(f"for {reason}" for reason in reasons))]
    for w in result.workers:
        ran = min(sum(each.seconds for each in result.statistics if each.worker == w.worker), wall - w.waited)
        parts = (ran, wall - w.waited - ran, *(w.waits.get(reason, 0.0) for reason in reasons))
        lines.append((str(w.worker), *(f"{max(0.0, part) / wall:.1%}" for part in parts)))
    return lines


def _reactions(found: list[Row]) -> list[tuple[str, ...]]:
    """Header and rows, without columns that would be empty."""
    lines = [row.cells() for row in found]
    shown = [n for n, _ in enumerate(_COLUMNS) if any(cells[n] for cells in lines)]
    return [tuple(cells[n] for n in shown) for cells in (_COLUMNS, *lines)]


def _diagnosed(result: Ran) -> list[str]:
    """What limits the program, and what would help, if there is a trace that says so."""
    if result.trace is None or not result.reactions:
        return []
    from reactors.tracing.remedies import diagnosis
    from reactors.tracing.trace import Trace

    try:
        return diagnosis(Trace(result.trace)).lines()
    except TraceError as error:
        return [str(error)]


def _rest(left_out: list[Row]) -> list[str]:
    return [f"and {len(left_out)} more, {measured(sum(row.seconds for row in left_out))}"] if left_out else []


def _aligned(lines: list[tuple[str, ...]], width: int) -> list[str]:
    """A table, its header first, in which names give way where it would be wider."""
    needed = [max(map(len, column)) for column in zip(*lines, strict=True)]
    names = [n for n, title in enumerate(lines[0]) if title in _NAMES]
    over = sum(needed) + 2 * (len(needed) - 1) - width
    for n in reversed(names):  # the name of a slowest member goes before that of the reaction
        cut = max(0, min(over, needed[n] - _SHORTEST))
        needed[n] -= cut
        over -= cut
    aligned = []
    for cells in lines:
        padded = [
            _cut(cell, room).ljust(room) if n in names else cell.rjust(room)
            for n, (cell, room) in enumerate(zip(cells, needed, strict=True))
        ]
        aligned.append("  ".join(padded).rstrip())
    return aligned


def _cut(name: str, room: int) -> str:
    """A name without its beginning, which it shares with most others.

    >>> _cut("main.rollouts[12].environment.play", 20)
    '…2].environment.play'
    """
    return name if len(name) <= room else f"\N{HORIZONTAL ELLIPSIS}{name[len(name) - room + 1 :]}"
