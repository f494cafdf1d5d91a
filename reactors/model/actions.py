"""What makes something happen later?

A timer fires by itself; an action fires when a reaction, or for a physical action any thread, schedules it. As with
ports, these classes are both the declaration in a class and the handle bound to a reactor, and at rest they refuse to
act.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NoReturn

from reactors.errors import ArgumentError, DurationError, ParameterError
from reactors.location import Call, Location
from reactors.model.declaration import Declared, never_assigned, parameter
from reactors.model.layout import T, checked_type
from reactors.model.modes import Mode, current
from reactors.time import Duration, duration, names_attribute
from reactors_runtime._doors import Door
from reactors_runtime.program import SpacingPolicy

if TYPE_CHECKING:
    from reactors.model.declaration import Owner, Placed


_SPOKEN = {"after": "delay (after)", "rx.stop.after": "delay"}  # arguments whose name is no noun


def checked_duration(given: Duration, what: str, of: object) -> Duration:
    """A duration as it is written; what is none, and no name of an attribute that holds one, is refused."""
    if not names_attribute(given):
        duration(given, what, of, or_else=', or the name of an attribute that holds a duration, as in "lag"')
    return given


def resolved_duration(given: Duration, what: str, declared: Placed, owner: Owner | None) -> int:
    """Nanoseconds, taken from the reactor where `given` is a name."""
    if not names_attribute(given):
        return duration(given)
    found = parameter(owner, given, what, declared)
    try:
        return duration(found, _SPOKEN.get(what, what))
    except DurationError as error:
        raise ParameterError(f"{declared.where()}: {what}={given!r} stands for self.{given}: {error}") from None


@never_assigned("is_present")
class Timed(Door, Declared):
    """What timers and actions have in common: they are triggers that no connection reaches."""

    offers: ClassVar[tuple[str, ...]] = ("is_present",)
    _element: int = -1
    _mode: Mode | None = None

    @property
    def is_present(self) -> bool:
        """Whether it fires at this tag."""
        self._at_rest("is_present")

    def _at_rest(self, use: str) -> NoReturn:
        self._refuse_at_rest(use, f"a {self.word} can be used only while a reaction that declares it runs")


class Timer(Timed):
    """Declares a timer: it fires at `offset` and then every `period`, or once if there is none.

    >>> import reactors as rx
    >>> class Clock(rx.Reactor):
    ...     tick = rx.Timer(period="100 ms")
    ...     alarm = rx.Timer("wake_up")
    ...     def __init__(self, wake_up="7 h"):
    ...         self.wake_up = wake_up
    >>> Clock().tick
    <timer Clock.tick>
    """

    word = "timer"

    def __init__(self, offset: Duration = 0, period: Duration | None = None, *, mode: Mode | None = None) -> None:
        frame = sys._getframe(1)
        call = Call("rx.Timer", Location.of(frame))
        self._offset = checked_duration(offset, "offset", call)
        self._period = None if period is None else checked_duration(period, "period", call)
        if period is not None and not names_attribute(period) and not duration(period):
            raise DurationError(f"the period of {call} is zero ({period!r}): {_ONCE}")
        self._mode = current(mode, call)
        self._declare(frame)

    def _times(self) -> tuple[int, int]:
        """Offset and period in ns; period 0: once."""
        declared = self._declared
        first = resolved_duration(declared._offset, "offset", self, self._owner)
        if declared._period is None:
            return first, 0
        period = resolved_duration(declared._period, "period", self, self._owner)
        if period == 0:
            raise ParameterError(f"{self.where()}: period={declared._period!r} stands for a period of zero: {_ONCE}")
        return first, period


_ONCE = "a timer that fires once has no period at all, and one that fires as fast as it can is an action"


POLICIES = {policy.name.lower(): policy for policy in SpacingPolicy}


@never_assigned("value")
class Action(Timed, Generic[T]):
    """What logical and physical actions have in common; not to be made itself."""

    offers = ("value", "is_present", "schedule(...)")

    def __init__(
        self,
        type: type[T] | None = None,
        *,
        min_delay: Duration = 0,
        min_spacing: Duration | None = None,
        policy: Literal["defer", "drop", "replace", "update"] = "defer",
        mode: Mode | None = None,
    ) -> None:
        frame = sys._getframe(1)
        call = Call(f"rx.{self.__class__.__name__}", Location.of(frame))
        self._type = checked_type(type, call)
        self._min_delay = checked_duration(min_delay, "min_delay", call)
        self._min_spacing = None if min_spacing is None else checked_duration(min_spacing, "min_spacing", call)
        if policy not in POLICIES:
            raise ArgumentError(f"the policy of {call} is {policy!r}; write 'defer', 'drop', 'replace' or 'update'")
        if policy != "defer" and min_spacing is None:
            raise ArgumentError(f"{call} has the policy {policy!r} and no min_spacing to apply it to; give one")
        self._policy = POLICIES[policy]
        self._mode = current(mode, call)
        self._declare(frame)

    def _min_delay_ns(self) -> int:
        return resolved_duration(self._declared._min_delay, "min_delay", self, self._owner)

    def _min_spacing_ns(self) -> int:
        """The least time between two events in ns; -1: any."""
        given = self._declared._min_spacing
        return -1 if given is None else resolved_duration(given, "min_spacing", self, self._owner)

    @property
    def value(self) -> T | Any:
        """What the event of this tag carries; None when there is no event, or it carries nothing."""
        self._at_rest("value")


class LogicalAction(Action[T]):
    """Declares a logical action: an event that a reaction schedules for a later tag.

    Events of one action are at least `min_spacing` apart. What happens to one that would come earlier after the last
    one says the `policy`: "defer" makes it come as soon as it may, "drop" leaves it out, "replace" gives its value to
    the last one if that is still to come, "update" leaves that one out instead; else both of these defer.

    >>> import reactors as rx
    >>> class Echo(rx.Reactor):
    ...     again = rx.LogicalAction(int, min_delay="1 ms")
    ...     @rx.reaction(rx.startup, again, effects=again)
    ...     def speak(self):
    ...         self.again.schedule(1, delay="2 ms")
    >>> Echo().again
    <logical action Echo.again>
    """

    word = "logical action"

    def schedule(self, value: T | None = None, delay: Duration = 0) -> None:
        """Make it fire at the tag of now plus min_delay plus `delay`: at the next microstep if both are zero."""
        if type(self).schedule is LogicalAction.schedule:
            self._at_rest("schedule")
        self.schedule(value, delay)  # this method was kept from before the run; the live class has its own


class PhysicalAction(Action[T]):
    """Declares a physical action: an event from outside, tagged with the physical time at which it is scheduled.

    `min_spacing` and `policy` are those of `LogicalAction`.

    >>> import reactors as rx
    >>> class Button(rx.Reactor):
    ...     pressed = rx.PhysicalAction(str)
    ...     @rx.reaction(pressed)
    ...     def react(self):
    ...         print(self.pressed.value)
    >>> Button().pressed.schedule("now")      # no program runs: not accepted
    False
    """

    word = "physical action"

    def schedule(self, value: T | None = None, delay: Duration = 0) -> bool:
        """Make it fire as soon as `delay` has passed. Any thread may call this; False if the program is not running.

        True means that it arrived: a policy may still drop it, and it may come to lie beyond the end.
        """
        if type(self).schedule is PhysicalAction.schedule:
            return False
        return self.schedule(value, delay)  # as a callback that was registered before the run
