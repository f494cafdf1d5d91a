"""What makes something happen later?

A timer fires by itself. An action fires when it is scheduled, by a reaction, or for a physical action by any thread. As
with ports, these classes are both the declaration in a class and the handle bound to a reactor; outside of a reaction,
they refuse to act.
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
    """A duration as given; refuses anything but a duration, or the name of an attribute that holds one."""
    if not names_attribute(given):
        duration(given, what, of, or_else=', or the name of an attribute that holds a duration, as in "lag"')
    return given


def resolved_duration(given: Duration, what: str, declared: Placed, owner: Owner | None) -> int:
    """The duration in nanoseconds; if `given` is a name, it is read from the reactor."""
    if not names_attribute(given):
        return duration(given)
    found = parameter(owner, given, what, declared)
    try:
        return duration(found, _SPOKEN.get(what, what))
    except DurationError as error:
        raise ParameterError(f"{declared.where()}: {what}={given!r} stands for self.{given}: {error}") from None


@never_assigned("is_present")
class Timed(Door, Declared):
    """The common part of timers and actions: triggers that cannot be connected."""

    offers: ClassVar[tuple[str, ...]] = ("is_present",)
    _element: int = -1
    _mode: Mode | None = None

    @property
    def is_present(self) -> bool:
        """Whether it fires at this tag."""
        self._at_rest("is_present")

    def _at_rest(self, use: str) -> NoReturn:
        self._refuse_at_rest(use, f"a {self.word} can be used only while a reaction that declares it runs")

    def _delay_ns(self, delay: object) -> NoReturn:  # noqa: ARG002 - of a `schedule` that was kept beyond the run
        self._at_rest("schedule")


class Timer(Timed):
    """Declare a timer: it fires at `offset` and then every `period`, or only once without a period.

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
        """Offset and period in ns; a period of 0 means once."""
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
    """The common part of logical and physical actions; not to be instantiated itself."""

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
        """The minimum time between two events in ns; -1 for none."""
        given = self._declared._min_spacing
        return -1 if given is None else resolved_duration(given, "min_spacing", self, self._owner)

    @property
    def value(self) -> T | Any:
        """The value of the event at this tag; None if there is no event, or if it has no value."""
        self._at_rest("value")


class LogicalAction(Action[T]):
    """Declare a logical action: an event that a reaction schedules for a later tag.

    Events of one action are at least `min_spacing` apart. The `policy` says what happens to an event that would come
    too early after the last one. "defer" delays it until it is allowed, and "drop" drops it. If the last event is still
    pending, "replace" gives the new value to it, and "update" removes it; otherwise, both defer the new event.

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
        """Schedule an event at the current tag plus min_delay plus `delay`: at the next microstep if both are zero."""
        if type(self).schedule is LogicalAction.schedule:
            self._at_rest("schedule")
        self.schedule(value, delay)  # this method was kept from before the run; the live class has its own


class PhysicalAction(Action[T]):
    """Declare a physical action: an external event, tagged with the physical time at which it is scheduled.

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

        True means that the event arrived: a policy may still drop it, and it may fall after the end of the program.
        """
        if type(self).schedule is PhysicalAction.schedule:
            return False
        return self.schedule(value, delay)  # as a callback that was registered before the run
