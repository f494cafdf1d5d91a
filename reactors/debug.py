"""What is checked only when asked to (`rx.run(..., debug=True)`), because it is too dear for every day?

Types of objects that are set or scheduled; values that somebody changed after they were set, or kept after the
reaction; ports read that may be absent.
"""

from __future__ import annotations

import pickle
import warnings
import weakref
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from reactors.access import (
    ArrayPort,
    DistantPhysicalAction,
    Live,
    LiveLogicalAction,
    LivePhysicalAction,
    LivePort,
    ObjectPort,
    PicklePort,
    known_as,
)
from reactors.errors import ReactorWarning, SharedValueError, ValueMismatchError
from reactors.time import Tag


def check_type(value: Any, wanted: Any, of: Live) -> None:
    """Refuse a value of another type than the declared one; an int is as good as a float."""
    if wanted is not None and not isinstance(value, wanted) and not (wanted is float and type(value) is int):
        raise ValueMismatchError(
            f"{of.where()} takes {getattr(wanted, '__name__', wanted)} and was given "
            f"{value!r}, of type {type(value).__name__}; convert it, or declare that type"
        )


@known_as("Port")
class DebugPort(LivePort):
    """Types are checked, and whether a reaction asks before it reads what may be absent."""

    _store: Any  # a Store
    _carried: Any  # of the port at rest
    _asked: tuple[Any, ...] | None = None
    _warned = False

    @property
    def value(self) -> Any:
        self._asked_before_reading()
        value = super().value
        if value is not None:
            self._check_seal()
        return value

    @property
    def is_present(self) -> bool:
        present = super().is_present
        self._asked = self._moment()
        return present

    def set(self, value: Any) -> None:
        check_type(value, self._carried().type, self)
        super().set(value)

    def _check_seal(self) -> None:
        """See whether the value is as it was, where that can be known."""

    def _named(self, number: int) -> str:
        reaction = self._engine.image.program.reactions[number]
        return f"{self._engine.image.program.reactors[reaction.reactor].path}.{reaction.name}"

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
        warnings.warn(
            f"{self._named(running)} reads {self.where()} without asking for .is_present; it is no trigger of this "
            f"reaction, so it may be absent, and its value None",
            ReactorWarning,
            stacklevel=3,  # the line that reads
        )


class DebugPicklePort(DebugPort, PicklePort):
    """Objects that were copied on their way: nobody else can change them."""


@known_as("Port")
class SealedPort(DebugPort):
    """Values that several share: a change after one was set is found by whoever looks next."""

    def set(self, value: Any) -> None:
        super().set(value)
        self._seal(self._number())

    def _number(self) -> int:
        return self._engine.where[self._door]

    def _value_of(self, number: int) -> Any:
        """What tells the value from another one in the same place."""
        raise NotImplementedError

    def _digest_of(self, number: int) -> bytes | None:
        """What it looks like; None if that is hard to say."""
        raise NotImplementedError

    def _stale(self, seal: Seal, number: int) -> bool:
        raise NotImplementedError

    def _seal(self, number: int) -> None:
        self._store.seals[number] = Seal(self._value_of(number), self._digest_of(number), self._engine.running())

    def _check_seal(self) -> None:
        """See whether the value is as it was; who has it now is the next suspect."""
        number = self._number()
        seal = self._store.seals.get(number)
        if seal is None or self._stale(seal, number):  # set by a port that seals nothing
            self._seal(number)
        else:
            self._compare(seal, number)
            self._store.seals[number] = seal._replace(reaction=self._engine.running())

    def _compare(self, seal: Seal, number: int) -> None:
        if seal.digest is not None and self._digest_of(number) != seal.digest:
            del self._store.seals[number]
            raise SharedValueError(
                f"{self.where()}: its value was changed after it was set, by {self._named(seal.reaction)}, which had "
                "it last, or by what else keeps it; those who read it share it with who set it: change a copy"
            )


@known_as("Port")
class DebugObjectPort(SealedPort, ObjectPort):
    """Objects by reference."""

    def set(self, value: Any) -> None:
        number = self._number()
        seal = self._store.seals.get(number)
        if seal is not None and not self._stale(seal, number):
            self._compare(seal, number)  # the one before, while it is there
        super().set(value)
        self._store.seals.pop(number - len(self._store.values), None)  # nobody needs that one any more

    def _value_of(self, number: int) -> Any:
        values = self._store.values
        return values[number % len(values)]

    def _digest_of(self, number: int) -> bytes | None:
        try:
            return blake2b(pickle.dumps(self._value_of(number), 5)).digest()
        except Exception:  # noqa: BLE001 - what cannot be pickled cannot be checked
            return None

    def _stale(self, seal: Seal, number: int) -> bool:
        return seal.value is not self._value_of(number)


class DebugArrayPort(SealedPort, ArrayPort):
    """Arrays are read-only, but tensors cannot be: compared among those who look at the same tag."""

    _lent: tuple[weakref.ref[Any], str] | None = None  # what was read last, and when

    @property
    def value(self) -> Any:
        shared = super().value
        if not isinstance(shared, np.ndarray):
            return shared
        view, now = shared[...], str(Tag(*self._engine.tag()))
        if self._lent is not None and self._lent[1] != now and self._lent[0]() is not None:
            warnings.warn(
                f"{self.where()}: somebody still has the value of {self._lent[1]} at {now}; it is a view of memory "
                "that is written again, and valid during the reaction: keep a copy (value.copy())",
                ReactorWarning,
                stacklevel=2,
            )
        self._lent = weakref.ref(view), now
        return view

    @property
    def tensor(self) -> Any:
        _ = self.value
        return super().tensor

    def _value_of(self, number: int) -> Any:  # noqa: ARG002 - whatever lies there, it is the tag that counts
        return self._engine.tag()

    def _digest_of(self, number: int) -> bytes | None:
        return blake2b(self._store.get(number).tobytes()).digest()

    def _stale(self, seal: Seal, number: int) -> bool:
        return bool(seal.value != self._value_of(number))


@known_as("Action")
class DebugAction(Live):
    """Types are checked, in whatever thread; no value at all is one of any type."""

    _declared: Any  # the action at rest

    def schedule(self, value: Any = None, delay: Any = 0) -> Any:
        if value is not None:
            check_type(value, self._declared._type, self)
        return super().schedule(value, delay)  # type: ignore[misc]  # of the class below, which is one of an action


class DebugLogicalAction(DebugAction, LiveLogicalAction):
    """Scheduled by reactions."""


class DebugPhysicalAction(DebugAction, LivePhysicalAction):
    """Scheduled from outside."""


class DebugDistantPhysicalAction(DebugAction, DistantPhysicalAction):
    """Scheduled from another process."""


DEBUG: dict[type, type] = {
    ObjectPort: DebugObjectPort,
    PicklePort: DebugPicklePort,
    ArrayPort: DebugArrayPort,
    LiveLogicalAction: DebugLogicalAction,
    LivePhysicalAction: DebugPhysicalAction,
    DistantPhysicalAction: DebugDistantPhysicalAction,
}


class Seal(NamedTuple):
    """A value, what it looked like, and the reaction that had it last."""

    value: Any
    digest: bytes | None
    reaction: int
