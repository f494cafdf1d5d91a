"""What does each execution of a reaction read, and what does it change?

Ports and actions say what was present. For attributes, reactors note which of them are asked for, and a hash of the
content says whether one has changed: an attribute that holds an array changes without being set. All this is noted in a
process that was made for it and goes no further than to where the run stands, so that it may change `Reactor` itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from reactors.execution.live_ports import LiveLogicalAction, checked_delay
from reactors.model.declaration import Declared, HasPorts
from reactors.model.modes import Mode
from reactors.model.reactor import Reactor
from reactors_runtime._doors import content_hash

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from reactors_runtime.program import Program


class Attribute(NamedTuple):
    """One of a reactor's attributes: the reactor as the program counts, and the name."""

    reactor: int
    name: str


class Scheduled(NamedTuple):
    """An event that a reaction has scheduled: the action, and the tag that it asked for."""

    action: int
    tag: tuple[int, int]


@dataclass(slots=True)
class Observation:
    """One execution of a reaction, elements and reactors as the program counts."""

    tag: tuple[int, int]
    reaction: int
    found: tuple[int, ...]  # which of its triggers and uses were present
    read: dict[Attribute, None] = field(default_factory=dict)  # in this order; not what it had set itself before
    elsewhere: set[Attribute] = field(default_factory=set)  # changed before it, and not by an execution that read them
    changed: tuple[Attribute, ...] = ()
    wrote: tuple[int, ...] = ()  # ports
    kept: tuple[int, ...] = ()  # ports with the value that another had written: it may have written that again
    scheduled: list[Scheduled] = field(default_factory=list)
    draws: dict[int, None] = field(default_factory=dict)  # reactors whose random generator it asked for


class Observations:
    """All of them, in order, from where it was told to note them."""

    def __init__(self, program: Program, handles: Mapping[int, Any], reactors: Sequence[Reactor]) -> None:
        self.program, self.all = program, list[Observation]()
        self._hashes = {  # as they are now: what is changed by another name before it is first read is noticed, too
            Attribute(reactor._index, name): content_hash(value)
            for reactor in reactors
            for name, value in vars(reactor).items()
            if not is_structure(value)
        }
        self._now: Observation | None = None
        self._asked: dict[Attribute, Reactor] = {}  # by the present execution
        self._set: set[Attribute] = set()  # likewise
        self._found = [
            [(e, handles[e]) for e in (*row.triggers, *row.uses) if e in handles] for row in program.reactions
        ]
        _notice(self)

    def begin(self, reaction: int, tag: tuple[int, int]) -> None:
        """One begins."""
        found = tuple(e for e, handle in self._found[reaction] if handle.is_present)
        self._now = Observation(tag, reaction, found)

    def over(self, wrote: tuple[int, ...], kept: tuple[int, ...]) -> None:
        """It is over, and wrote to these ports, and kept what others had."""
        now = self._now
        assert now is not None
        self._now = None
        now.wrote, now.kept = wrote, kept
        now.changed = tuple(self._changed())
        self._asked, self._set = {}, set()
        self.all.append(now)

    def _changed(self) -> Iterator[Attribute]:
        for attribute, reactor in self._asked.items():
            after = content_hash(vars(reactor).get(attribute.name))
            if self._hashes[attribute] != after:
                self._hashes[attribute] = after
                yield attribute

    def asked(self, reactor: Reactor, name: str, value: Any) -> None:
        """The present execution reads an attribute."""
        now = self._now
        if now is None or is_structure(value):
            return
        attribute = Attribute(reactor._index, name)
        if attribute not in self._set:
            now.read[attribute] = None
        self._before(attribute, reactor, value)

    def changes(self, reactor: Reactor, name: str) -> None:
        """The present execution sets an attribute, or is about to."""
        if self._now is not None:
            attribute = Attribute(reactor._index, name)
            self._before(attribute, reactor, object.__getattribute__(reactor, "__dict__").get(name))
            self._set.add(attribute)

    def _before(self, attribute: Attribute, reactor: Reactor, value: Any) -> None:
        """Keep what an attribute is before it may change."""
        if attribute in self._asked:
            return
        self._asked[attribute] = reactor
        before, known = content_hash(value), self._hashes.get(attribute)
        if known is not None and known != before and self._now is not None:
            self._now.elsewhere.add(attribute)
        self._hashes[attribute] = before

    def drew(self, reactor: Reactor) -> None:
        """The present execution asks for the reactor's random generator."""
        if self._now is not None:
            self._now.draws[reactor._index] = None

    def schedules(self, action: Any, delay: Any) -> None:
        """The present execution schedules an event."""
        now, element = self._now, action._element
        if now is not None:
            ns = checked_delay(delay, action) + self.program.elements[element].min_delay
            time, microstep = now.tag
            now.scheduled.append(Scheduled(element, (time + ns, 0) if ns else (time, microstep + 1)))


def is_structure(value: Any) -> bool:
    """Whether it is no state: a port, a reactor, or a list of them."""
    if isinstance(value, list | tuple):
        return bool(value) and all(map(is_structure, value))
    return isinstance(value, Declared | Mode | HasPorts)


def _notice(notes: Observations) -> None:
    """Have all reactors of this process say what is done with their attributes, and actions what is scheduled."""
    get, set_, delete = object.__getattribute__, object.__setattr__, object.__delattr__

    def read(reactor: Reactor, name: str) -> Any:
        value = get(reactor, name)
        if name in get(reactor, "__dict__"):
            notes.asked(reactor, name, value)
        elif name == "rng":
            notes.drew(reactor)
        elif name == "__dict__":  # vars(self): any of them may be meant
            for each, held in value.items():
                notes.asked(reactor, each, held)
        return value

    def assign(reactor: Reactor, name: str, value: Any) -> None:
        notes.changes(reactor, name)
        set_(reactor, name, value)

    def remove(reactor: Reactor, name: str) -> None:
        notes.changes(reactor, name)
        delete(reactor, name)

    schedule = LiveLogicalAction.schedule

    def scheduled(action: Any, value: Any = None, delay: Any = 0) -> None:
        schedule(action, value, delay)
        notes.schedules(action, delay)

    for owner, name, function in (
        (Reactor, "__getattribute__", read),
        (Reactor, "__setattr__", assign),
        (Reactor, "__delattr__", remove),
        (LiveLogicalAction, "schedule", scheduled),
    ):
        setattr(owner, name, function)
