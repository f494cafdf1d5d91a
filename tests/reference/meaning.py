"""What a program means. Read this instead of a specification; docs/model.md says the same in prose.

The semantics are those of Lingua Franca (https://www.lf-lang.org/docs, and Lohstroh et al., "Toward a Lingua Franca for
Deterministic Concurrent Systems", 2021). Time is logical: a tag is (time, microstep), and `later` is the rule of
delays. A run goes from tag to tag, and `Run.step` is all that happens at one of them. Values are attributes of
elements, which are ports, timers and actions.

Modes are left out here as far as that goes: without them every `is_active` is true, and `Modes` does nothing.
"""

from __future__ import annotations

import copy
import graphlib
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

from .declaring import (
    BEFORE,
    FOREVER,
    START,
    LogicalAction,
    Port,
    Reaction,
    Tag,
    Timer,
    VirtualClock,
    elements,
    later,
    reactors,
    shutdown,
    startup,
)
from .digest import Digest
from .modes import Modes, is_active, place

if TYPE_CHECKING:
    from .declaring import Element, Mode, PhysicalAction, Reactor

CycleError = graphlib.CycleError


def run(
    main: Reactor,
    *,
    timeout: int | None = None,
    keepalive: bool = False,
    clock: VirtualClock | None = None,
    most: int = 10_000,
) -> Result:
    """Run a program to its stop tag, which has to come within so many tags."""
    run = Run(main, FOREVER if timeout is None else Tag(timeout, 0), keepalive=keepalive, clock=clock or VirtualClock())
    with patch("time.sleep", run.sleep) if run.clock.sleep else nullcontext():
        while run.tag != run.stop:
            if run.tags == most:
                raise RecursionError(f"no end after {most} tags")
            run.step()
    return Result(run.digest.text(), run.tags, run.digest.reactions)


@dataclass
class Result:
    digest: str
    tags: int
    reactions: int


class Event(NamedTuple):
    tag: Tag
    element: Element
    value: Any
    mode: Mode | None  # that of the timer or action, or of the connection

    def at(self, tag: Tag) -> Event:
        return self._replace(tag=tag)


class Run:
    """The state of a run: the present tag, the stop tag, and the events to come, in the order they were made in."""

    current: Reaction  # that runs
    handled: bool  # what is for a missed deadline has run in this execution

    def __init__(self, main: Reactor, stop: Tag, *, keepalive: bool, clock: VirtualClock) -> None:
        self.reactors, self.order = elaborate(main)
        self.elements = elements(self.reactors)
        self.builtins = [(kind, x) for reactor in self.reactors for (kind, _), x in reactor._builtins.items()]
        for each in (*self.reactors, *self.elements):
            each.run = self
        self.tag, self.stop, self.keepalive = BEFORE, stop, keepalive
        self.now, self.clock = 0, clock  # physical time
        expected = [injection for injection in clock.injections if injection[0] < FOREVER.time]
        self.outside = sorted(expected, key=lambda injection: injection[0])
        self.events: list[Event] = []
        self.ends: list[Element] = []  # those that are shut down, should this be the stop tag
        self.modes, self.digest, self.tags = Modes(self), Digest(self.reactors), 0
        self.begin()

    def begin(self) -> None:
        """Startup is at (0, 0), and timers begin at their offsets."""
        for kind, x in self.builtins:
            if kind is startup and is_active(x.mode):
                self.add(START, x)
        for x in self.elements:
            if isinstance(x, Timer) and is_active(x.mode):
                x.started = True
                self.add(Tag(x.offset, 0), x)

    def step(self) -> None:
        """Everything that happens at one tag, the next."""
        self.advance()
        self.appear()
        for reaction in self.order:
            causes = [trigger for trigger in reaction.triggers if trigger.is_present]
            if causes and (is_active(reaction.mode) or any(cause in self.ends for cause in causes)):
                self.react(reaction)
        self.travel()
        self.vanish()
        if self.tag != self.stop:
            self.modes.switch()

    def advance(self) -> None:
        """Go to the least tag at which something happens; without any, the program has starved, and stops."""
        while True:
            if not self.events and not self.outside and not self.keepalive and self.tag >= START:
                self.stop = min(self.stop, later(self.tag, 0))
            after = self.next_tag()
            if not self.outside or self.outside[0][0] > max(self.now, after.time):
                break
            when, action, value = self.outside.pop(0)  # until then, something may come in
            self.arrive(action, when, value)
        self.tag, self.now = after, max(self.now, after.time)
        self.tags += 1

    def next_tag(self) -> Tag:
        return min([self.stop, *(event.tag for event in self.events), *([START] if self.tag < START else [])])

    def appear(self) -> None:
        """Timers, actions and messages of this tag become present; at the stop tag, shutdown does."""
        due = [event for event in self.events if event.tag == self.tag]
        self.events = [event for event in self.events if event.tag != self.tag]
        for event in due:
            element = event.element
            if element.is_present:  # a second event of one element moves on by a microstep
                self.events.append(event.at(later(self.tag, 0)))
            else:
                self.put(element, event.value)
            if isinstance(element, Timer) and element.period:
                self.add(later(self.tag, element.period), element)
        self.ends = [x for kind, x in self.builtins if kind is shutdown and (x.mode is None or x.mode.entered)]
        if self.tag == self.stop:
            for x in self.ends:
                self.put(x, None)

    def put(self, element: Element, value: Any) -> None:
        """Make an element present, and at once all that it drives without a delay; the last value put stays."""
        element.value, element.sent, element.is_present = value, value, True
        for link in element.outgoing:
            if not link.delayed and is_active(link.mode):
                self.put(link.target, value)

    def react(self, reaction: Reaction) -> None:
        """Run a reaction, or what is declared for its missed deadline."""
        self.current = reaction
        for x in (*reaction.triggers, *reaction.uses):
            if isinstance(x, Port) and x.mutable:
                x.value = copy.deepcopy(x.sent)
        self.handled = late = self.missed(reaction)
        (reaction.late if late and reaction.late else reaction.body)()
        for x in reaction.effects:
            if isinstance(x, Port) and x.is_present:
                self.stamp(x)
        self.digest.add(self.tag, reaction, late=late)

    def travel(self) -> None:
        """What was set and has a delayed connection arrives later; of several values, the last."""
        for x in self.elements:
            for link in x.incoming:
                if link.delayed and link.source.is_present and is_active(link.mode):
                    sent = max(self.tag, Tag(link.source.clock, 0)) if link.physical else self.tag
                    arrival = later(sent, link.after or 0)
                    if link.physical:  # nothing overtakes what was sent before, and nothing arrives at the start
                        arrival = link.last = max(arrival, later(link.last, 0))
                    self.add(arrival, x, link.source.sent, link.mode)

    def vanish(self) -> None:
        """Nothing is present any more when its tag is over."""
        for x in [*self.elements, *(x for _, x in self.builtins)]:
            x.value, x.sent, x.is_present = None, None, False

    # What reactions, and the world outside, ask for.

    def schedule(self, action: LogicalAction, value: Any, delay: int) -> None:
        """A logical action is as much later than the present tag as both delays say."""
        self.accept(action, later(self.tag, action.min_delay + delay), value)

    def arrive(self, action: PhysicalAction, when: int, value: Any) -> None:
        """A physical action is at the time when it comes in, plus its delay, but always after the present tag."""
        self.accept(action, max(Tag(when + action.min_delay, 0), later(self.tag, 0)), value)

    def accept(self, action: LogicalAction, tag: Tag, value: Any) -> None:
        """An event of an action. If it comes too early after the one before, the action's policy decides."""
        if not is_active(action.mode) or tag >= FOREVER:
            return
        if action.min_spacing is not None and action.last is not None:
            earliest = action.last.time + action.min_spacing
            if earliest > tag.time or (action.min_spacing == 0 and earliest == tag.time):
                same = [event for event in self.events if event.element is action and event.tag == action.last]
                pending: Event | None = same[-1] if same else None
                if action.policy == "drop":
                    return
                if action.policy == "replace" and action.last > self.tag:
                    self.events = [event._replace(value=value) if event is pending else event for event in self.events]
                    return
                if action.policy == "update" and action.last > self.tag:
                    self.events = [event for event in self.events if event is not pending]
                else:  # defer
                    tag = max(Tag(earliest, 0), later(max(self.tag, action.last), 0))
        if tag < FOREVER:
            action.last = tag
            self.add(tag, action, value, action.mode)

    def add(self, tag: Tag, element: Element, value: Any = None, mode: Mode | None = None) -> None:
        if tag < FOREVER:
            self.events.append(Event(tag, element, value, mode or element.mode))

    def request_stop(self) -> None:
        """The stop tag is the earliest that was asked for; what is due there happens, what is due later never does."""
        self.stop = min(self.stop, *(later(self.tag, s.delay) for s in self.current.stops))

    # Physical time matters to deadlines, to physical actions and to physical connections.

    def sleep(self, seconds: float) -> None:
        self.now += round(seconds * 1e9)

    def stamp(self, port: Port) -> None:
        """A port, and all that it drives without a delay, was set at this time."""
        port.clock = self.now
        for link in port.outgoing:
            if link.target.is_present and not link.delayed:
                self.stamp(link.target)

    def missed(self, reaction: Reaction) -> bool:
        """Whether it is too late for a reaction; a deadline of zero is always missed."""
        ns = reaction.deadline
        return ns is not None and (ns == 0 or self.now > self.tag.time + ns)

    def check_deadline(self, *, handle: bool) -> bool:
        """The same, asked while the reaction runs; what is for a missed deadline runs once in an execution."""
        missed = self.missed(self.current)
        if missed and handle and self.current.late and not self.handled:
            self.handled = True
            self.current.late()
        return missed


def elaborate(main: Reactor) -> tuple[list[Reactor], list[Reaction]]:
    """All reactors, and the reactions in an order that every tag may follow; raises CycleError where there is none.

    A reaction comes after the earlier ones of its reactor, and after what its triggers and uses depend on: a port comes
    after the reactions that may set it, and after the port that drives it without a delay. Deadlines that are declared
    by the name of an attribute get their values.
    """
    found = list(reactors(main))
    place(main, found)
    before: dict[Any, list[Any]] = {}
    for reactor in found:
        for r in reactor._reactions:
            if isinstance(r.deadline, tuple):
                r.deadline = getattr(reactor, r.deadline[0])
            earlier = [
                x for x in reactor._reactions[: r.number] if reactor.mode in (x.mode, r.mode) or x.mode is r.mode
            ]
            before[r] = [*earlier, *r.triggers, *r.uses]
            for effect in r.effects:
                if isinstance(effect, Port):
                    before.setdefault(effect, []).append(r)
    ports = [x for x in elements(found) if isinstance(x, Port)]
    for port in ports:
        before.setdefault(port, []).extend(link.source for link in port.incoming if not link.delayed)
    order = [x for x in graphlib.TopologicalSorter(before).static_order() if isinstance(x, Reaction)]
    # A circle of connections alone is refused, whatever its delays: no reaction writes into it.
    # One that belongs to a mode counts as a reaction that does.
    graphlib.TopologicalSorter({p: [link.source for link in p.incoming if link.mode is None] for p in ports}).prepare()
    return found, order
