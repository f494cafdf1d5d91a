"""What does a program mean? The whole model in obvious Python: the oracle of the tests.

This module stands in for `reactors`: a program written against `rx` runs here when `rx` is this module. There is one
list of events and one loop that takes the tags in order and the reactions of a tag in a topological order; values are
plain attributes. It shares no code with what it judges. It checks nothing, is slow, and knows no workers and no clock.
"""

from __future__ import annotations

import copy
import graphlib
import hashlib
import inspect
import itertools
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CycleError = graphlib.CycleError


class Tag(NamedTuple):
    time: int
    microstep: int


START, BEFORE = Tag(0, 0), Tag(-1, 0)
FOREVER = Tag((1 << 63) - 1, 0)  # never


def later(tag: Tag, delay: int) -> Tag:
    """Zero is the next microstep; any other delay is counted from the time, and drops the microstep."""
    return Tag(tag.time + delay, 0) if delay else Tag(tag.time, tag.microstep + 1)


# ---- what a program is made of ----


class Element:
    """What can be present at a tag: a channel of a port, a timer, an action, the startup and shutdown of a reactor."""

    run: Run
    twin: Callable[[], Any]  # makes another like this
    value: Any = None
    sent: Any = None  # the same, but for a mutable input, of whose value each reaction gets a copy
    is_present = False

    inside: Mode | None = None  # the mode of its own reactor that it was declared in
    mode: Mode | None = None  # the mode that it belongs to, once the program is elaborated

    def __new__(cls, *args: Any, **named: Any) -> Any:
        self = super().__new__(cls)
        self.twin = lambda: cls(*args, **named)
        self.inside = named.get("mode") or current_mode()
        return self


class Mode:
    """What takes part only while its reactor is in it, and that in a mode that is active."""

    owner: Reactor
    entered = renewed = False

    def __init__(self, *, initial: bool = False) -> None:
        self.initial = initial

    @property
    def reset(self) -> Transition:
        return Transition(self, True)

    @property
    def history(self) -> Transition:
        return Transition(self, False)

    def set(self) -> None:
        (by_reset,) = (t.by_reset for t in self.owner.run.current.transitions if t.mode is self)
        self.owner.wanted = Transition(self, by_reset)

    @property
    def active(self) -> bool:
        return self.owner.current is self and is_active(self.owner.mode)

    def __enter__(self) -> None:
        MODES.append(self)

    def __exit__(self, *_: object) -> None:
        MODES.pop()


@dataclass(frozen=True)
class Transition:
    mode: Mode
    by_reset: bool


MODES: list[Mode] = []  # whose `with` we are in


INITIALIZED: list[tuple[Reactor, type]] = []  # whose `__init__` we are in, and the class that wrote it


def current_mode() -> Mode | None:
    return MODES[-1] if MODES else None


def is_active(mode: Mode | None) -> bool:
    return mode is None or mode.active


def lies_in(mode: Mode | None, around: Mode) -> bool:
    return mode is not None and (mode is around or lies_in(mode.owner.mode, around))


class State:
    """An attribute that has its first value again when its mode is entered by reset."""

    name: str

    def __init__(self, initial: Any, *, mode: Mode | None = None) -> None:
        self.initial, self.inside = initial, mode or current_mode()

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else self.renew(instance)

    def renew(self, reactor: Any) -> Any:
        value = self.initial(reactor) if callable(self.initial) else copy.deepcopy(self.initial)
        vars(reactor)[self.name] = value
        return value


@dataclass(eq=False)
class Link:
    """A connection of two channels."""

    source: Port
    target: Port
    after: int | None
    physical: bool
    inside: Mode | None  # the mode that it was drawn in
    mode: Mode | None = None  # the same, if it is one of the reactor around; one further out shuts off its ends
    last: Tag = START  # physical: the last arrival; there is none at the start itself

    @property
    def delayed(self) -> bool:
        return self.after is not None or self.physical


class Port(Element):
    def __init__(
        self, type: Any = None, *, shape: Any = None, dtype: Any = None, width: int | None = None, mutable: bool = False
    ) -> None:
        self.shape, self.mutable = () if shape is None else shape, mutable
        self.dtype, self.width = dtype, width
        self.channels: list[Port] = [self]  # itself, or those of a multiport
        if width is not None:
            self.channels = [self.__class__(type, shape=shape, dtype=dtype, mutable=mutable) for _ in range(width)]
        self.incoming: list[Link] = []
        self.outgoing: list[Link] = []
        self.clock = 0  # the time when it was set, or what drives it

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
    started = False

    def __init__(self, offset: int = 0, period: int | None = None, *, mode: Mode | None = None) -> None:
        self.offset, self.period = offset, period


class LogicalAction(Element):
    def __init__(
        self,
        type: Any = None,
        *,
        min_delay: int = 0,
        min_spacing: int | None = None,
        policy: str = "defer",
        mode: Mode | None = None,
    ) -> None:
        self.min_delay, self.min_spacing, self.policy = min_delay, min_spacing, policy
        self.last: Tag | None = None  # of the event that was accepted last

    def schedule(self, value: Any = None, delay: int = 0) -> None:
        self.accept(later(self.run.tag, self.min_delay + delay), value)

    def accept(self, tag: Tag, value: Any) -> None:
        now = self.run.tag
        if not is_active(self.mode) or tag >= FOREVER:
            return
        if self.min_spacing is not None:
            if self.last is not None:
                earliest = self.last.time + self.min_spacing
                if earliest > tag.time or (self.min_spacing == 0 and earliest == tag.time):
                    events = self.run.events
                    mine = [k for k, event in enumerate(events) if event[:2] == (self.last, self)]
                    if self.policy == "drop":
                        return
                    if self.policy == "replace" and self.last > now:
                        if mine:
                            events[mine[-1]] = Event(self.last, self, value, self.mode)
                        return
                    if self.policy == "update" and self.last > now:
                        if mine:
                            del events[mine[-1]]
                    else:
                        tag = max(Tag(earliest, 0), later(max(now, self.last), 0))
            if tag < FOREVER:
                self.last = tag
        self.run.add(tag, self, value)


class PhysicalAction(LogicalAction):
    def schedule(self, value: Any = None, delay: int = 0) -> Any:
        self.accept(max(Tag(self.run.now + self.min_delay + delay, 0), later(self.run.tag, 0)), value)
        return True


class VirtualClock:
    """There is no other time here. With one worker, `sleep` makes everything later."""

    def __init__(self, *, sleep: bool = False) -> None:
        self.sleep = sleep
        self.injections: list[tuple[int, PhysicalAction, Any]] = []

    def at(self, when: int, action: PhysicalAction, value: Any = None) -> None:
        self.injections.append((when, action, value))


@dataclass(frozen=True)
class Stop:
    delay: int = 0

    def after(self, delay: int) -> Stop:
        return Stop(delay)


startup, shutdown, reset, stop = Element(), Element(), Element(), Stop()


@dataclass(eq=False)
class Reaction:
    reactor: Reactor
    number: int
    triggers: list[Element]
    uses: list[Element]
    effects: list[Element]
    stops: list[Stop]
    body: Callable[[], None]
    transitions: list[Transition]
    inside: Mode | None  # as of an element
    deadline: Any  # ns; until it is known, the name of an attribute in a tuple
    late: Callable[[], None] | None
    declarer: type  # whose body or `__init__` declares it, or the reaction that it overrides
    mode: Mode | None = None


def reaction(*triggers: Any, uses: Any = (), effects: Any = (), mode: Mode | None = None) -> Callable[..., Any]:
    inside = mode or current_mode()

    def declare(body: Any) -> Any:
        def deadline(ns: int) -> Callable[..., Any]:
            def declare_late(late: Any) -> Any:
                body.late = (ns, late)
                return late

            return declare_late

        body.declared, body.late, body.deadline = (triggers, uses, effects, inside), None, deadline
        return body

    return declare


def flat(things: Any) -> list[Any]:
    """The channels and other elements in what was given: one, or any nesting of lists of them, in order."""
    if isinstance(things, list | tuple):
        return [x for thing in things for x in flat(thing)]
    return things.channels if isinstance(things, Port) else [things]


def linear(cls: type) -> list[type]:
    """A class and all its bases: deepest first, left to right, each once."""
    found: dict[type, None] = {}
    for base in cls.__bases__:
        found.update(dict.fromkeys(linear(base)))
    return [*found, cls]


class Making(type):
    """`mode=` is no argument of `__init__`."""

    def __call__(cls, *args: Any, mode: Mode | None = None, **kwargs: Any) -> Any:
        with mode or nullcontext():
            return super().__call__(*args, **kwargs)


class Reactor(metaclass=Making):
    """Every instance has elements of its own, the twins of those that its class declares."""

    bank_index = 0
    path: str
    run: Run
    inside: Mode | None  # of the reactor that contains it
    mode: Mode | None = None  # the innermost one around it
    current: Mode | None = None
    wanted: Transition | None = None
    _builtins: dict[tuple[Element, Mode | None], Element]  # startup, shutdown and reset, by the mode that asks for it
    _twins: dict[int, Any]  # id of what the class declares -> what this instance has
    _reactions: list[Reaction]
    _states: list[State]  # those that only this instance has

    def __init_subclass__(cls) -> None:
        init: Any = vars(cls).get("__init__")

        def noted(self: Reactor, *args: Any, **kwargs: Any) -> None:
            INITIALIZED.append((self, cls))
            try:
                init(self, *args, **kwargs)
            finally:
                INITIALIZED.pop()

        if init is not None:
            cls.__init__ = noted

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        self = super().__new__(cls)
        self.inside = current_mode()
        self._builtins, self._twins, self._reactions, self._states = {}, {}, [], []
        declared = [item for base in linear(cls) for item in vars(base).items()]
        for name, item in declared:
            if isinstance(item, Mode):
                mode = Mode(initial=item.initial)
                mode.owner = self
                setattr(self, name, mode)
                self._twins[id(item)] = mode
            if isinstance(item, Element):
                twin = item.twin()
                twin.inside = self._twins.get(id(item.inside))
                setattr(self, name, twin)
                self._twins.update(zip(map(id, flat(item)), flat(twin), strict=True))
        for kind, name, item in [(base, *pair) for base in linear(cls) for pair in vars(base).items()]:
            if hasattr(item, "declared"):
                if any(name == r.body.__name__ for r in self._reactions):
                    continue
                triggers, uses, effects, inside = item.declared
                overriding = inspect.getattr_static(cls, name)
                deadline, late = overriding.late or item.late or (None, None)
                if isinstance(deadline, str):
                    deadline = (deadline,)  # the name of an attribute, which __init__ is yet to set
                named = {"deadline": deadline, "late": late and getattr(self, late.__name__)}
                named["mode"] = self._twins.get(id(inside), inside)
                named["declarer"] = kind
                self.add_reaction(triggers, overriding.__get__(self), uses=uses, effects=effects, **named)
        return self

    def add_reaction(
        self,
        triggers: Any,
        body: Any,
        *,
        uses: Any = (),
        effects: Any = (),
        deadline: Any = None,
        late: Any = None,
        mode: Mode | None = None,
        declarer: type | None = None,
    ) -> None:
        inside = mode or current_mode()
        declarer = declarer or next((cls for who, cls in reversed(INITIALIZED) if who is self), type(self))
        mine = [[self._mine(x, inside) for x in flat(things)] for things in (triggers, uses, effects)]
        enters = [x.reset if isinstance(x, Mode) else x for x in mine[2] if isinstance(x, Mode | Transition)]
        stops = [x for x in mine[2] if isinstance(x, Stop)]
        does = [x for x in mine[2] if isinstance(x, Element)]
        made = Reaction(self, 0, mine[0], mine[1], does, stops, body, enters, inside, deadline, late, declarer)
        self._reactions.append(made)
        self._reactions.sort(key=lambda r: linear(type(self)).index(r.declarer))  # those of a base come first
        for number, r in enumerate(self._reactions):
            r.number = number

    def _mine(self, x: Any, inside: Mode | None) -> Any:
        """What this reactor has for something that a declaration names."""
        if x is startup or x is shutdown or x is reset:
            return self._builtins.setdefault((x, inside), Element())
        if isinstance(x, Transition):
            return Transition(self._twins.get(id(x.mode), x.mode), x.by_reset)
        return self._twins.get(id(x), x)

    def mode_of(self, inside: Mode | None) -> Mode | None:
        """The mode that something of this reactor belongs to, which was declared in that one."""
        mode = None if inside is None else self._twins.get(id(inside), inside)
        return self.mode if mode is None or mode.owner is not self else mode

    @property
    def tag(self) -> Tag:
        return self.run.tag

    @property
    def physical_time(self) -> int:
        return self.run.now

    @property
    def lag(self) -> int:
        return self.run.now - self.run.tag.time

    def check_deadline(self, *, handle: bool = False) -> bool:
        missed = self.run.missed(self.run.current)
        if missed and handle and self.run.current.late and not self.run.handled:
            self.run.handled = True
            self.run.current.late()
        return missed

    @property
    def start_time(self) -> int:
        return 0

    def update_deadline(self, deadline: int) -> None:
        self.run.current.deadline = deadline

    def request_stop(self) -> None:
        self.run.stop = min(self.run.stop, *(later(self.tag, s.delay) for s in self.run.current.stops))


class Bank(list[Any]):
    def __getattr__(self, name: str) -> list[Any]:
        return [getattr(member, name) for member in self]


def bank(n: int, cls: Any, *args: Any, mode: Mode | None = None) -> Bank:
    with mode or nullcontext():
        members = Bank(cls.__new__(cls) for _ in range(n))
        for k, member in enumerate(members):
            member.bank_index = k  # its __init__ may ask for it
            member.__init__(*args)
    return members


def alternating(ports: Any) -> list[Any]:
    """Channel 0 of all, channel 1 of all, and so on."""
    rows = [port.channels for port in ports]
    return [row[k] for k in range(max(map(len, rows), default=0)) for row in rows if k < len(row)]


def connect(
    src: Any,
    dst: Any,
    *,
    after: int | None = None,
    physical: bool = False,
    broadcast: bool = False,
    interleaved: bool = False,
    mode: Mode | None = None,
) -> None:
    sources, targets = flat(alternating(src) if interleaved else src), flat(dst)
    for source, target in zip(itertools.cycle(sources) if broadcast else sources, targets, strict=not broadcast):
        link = Link(source, target, after, physical, mode or current_mode())
        source.outgoing.append(link)
        target.incoming.append(link)


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
    for reactor in everybody:
        for name, state in vars(reactor).copy().items():
            if isinstance(state, State):
                state.name = name
                reactor._states.append(state)
                state.renew(reactor)
        for mode in modes(reactor):
            mode.owner = reactor
    enclose(main, None)
    owner = {id(port): reactor for reactor in everybody for port in elements([reactor])}
    container = {id(child): reactor for reactor in everybody for child in children(reactor)}
    for port in elements(everybody):
        for link in port.incoming if isinstance(port, Port) else []:
            around = owner[id(link.source)]
            if isinstance(link.source, Output):
                around = owner[id(port)] if isinstance(port, Output) else container[id(around)]
            if link.inside is not None and link.inside.owner is around:
                link.mode = link.inside
    before: dict[Any, list[Any]] = {}
    for reactor in everybody:
        for r in reactor._reactions:
            earlier = [
                x for x in reactor._reactions[: r.number] if reactor.mode in (x.mode, r.mode) or x.mode is r.mode
            ]
            before[r] = [*earlier, *r.triggers, *r.uses]
            for effect in r.effects:
                if isinstance(effect, Port):
                    before.setdefault(effect, []).append(r)
    ports = [x for x in elements(everybody) if isinstance(x, Port)]
    for port in ports:
        before.setdefault(port, []).extend(link.source for link in port.incoming if not link.delayed)
    order = graphlib.TopologicalSorter(before).static_order()
    reactions = [x for x in order if isinstance(x, Reaction)]
    # A circle of connections alone is refused, whatever its delays: no reaction writes into it.
    # One that belongs to a mode counts as a reaction that does.
    graphlib.TopologicalSorter({p: [link.source for link in p.incoming if link.mode is None] for p in ports}).prepare()
    return everybody, reactions


def enclose(reactor: Reactor, around: Mode | None) -> None:
    """Find the modes of a reactor, of what it has, and of what it contains."""
    reactor.mode = around
    reactor.current = next((mode for mode in modes(reactor) if mode.initial), None)
    for r in reactor._reactions:
        r.mode = reactor.mode_of(r.inside)
    for x in elements([reactor]):
        if not isinstance(x, Port):
            x.mode = reactor.mode_of(x.inside)
    for (_, inside), x in reactor._builtins.items():
        x.mode = reactor.mode_of(inside)
    for item in vars(reactor).copy().values():
        for child in item if isinstance(item, list) else [item]:
            if isinstance(child, Reactor):
                enclose(child, reactor.mode_of(child.inside))


class Event(NamedTuple):
    tag: Tag
    element: Element
    value: Any
    mode: Mode | None  # that of the timer or action, or of the connection

    def at(self, tag: Tag) -> Event:
        return self._replace(tag=tag)


def modes(reactor: Reactor) -> list[Mode]:
    known = ("inside", "mode", "current")
    return [item for name, item in vars(reactor).items() if isinstance(item, Mode) and name not in known]


def children(reactor: Reactor) -> list[Reactor]:
    items = [item if isinstance(item, list) else [item] for item in vars(reactor).copy().values()]
    return [child for item in items for child in item if isinstance(child, Reactor)]


@dataclass
class Result:
    digest: str
    tags: int
    reactions: int


class Run:
    """One run. An event is (tag, element, value); `events` holds those to come, in the order they were made in."""

    def __init__(self, main: Reactor, stop: Tag, *, keepalive: bool, clock: VirtualClock | None, most: int) -> None:
        self.reactors, self.order = elaborate(main)
        self.elements = elements(self.reactors)
        self.stop, self.keepalive, self.most = stop, keepalive, most
        self.tag, self.now = BEFORE, 0
        self.clock = clock or VirtualClock()
        expected = [injection for injection in self.clock.injections if injection[0] < FOREVER.time]
        self.outside = sorted(expected, key=lambda injection: injection[0])
        self.builtins = [(kind, x) for reactor in self.reactors for (kind, _), x in reactor._builtins.items()]
        self.events: list[Event] = []
        self.aside: list[Event] = []  # of modes that are not active; the tag is what is left of the delay
        self.enter()
        self.current: Reaction
        self.handled = False  # what is for a missed deadline has run in this execution
        self.hashes = dict.fromkeys((reactor.path for reactor in self.reactors), 0)
        self.tags = self.reactions = 0
        for reactor in self.reactors:
            reactor.run = self
        for x in self.elements:
            x.run = self

    def go(self) -> Result:
        while self.tag != self.stop:
            self.events = [event for event in self.events if event.tag < FOREVER]
            if not self.events and not self.outside and not self.keepalive and self.tag >= START:
                self.stop = min(self.stop, later(self.tag, 0))
            after = self.next_tag()
            while self.outside and self.outside[0][0] <= max(self.now, after.time):  # that long, others may come
                when, action, value = self.outside.pop(0)
                action.accept(max(Tag(when + action.min_delay, 0), later(self.tag, 0)), value)
                after = self.next_tag()
            self.tag, self.now = after, max(self.now, after.time)
            if self.tags == self.most:
                raise RecursionError(f"no end after {self.most} tags")
            self.execute()
            if self.tag != self.stop and any(reactor.wanted for reactor in self.reactors):
                self.switch()
        return Result(self.digest(), self.tags, self.reactions)

    def next_tag(self) -> Tag:
        return min([self.stop, *(event.tag for event in self.events), *([START] if self.tag < START else [])])

    def add(self, tag: Tag, element: Element, value: Any = None) -> None:
        self.events.append(Event(tag, element, value, element.mode))

    def execute(self) -> None:
        """Everything that happens at the present tag."""
        due = [event for event in self.events if event.tag == self.tag]
        self.events = [event for event in self.events if event.tag != self.tag]
        ends = [x for kind, x in self.builtins if kind is shutdown and (x.mode is None or x.mode.entered)]
        if self.tag == self.stop:
            due += [Event(self.tag, x, None, None) for x in ends]
        for event in due:
            element = event.element
            if element.is_present:  # a second event of one element moves on by a microstep
                self.events.append(event.at(later(self.tag, 0)))
            else:
                self.put(element, event.value)
            if isinstance(element, Timer) and element.period:
                self.add(later(self.tag, element.period), element)
        for reaction in self.order:
            causes = [trigger for trigger in reaction.triggers if trigger.is_present]
            if causes and (is_active(reaction.mode) or any(cause in ends for cause in causes)):
                self.current = reaction
                for x in (*reaction.triggers, *reaction.uses):
                    if isinstance(x, Port) and x.mutable:
                        x.value = copy.deepcopy(x.sent)
                self.handled = late = self.missed(reaction)
                (reaction.late if late and reaction.late else reaction.body)()
                for x in reaction.effects:
                    if isinstance(x, Port) and x.is_present:
                        self.stamp(x)
                self.note(reaction, late=late)
        for x in self.elements:  # what was set and travels with a delay; of several values the last
            for link in x.incoming if isinstance(x, Port) else []:
                if link.delayed and link.source.is_present and is_active(link.mode):
                    sent = max(self.tag, Tag(link.source.clock, 0)) if link.physical else self.tag
                    arrival = later(sent, link.after or 0)
                    if link.physical:  # nothing overtakes what was sent before
                        arrival = link.last = max(arrival, later(link.last, 0))
                    self.events.append(Event(arrival, x, link.source.sent, link.mode))
        for x in [*self.elements, *(x for _, x in self.builtins)]:
            x.value, x.sent, x.is_present = None, None, False
        self.tags += 1

    def put(self, element: Element, value: Any) -> None:
        """Make an element present, and at once all that it drives without a delay; the last value put stays."""
        element.value, element.sent, element.is_present = value, value, True
        for link in element.outgoing if isinstance(element, Port) else []:
            if not link.delayed and is_active(link.mode):
                self.put(link.target, value)

    def stamp(self, port: Port) -> None:
        port.clock = self.now
        for link in port.outgoing:
            if link.target.is_present and not link.delayed:
                self.stamp(link.target)

    def sleep(self, seconds: float) -> None:
        self.now += round(seconds * 1e9)

    def missed(self, reaction: Reaction) -> bool:
        """Whether it is too late for a reaction; a deadline of zero is always missed."""
        if isinstance(reaction.deadline, tuple):
            reaction.deadline = getattr(reaction.reactor, reaction.deadline[0])
        ns = reaction.deadline
        return ns is not None and (ns == 0 or self.now > self.tag.time + ns)

    # Modes.

    def switch(self) -> None:
        """Enter the modes that reactions have asked for, between this tag and the next."""
        for reactor in self.reactors:
            if reactor.wanted:
                reactor.current, by_reset = reactor.wanted.mode, reactor.wanted.by_reset
                reactor.wanted = None
                if by_reset:
                    self.renew(reactor.current)
        for event in self.events:
            if not is_active(event.mode):
                left = event.tag.time - self.tag.time
                rest = Tag(left, event.tag.microstep - (0 if left else self.tag.microstep))
                self.aside.append(event.at(rest))
        self.events = [event for event in self.events if is_active(event.mode)]
        for event in sorted(self.aside, key=lambda event: event.tag):
            if is_active(event.mode):
                left, microstep = event.tag
                tag = Tag(self.tag.time + left, microstep + (0 if left else self.tag.microstep))
                if isinstance(event.element, LogicalAction):
                    event.element.last = tag
                for link in event.element.incoming if isinstance(event.element, Port) else []:
                    link.last = tag
                self.events.append(event.at(tag))
        self.aside = [event for event in self.aside if not is_active(event.mode)]
        self.enter()

    def renew(self, around: Mode) -> None:
        """As if a mode, and all that lies in it, had never been entered."""
        self.aside = [event for event in self.aside if not lies_in(event.mode, around)]
        self.events = [event for event in self.events if not lies_in(event.mode, around)]
        for x in self.elements:
            if lies_in(x.mode, around) and isinstance(x, Timer):
                x.started = False
            if lies_in(x.mode, around) and isinstance(x, LogicalAction):
                x.last = None
            for link in x.incoming if isinstance(x, Port) else []:
                link.last = START if lies_in(link.mode, around) else link.last
        around.renewed = True
        for reactor in self.reactors:
            if lies_in(reactor.mode, around):
                reactor.wanted = None
                for mode in modes(reactor):
                    assert reactor.mode is not None
                    mode.renewed = mode.initial and reactor.mode.renewed
                    if mode.initial:
                        reactor.current = mode

    def enter(self) -> None:
        """What begins with the modes that are active now; at first, with the program."""
        for x in self.elements:
            if isinstance(x, Timer) and not x.started and is_active(x.mode):
                x.started = True
                self.add(Tag(x.offset, 0) if self.tag < START else later(self.tag, x.offset), x)
        for kind, x in self.builtins:
            if kind is startup and self.tag < START and is_active(x.mode):
                self.add(START, x)
            if self.tag < START or x.mode is None or not x.mode.active:
                continue
            if (kind is startup and not x.mode.entered) or (kind is reset and x.mode.renewed):
                self.add(later(self.tag, 0), x)
        for reactor in self.reactors:
            everything = [inspect.getattr_static(type(reactor), name) for name in dir(type(reactor))]
            for state in [*everything, *reactor._states]:
                if isinstance(state, State):
                    mode = reactor.mode_of(state.inside)
                    if mode is not None and mode.active and mode.renewed:
                        state.renew(reactor)
        for mode in (mode for reactor in self.reactors for mode in modes(reactor)):
            if mode.active:
                mode.entered, mode.renewed = True, False

    # The digest: a hash chain for every reactor over what its reactions saw and set.

    def note(self, reaction: Reaction, *, late: bool) -> None:
        ports = (effect for effect in reaction.effects if isinstance(effect, Port))
        seen = 0
        for k, element in enumerate([*reaction.triggers, *reaction.uses, *ports]):
            if element.is_present:
                seen = seen * 0x100000001B3 + k + 1
        event = mix(mix(0, self.tag.time), self.tag.microstep) + (reaction.number + 1) * 0x9E3779B97F4A7C15 + seen
        event += 0xD6E8FEB86659FD93 if late else 0
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


def run(
    main: Reactor,
    *,
    timeout: int | None = None,
    keepalive: bool = False,
    clock: VirtualClock | None = None,
    most: int = 10_000,
) -> Result:
    """Run to the end, which has to come within so many tags."""
    run = Run(main, FOREVER if timeout is None else Tag(timeout, 0), keepalive=keepalive, clock=clock, most=most)
    with patch("time.sleep", run.sleep) if run.clock.sleep else nullcontext():
        return run.go()
