"""What modes add to the meaning of a program.

Of the modes of a reactor one is current, and what lies in the others does not take part. A transition takes effect
between two tags. By `history`, a mode goes on where it stood; by `reset`, it begins again, with all that lies in it.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from .declaring import (
    START,
    LogicalAction,
    Output,
    Port,
    State,
    Tag,
    Timer,
    Transition,
    children,
    elements,
    later,
    modes_of,
    reset,
    startup,
)

if TYPE_CHECKING:
    from .declaring import Mode, Reactor
    from .meaning import Event, Run


def is_active(mode: Mode | None) -> bool:
    """Whether what belongs to a mode takes part: this mode is current, and so is each around it."""
    return mode is None or (mode.owner.current is mode and is_active(mode.owner.mode))


def lies_in(mode: Mode | None, around: Mode) -> bool:
    return mode is not None and (mode is around or lies_in(mode.owner.mode, around))


class Modes:
    """The modes of a run, and the events of those that are not active."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.aside: list[Event] = []  # their tags are what is left of their delays
        for mode in self.all():
            mode.entered = is_active(mode)

    def all(self) -> list[Mode]:
        return [mode for reactor in self.run.reactors for mode in modes_of(reactor)]

    def ask_for(self, mode: Mode) -> None:
        """A reaction has set a mode; of several, the last counts."""
        (by_reset,) = (t.by_reset for t in self.run.current.transitions if t.mode is mode)
        mode.owner.wanted = Transition(mode, by_reset)

    def switch(self) -> None:
        """Enter the modes that reactions have asked for, between this tag and the next."""
        wanting = [reactor for reactor in self.run.reactors if reactor.wanted]
        if not wanting:
            return
        for reactor in wanting:
            if reactor.wanted:  # a mode around it may have been reset meanwhile
                reactor.current, by_reset = reactor.wanted.mode, reactor.wanted.by_reset
                reactor.wanted = None
                if by_reset:
                    self.renew(reactor.current)
        self.suspend()
        self.resume()
        self.enter()

    def suspend(self) -> None:
        """Time stands still in modes that are not active: what is left of a delay is left then."""
        now = self.run.tag
        for event in self.run.events:
            if not is_active(event.mode):
                left = event.tag.time - now.time
                rest = Tag(left, event.tag.microstep - (0 if left else now.microstep))
                self.aside.append(event.at(rest))
        self.run.events = [event for event in self.run.events if is_active(event.mode)]

    def resume(self) -> None:
        """It goes on in those that are active again."""
        now = self.run.tag
        for event in sorted(self.aside, key=lambda event: event.tag):
            if is_active(event.mode):
                left, microstep = event.tag
                tag = Tag(now.time + left, microstep + (0 if left else now.microstep))
                if isinstance(event.element, LogicalAction):
                    event.element.last = tag
                for link in event.element.incoming:
                    link.last = tag
                self.run.add(tag, event.element, event.value, event.mode)
        self.aside = [event for event in self.aside if not is_active(event.mode)]

    def renew(self, around: Mode) -> None:
        """As if a mode, and all that lies in it, had never been entered."""
        self.aside = [event for event in self.aside if not lies_in(event.mode, around)]
        self.run.events = [event for event in self.run.events if not lies_in(event.mode, around)]
        for x in self.run.elements:
            if lies_in(x.mode, around) and isinstance(x, Timer):
                x.started = False
            if lies_in(x.mode, around) and isinstance(x, LogicalAction):
                x.last = None
            for link in x.incoming:
                link.last = START if lies_in(link.mode, around) else link.last
        around.renewed = True
        for reactor in self.run.reactors:
            if lies_in(reactor.mode, around):
                reactor.wanted = None
                for mode in modes_of(reactor):
                    assert reactor.mode is not None
                    mode.renewed = mode.initial and reactor.mode.renewed
                    if mode.initial:
                        reactor.current = mode

    def enter(self) -> None:
        """What begins with modes that are active now: timers, startup, reset; state has its first value again."""
        for x in self.run.elements:
            if isinstance(x, Timer) and not x.started and is_active(x.mode):
                x.started = True
                self.run.add(later(self.run.tag, x.offset), x)
        for kind, x in self.run.builtins:
            if x.mode is None or not is_active(x.mode):
                continue
            if (kind is startup and not x.mode.entered) or (kind is reset and x.mode.renewed):
                self.run.add(later(self.run.tag, 0), x)
        for reactor in self.run.reactors:
            declared = [inspect.getattr_static(type(reactor), name) for name in dir(type(reactor))]
            for state in [*declared, *reactor._states]:
                if isinstance(state, State):
                    mode = reactor.mode_of(state.inside)
                    if mode is not None and is_active(mode) and mode.renewed:
                        state.renew(reactor)
        for mode in self.all():
            if is_active(mode):
                mode.entered, mode.renewed = True, False


def place(main: Reactor, found: list[Reactor]) -> None:
    """Find the mode that each reactor of a program, and all that it has, belongs to."""
    for reactor in found:
        for name, state in vars(reactor).copy().items():
            if isinstance(state, State):
                state.name = name
                reactor._states.append(state)
                state.renew(reactor)
        for mode in modes_of(reactor):
            mode.owner = reactor
    enclose(main, None)
    owner = {id(port): reactor for reactor in found for port in elements([reactor])}
    container = {id(child): reactor for reactor in found for child in children(reactor)}
    for port in elements(found):
        for link in port.incoming:
            around = owner[id(link.source)]
            if isinstance(link.source, Output):
                around = owner[id(port)] if isinstance(port, Output) else container[id(around)]
            if link.inside is not None and link.inside.owner is around:
                link.mode = link.inside


def enclose(reactor: Reactor, around: Mode | None) -> None:
    """Put a reactor, what it has, and what it contains into its modes."""
    reactor.mode = around
    reactor.current = next((mode for mode in modes_of(reactor) if mode.initial), None)
    for r in reactor._reactions:
        r.mode = reactor.mode_of(r.inside)
    for x in elements([reactor]):
        if not isinstance(x, Port):
            x.mode = reactor.mode_of(x.inside)
    for (_, inside), x in reactor._builtins.items():
        x.mode = reactor.mode_of(inside)
    for child in children(reactor):
        enclose(child, reactor.mode_of(child.inside))
