"""Since when does something fail?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from reactors.rewinding.places import Breaks, Goal, Standing
from reactors.rewinding.sending import received
from reactors.tag import Tag
from reactors_runtime.values import dumps

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactors.rewinding.timeline import Timeline

Question: TypeAlias = "str | Callable[[Any], Any]"
"""Something to be asked of main: an expression in which it is `m`, or a function."""


@dataclass(frozen=True)
class Bisected:
    """Since when something fails: the tag, the reaction after which it does, and how often one went back."""

    tag: Tag
    reaction: str | None
    executions: int

    def __str__(self) -> str:
        return f"{self.reaction or 'a C function'} at {self.tag}, after {self.executions} executions"


def bisected(timeline: Timeline, check: Question) -> Bisected | None:
    """Where `check` begins to fail, which is where the run stands then; None if it holds at the end.

    One execution is to the end, one for each half that lies before where the run stands, and the last one looks after
    each reaction of the tag in question. A check that holds halves by going on, which executes nothing again.
    """
    before, data = timeline.executed, check if isinstance(check, str) else dumps(check)
    fails = f"not ({check})" if isinstance(check, str) else dumps(_Not(check))
    timeline.go(Goal(), lambda _: True)
    if received(timeline.ask("ask", data)):
        return None
    low, high = 0, timeline.standing.tags  # it holds after so many tags, and fails after so many
    while high - low > 1:
        middle = (low + high) // 2
        timeline.go(Goal(tags=middle), partial(is_before_tags, middle))
        low, high = (low, middle) if timeline.ask("fails", data) else (middle, high)
    kept, timeline.breaks = timeline.breaks, Breaks(conditions=(fails,))
    try:
        where = timeline.go(Goal(breaks=True, since=high, tags=high), partial(is_before_tags, high - 1))
    finally:
        timeline.breaks = kept
    found = where.done >= 0 and bool(where.why) and (where.next >= 0 or timeline.ask("fails", data))
    return Bisected(
        Tag(*(where.tag or (0, 0))), timeline.graph.names[where.done] if found else None, timeline.executed - before
    )


def is_before_tags(tags: int, where: Standing) -> bool:
    """Whether it stands between two tags, and not after more than so many."""
    return where.tags <= tags and where.tag != where.next_tag


class _Not:
    """A condition that holds where another one does not."""

    def __init__(self, check: Callable[[Any], Any]) -> None:
        self.check = check

    def __call__(self, main: Any) -> bool:
        return not self.check(main)
