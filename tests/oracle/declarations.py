"""How is a program written down before it has a text?

As a small tree of declarations: classes with ports, timers, actions, contained reactors, wires and reactions. `str` of
any of them is what a user would write, and the text of a program is what runs: with the reference as `rx`, or with the
real thing. It is also what a failing test prints.
"""

from __future__ import annotations

import linecache
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests import reference
from tests.oracle import traced

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True)
class Values:
    """What a port carries: how that is declared, and how the dice make one."""

    declared: str
    made: str

    @property
    def typed(self) -> bool:
        return "dtype" in self.declared

    @property
    def arrays(self) -> bool:
        return "array" in self.made


INTEGERS = Values("int", "dice.number()")
OBJECTS = Values("", "dice.thing()")
LOOSE_ARRAYS = Values("", 'dice.array((2,), "i4")')
VECTORS = Values('shape=(3,), dtype="f4"', 'dice.array((3,), "f4")')
MATRICES = Values('shape=(2, 100), dtype="i8"', 'dice.array((2, 100), "i8")')
SCALARS = Values('dtype="f8"', "dice.fraction()")
STRINGS = Values("str", "dice.word()")
FLOATS = Values("float", "dice.fraction()")
VALUES = [INTEGERS, VECTORS, OBJECTS, MATRICES, SCALARS, STRINGS, LOOSE_ARRAYS, FLOATS]


@dataclass(eq=False)
class Port:
    name: str
    direction: str
    values: Values
    width: int | None
    mutable: bool = False

    def __str__(self) -> str:
        width = "" if self.width is None else f"width={self.width}"
        mutable = "mutable=True" if self.mutable else ""
        return f"rx.{self.direction}({', '.join(filter(None, [self.values.declared, width, mutable]))})"


@dataclass(eq=False)
class Mode:
    name: str
    initial: bool

    def __str__(self) -> str:
        return f"rx.Mode(initial={self.initial})"


@dataclass(eq=False)
class Transition:
    mode: Mode
    how: str  # reset or history

    def __str__(self) -> str:
        return f"self.{self.mode.name}.{self.how}"


@dataclass(eq=False)
class Timer:
    name: str
    offset: int
    period: int | None
    mode: Mode | None = None

    def __str__(self) -> str:
        return f"rx.Timer({self.offset}, {self.period}{inside(self.mode)})"


@dataclass(eq=False)
class Action:
    name: str
    min_delay: int
    min_spacing: int | None = None
    policy: str = "defer"
    mode: Mode | None = None
    moments: list[int] | None = None  # of a physical action: when it is scheduled from outside, in every instance

    def __str__(self) -> str:
        spacing = "" if self.min_spacing is None else f', min_spacing={self.min_spacing}, policy="{self.policy}"'
        kind = "LogicalAction" if self.moments is None else "PhysicalAction"
        return f"rx.{kind}(min_delay={self.min_delay}{spacing}{inside(self.mode)})"


@dataclass(eq=False)
class State:
    name: str
    own: bool  # of each instance, not of the class
    mode: Mode | None = None

    def __str__(self) -> str:
        return f"rx.State(0{inside(self.mode)})"


@dataclass(eq=False)
class Child:
    name: str
    cls: Class
    count: int | None
    mode: Mode | None = None

    def __str__(self) -> str:
        return f"{self.cls.name}()" if self.count is None else f"rx.bank({self.count}, {self.cls.name})"


@dataclass(eq=False)
class Ref:
    """A port of a reactor, or of one it contains; of a whole bank if `child` is one and `member` is None."""

    port: Port
    child: Child | None = None
    member: int | None = None
    channel: int | None = None

    def __str__(self) -> str:
        child = (
            "" if self.child is None else f".{self.child.name}" + ("" if self.member is None else f"[{self.member}]")
        )
        return f"self{child}.{self.port.name}" + ("" if self.channel is None else f"[{self.channel}]")

    @property
    def name(self) -> str:
        return str(self).removeprefix("self.") + ("[]" if self.many else "")

    @property
    def many(self) -> bool:
        return self.port.width is not None and self.channel is None

    @property
    def several(self) -> bool:
        """Whether it is of all members of a bank."""
        return self.child is not None and self.child.count is not None and self.member is None

    @property
    def width(self) -> int:
        members = ((self.child and self.child.count) or 1) if self.several else 1
        return members * (1 if self.channel is not None else self.port.width or 1)


@dataclass(eq=False)
class Wire:
    sources: list[Ref]
    target: Ref
    after: int | None
    spare: int  # the delay it gets if it would close a cycle
    broadcast: bool
    interleaved: bool = False
    physical: bool = False
    mode: Mode | None = None

    def __str__(self) -> str:
        sources = str(self.sources[0]) if len(self.sources) == 1 else f"[{', '.join(map(str, self.sources))}]"
        after = "" if self.after is None else f", after={self.after}"
        broadcast = ", broadcast=True" if self.broadcast else ""
        interleaved = ", interleaved=True" if self.interleaved else ""
        physical = ", physical=True" if self.physical else ""
        return f"rx.connect({sources}, {self.target}{after}{broadcast}{interleaved}{physical}{inside(self.mode)})"


Read = Ref | Timer | Action | str  # a str is rx.startup or rx.shutdown


def spelled(x: Read) -> str:
    """As it is written in a method."""
    return str(x) if isinstance(x, Ref | str) else f"self.{x.name}"


@dataclass(eq=False)
class Reaction:
    triggers: list[Read]
    uses: list[Read]
    effects: list[Ref | Action]
    peeks: list[Ref]  # effects at which it looks before it does anything
    stop: int | None
    body: list[list[str]]  # statements, of one or more lines
    mode: Mode | None = None
    transitions: list[Transition] = field(default_factory=list)
    deadline: int | None = None
    inherited: bool = False  # its class extends another, which declares it
    overrides: bool = False  # and declares it again

    @property
    def by_call(self) -> bool:
        """Ports of contained reactors and single channels exist once there is an instance."""
        ports = [x for x in [*self.triggers, *self.uses, *self.effects] if isinstance(x, Ref)]
        return any(port.child is not None or port.channel is not None for port in ports)

    def arguments(self, prefix: str) -> tuple[str, str, str]:
        """Triggers, uses and effects as they are written in the class (no prefix) or in __init__ ("self.")."""

        def written(things: Sequence[Read]) -> list[str]:
            return [
                x if isinstance(x, str) else prefix + (str(x)[5:] if isinstance(x, Ref) else x.name) for x in things
            ]

        stop = [] if self.stop is None else ["rx.stop" if self.stop == 0 else f"rx.stop.after({self.stop})"]
        enters = [prefix + str(x)[5:] for x in self.transitions]
        uses, effects = written(self.uses), written(self.effects) + enters + stop
        mode = "" if self.mode is None else f", mode={prefix}{self.mode.name}"
        return ", ".join(written(self.triggers)), group("uses", uses), group("effects", effects) + mode

    def method(self, number: int, states: Sequence[State] = ()) -> list[str]:
        everything: list[Read] = [*self.triggers, *self.uses, *self.peeks]
        reads = [x for x in everything if not isinstance(x, str)]
        seen = ", ".join(f'"{x.name}": {spelled(x)}' for x in reads)
        blocks = [x for x in reads if isinstance(x, Ref) and x.many and x.port.values.typed and x not in self.peeks]
        return [
            f"def r{number}(self) -> None:",
            f"    dice = saw(self, {number}, {{{seen}}}, SALT)",
            *(f'    counted(self, "{x.name}")' for x in states),
            *(f"    stacked({x})" for x in blocks),
            *(f"    scribble({x})" for x in reads if isinstance(x, Ref) and x.port.mutable and x not in self.peeks),
            *(f"    {line}" for statement in self.body for line in statement),
            *(line for x in self.transitions for line in ("    if dice(40):", f"        self.{x.mode.name}.set()")),
        ]

    def late(self, number: int) -> list[str]:
        """What runs when the deadline is missed: it only looks."""
        reads = [x for x in [*self.triggers, *self.uses] if not isinstance(x, str)]
        seen = ", ".join(f'"{x.name}": {spelled(x)}' for x in reads)
        return [f"def l{number}(self) -> None:", f"    saw(self, {number + 100}, {{{seen}}}, SALT)"]


def inside(mode: Mode | None) -> str:
    """As an argument, which the class rewrites where it stands in __init__."""
    return "" if mode is None else f", mode=<{mode.name}>"


def group(word: str, things: list[str]) -> str:
    return "" if not things else f", {word}={things[0]}" if len(things) == 1 else f", {word}=({', '.join(things)})"


@dataclass(eq=False)
class Class:
    name: str
    modes: list[Mode] = field(default_factory=list)
    ports: list[Port] = field(default_factory=list)
    timers: list[Timer] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    children: list[Child] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)
    reactions: list[Reaction] = field(default_factory=list)
    in_init: bool = False  # declares everything in __init__

    @property
    def reactors(self) -> int:
        return 1 + sum((child.count or 1) * child.cls.reactors for child in self.children)

    @property
    def base(self) -> str:
        """The name of its base class: it has one if that declares some of its reactions."""
        extends = not self.in_init and any(reaction.inherited for reaction in self.reactions)
        return f"{self.name}_" if extends else ""

    def __str__(self) -> str:
        parts = [self.text("", "rx.Reactor", self.reactions)]
        if self.base:
            first = [reaction for reaction in self.reactions if reaction.inherited]
            rest = [reaction for reaction in self.reactions if not reaction.inherited or reaction.overrides]
            parts = [self.text("", "rx.Reactor", first), self.text(f"{self.base}.", self.base, rest)]
        return "\n\n\n".join(parts)

    def text(self, prefix: str, base: str, reactions: list[Reaction]) -> str:
        """A class with these reactions, which calls what `prefix` leads to, or has all of it itself."""
        elements = [f"{x.name} = {x}" for x in [*self.modes, *self.ports, *self.timers, *self.actions]]
        states = [f"{x.name} = {x}" for x in self.states if not x.own]
        body = [] if self.in_init or prefix else [*elements, *states]
        init = [f"self.{line}" for line in (*elements, *states)] if self.in_init else []
        if prefix:
            init = ["super().__init__()"]
        else:
            init += [f"self.{x.name} = {x}" for x in self.states if x.own]
            for child in self.children:
                made = f"self.{child.name} = {child}"
                init += [made] if child.mode is None else [f"with self.{child.mode.name}:", f"    {made}"]
            init += map(str, self.wires)
        methods: list[str] = []
        for number, reaction in enumerate(self.reactions):
            if reaction not in reactions:
                continue
            stub = reaction.overrides and reaction.inherited and bool(self.base) and not prefix
            by_call = self.in_init or reaction.by_call
            triggers, uses, effects = reaction.arguments("self." if by_call else prefix)
            late = reaction.deadline is not None and not (prefix and reaction.inherited)  # it has that of its base
            if not by_call:
                methods += ["", f"@rx.reaction({triggers}{uses}{effects})"]
            elif not (prefix and reaction.inherited):  # the base calls what overrides its method
                deadline = f", deadline={reaction.deadline}, late=self.l{number}" if late else ""
                init.append(f"self.add_reaction(({triggers},), self.r{number}{uses}{effects}{deadline})")
            methods += [""][:by_call]
            methods += (
                [f"def r{number}(self) -> None:", "    raise AssertionError"]
                if stub
                else [*reaction.method(number, self.states)]
            )
            if late:
                methods += [
                    "",
                    *([] if by_call else [f"@r{number}.deadline({reaction.deadline})"]),
                    *reaction.late(number),
                ]
        init = [re.sub("<(m[0-9]+)>", r"self.\1", line) for line in init]
        body = [re.sub("<(m[0-9]+)>", r"\1", line) for line in body]
        if init:
            body += ["", "def __init__(self) -> None:", *(f"    {line}" for line in init)]
        lines = [*body, *methods] or ["pass"]
        lines = lines[lines[0] == "" :]
        name = self.name if prefix or not self.base else self.base
        return "\n".join([f"class {name}({base}):", *(f"    {line}".rstrip() for line in lines)])


def instances(reactor: Any, cls: Class) -> Iterator[tuple[Any, Class]]:
    """A reactor of this class and all that it contains."""
    yield reactor, cls
    for child in cls.children:
        inside = getattr(reactor, child.name)
        for each in [inside] if child.count is None else inside:
            yield from instances(each, child.cls)


@dataclass(repr=False)
class Program:
    """Classes of which the last is the whole, and how the run ends."""

    classes: list[Class]
    salt: int
    timeout: int | None
    keepalive: bool

    def __repr__(self) -> str:
        return f"{self}\n# rx.run(Main(), timeout={self.timeout}, keepalive={self.keepalive})\n"

    def __str__(self) -> str:
        """The program as a user would write it; runs as it stands."""
        used = [self.classes[-1]]
        for cls in used:
            used += [child.cls for child in cls.children if child.cls not in used]
        classes = [str(cls) for cls in self.classes if cls in used]
        return "\n\n\n".join([f"SALT = {self.salt}", *classes]) + "\n"

    def main(self, rx: Any) -> Any:
        """A new instance of the whole, made of the reactors of `rx`."""
        text = str(self)
        linecache.cache["<program>"] = (len(text), None, text.splitlines(keepends=True), "<program>")
        names = {"rx": rx, "saw": traced.saw, "stacked": traced.stacked, "scribble": traced.scribble, "time": time}
        names["counted"] = traced.counted
        names["__name__"] = "__main__"
        exec(compile(text, "<program>", "exec"), names)
        return names[self.classes[-1].name]()

    @property
    def physical(self) -> bool:
        """Whether the clock matters to it."""
        wires, actions = [w for c in self.classes for w in c.wires], [a for c in self.classes for a in c.actions]
        deadlines = [r.deadline for c in self.classes for r in c.reactions if r.deadline is not None]
        timely = any(w.physical for w in wires) or any(a.moments is not None for a in actions)
        return bool(deadlines) or timely or self.sleeps

    @property
    def sleeps(self) -> bool:
        """Whether the clocks of its workers differ, and the order of the reactions of a tag shows."""
        return "time.sleep(" in str(self)

    def clock(self, rx: Any, main: Any) -> Any:
        """A virtual clock with what comes from outside into `main`, which was made of the reactors of `rx`."""
        clock = rx.VirtualClock(sleep=self.sleeps)
        for owner, cls in instances(main, self.classes[-1]):
            for action in cls.actions:
                for k, moment in enumerate(action.moments or []):
                    clock.at(moment, getattr(owner, action.name), k)
        return clock

    @property
    def cyclic(self) -> bool:
        try:
            reference.elaborate(self.main(reference))
        except reference.CycleError:
            return True
        return False

    def untangle(self) -> None:
        """Give wires that close a cycle without a delay their spare delay; drop what closes one all the same."""
        wires: list[tuple[list[Any], Any]] = [(cls.wires, wire) for cls in self.classes for wire in cls.wires]
        reactions = [(cls.reactions, r) for cls in self.classes for r in cls.reactions if r.by_call]
        for things, thing in wires + reactions:
            things.remove(thing)
        self.add(wires + reactions)

    def add(self, some: list[tuple[list[Any], Any]]) -> None:
        """Put back what closes no cycle, half by half: most of it closes none."""
        for things, thing in some:
            things.append(thing)
        if not self.cyclic:
            return
        if len(some) == 1:
            things, thing = some[0]
            if isinstance(thing, Wire) and thing.after is None:
                thing.after = thing.spare
                if not self.cyclic:
                    return
            things.remove(thing)
            return
        for things, thing in some:
            things.remove(thing)
        self.add(some[: len(some) // 2])
        self.add(some[len(some) // 2 :])
