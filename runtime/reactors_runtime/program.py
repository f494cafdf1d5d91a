"""What does a program look like once names, classes and hierarchy are gone?

Plain rows that refer to one another by index, and that nothing changes: `reactors` writes them when it elaborates a
program, and everything below reads them. An *element* is whatever a reaction can be triggered by, read or write: a port
channel, a timer, an action, and per reactor its startup and its shutdown. Nothing here runs, and nothing here knows a
Python reactor.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from reactors_runtime._core import lib

if TYPE_CHECKING:
    import builtins
    from collections.abc import Mapping, Sequence
    from types import UnionType

    import numpy as np


FOREVER: int = lib.RX_FOREVER_NS  # ns: a time that never comes


class Kind(enum.IntEnum):
    """What an element is."""

    PORT = 0
    TIMER = 1
    ACTION = 2
    PHYSICAL_ACTION = 3
    STARTUP = 4
    SHUTDOWN = 5
    RESET = 6


class SpacingPolicy(enum.IntEnum):
    """What happens to an event of an action that comes too early after the last one."""

    DEFER = lib.RX_DEFER  # it comes as soon as it may
    DROP = lib.RX_DROP  # it is left out
    REPLACE = lib.RX_REPLACE  # the last one, if it is still to come, has its value
    UPDATE = lib.RX_UPDATE  # the last one, if it is still to come, is left out


class Element(NamedTuple):
    """Something that can be present at a tag.

    An *offset* `(ns, microsteps)` is what the connections between a port and its source add to a tag: `(0, 0)` nothing,
    `(0, m)` m microsteps, `(d, m)` with d > 0 leads from any tag at time t to the tag (t + d, m).
    """

    path: str  # "main.rollouts[3].table", "main.learner.trajectories[2]" for a channel, "main.a.startup"
    kind: Kind
    reactor: int  # its owner, an index into Program.reactors
    source: int = -1  # PORT: the element that drives it; itself if a reaction writes it; -1: nothing drives it
    offset: tuple[int, int] = (0, 0)
    physical: bool = False  # the path from the source has a physical connection
    dtype: np.dtype | None = None  # PORT with values of fixed size: dtype and shape; otherwise any object
    shape: tuple[int, ...] | None = None
    type: builtins.type | UnionType | None = None  # Input(int): int. None: any object
    mode: int = -1  # the mode it belongs to; PORT: the one of the delayed connection that leads there; -1: none
    mutable: bool = False  # PORT: its readers get copies
    first: int = 0  # TIMER: offset in ns
    period: int = 0  # TIMER: ns; 0: it fires once
    min_delay: int = 0  # ACTION, PHYSICAL_ACTION: ns
    min_spacing: int = -1  # likewise; -1: none
    policy: SpacingPolicy = SpacingPolicy.DEFER

    @property
    def undelayed(self) -> bool:
        """Whether a value arrives on this element at the tag at which its source is written."""
        return self.source >= 0 and self.offset == (0, 0) and not self.physical

    def driven(
        self,
        source: int,
        offset: tuple[int, int],
        physical: bool,
        dtype: np.dtype | None,
        shape: tuple[int, ...] | None,
    ) -> Element:
        """The same with these; as `_replace` would make it, in a fifth of the time."""
        return Element._make((*self[:3], source, offset, physical, dtype, shape, *self[8:]))


@dataclass(slots=True)
class NativeFunction:
    """A reaction that is a C function `void f(void **data, unsigned char *present, void *state)`."""

    address: int
    state: int
    keep: object = field(default=None, repr=False)  # owns the memory that address and state point to


class Reaction(NamedTuple):
    """One reaction. Its effects are ports and actions; multiports appear channel by channel."""

    reactor: int
    number: int  # its position in the reactor, from 0
    name: str
    level: int  # the length of the longest chain of reactions that must run before it
    triggers: Sequence[int]
    uses: Sequence[int]
    effects: Sequence[int]
    deadline: int | None = None  # ns
    inferred_deadline: int = FOREVER  # the least of its own and of all that must run after it
    stop: tuple[int, int] | None = None  # the offset at which its request to stop takes effect, if it declares one
    native: NativeFunction | None = None
    native_late: NativeFunction | None = None  # what runs instead when its deadline is missed, if that is one, too
    mode: int = -1  # the mode it belongs to; -1: none
    transitions: Mapping[int, bool] = {}  # modes that it may enter -> whether by reset

    def ordered(self, level: int, inferred_deadline: int) -> Reaction:
        """The same with its place in the order; as `_replace` would make it, in a fifth of the time."""
        return Reaction._make((*self[:3], level, *self[4:8], inferred_deadline, *self[9:]))


class Mode(NamedTuple):
    """One of the modes of a reactor."""

    path: str
    reactor: int
    initial: bool
    outer: int  # the mode that its reactor lies in; -1: none


class Reactor(NamedTuple):
    """Where reactions and elements live."""

    path: str
    bank: tuple[str, int, int] | None = None  # path of the bank, index in it, its width
    mode: int = -1  # the mode that it lies in, at whatever depth; -1: none
    relay: bool = False  # it stands for a connection of a mode, has one reaction, and is in no digest


@dataclass(frozen=True, slots=True)
class Program:
    """A whole program, elaborated and checked."""

    reactors: Sequence[Reactor]
    elements: Sequence[Element]
    reactions: Sequence[Reaction]  # in the static order: by inferred deadline, level, order of elaboration
    multiports: Sequence[Sequence[int]]  # the elements of each multiport in channel order
    modes: Sequence[Mode] = ()  # outer ones first, those of one reactor side by side

    def name(self, reaction: int) -> str:
        """A reaction's path: "main.learner.train"."""
        what = self.reactions[reaction]
        return f"{self.reactors[what.reactor].path}.{what.name}"
