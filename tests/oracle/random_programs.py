"""Which programs are tried? Random ones, with a bit of everything and delays where a cycle would have none.

Every decision is a number that something chooses: a seeded generator, which tries widely and fails reproducibly, or
Hypothesis, which looks into the corners and shrinks what it finds.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, TypeVar

from hypothesis import strategies as st

from tests.oracle.declarations import (
    INTEGERS,
    OBJECTS,
    VALUES,
    Action,
    Child,
    Class,
    Mode,
    Port,
    Program,
    Reaction,
    Read,
    Ref,
    State,
    Timer,
    Transition,
    Values,
    Wire,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")


class Choice:
    """The decisions of one program; `number` makes them all, and makes 0 where nothing speaks for more."""

    def __init__(self, number: Callable[[int, int], int]) -> None:
        self.number = number

    def one(self, things: Sequence[T]) -> T:
        return things[self.number(0, len(things) - 1)]

    def yes(self, percent: int) -> bool:
        return self.number(0, 99) >= 100 - percent

    def some(self, things: Sequence[T], low: int, high: int) -> list[T]:
        """Between `low` and `high` of the things, in any order, none twice."""
        left = list(things)
        count = self.number(min(low, len(left)), min(high, len(left)))
        return [left.pop(self.number(0, len(left) - 1)) for _ in range(count)]


def make_class(
    choose: Choice,
    name: str,
    known: list[Class],
    kinds: list[Values],
    *,
    main: bool,
    periodic: bool,
    physical: bool,
    sleeps: bool,
) -> Class:
    """One class, which may contain those that are known."""
    cls = Class(name, in_init=choose.yes(20))
    modal = choose.one([0, 0, 0, 2, 2, 3] if physical else [0, 0, 0, 0, 2, 3]) if not choose.yes(50) else 0
    cls.modes = [Mode(f"m{k}", k == 0) for k in range(modal)]
    for direction, most in (("Input", 2), ("Output", 3)):
        cls.ports.extend(
            Port(
                f"{direction[0].lower()}{k}",
                direction,
                choose.one(kinds),
                choose.one([None, None, 2, 3]),
                direction == "Input" and choose.yes(15),
            )
            for k in range(0 if main else choose.one([most // 3, 1, 2, 2, most]))
        )
    for k in range(choose.one([0, 1, 1, 2])):
        period = choose.one([None, 3, 1, 2, 7]) if periodic else None
        cls.timers.append(Timer(f"t{k}", choose.one([0, 0, 1, 2, 5]), period, some_mode(choose, cls)))
    for k in range(choose.one([1, 1, 2] if physical and modal else [0, 1, 1, 2])):
        spacing = choose.one([0, 1, 2, 4]) if choose.yes(30) else None
        policy = "defer" if spacing is None else choose.one(["defer", "drop", "replace", "update"])
        moments = (
            choose.some([0, 1, 3, 3, 4, 5, 8, 12], 0, 4)
            if physical and choose.yes(50 if not cls.modes else 80)
            else None
        )
        cls.actions.append(Action(f"a{k}", choose.one([0, 0, 1, 3]), spacing, policy, some_mode(choose, cls), moments))
    for k in range(choose.one([0, 0, 1, 2]) if cls.modes or choose.yes(20) else 0):
        cls.states.append(State(f"s{k}", choose.yes(50), some_mode(choose, cls)))
    for k in range(choose.one([1, 2, 3, 3, 4, 5] if main else [0, 0, 1, 2, 2]) if known else 0):
        child = Child(f"c{k}", choose.one(known[::-1]), choose.one([None, None, 2, 3, 4]), some_mode(choose, cls))
        if cls.reactors + (child.count or 1) * child.cls.reactors <= (24 if main else 8):
            cls.children.append(child)
    make_wires(choose, cls, physical=50 if sleeps else 25 if physical else 0)
    for _ in range(choose.one([0, 1, 2, 3] if cls.children else [1, 2, 2, 3, 3, 4])):
        reaction = make_reaction(choose, cls)
        reaction.deadline = choose.one([0, 2]) if physical and choose.yes(20) else None
        if sleeps and choose.yes(40):
            nap = [f"if dice({choose.one([100, 40])}):", f"    time.sleep({choose.one([1, 2, 7])}e-9)"]
            reaction.body.insert(choose.number(0, len(reaction.body)), nap)
        if reaction.triggers:
            cls.reactions.append(reaction)
    if choose.yes(30):
        for reaction in cls.reactions:
            reaction.inherited = choose.yes(60)
            reaction.overrides = reaction.inherited and choose.yes(50)
    return cls


def some_mode(choose: Choice, cls: Class) -> Mode | None:
    return choose.one(cls.modes) if cls.modes and choose.yes(50) else None


def of(cls: Class, inward: str, outward: str) -> list[Ref]:
    """The ports of this direction of a class, and of that direction of what it contains, banks as wholes."""
    own = [Ref(port) for port in cls.ports if port.direction == inward]
    return own + [Ref(port, child) for child in cls.children for port in child.cls.ports if port.direction == outward]


def singled(choose: Choice, ref: Ref) -> Ref:
    """One member of a bank, and perhaps one channel of a multiport."""
    member = None if ref.child is None or ref.child.count is None else choose.number(0, ref.child.count - 1)
    channel = choose.number(0, ref.port.width - 1) if ref.port.width and choose.yes(20) else None
    return Ref(ref.port, ref.child, member, channel)


def make_wires(choose: Choice, cls: Class, *, physical: int) -> None:
    """Connect most of what can be connected; a wire's sides have the same width, or the source is broadcast."""
    sources = of(cls, "Input", "Output")
    for target in of(cls, "Output", "Input"):
        fit = [source for source in sources if source.port.values == target.port.values]
        # An own output is left to the reactions more often: there it carries something of this reactor.
        if not fit or not choose.yes(85 if target.child else 40 if cls.children else 10):
            continue
        after = choose.one([None, None, None, 0, 1, 4])
        spare = choose.one([0, 0, 1, 3])
        targets = [target]
        if (
            target.width > 1
            and choose.yes(15)
            and target.port.width
            and (target.child is None or target.child.count is None)
        ):
            targets = [Ref(target.port, target.child, None, k) for k in range(target.port.width) if choose.yes(80)]
        for part in targets:
            wire = Wire([], part, after, spare, broadcast=False)
            while (have := sum(source.width for source in wire.sources)) < part.width:
                source = choose.one(fit)
                if have + source.width > part.width:
                    source = singled(choose, source)
                if have + source.width > part.width:
                    source.channel = 0
                wire.sources.append(source)
                have += source.width
                if have < part.width and part.width % have == 0 and choose.yes(60):
                    wire.broadcast = True
                    break
            first = wire.sources[0]
            wire.mode = some_mode(choose, cls)
            wire.physical = choose.yes(physical)
            wire.interleaved = len(wire.sources) == 1 and first.many and first.several and choose.yes(40)
            cls.wires.append(wire)


def make_reaction(choose: Choice, cls: Class) -> Reaction:
    """One reaction on what its class has, with a body that perhaps does something to each of its effects."""
    inner = [singled(choose, ref) for ref in of(cls, "Input", "Output")]
    reads: list[Read] = [*inner, *cls.timers, *cls.actions]
    mode = some_mode(choose, cls)
    builtins = ["rx.startup", "rx.startup", "rx.shutdown"] + ["rx.reset"] * (3 if mode else 0)
    triggers = choose.some([*reads, choose.one(builtins)], 1, 3)
    uses = choose.some([x for x in reads if x not in triggers], 0, 2) if choose.yes(40) else []
    wired = [(wire.target.port, wire.target.child) for wire in cls.wires]
    free = [ref for ref in of(cls, "Output", "Input") if (ref.port, ref.child) not in wired]
    effects: list[Ref | Action] = choose.some([*(singled(choose, ref) for ref in free), *cls.actions], 0, 4)
    peeks = [x for x in effects if isinstance(x, Ref) and choose.yes(20)]
    enters = choose.some(cls.modes, 0, 2) if choose.yes(60) else []
    if enters:  # what is scheduled with a transition is worth more than chance would give it
        physical = [x for x in cls.actions if x.moments is not None and x not in effects]
        effects += choose.some(physical, 0, len(physical))
    stop = choose.one([0, 2, 5]) if choose.yes(8) else None
    body = [make_effect(choose, effect) for effect in effects for _ in range(choose.one([1, 1, 1, 2]))]
    if stop is not None:
        body.append([f"if dice({choose.one([100, 10, 30])}):", "    self.request_stop()"])
    transitions = [Transition(each, choose.one(["reset", "history"])) for each in enters]
    return Reaction(triggers, uses, effects, peeks, stop, body, mode, transitions)


def make_effect(choose: Choice, effect: Ref | Action) -> list[str]:
    """The lines that set a port or schedule an action, if the dice say so."""
    often = choose.one([100, 60, 30])
    if isinstance(effect, Action):
        value = choose.one(["", f"{choose.one(VALUES).made}, ", "dice.thing(), "])
        return [f"if dice({often}):", f"    self.{effect.name}.schedule({value}delay={choose.one([0, 1, 2, 5])})"]
    if effect.many:
        each = [
            f"for channel in {effect}:",
            *(f"    {x}" for x in make_set(choose, "channel", effect.port.values, often)),
        ]
        return choose.one([each, each, make_whole(choose, effect, often)])
    return make_set(choose, str(effect), effect.port.values, often)


def make_whole(choose: Choice, effect: Ref, often: int) -> list[str]:
    """The lines that set all channels of a multiport at once."""
    values, port = effect.port.values, str(effect)
    ways = [[f"{port}.set([{values.made} for _ in {port}])"]]
    if values.typed:
        ways.append([f"block = {port}.loan()", f"block[...] = [{values.made} for _ in {port}]", f"{port}.set(block)"])
    return [f"if dice({often}):", *(f"    {line}" for line in choose.one(ways))]


def make_set(choose: Choice, port: str, values: Values, often: int) -> list[str]:
    ways = [[f"{port}.set({values.made})"]]
    if values.arrays:
        ways.append([f"block = {values.made}", f"{port}.set(block)", "block[...] = 100"])
    if values.typed:
        ways.append([f"slot = {port}.loan()", f"slot[...] = {values.made}", f"{port}.set(slot)"])
    return [f"if dice({often}):", *(f"    {line}" for line in choose.one(ways))]


def make_conversation(choose: Choice, main: Class, values: Values) -> list[Class]:
    """Two classes in `main`: one asks, and what the other answers comes at once and, once more, with a delay.

    So one value reaches one worker twice, and in between who reads it has its writer write again.
    """
    asked, answer = Port("i0", "Input", INTEGERS, None), Port("o0", "Output", values, None)
    ask = Port("o0", "Output", INTEGERS, None)
    now, later = Port("i0", "Input", values, None), Port("i1", "Input", values, None)
    tick = Timer("t0", 0, None)
    answers, asks = Class("Answers", ports=[asked, answer]), Class("Asks", ports=[ask, now, later], timers=[tick])
    reply, question = Ref(answer), Ref(ask)
    answers.reactions.append(Reaction([Ref(asked)], [], [reply], [], None, [make_set(choose, str(reply), values, 100)]))
    again = make_set(choose, str(question), INTEGERS, choose.one([90, 60]))
    asks.reactions += [
        Reaction([tick, Ref(later)], [], [question], [], None, [again]),
        Reaction([Ref(now)], [], [], [], None, []),
    ]
    answering, asking = Child("answers", answers, None), Child("asks", asks, None)
    main.children += [answering, asking]
    main.wires += [
        Wire([Ref(ask, asking)], Ref(asked, answering), None, 0, broadcast=False),
        Wire([Ref(answer, answering)], Ref(now, asking), None, 0, broadcast=False),
        Wire([Ref(answer, answering)], Ref(later, asking), choose.one([1, 0, 4]), 0, broadcast=False),
    ]
    return [answers, asks]


def put_off(choose: Choice, classes: Sequence[Class]) -> None:
    """Let some of what lies in modes be due beyond any end: before that, the mode may take it back."""
    for cls in classes:
        for timer in cls.timers:
            if timer.mode is not None and choose.yes(20):
                timer.offset = 50
        for action in cls.actions:
            if action.mode is not None and choose.yes(20):
                action.min_delay = 50


def make_program(number: Callable[[int, int], int], *, tangled: bool = False) -> Program:
    """Two to five classes and how the run ends; with zero-delay cycles only if `tangled`."""
    choose = Choice(number)
    ending = choose.one(["timeout", "starvation", "stop"])
    timeout = choose.one([8, 0, 1, 3, 15, 30]) if ending == "timeout" or choose.yes(20) else None
    kinds = choose.some(VALUES, 1, 2)
    physical = choose.yes(35)
    sleeps = physical and choose.yes(40)
    periodic = ending != "starvation"
    classes: list[Class] = []
    for k in range(choose.one([1, 2, 3, 3, 4])):
        cls = make_class(
            choose, f"C{k}", classes, kinds, main=False, periodic=periodic, physical=physical, sleeps=sleeps
        )
        classes.append(cls)
    main = make_class(choose, "Main", classes, kinds, main=True, periodic=periodic, physical=physical, sleeps=sleeps)
    if ending == "stop":
        main.timers.append(Timer("end", choose.one([5, 0, 12, 25]), None))
        end = Reaction([main.timers[-1]], [], [], [], choose.one([0, 1, 7]), [["self.request_stop()"]])
        main.reactions.append(end)
    salt, keepalive = choose.number(0, 2**16), timeout is not None and choose.yes(30)
    if choose.yes(15):
        classes += make_conversation(choose, main, choose.one([OBJECTS, *VALUES]))
    put_off(choose, [*classes, main])
    program = Program([*classes, main], salt, timeout, keepalive)
    if not tangled and program.cyclic:
        program.untangle()
    return program


def random_program(seed: int) -> Program:
    return make_program(random.Random(seed).randint)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    return make_program(lambda low, high: draw(st.integers(low, high)))
