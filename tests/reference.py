"""What does a program mean? The whole model in obvious Python: the oracle of the tests.

This module stands in for `reactors`: a program written against `rx` runs here when `rx` is this module. There is one
list of events and one loop that takes the tags in order and the reactions of a tag in a topological order; values are
plain attributes. It shares no code with what it judges. It checks nothing, is slow, and knows no workers and no clock.
"""

from __future__ import annotations

import copy
import graphlib
import hashlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

CycleError = graphlib.CycleError


class Tag(NamedTuple):
    time: int
    microstep: int


FOREVER = Tag(1 << 62, 0)


def later(tag: Tag, delay: int) -> Tag:
    """Zero is the next microstep; any other delay is counted from the time, and drops the microstep."""
    return Tag(tag.time + delay, 0) if delay else Tag(tag.time, tag.microstep + 1)


# What a program is made of -------------------------------------------------------------------------------------------


class Element:
    """What can be present at a tag: a channel of a port, a timer, an action, the startup and shutdown of a reactor."""

    run: Run
    value: Any = None
    is_present = False


class Port(Element):
    def __init__(self, type: Any = None, *, shape: Any = None, dtype: Any = None, width: int | None = None) -> None:
        self.shape, self.dtype, self.width = shape, dtype, width
        self.channels: list[Port] = [self]  # itself, or those of a multiport
        if width is not None:
            self.channels = [self.__class__(type, shape=shape, dtype=dtype) for _ in range(width)]
        self.source: Port | None = None  # what drives this channel
        self.after: int | None = None  # and with what delay
        self.targets: list[Port] = []  # what this channel drives

    def __len__(self) -> int:
        return len(self.channels)

    def __iter__(self) -> Iterator[Port]:
        assert self.width is not None
        return iter(self.channels)

    def __getitem__(self, index: int) -> Port:
        return self.channels[index]

    def loan(self) -> Any:
        return np.zeros(self.shape, self.dtype)

    def set(self, value: Any) -> None:
        if self.dtype is not None or isinstance(value, np.ndarray):
            value = np.array(value, self.dtype)  # a copy: what the writer does to its array later is not seen
            value.flags.writeable = False
        self.run.put(self, value)

    @property
    def present(self) -> list[int]:
        return [k for k, channel in enumerate(self.channels) if channel.is_present]

    @property
    def array(self) -> Any:
        if self.width is None:
            return self.value
        return np.array([np.zeros(self.shape, self.dtype) if c.value is None else c.value for c in self.channels])


class Input(Port):
    pass


class Output(Port):
    pass


class Timer(Element):
    def __init__(self, offset: int = 0, period: int | None = None) -> None:
        self.offset, self.period = offset, period


class LogicalAction(Element):
    def __init__(self, type: Any = None, *, min_delay: int = 0) -> None:
        self.min_delay = min_delay

    def schedule(self, value: Any = None, delay: int = 0) -> None:
        self.run.queue.append((later(self.run.tag, self.min_delay + delay), self, value))


startup, shutdown = Element(), Element()


@dataclass(frozen=True)
class Stop:
    delay: int = 0

    def after(self, delay: int) -> Stop:
        return Stop(delay)


stop = Stop()


@dataclass(eq=False)
class Reaction:
    reactor: Reactor
    number: int
    triggers: list[Element]
    uses: list[Element]
    effects: list[Element]
    stop: list[Stop]
    body: Callable[[], None]


def flat(things: Any) -> list[Any]:
    """The channels, reactors or elements in whatever was given: one, or any nesting of lists of them, in order."""
    if isinstance(things, list | tuple):
        return [x for thing in things for x in flat(thing)]
    return things.channels if isinstance(things, Port) else [things]


def reaction(*triggers: Any, uses: Any = (), effects: Any = ()) -> Callable[..., Any]:
    def declare(body: Any) -> Any:
        body.declared = (triggers, uses, effects)
        return body

    return declare


class Reactor:
    """Every instance has elements of its own, the twins of those that its class declares."""

    bank_index = 0
    path: str
    run: Run

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        self = super().__new__(cls)
        self.twins: dict[int, Any] = {}
        self.reactions: list[Reaction] = []
        self._startup = self.twins[id(startup)] = Element()
        self._shutdown = self.twins[id(shutdown)] = Element()
        declared = [item for base in reversed(cls.__mro__) for item in vars(base).items()]
        for name, item in declared:
            if isinstance(item, Element):
                setattr(self, name, copy.deepcopy(item, self.twins))
        for _, item in declared:
            if hasattr(item, "declared"):
                triggers, uses, effects = item.declared
                self.add_reaction(triggers, item.__get__(self), uses=uses, effects=effects)
        return self

    def add_reaction(self, triggers: Any, body: Callable[[], None], *, uses: Any = (), effects: Any = ()) -> None:
        reads, sees, does = ([self.twins.get(id(x), x) for x in flat(things)] for things in (triggers, uses, effects))
        stops, does = [x for x in does if isinstance(x, Stop)], [x for x in does if not isinstance(x, Stop)]
        self.reactions.append(Reaction(self, len(self.reactions), reads, sees, does, stops, body))

    @property
    def tag(self) -> Tag:
        return self.run.tag

    def request_stop(self) -> None:
        self.run.stop = min(self.run.stop, *(later(self.tag, s.delay) for s in self.run.current.stop))


class Bank(list[Any]):
    def __getattr__(self, name: str) -> list[Any]:
        return [getattr(member, name) for member in self]


def bank(n: int, cls: Any, *args: Any) -> Bank:
    members = Bank(cls(*args) for _ in range(n))
    for k, member in enumerate(members):
        member.bank_index = k
    return members


def connect(src: Any, dst: Any, *, after: int | None = None, broadcast: bool = False) -> None:
    sources, targets = flat(src), flat(dst)
    for source, target in zip(itertools.cycle(sources) if broadcast else sources, targets, strict=not broadcast):
        source.targets.append(target)
        target.source, target.after = source, after


# What it means -------------------------------------------------------------------------------------------------------


def reactors(reactor: Reactor, path: str = "main") -> Iterator[Reactor]:
    """This reactor and all it contains, in the order of assignment, each named by its path."""
    reactor.path = path
    yield reactor
    for name, item in vars(reactor).copy().items():
        for k, child in enumerate(item if isinstance(item, list) else [item]):
            if isinstance(child, Reactor):
                yield from reactors(child, f"{path}.{name}" + (f"[{k}]" if isinstance(item, list) else ""))


def elements(everybody: list[Reactor]) -> list[Element]:
    return [x for owner in everybody for item in vars(owner).values() if isinstance(item, Element) for x in flat(item)]


def elaborate(main: Reactor) -> tuple[list[Reactor], list[Reaction]]:
    """All reactors, and the reactions in an order that every tag may follow; raises CycleError where there is none."""
    everybody = list(reactors(main))
    reactions = [r for reactor in everybody for r in reactor.reactions]
    writers: dict[Element, list[Reaction]] = {}
    for r in reactions:
        for effect in r.effects:
            writers.setdefault(effect, []).append(r)
    before: dict[Any, list[Any]] = {r: [*r.reactor.reactions[: r.number], *r.triggers, *r.uses] for r in reactions}
    for x in elements(everybody):
        if isinstance(x, Port):
            before[x] = writers.get(x, []) + ([x.source] if x.source and x.after is None else [])
    order = list(graphlib.TopologicalSorter(before).static_order())
    # A circle of connections alone carries nothing, whatever its delays: no reaction writes into it.
    graphlib.TopologicalSorter({x: [x.source] for x in order if isinstance(x, Port) and x.source}).prepare()
    return everybody, [x for x in order if isinstance(x, Reaction)]


def upstream(reactions: list[Reaction]) -> Iterator[Element]:
    """What reactions can see, and all that drives it: events of other ports and timers are as good as none."""
    for r in reactions:
        for element in r.triggers + r.uses:
            yield element
            while isinstance(element, Port) and element.source:
                element = element.source
                yield element


@dataclass
class Result:
    digest: str
    tags: int
    reactions: int


@dataclass
class Run:
    """One run: an event is (tag, element, value), and `queue` holds them in the order in which they were made."""

    main: Reactor
    stop: Tag
    keepalive: bool
    tag: Tag = Tag(0, 0)
    queue: list[tuple[Tag, Element, Any]] = field(default_factory=list)
    present: list[Element] = field(default_factory=list)
    hashes: dict[str, int] = field(default_factory=dict)
    tags: int = 0
    count: int = 0

    def put(self, element: Element, value: Any) -> None:
        """Make an element present, and at once all that it drives without a delay; the last value put stays."""
        element.value, element.is_present = value, True
        self.present.append(element)
        for target in element.targets if isinstance(element, Port) else ():
            if target.after is None:
                self.put(target, value)

    def go(self) -> Result:
        everybody, order = elaborate(self.main)
        everything = elements(everybody)
        seen = set(upstream(order))
        for thing in [*everybody, *everything]:
            thing.run = self
        self.hashes = dict.fromkeys((reactor.path for reactor in everybody), 0)
        self.queue = [(Tag(0, 0), reactor._startup, None) for reactor in everybody]
        self.queue += [(Tag(x.offset, 0), x, None) for x in everything if isinstance(x, Timer) and x in seen]
        while True:
            self.take_events()
            if self.tag == self.stop:
                for reactor in everybody:
                    self.put(reactor._shutdown, None)
            for reaction in order:
                if any(trigger.is_present for trigger in reaction.triggers):
                    self.current = reaction
                    reaction.body()
                    self.note(reaction)
            for x in everything:
                if x in seen and isinstance(x, Port) and x.after is not None and x.source and x.source.is_present:
                    self.queue.append((later(self.tag, x.after), x, x.source.value))
            for element in self.present:
                element.value, element.is_present = None, False
            self.tags += 1
            if self.tag == self.stop:
                return Result(self.digest(), self.tags, self.count)
            if not self.queue and not self.keepalive:
                self.stop = min(self.stop, later(self.tag, 0))
            self.tag = min([self.stop, *(event[0] for event in self.queue)])

    def take_events(self) -> None:
        """What was scheduled for this tag happens; a second event of one element moves on by a microstep."""
        due = [event for event in self.queue if event[0] == self.tag]
        self.queue = [event for event in self.queue if event[0] != self.tag]
        for _, element, value in due:
            if element.is_present:
                self.queue.append((later(self.tag, 0), element, value))
            else:
                self.put(element, value)
            if isinstance(element, Timer) and element.period:
                self.queue.append((later(self.tag, element.period), element, None))

    # The digest, as the contract words it: a hash chain for every reactor over what its reactions saw and set.

    def note(self, reaction: Reaction) -> None:
        seen = 0
        for k, element in enumerate(reaction.triggers + reaction.uses + [x for x in reaction.effects if isinstance(x, Port)]):
            if element.is_present:
                seen = seen * 0x100000001B3 + k + 1
        event = mix(mix(0, self.tag.time), self.tag.microstep) + (reaction.number + 1) * 0x9E3779B97F4A7C15 + seen
        path = reaction.reactor.path
        self.hashes[path] = mix(self.hashes[path], event)
        self.count += 1

    def digest(self) -> str:
        total = hashlib.blake2b(digest_size=16)
        for path, h in sorted(self.hashes.items()):
            total.update(path.encode() + b"\0" + h.to_bytes(8, "little") + b"\n")
        return total.hexdigest()


def mix(h: int, x: int) -> int:
    y = (h ^ x) % 2**64 * 0x9FB21C651E98DF25 % 2**64
    return y ^ y >> 32


def run(main: Reactor, *, timeout: int | None = None, keepalive: bool = False, **_: Any) -> Result:
    """Run to the end; workers, backend and the like make no difference to what a program means."""
    return Run(main, FOREVER if timeout is None else Tag(timeout, 0), keepalive).go()
