"""What is checked only when asked to (`rx.run(..., debug=True)`), because it is too slow for every day?

Types of objects that are set or scheduled; ports read that may be absent, or set twice at a tag; and, by way of
`watch.py`, values that a reaction changed after they were set or read, or kept when it was over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import ValueMismatchError
from reactors.execution.live_ports import (
    ArrayPort,
    DistantPhysicalAction,
    Live,
    LiveLogicalAction,
    LiveMultiport,
    LivePhysicalAction,
    LivePort,
    ObjectPort,
    PicklePort,
    known_as,
    refusing_at_rest,
)
from reactors.execution.watch import READ, SET, Watch, warn
from reactors.location import Location
from reactors.model.declaration import never_assigned

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_type(value: Any, wanted: Any, of: Live) -> None:
    """Refuse a value of another type than the declared one; an int is as good as a float."""
    if wanted is not None and not isinstance(value, wanted) and not (wanted is float and type(value) is int):
        raise ValueMismatchError(
            f"{of.where()} takes {getattr(wanted, '__name__', wanted)} and was given "
            f"{value!r}, of type {type(value).__name__}; convert it, or declare that type"
        )


@refusing_at_rest
@known_as("Port")
@never_assigned("value", "is_present")
class DebugPort(LivePort):
    """Types are checked, and whether a reaction asks before it reads what may be absent."""

    _watch: Watch  # of its worker
    _carried: Any  # of the port at rest
    _asked: tuple[Any, ...] | None = None
    _warned = False
    _set_before: tuple[tuple[int, int], Location] | None = None  # the tag, and the line

    @property
    def value(self) -> Any:
        self._asked_before_reading()
        return super().value

    @property
    def is_present(self) -> bool:
        present = super().is_present
        self._asked = self._moment()
        return present

    def set(self, value: Any) -> None:
        check_type(value, self._carried().type, self)
        super().set(value)
        before, self._set_before = self._set_before, (self._engine.tag(), Location.caller())
        if before is not None and before[0] == self._set_before[0]:
            self._watch.set_twice(self, before[1], self._set_before[1])

    def _moment(self) -> tuple[Any, ...]:
        return (*self._engine.tag(), self._engine.running())

    def _asked_before_reading(self) -> None:
        running = self._engine.running()
        if running < 0 or self._asked == self._moment():
            return
        reaction = self._engine.image.program.reactions[running]
        if self._element in reaction.triggers or self._element in reaction.effects or self._warned:
            return
        self._warned = True
        path = self._engine.image.program.name(running)
        warn(
            f"{path} reads {self.where()} without asking for .is_present; it is no trigger of this reaction, so it "
            "may be absent, and its value None"
        )


@refusing_at_rest
@never_assigned("value")
class DebugObject(DebugPort):
    """Objects: those who set and read one share it with all others on their worker, or in their process."""

    @property
    def value(self) -> Any:
        value = super().value
        self._watch.has(self, value, READ)
        return value

    def set(self, value: Any) -> None:
        super().set(value)
        self._watch.has(self, value, SET)


@known_as("Port")
class DebugObjectPort(DebugObject, ObjectPort):
    """Objects by reference, to readers on this worker; what is set is watched."""


class DebugPicklePort(DebugObject, PicklePort):
    """Copied on their way to another process."""


@refusing_at_rest
@never_assigned("value", "tensor")
class DebugArrayPort(DebugPort, ArrayPort):
    """Arrays are read-only, but neither loans nor tensors can be, and of no view is it known how long it is kept."""

    @property
    def value(self) -> Any:
        shared = super().value
        return self._watch.view(self, shared) if isinstance(shared, np.ndarray) else shared

    @property
    def tensor(self) -> Any:
        shared = super().value
        return None if shared is None else self._watch.tensor(self, shared)

    def loan(self) -> Any:
        return self._watch.lend(self, super().loan())

    def set(self, value: Any) -> None:
        super().set(value)
        if getattr(value, "requires_grad", False):
            self._watch.tell_of_graph(self)
        self._watch.was_set(self)


@refusing_at_rest
@never_assigned("present", "tensor")
class DebugMultiport(LiveMultiport):
    """All channels at once, likewise."""

    _watch: Watch
    _element = -1

    @property
    def present(self) -> Sequence[int]:
        for channel in self._channels:
            _ = channel.is_present  # it was asked for all of them
        return super().present

    def loan(self) -> Any:
        return self._watch.lend(self, super().loan())

    def set(self, value: Any) -> None:
        self._set_each(value)
        self._watch.was_set(self)

    def set_all(self, value: Any) -> None:
        self.set(value)

    @property
    def tensor(self) -> Any:
        return self._watch.tensor(self, self.array)

    @property
    def _is_present(self) -> bool:
        return self.is_present


@refusing_at_rest
@known_as("Action")
class DebugAction(Live):
    """Types are checked, in whatever thread; no value at all is one of any type."""

    _declared: Any  # the action at rest

    def schedule(self, *given: Any, **named: Any) -> Any:
        value = given[0] if given else named.get("value")
        if value is not None:
            check_type(value, self._declared._type, self)
        return super().schedule(*given, **named)  # type: ignore[misc]  # of the class below, which is one of an action


class DebugLogicalAction(DebugAction, LiveLogicalAction):
    """A logical action, which reactions schedule."""


class DebugPhysicalAction(DebugAction, LivePhysicalAction):
    """A physical action, which any thread of its worker's process schedules."""


class DebugDistantPhysicalAction(DebugAction, DistantPhysicalAction):
    """A physical action, which another process schedules."""


DEBUG: dict[type, type] = {
    ObjectPort: DebugObjectPort,
    PicklePort: DebugPicklePort,
    ArrayPort: DebugArrayPort,
    LiveLogicalAction: DebugLogicalAction,
    LivePhysicalAction: DebugPhysicalAction,
    DistantPhysicalAction: DebugDistantPhysicalAction,
}
