"""Where do two runs part?

Both journals are in the order of the dataflow: by tag, and at one tag each reaction after those on which it depends. So
at the first row in which they differ, all that was written before is equal, and with it all that the reaction read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import JournalError
from reactors.journals.journal import LAST_BIT
from reactors.tag import Tag
from reactors_runtime._core import lib

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reactors.journals.journal import Journal

_BESIDES: dict[int, str] = {
    lib.RX_DID_SCHEDULE: "what it scheduled",
    lib.RX_DID_HEAR: "what came from outside",
    lib.RX_DID_LAST: "its reactor's attributes afterwards",
}


@dataclass(frozen=True)
class Circumstance:
    """Something that two runs did not have in common, before any of them began: `one` and `other` as texts."""

    what: str
    one: str
    other: str

    def __str__(self) -> str:
        return f"{self.what}: {self.one} | {self.other}"


@dataclass(frozen=True)
class Divergence:
    """The first execution in which two runs differ; all that its reaction read was equal.

    `one` and `other` are rows of the two journals, None where a run did not execute it. `ports` are those written with
    other content, by path; `what` is what else differs, in words.
    """

    tag: Tag
    reaction: int
    path: str
    one: int | None
    other: int | None
    ports: tuple[str, ...]
    what: tuple[str, ...]


class Comparison:
    """Two runs, held against each other by their journals.

    `settings` is what differs in what ran: parameters, seed, code, versions. `divergence` is the first execution that
    differs; None: there is none. Raises `JournalError` if they have not the same graph.
    """

    def __init__(self, one: Journal, other: Journal) -> None:
        self.one, self.other = one, other
        refuse_other_graphs(one, other)
        self.settings = settings(one, other)
        self._rows = _common(one, other)

    @property
    def same(self) -> bool:
        """Whether all that both did is equal, and neither did more."""
        return self.divergence is None and not self.longer

    @cached_property
    def compared(self) -> int:
        """How many executions are equal before the first that is not."""
        return self._first

    @cached_property
    def longer(self) -> str:
        """Which of them went on where the other had ended, or was cut off; empty: neither."""
        ends = [None if each.end is None else Tag(*each.end["final_tag"]) for each in (self.one, self.other)]
        names = str(self.one.path), str(self.other.path)
        failed = [(each.end or {}).get("failed") or "" for each in (self.one, self.other)]
        if any(failed):
            how = [f"{name} ended with {why or 'no failure'}" for name, why in zip(names, failed, strict=True)]
            return "" if failed[0] == failed[1] else ", and ".join(how)
        if ends == [None, None]:
            return f"{names[0]} and {names[1]} were both cut off"
        for mine, name, its, theirs in ((ends[0], *names, ends[1]), (ends[1], *names[::-1], ends[0])):
            if mine is None:
                return f"{name} was cut off, so {its} has more"
            if theirs is not None and mine < theirs:
                return f"{name} ended at {mine}, and {its} at {theirs}"
        return ""

    @cached_property
    def _first(self) -> int:
        """The first of the rows that both have in common in which they differ; their number if there is none."""
        (mine, theirs) = self._rows
        n = min(len(mine), len(theirs))
        one, other = self.one.rows, self.other.rows
        if len(mine) == len(one) and len(theirs) == len(other):
            one, other = one[:n], other[:n]
        else:
            one, other = one[mine[:n]], other[theirs[:n]]
        same = (one["tag"] == other["tag"]) & (one["reaction"] == other["reaction"]) & (one["flags"] == other["flags"])
        same &= (one["reads"] == other["reads"]) & (one["writes"] == other["writes"])
        until = n if same.all() else int(np.argmin(same))
        return min(until, self._first_hash(mine[:until], theirs[:until]))

    def _first_hash(self, mine: NDArray[np.intp], theirs: NDArray[np.intp]) -> int:
        """The first of these rows, which are equal otherwise, that has another hash; their number if none has."""
        if not len(mine):
            return 0
        one, other = (
            journal.hashes[: int(journal.first[rows[-1] + 1])]
            if len(rows) == rows[-1] + 1
            else np.concatenate([journal.hashes[journal.first[r] : journal.first[r + 1]] for r in rows.tolist()])
            for journal, rows in ((self.one, mine), (self.other, theirs))
        )
        same = one == other
        if same.all():
            return len(mine)
        counts = np.diff(self.one.first)[mine]
        return int(np.searchsorted(np.cumsum(counts), int(np.argmin(same)), side="right"))

    @cached_property
    def divergence(self) -> Divergence | None:
        """The first execution in which they differ."""
        (mine, theirs), at = self._rows, self._first
        one = int(mine[at]) if at < len(mine) else None
        other = int(theirs[at]) if at < len(theirs) else None
        if one is None and other is None:
            return None
        places = [
            (journal.tag(row), int(journal.rows["reaction"][row]))
            for journal, row in ((self.one, one), (self.other, other))
            if row is not None
        ]
        tag, reaction = min(places)
        if self._is_end(tag):
            return None
        if one is not None and (self.one.tag(one), int(self.one.rows["reaction"][one])) != (tag, reaction):
            one = None
        if other is not None and (self.other.tag(other), int(self.other.rows["reaction"][other])) != (tag, reaction):
            other = None
        ports, what = self._differing(one, other)
        return Divergence(tag, reaction, str(self.one.reactions[reaction]["path"]), one, other, ports, what)

    def _is_end(self, tag: Tag) -> bool:
        """Whether one of them had ended before this tag, or ends at it where the other does not."""
        ends = [Tag(*each.end["final_tag"]) for each in (self.one, self.other) if each.end is not None]
        if len(ends) < 2:
            return any(tag > end for end in ends)
        return ends[0] != ends[1] and tag >= min(ends)

    def _differing(self, one: int | None, other: int | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if one is None or other is None:
            ran = self.one.path if other is None else self.other.path
            return (), (f"it ran in {ran} only",)
        mine, theirs = self.one.rows[one], self.other.rows[other]
        what: list[str] = []
        elements = self.one.elements
        reaction = self.one.reactions[int(mine["reaction"])]
        inputs = [elements[e]["path"] for e in (*reaction["triggers"], *reaction["uses"])]
        for names, column, verb in ((inputs, "reads", "present"), (self._outputs(mine), "writes", "set")):
            for bit, name in _bits(int(mine[column]) ^ int(theirs[column]), names):
                where = self.one.path if int(mine[column]) >> bit & 1 else self.other.path
                what.append(f"{name} is {verb} in {where} only")
        flags = int(mine["flags"]) ^ int(theirs["flags"])
        for flag, said in ((lib.RX_DID_MISS, "its deadline was missed"), (lib.RX_DID_STOP, "it asked to stop")):
            if flags & flag:
                what.append(f"{said} in {self.one.path if int(mine['flags']) & flag else self.other.path} only")
        for flag, said in _BESIDES.items():
            if self.one.hash_of(one, flag) != self.other.hash_of(other, flag):
                what.append(f"{said} differs")
        written, otherwise = self.one.written(one), self.other.written(other)
        ports = tuple(name for name, value in written.items() if name in otherwise and otherwise[name] != value)
        return ports, tuple(what)

    def _outputs(self, row: Any) -> list[str]:
        return self.one.ports[int(row["reaction"])]


def _bits(mask: int, names: list[str]) -> list[tuple[int, str]]:
    return [
        (bit, names[bit] if bit < min(LAST_BIT, len(names)) else "one of the others")
        for bit in range(LAST_BIT + 1)
        if mask >> bit & 1
    ]


def _common(one: Journal, other: Journal) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows that can be compared: of a journal that was cut off the other has more, which are left out.

    Workers were cut off at tags of their own, so that is so for each reaction by itself. A run that failed counts as
    cut off, too: how far other workers came by then depends on timing.
    """
    everything = np.arange(len(one), dtype=np.intp), np.arange(len(other), dtype=np.intp)
    cut = [each.end is None or bool(each.end.get("failed")) for each in (one, other)]
    if not any(cut):
        return everything
    n = len(one.reactions)
    counts = [np.bincount(each.rows["reaction"], minlength=n) for each in (one, other)]
    most = np.where(
        (counts[0] < counts[1]) & cut[0],
        counts[0],
        np.where((counts[1] < counts[0]) & cut[1], counts[1], np.maximum(*counts)),
    )
    return _up_to(one, most), _up_to(other, most)


def _up_to(journal: Journal, most: NDArray[Any]) -> NDArray[np.intp]:
    """The rows of a journal without those of a reaction that it executed more often."""
    reaction = journal.rows["reaction"]
    order = np.argsort(reaction, kind="stable")
    counts = np.bincount(reaction, minlength=len(most))
    nth = np.empty(len(reaction), np.int64)
    nth[order] = np.arange(len(reaction)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.flatnonzero(nth < most[reaction])


_GRAPH = ("path", "kind", "source", "offset", "physical", "dtype", "shape", "first", "period", "min_delay")
_REACTION = ("path", "triggers", "uses", "effects", "deadline", "native")


class GraphsDifferError(JournalError):
    """Two journals are of programs with different graphs."""


def refuse_other_graphs(one: Journal, other: Journal) -> None:
    """Refuse programs in which not the same reactions have the same ports: no execution stands for another then."""
    for what in ("reactions", "elements"):
        mine, theirs = ([each["path"] for each in getattr(journal, what)] for journal in (one, other))
        for here, there, journal in ((mine, theirs, one), (theirs, mine, other)):
            if only := sorted({*here} - {*there}):
                kind = "reactions" if what == "reactions" else "ports, timers and actions"
                raise GraphsDifferError(
                    f"{one.path} and {other.path} are of different graphs: only {journal.path} has the {kind} "
                    f"{', '.join(only[:4])}{' ...' * (len(only) > 4)}; compare runs of one program"
                )
    for what, keys in (("elements", _GRAPH), ("reactions", _REACTION)):
        for mine, theirs in zip(getattr(one, what), getattr(other, what), strict=True):
            for key in keys:
                if mine.get(key) != theirs.get(key):
                    raise GraphsDifferError(
                        f"{one.path} and {other.path} are of different graphs: {key} of {mine['path']} is "
                        f"{mine.get(key)} in the one and {theirs.get(key)} in the other; compare runs of one program"
                    )


def settings(one: Journal, other: Journal) -> list[Circumstance]:
    """What they did not have in common that may be why they part; of what may not, as the workers, nothing."""
    found = [
        Circumstance(what, str(one.header[key]), str(other.header[key]))
        for what, key in (("seed", "seed"), ("states each N executions", "states"))
        if one.header[key] != other.header[key]
    ]
    for what, title in (("versions", "{1}"), ("parameters", "{0}.{1}")):
        mine, theirs = one.header[what], other.header[what]
        if what == "versions":
            mine, theirs = {"": mine}, {"": theirs}
        for path in mine:
            for name in sorted({*mine[path], *theirs.get(path, {})}):
                pair = mine[path].get(name), theirs.get(path, {}).get(name)
                if pair[0] != pair[1]:
                    found.append(Circumstance(title.format(path, name), str(pair[0]), str(pair[1])))
    for mine, theirs in zip(one.reactions, other.reactions, strict=True):
        if mine.get("code") != theirs.get("code"):
            found.append(Circumstance(f"the code of {mine['path']}", _place(mine), _place(theirs)))
    return found


def _place(reaction: dict[str, Any]) -> str:
    return f"{reaction['file']}:{reaction['line']}" if "file" in reaction else "in C"
