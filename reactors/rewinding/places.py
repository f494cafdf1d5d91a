"""What is said between the process of a run and the user's: where to go, where it stands, what it wrote on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from reactors.tag import Tag

if TYPE_CHECKING:
    from collections.abc import Sequence

NEVER = (1 << 63, 0)


class Write(NamedTuple):
    """What one execution wrote to one port: when, which reaction, which port, by their numbers, and a hash of it."""

    tag: tuple[int, int]
    reaction: int
    element: int
    hash: int


@dataclass(frozen=True)
class Goal:
    """Where to stop: before the first execution for which one of these holds."""

    position: int = 1 << 63  # so many executions are over
    tag: tuple[int, int] = NEVER  # it is at a later tag
    tags: int = 1 << 63  # it would begin a tag, and so many have begun
    reaction: int = -1  # it is of this reaction,
    n: int = 0  # the n-th of it
    breaks: bool = False  # what `Breaks` says holds
    since: int = 0  # of these, conditions count when so many tags have begun
    compares: bool = False  # note what is written meanwhile
    interval: float = 0.25  # seconds after which a copy stays behind; 0: none does


@dataclass
class Breaks:
    """Where to stop on the way: before these reactions, or after an execution for which a condition holds."""

    reactions: frozenset[int] = frozenset()
    ports: dict[int, bytes | None] = field(default_factory=dict)  # pickled conditions of the value
    conditions: tuple[bytes | str, ...] = ()  # of main, pickled or as text


@dataclass(frozen=True)
class Standing:
    """Where a run stands, between two executions."""

    position: int  # executions that are over
    tag: tuple[int, int] | None  # of the last of them
    tags: int  # how many tags there were so far
    done: int  # the reaction that was executed last, as the program counts; -1: none was
    next: int  # the reaction that comes next, as the program counts; -1: none does
    next_tag: tuple[int, int] | None
    counts: list[int]  # how often each reaction ran
    why: str  # it stopped, if that was not where it was to go
    failed: tuple[int, str] | None = None  # the reaction that raised last, and the traceback
    hindrance: str = ""  # why no copy of it can be made
    written: dict[int, Any] | None = None  # what the last execution wrote, if that was one step
    complaints: Sequence[str] = ()  # of conditions that raised each time


def tag_of(tag: tuple[int, int] | None) -> Tag | None:
    """As users see it."""
    return None if tag is None else Tag(*tag)
