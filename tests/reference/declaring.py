"""What a program is made of: what stands in for `rx`, in obvious Python, and checks nothing.

Declaring only writes down. What it means that an output is set, or an action scheduled, is asked of the run
(meaning.py), and of modes (modes.py).
"""

from __future__ import annotations

import copy
import inspect
import itertools
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .meaning import Run


class Tag(NamedTuple):
    time: int
    microstep: int


START, BEFORE = Tag(0, 0), Tag(-1, 0)
FOREVER = Tag((1 << 63) - 1, 0)  # never


def later(tag: Tag, delay: int) -> Tag:
    """A delay of zero is the next microstep; any other counts from the time, and drops the microstep."""
    return Tag(tag.time + delay, 0) if delay else Tag(tag.time, tag.microstep + 1)


class Element:
    """What can be present at a tag: a channel of a port, a timer, an action, the startup and shutdown of a reactor."""

    run: Run
    twin: Callable[[], Any]  # makes another like this
    incoming: list[Link]  # of a port
    outgoing: list[Link]

    value: Any = None
    sent: Any = None  # the same, but for a mutable input, of whose value each reaction gets a copy
    is_present = False

    inside: Mode | None = None  # the mode of its own reactor that it was declared in
    mode: Mode | None = None  # the mode that it belongs to, once the program is elaborated

    def __new__(cls, *args: Any, **named: Any) -> Any:
        self = super().__new__(cls)
        self.twin = lambda: cls(*args, **named)
        self.incoming, self.outgoing = [], []
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
        self.owner.run.modes.ask_for(self)

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
        self.run.schedule(self, value, delay)


class PhysicalAction(LogicalAction):
    def schedule(self, value: Any = None, delay: int = 0) -> Any:
        self.run.arrive(self, self.run.now + delay, value)
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
        return self.run.check_deadline(handle=handle)

    @property
    def start_time(self) -> int:
        return 0

    def update_deadline(self, deadline: int) -> None:
        self.run.current.deadline = deadline

    def request_stop(self) -> None:
        self.run.request_stop()


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


# What a program has.


def reactors(reactor: Reactor, path: str = "main") -> Iterator[Reactor]:
    """This reactor and all that it contains, in the order of assignment, each named by its path."""
    reactor.path = path
    yield reactor
    for name, item in vars(reactor).copy().items():
        for k, child in enumerate(item if isinstance(item, list) else [item]):
            if isinstance(child, Reactor):
                yield from reactors(child, f"{path}.{name}[{k}]" if isinstance(item, list) else f"{path}.{name}")


def elements(owners: list[Reactor]) -> list[Element]:
    return [x for owner in owners for item in vars(owner).values() if isinstance(item, Element) for x in flat(item)]


def modes_of(reactor: Reactor) -> list[Mode]:
    known = ("inside", "mode", "current")
    return [item for name, item in vars(reactor).items() if isinstance(item, Mode) and name not in known]


def children(reactor: Reactor) -> list[Reactor]:
    items = [item if isinstance(item, list) else [item] for item in vars(reactor).copy().values()]
    return [child for item in items for child in item if isinstance(child, Reactor)]
