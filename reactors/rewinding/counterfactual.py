"""What would have been, had something been otherwise from here on?

Two copies of the run go on from the same place: one as it did, one that was changed before. Both note a hash of each
value that is written. What differs is what the change has led to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reactors.rewinding.places import NEVER, Breaks, Goal, Write
from reactors.tag import Tag

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reactors.rewinding.timeline import Copied, Timeline


@dataclass(frozen=True)
class Change:
    """How the values of one port differ from what they were: at first, at last, and how many of all that were written.

    `missing` were not written this time, and `new` were not before. It has `died_out` if the port was written later
    on, and with what it was before.
    """

    port: str
    first: Tag
    last: Tag
    changed: int
    missing: int
    new: int
    of: int
    died_out: bool

    def __str__(self) -> str:
        kinds = ((self.changed, "other values"), (self.missing, "missing"), (self.new, "new"))
        what = ", ".join(f"{n:,} {kind}" for n, kind in kinds if n)
        until = f"from {self.first} to {self.last}, where it died out" if self.died_out else f"from {self.first} on"
        return f"{self.port}: {what} of {self.of:,}, {until}"


@dataclass(frozen=True)
class Counterfactual:
    """A run that went on otherwise from a place on.

    `edit` and `drop` say what was changed, `at` the last tag before that. `digest` and `value_digest` are those of the
    whole run with the change, as of any run; `was` is the digest without. `changes` are ports whose values differ, in
    the order in which they first did, and `states` the paths of reactors that are something else in the end. `failed`
    is the traceback of the reaction that ended it, "" if none did.
    """

    edit: dict[str, Any]
    drop: tuple[str, ...]
    at: Tag | None
    digest: str
    value_digest: str
    was: str
    changes: tuple[Change, ...]
    states: tuple[str, ...]
    writes: int
    failed: str

    def __str__(self) -> str:
        since = "from the beginning on" if self.at is None else f"after {self.at}"
        said = [f"{place} = {value!r}" for place, value in self.edit.items()]
        said += [f"a message of {port} lost" for port in self.drop]
        same = "the same reactions ran" if self.digest == self.was else f"other reactions ran: it was {self.was}"
        lines = [f"{', '.join(said) or 'nothing changed'} {since}", f"digest {self.digest}, {same}"]
        lines += [*map(str, self.changes)] or [f"none of {self.writes:,} values changed"]
        lines.append(f"other in the end: {', '.join(self.states)}" if self.states else "nothing is other in the end")
        return "\n".join([*lines, *([self.failed] if self.failed else [])])


def counterfactual(
    timeline: Timeline,
    edit: Mapping[str, Any],
    lost: Mapping[int, str],
    pickled: dict[str, bytes],
    until: Tag | None,
) -> Counterfactual:
    """Let two copies go on, of which one is changed, and compare them; `lost` are ports that lose a message."""
    at = timeline.standing.tag
    goal = Goal(tag=NEVER if until is None else until, compares=True)
    as_it_was, changed = _went(timeline, goal, {}, {}), _went(timeline, goal, pickled, dict.fromkeys(lost, 1))
    before, after = as_it_was["hashes"], changed["hashes"]
    return Counterfactual(
        dict(edit), tuple(lost.values()), None if at is None else Tag(*at), changed["digest"], changed["value_digest"],
        as_it_was["digest"], _changes(timeline, as_it_was["writes"], changed["writes"]),
        tuple(path for path in before if before[path] != after[path]), len(changed["writes"]), changed["failed"],
    )  # fmt: skip


def _went(timeline: Timeline, goal: Goal, edit: dict[str, bytes], lost: dict[int, int]) -> dict[str, Any]:
    """What there is to know of a copy that has been changed, and gone on."""
    process: Copied = timeline.another()
    try:
        timeline.ask("edit", edit, lost, of=process)
        process = timeline.run(process, goal, Breaks())
        found = {word: timeline.ask(word, of=process) for word in ("writes", "digest", "value_digest", "hashes")}
        standing = process.standing
        failed = standing.failed if standing is not None else None
        return {**found, "failed": "" if failed is None else failed[1]}
    finally:
        timeline.forget(process)


def _changes(timeline: Timeline, was: Sequence[Write], now: Sequence[Write]) -> tuple[Change, ...]:
    """What differs, port by port."""
    before = {write[:3]: write.hash for write in was}
    after = {write[:3]: write.hash for write in now}
    differ: dict[int, list[tuple[tuple[int, int], str]]] = {}
    for key in {**before, **after}:
        if before.get(key) != after.get(key):
            kind = "missing" if key not in after else "new" if key not in before else "changed"
            differ.setdefault(key[2], []).append((key[0], kind))
    written: dict[int, set[tuple[int, int]]] = {}
    for tag, _, element in (*before, *after):
        written.setdefault(element, set()).add(tag)
    found = []
    for element, places in differ.items():
        first, last = min(places)[0], max(places)[0]
        counts = {kind: sum(each == kind for _, each in places) for kind in ("changed", "missing", "new")}
        of, died_out = len(written[element]), max(written[element]) > last
        path = timeline.graph.program.elements[element].path
        found.append((first, Change(path, Tag(*first), Tag(*last), **counts, of=of, died_out=died_out)))
    return tuple(change for _, change in sorted(found, key=lambda each: (each[0], each[1].port)))
