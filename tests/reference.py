"""What does a program mean? The whole model in obvious Python: the oracle of the tests.

This module stands in for `reactors`: a program written against `rx` runs here when `rx` is this module. There is one
list of events and one loop that takes the tags in order and the reactions of a tag in a topological order; values are
plain attributes. It shares no code with what it judges. It checks nothing, is slow, and knows no workers and no clock.
"""

from __future__ import annotations

import graphlib
import hashlib
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CycleError = graphlib.CycleError


class Tag(NamedTuple):
    time: int
    microstep: int


START = Tag(0, 0)
FOREVER = Tag(1 << 63, 0)


def later(tag: Tag, delay: int) -> Tag:
    """Zero is the next microstep; any other delay is counted from the time, and drops the microstep."""
    return Tag(tag.time + delay, 0) if delay else Tag(tag.time, tag.microstep + 1)


# ---- what a program is made of ----


class Element:
    """What can be present at a tag: a channel of a port, a timer, an action, the startup and shutdown of a reactor."""

    run: Run
    twin: Callable[[], Any]  # makes another like this
    value: Any = None
    is_present = False

    def __new__(cls, *args: Any, **named: Any) -> Any:
        self = super().__new__(cls)
        self.twin = lambda: cls(*args, **named)
        return self


class Port(Element):
    def __init__(self, type: Any = None, *, shape: Any = None, dtype: Any = None, width: int | None = None) -> None:
        self.shape = () if shape is None else shape
        self.dtype, self.width = dtype, width
        self.channels: list[Port] = [self]  # itself, or those of a multiport
        if width is not None:
            self.channels = [self.__class__(type, shape=shape, dtype=dtype) for _ in range(width)]
        self.source: Any = None  # the port that drives this channel
        self.after: int | None = None  # and with what delay
        self.targets: list[Port] = []  # what this channel drives

    def __len__(self) -> int:
        assert self.width is not None
        return self.width

    def __iter__(self) -> Iterator[Port]:
        assert self.width is not None
        return iter(self.channels)

    def __getitem__(self, index: int) -> Port:
        assert self.width is not None
        return self.channels[index]

    def loan(self) -> Any:
        return np.zeros(self.shape if self.width is None else (self.width, *self.shape), self.dtype)

    def set(self, value: Any) -> None:
        if self.width is not None:
            for channel, row in zip(self, value, strict=True):
                channel.set(row)
            return
        if self.dtype is not None or isinstance(value, np.ndarray):
            value = np.array(value, self.dtype)  # a copy: what the writer does to its array later is not seen
            value.flags.writeable = False
        self.run.put(self, value)

    @property
    def present(self) -> list[int]:
        return [k for k, channel in enumerate(self) if channel.is_present]

    @property
    def array(self) -> Any:
        rows = np.array([np.zeros(self.shape, self.dtype) if c.value is None else c.value for c in self])
        rows.flags.writeable = False
        return rows


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
        self.run.events.append((later(self.run.tag, self.min_delay + delay), self, value))


@dataclass(frozen=True)
class Stop:
    delay: int = 0

    def after(self, delay: int) -> Stop:
        return Stop(delay)


startup, shutdown, stop = Element(), Element(), Stop()


@dataclass(eq=False)
class Reaction:
    reactor: Reactor
    number: int
    triggers: list[Element]
    uses: list[Element]
    effects: list[Element]
    stops: list[Stop]
    body: Callable[[], None]


def reaction(*triggers: Any, uses: Any = (), effects: Any = ()) -> Callable[..., Any]:
    def declare(body: Any) -> Any:
        body.declared = (triggers, uses, effects)
        return body

    return declare


def flat(things: Any) -> list[Any]:
    """The channels and other elements in what was given: one, or any nesting of lists of them, in order."""
    if isinstance(things, list | tuple):
        return [x for thing in things for x in flat(thing)]
    return things.channels if isinstance(things, Port) else [things]


class Reactor:
    """Every instance has elements of its own, the twins of those that its class declares."""

    bank_index = 0
    path: str
    run: Run
    _startup: Element
    _shutdown: Element
    _twins: dict[int, Any]  # id of what the class declares -> what this instance has
    _reactions: list[Reaction]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        self = super().__new__(cls)
        self._startup, self._shutdown = Element(), Element()
        self._twins = {id(startup): self._startup, id(shutdown): self._shutdown}
        self._reactions = []
        declared = [item for base in reversed(cls.__mro__) for item in vars(base).items()]
        for name, item in declared:
            if isinstance(item, Element):
                twin = item.twin()
                setattr(self, name, twin)
                self._twins.update(zip(map(id, flat(item)), flat(twin), strict=True))
        for _, item in declared:
            if hasattr(item, "declared"):
                triggers, uses, effects = item.declared
                self.add_reaction(triggers, item.__get__(self), uses=uses, effects=effects)
        return self

    def add_reaction(self, triggers: Any, body: Callable[[], None], *, uses: Any = (), effects: Any = ()) -> None:
        mine = [[self._twins.get(id(x), x) for x in flat(things)] for things in (triggers, uses, effects)]
        stops = [x for x in mine[2] if isinstance(x, Stop)]
        does = [x for x in mine[2] if isinstance(x, Element)]
        self._reactions.append(Reaction(self, len(self._reactions), mine[0], mine[1], does, stops, body))

    @property
    def tag(self) -> Tag:
        return self.run.tag

    def request_stop(self) -> None:
        self.run.stop = min(self.run.stop, *(later(self.tag, s.delay) for s in self.run.current.stops))


class Bank(list[Any]):
    def __getattr__(self, name: str) -> list[Any]:
        return [getattr(member, name) for member in self]


def bank(n: int, cls: Any, *args: Any) -> Bank:
    members = Bank(cls.__new__(cls) for _ in range(n))
    for k, member in enumerate(members):
        member.bank_index = k  # its __init__ may ask for it
        member.__init__(*args)
    return members


def connect(src: Any, dst: Any, *, after: int | None = None, broadcast: bool = False) -> None:
    sources, targets = flat(src), flat(dst)
    for source, target in zip(itertools.cycle(sources) if broadcast else sources, targets, strict=not broadcast):
        source.targets.append(target)
        target.source, target.after = source, after


# ---- what it means ----


def reactors(reactor: Reactor, path: str = "main") -> Iterator[Reactor]:
    """This reactor and all that it contains, in the order of assignment, each named by its path."""
    reactor.path = path
    yield reactor
    for name, item in vars(reactor).copy().items():
        for k, child in enumerate(item if isinstance(item, list) else [item]):
            if isinstance(child, Reactor):
                yield from reactors(child, f"{path}.{name}[{k}]" if isinstance(item, list) else f"{path}.{name}")


def elements(everybody: list[Reactor]) -> list[Element]:
    return [x for owner in everybody for item in vars(owner).values() if isinstance(item, Element) for x in flat(item)]


def elaborate(main: Reactor) -> tuple[list[Reactor], list[Reaction]]:
    """All reactors, and the reactions in an order that every tag may follow; raises CycleError where there is none."""
    everybody = list(reactors(main))
    before: dict[Any, list[Any]] = {}
    for reactor in everybody:
        for r in reactor._reactions:
            before[r] = [*reactor._reactions[: r.number], *r.triggers, *r.uses]
            for effect in r.effects:
                if isinstance(effect, Port):
                    before.setdefault(effect, []).append(r)
    driven = {x: x.source for x in elements(everybody) if isinstance(x, Port) and x.source is not None}
    for port, source in driven.items():
        before[port] = [source] if port.after is None else []
    order = graphlib.TopologicalSorter(before).static_order()
    reactions = [x for x in order if isinstance(x, Reaction)]
    # A circle of connections alone is refused, whatever its delays: no reaction writes into it.
    graphlib.TopologicalSorter({port: [source] for port, source in driven.items()}).prepare()
    return everybody, reactions


def visible(reactions: list[Reaction]) -> set[Element]:
    """What reactions see, and what drives it. Events of other ports and timers are as good as none."""
    found = {element for r in reactions for element in r.triggers + r.uses}
    for element in list(found):
        source = element.source if isinstance(element, Port) else None
        while source is not None:
            found.add(source)
            source = source.source
    return found


@dataclass
class Result:
    digest: str
    tags: int
    reactions: int


class Run:
    """One run. An event is (tag, element, value); `events` holds those to come, in the order they were made in."""

    def __init__(self, main: Reactor, stop: Tag, *, keepalive: bool, most: int) -> None:
        self.reactors, self.order = elaborate(main)
        self.elements = elements(self.reactors)
        self.visible = visible(self.order)
        self.stop, self.keepalive, self.most = stop, keepalive, most
        self.tag = START
        self.events: list[tuple[Tag, Element, Any]] = [(START, reactor._startup, None) for reactor in self.reactors]
        for x in self.elements:
            if isinstance(x, Timer) and x in self.visible:
                self.events.append((Tag(x.offset, 0), x, None))
        self.current: Reaction
        self.hashes = dict.fromkeys((reactor.path for reactor in self.reactors), 0)
        self.tags = self.reactions = 0
        for reactor in self.reactors:
            reactor.run = self
        for x in self.elements:
            x.run = self

    def go(self) -> Result:
        while True:
            self.execute()
            if self.tag == self.stop:
                return Result(self.digest(), self.tags, self.reactions)
            if not self.events and not self.keepalive:
                self.stop = min(self.stop, later(self.tag, 0))
            self.tag = min([self.stop, *(event[0] for event in self.events)])
            if self.tags == self.most:
                raise RecursionError(f"no end after {self.most} tags")

    def execute(self) -> None:
        """Everything that happens at the present tag."""
        due = [event for event in self.events if event[0] == self.tag]
        self.events = [event for event in self.events if event[0] != self.tag]
        if self.tag == self.stop:
            due += [(self.tag, reactor._shutdown, None) for reactor in self.reactors]
        for _, element, value in due:
            if element.is_present:  # a second event of one element moves on by a microstep
                self.events.append((later(self.tag, 0), element, value))
            else:
                self.put(element, value)
            if isinstance(element, Timer) and element.period:
                self.events.append((later(self.tag, element.period), element, None))
        for reaction in self.order:
            if any(trigger.is_present for trigger in reaction.triggers):
                self.current = reaction
                reaction.body()
                self.note(reaction)
        for x in self.elements:  # what was set and travels with a delay; of several values the last
            if isinstance(x, Port) and x in self.visible and x.after is not None and x.source.is_present:
                self.events.append((later(self.tag, x.after), x, x.source.value))
        for x in self.elements:
            x.value, x.is_present = None, False
        self.tags += 1

    def put(self, element: Element, value: Any) -> None:
        """Make an element present, and at once all that it drives without a delay; the last value put stays."""
        element.value, element.is_present = value, True
        for target in element.targets if isinstance(element, Port) else []:
            if target.after is None:
                self.put(target, value)

    # The digest: a hash chain for every reactor over what its reactions saw and set.

    def note(self, reaction: Reaction) -> None:
        ports = (effect for effect in reaction.effects if isinstance(effect, Port))
        seen = 0
        for k, element in enumerate([*reaction.triggers, *reaction.uses, *ports]):
            if element.is_present:
                seen = seen * 0x100000001B3 + k + 1
        event = mix(mix(0, self.tag.time), self.tag.microstep) + (reaction.number + 1) * 0x9E3779B97F4A7C15 + seen
        path = reaction.reactor.path
        self.hashes[path] = mix(self.hashes[path], event)
        self.reactions += 1

    def digest(self) -> str:
        total = hashlib.blake2b(digest_size=16)
        for path, h in sorted(self.hashes.items()):
            total.update(path.encode() + b"\0" + h.to_bytes(8, "little") + b"\n")
        return total.hexdigest()


def mix(h: int, x: int) -> int:
    y = (h ^ x) % 2**64 * 0x9FB21C651E98DF25 % 2**64
    return y ^ y >> 32


def run(main: Reactor, *, timeout: int | None = None, keepalive: bool = False, most: int = 10_000) -> Result:
    """Run to the end, which has to come within so many tags."""
    return Run(main, FOREVER if timeout is None else Tag(timeout, 0), keepalive=keepalive, most=most).go()
