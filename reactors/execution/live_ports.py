"""What can a port, a timer or an action do while a program runs?

At rest these objects refuse to act (`ports.py`, `actions.py`). While a program runs, `binding.py` gives each the class
here that fits where its values live; so the common case, an object that stays on its worker, costs two look-ups.

The core opens a *door* for everything that a reaction declared, just before it runs, and closes it afterwards: a byte
that says whether the thing may be read, is present, may be written. A closed door means that the reaction that runs
now did not declare it, or that none runs.
"""

from __future__ import annotations

import copy
import itertools
import pickle
import threading
from functools import wraps
from numbers import Number
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, SupportsIndex, TypeVar

import numpy as np
from numpy import ndarray

from reactors.errors import (
    ActionValueError,
    OutsideReactionError,
    ReactorWarning,
    ReplayError,
    UndeclaredAccessError,
    ValueMismatchError,
)
from reactors.execution.bare_numbers import is_bare, spelled_twice
from reactors.lossless import lossy
from reactors.model.actions import Action
from reactors.model.code_check import FROM_OUTSIDE
from reactors.model.declaration import never_assigned, spelled
from reactors.model.ports import Input, Output
from reactors.time import duration
from reactors_runtime import callers
from reactors_runtime import engine as engines
from reactors_runtime._core import lib
from reactors_runtime._doors import Door
from reactors_runtime.encoding import decode, encode
from reactors_runtime.values import OUTSIDE, dumps, loads, outside, read_only

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reactors_runtime.engine import Engine
    from reactors_runtime.memory import Memory

K = TypeVar("K")

_READABLE: int = lib.RX_OPEN | lib.RX_PRESENT
_WRITTEN: int = _READABLE | lib.RX_WRITABLE


def known_as(name: str) -> Callable[[type[K]], type[K]]:
    """Have Python's own errors call the methods of a class as users know them."""

    def rename(kind: type[K]) -> type[K]:
        for method in vars(kind).values():
            if isinstance(method, FunctionType) and not method.__name__.startswith("_"):
                method.__qualname__ = f"{name}.{method.__name__}"
        return kind

    return rename


def refusing_at_rest(kind: type[K]) -> type[K]:
    """Have methods that were kept beyond the run be those that the object has then, which say so."""

    def either(method: FunctionType) -> Callable[..., Any]:
        @wraps(method)
        def call(thing: Any, *given: Any, **named: Any) -> Any:
            mine = method if isinstance(thing, kind) else getattr(type(thing), method.__name__)
            return mine(thing, *given, **named)

        return call

    for name, method in [*vars(kind).items()]:
        if isinstance(method, FunctionType) and not name.startswith("_"):
            setattr(kind, name, either(method))
    return kind


class Live(Door):
    """What is common to everything with a door. Always on top of the class that the object has at rest."""

    where: Callable[[], str]  # path, file and line, as errors name it
    _engine: Engine
    _element: int

    is_present = Door._is_present

    def _refuse(self, use: str, kind: str) -> NoReturn:
        running = self._engine.running()
        if running < 0:
            raise OutsideReactionError(
                f"{self.where()}: .{use} outside of a reaction; it can be used only while one that declares it runs"
            )
        path = self._engine.image.program.name(running)
        raise UndeclaredAccessError(
            f"{self.where()}: .{use} while the reaction {path} runs, which does not declare it; name it in the {kind} "
            f"of the reaction that uses it, and use it nowhere else (a thread that outlives its reaction included)"
        )

    def _assigned(self, use: str) -> NoReturn:
        raise assigned(self, use, settable=bool(self._engine.doors[self._door] & lib.RX_WRITABLE))

    def _miscalled(self, form: str, given: int, name: str | None) -> NoReturn:
        raise miscalled(self, form, given, name)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise uncopied(self)


def uncopied(thing: Any) -> pickle.PicklingError:
    """The error that something is copied or pickled, alone or with what holds it."""
    return pickle.PicklingError(
        f"{thing.where()} belongs to the program that runs and can be neither copied nor pickled; copy, keep or send "
        "what it carries (.value)"
    )


def miscalled(thing: Any, form: str, given: int, name: str | None) -> ValueMismatchError:
    """The error that a method is given other arguments than `form` shows, so many or one of this name."""
    what = f"an argument {name!r}" if name else f"{given} argument{'s' * (given != 1)}"
    return ValueMismatchError(f"{thing.where()}: .{form.partition('(')[0]} is given {what}; write .{form}")


def assigned(thing: Any, use: str, *, settable: bool) -> UndeclaredAccessError:
    """The error for an assignment to an attribute of a port, a timer or an action."""
    remedy = f"it says what {thing.name} is at this tag, and cannot be changed"
    if isinstance(thing, Action):
        remedy = "write .schedule(...)"
    elif isinstance(thing, Output) or settable:
        remedy = "write .set(...)"
    elif isinstance(thing, Input):
        remedy = FROM_OUTSIDE
    return UndeclaredAccessError(f"{thing.where()}: .{use} is assigned to; {remedy}")


@known_as("Port")
@never_assigned("array", "tensor", "present")
class LivePort(Live):
    """A port: reading it and writing it differ by store."""

    _type: Any

    value = Door._value
    set = Door._set

    def _get(self) -> Any:
        """The value, where it is in no list."""
        raise NotImplementedError

    def _put(self, value: Any) -> None:
        """Keep a value that cannot be kept just as it is."""
        raise NotImplementedError

    @property
    def array(self) -> Any:
        value = self.value
        return None if value is None else np.asarray(value)

    @property
    def tensor(self) -> Any:
        import torch

        value = self.value
        return None if value is None else torch.as_tensor(value)

    @property
    def _is_read(self) -> bool:
        return self._element in self._engine.image.read

    @property
    def present(self) -> Sequence[int]:
        raise TypeError(f"{self.where()} is a single port and has no channels; ask for .is_present")

    def set_all(self, _: Any) -> NoReturn:
        raise TypeError(f"{self.where()} is a single port and has no channels; write .set(value)")

    def loan(self) -> Any:
        raise TypeError(
            f"{self.where()} carries objects and has no memory to lend; "
            "declare it with shape= and dtype=, or use .set(value)"
        )


class NoSource(LivePort):
    """An input that nothing drives: always absent."""


class ObjectPort(LivePort):
    """Objects by reference, to readers on this worker, or on other threads."""

    def _put(self, value: Any) -> None:
        self._keep(snapshot(value))


class PicklePort(LivePort):
    """Objects that go to other processes, or came from one."""

    _pickled: Any = None

    def _get(self) -> Any:
        return unpickled(self._store.get, self._engine.where[self._door], self)

    def _put(self, value: Any) -> None:
        if value.__class__ is np.ndarray:
            value = snapshot(value)
        try:
            self._pickled.put(self._engine.where[self._door], value)
        except UNSENDABLE as error:
            raise unsendable(value, self, error, ", or place both reactors on one worker") from error
        self._keep(value)


UNSENDABLE = (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError)


def unsendable(value: Any, thing: Any, error: Exception, otherwise: str = "") -> ValueMismatchError:
    """The error that a value cannot be pickled, which was put on a port or scheduled with an action."""
    return ValueMismatchError(
        f"{thing.where()}: a {type(value).__name__} cannot be sent to another process ({error}); send plain "
        f"data{otherwise}"
    )


def unpickled(read: Callable[[Any], Any], pickled: Any, thing: Any) -> Any:
    """A value that came from another process to a port or an action, or an error that names that."""
    try:
        return read(pickled)
    except Exception as error:
        raise ValueMismatchError(
            f"{thing.where()}: what was sent there cannot be unpickled here ({type(error).__name__}: {error}); send "
            "plain data"
        ) from error


@never_assigned("tensor")
class ArrayPort(LivePort):
    """Arrays of one shape and dtype: written into a slot, read there."""

    _tensors: dict[int, Any]  # by slot

    loan = Door._loan

    def _get(self) -> Any:
        return self._store.get(self._engine.where[self._door])

    array = Door._value  # pyright: ignore[reportIncompatibleMethodOverride]  # a property, too

    @property
    def tensor(self) -> Any:
        import torch

        if not self.is_present:
            return None
        where = self._engine.where[self._door]
        tensor = self._tensors.get(where)
        if tensor is None:
            if where >= OUTSIDE:
                return torch.from_numpy(self._store.get(where).copy())
            tensor = self._tensors[where] = torch.from_numpy(self._store.slots[where])
        return tensor

    def _put(self, value: Any) -> None:
        slot = self._store.slots[self._engine.where[self._door]]
        if value.__class__ is ndarray and value.dtype == slot.dtype and value.shape == slot.shape:
            slot[...] = value
        else:
            copy_into(slot, value, self)


@never_assigned("array", "tensor")
class MutablePort(LivePort):
    """An input whose readers get copies of their own. On top of the class for where its values live."""

    _reader: tuple[int, ...]  # the tag and the reaction that the copy belongs to
    _copy: Any

    @property
    def value(self) -> Any:
        shared = Door._value.__get__(self)
        engine = self._engine
        reader = (engine.now[0], engine.now[1], engine.current[0])
        if reader != self._reader:
            self._reader, self._copy = reader, copy.deepcopy(shared)
        return self._copy

    @value.setter
    def value(self, value: Any) -> None:
        _ = self.value  # is it this reaction's to have?
        self._copy = value

    # As LivePort has them; those of the class below this one look at the shared value.

    @property
    def array(self) -> Any:
        return LivePort.array.__get__(self)

    @property
    def tensor(self) -> Any:
        return LivePort.tensor.__get__(self)


def copy_into(slot: Any, value: Any, port: Any) -> None:
    """Write a value of the right shape and kind into the memory of a port."""
    try:
        if hasattr(value, "detach"):  # a torch tensor, perhaps with a gradient or on another device
            value = value.detach().cpu().numpy()
        array = np.asarray(value)
    except (ValueError, TypeError) as error:  # rows of unequal lengths, as a rule, or a dtype of torch's own
        raise ValueMismatchError(
            f"{port.where()} takes arrays of shape {slot.shape} and dtype {slot.dtype}, and was given a "
            f"{type(value).__name__} that makes no array ({error}); convert it first"
        ) from None
    number = array.ndim == 0 and isinstance(value, Number) and not isinstance(value, np.generic)
    if array.shape != slot.shape or not (number or np.can_cast(array.dtype, slot.dtype, "same_kind")):
        raise ValueMismatchError(
            f"{port.where()} takes arrays of shape {slot.shape} and dtype {slot.dtype}, and was given "
            f"{type(value).__name__} of shape {array.shape} and dtype {array.dtype}; convert it first"
        )
    lost = None
    if array.ndim and array.dtype.kind == slot.dtype.kind == "f" and array.itemsize > slot.itemsize:
        # The processor itself notices what becomes infinite.
        try:
            with np.errstate(over="raise"):
                slot[...] = array.astype(slot.dtype) if port._is_present else array  # what was set before stays
        except FloatingPointError:
            lost = lossy(array, slot.dtype)
    else:
        lost = lossy(value if number else array, slot.dtype)
        if lost is None:
            slot[...] = array
    if lost is not None:
        raise ValueMismatchError(f"{port.where()}: {lost}; clip or round it first, or declare a dtype that holds it")


def snapshot(array: Any) -> Any:
    """What travels when an array is put on a port that carries any object: a copy that cannot be changed."""
    return array if _is_frozen(array) else read_only(array.copy())


def _is_frozen(array: Any) -> bool:
    """Whether nothing can be written where it lies: neither by it nor by what it is a view of."""
    while array.__class__ is ndarray and not array.flags.writeable:
        base: Any = array.base
        if base is None or type(base) is bytes:
            return True
        array = base
    return False


# ---- multiports ----


@known_as("Port")
@never_assigned("value", "is_present", "present", "tensor")
class LiveMultiport(Door):
    """All channels at once. Each channel is live by itself."""

    where: Callable[[], str]
    _engine: Engine
    _channels: list[Any]
    _blocks: list[Any]  # by slot: the rows as one array to write, where they lie together
    _views: list[Any]  # likewise, to read
    _tensors: dict[int, Any]

    __len__, __getitem__, __iter__ = Door._channel_count, Door._item, Door._iterator
    array = Door._array
    set = set_all = Door._set_all

    def _miscalled(self, form: str, given: int, name: str | None) -> NoReturn:
        raise miscalled(self, form, given, name)

    @property
    def is_present(self) -> bool:
        return bool(self.present)

    @property
    def present(self) -> Sequence[int]:
        doors = self._states()
        if doors is not None:
            if doors.count(_READABLE) == len(doors) or doors.count(_WRITTEN) == len(doors):
                return range(len(doors))
            if 0 not in doors:
                return [i for i, door in enumerate(doors) if door & lib.RX_PRESENT]
        return [i for i, channel in enumerate(self._channels) if channel.is_present]

    @property
    def value(self) -> Any:
        return [channel.value for channel in self._channels]

    def _assigned(self, use: str) -> NoReturn:
        settable = all(self._engine.doors[channel._door] & lib.RX_WRITABLE for channel in self._channels)
        raise assigned(self, use, settable=settable)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise uncopied(self)

    def _gathered(self) -> Any:
        """A block of its own: rows that lie apart, absent ones zero."""
        first = self._channels[0] if self._channels else None
        layout = first._carried() if first is not None else None
        if layout is not None and layout.dtype is not None:
            block = np.zeros((len(self._channels), *layout.shape), layout.dtype)
            for i in self.present:
                block[i] = self._channels[i].value
        else:
            zero = layout.type() if layout is not None and layout.type in (int, float, bool, complex) else None
            values = [zero if value is None else value for value in self.value]
            block = np.array(values)
        block.flags.writeable = False
        return block

    @property
    def tensor(self) -> Any:
        import torch

        block = self.array
        tensor = self._tensors.get(id(block))
        if tensor is None:
            if block.flags.owndata:
                return torch.from_numpy(block.copy())
            writable = next(own for own, view in zip(self._blocks, self._views, strict=True) if view is block)
            tensor = self._tensors[id(block)] = torch.from_numpy(writable)
        return tensor

    def loan(self) -> Any:
        for channel in self._channels:
            channel.loan()  # refuses where it must
        block = self._own_block()
        if block is None:
            layout = self._channels[0]._carried()
            block = np.zeros((len(self._channels), *layout.shape), layout.dtype)
        return block

    def _set_each(self, value: Any) -> None:
        """Channel by channel: of anything that can be gone through, and of the block that was lent."""
        try:
            given = len(value)
        except TypeError:
            given = None
        if given != len(self._channels):
            what = f"one {type(value).__name__}" if given is None else f"{given} values"
            raise ValueMismatchError(
                f"{self.where()} has {len(self._channels)} channels and was given {what}; "
                f"set one for each, or set single channels by index"
            )
        lent = value is self._own_block()
        for channel, row in zip(self._channels, value, strict=True):
            channel.set(channel.loan() if lent else row)


@never_assigned("array", "tensor")
class LiveMutableMultiport(LiveMultiport):
    """All channels at once, of which each reader has copies."""

    @property
    def array(self) -> Any:
        """The copies of all channels as one block, whose rows they become; absent ones are zero."""
        block = self._gathered().copy()
        for i in self.present:
            channel = self._channels[i]
            if channel.value.__class__ is ndarray:
                channel.value = block[i, ...]
        return block

    @property
    def tensor(self) -> Any:
        import torch

        return torch.from_numpy(self.array)


# ---- timers and actions ----


class LiveTimer(Live):
    """A timer, a startup, a shutdown."""


class LiveLogicalAction(Live):
    """Schedules events of this worker."""

    value = Door._value
    schedule = Door._schedule

    def _frozen(self, value: Any) -> Any:
        return snapshot(value)

    def _delay_ns(self, delay: Any) -> int:
        return checked_delay(delay, self)


def checked_delay(delay: Any, action: Any) -> int:
    """The delay of a schedule in ns, or an error that names the action."""
    try:
        return duration(delay, "delay of schedule", action.where())
    except ValueError as error:
        raise ActionValueError(str(error)) from None


def warn_of_bare(delay: Any, action: Any) -> None:
    """Where a program waits for physical time, a delay without a unit may have been meant in seconds."""
    if is_bare(delay):  # with the class, not the path: Python shows a text once a line, and a bank shares its lines
        where = f"schedule of {spelled(type(action._owner))}.{action.name} ({action.location})"
        callers.warn(spelled_twice(where, "delay", delay), ReactorWarning)


def recordable(value: Any, action: Any) -> bytes:
    """A value of a physical action as it is kept in a log, or an error that names the action."""
    if value is None:
        return b""
    try:
        return encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ReplayError(
            f"{action.where()}: its value cannot be recorded: {error}; schedule it with plain values, and make of them "
            "what you need in the reaction"
        ) from None


@known_as("PhysicalAction")
class LivePhysicalAction(Live):
    """Takes events from any thread of its process."""

    _action: int
    _memory: Memory
    _worker: int
    _sent: dict[int, Any]  # its worker's, by number, each until its event is over
    _numbers: ClassVar[Any] = itertools.count(engines.FIRST_NUMBER)
    _plain: bool  # values are such that can be recorded, and travel as that
    _waits: bool  # for physical time
    _shown: int  # the number of the value that was read last

    value = Door._value

    def _get(self) -> Any:
        value = self._came()
        if self._engine.image.options.values:
            self._engine.note_heard(value)
        return value

    def _came(self) -> Any:
        where = self._engine.where[self._door]
        if where & OUTSIDE:
            return decode(bytes(outside(where))) if self._plain else unpickled(loads, outside(where), self)
        if self._shown != where:  # the event before is over, and its value may be large
            self._sent.pop(self._shown, None)
            self._shown = where
        return self._sent.get(where)

    def schedule(self, value: Any = None, delay: Any = 0) -> bool:
        live = self.__dict__
        if "_memory" not in live:  # the run has just ended, and this object has come to rest
            return False
        if live["_waits"]:
            warn_of_bare(delay, self)
        ns = delay if delay.__class__ is int and delay >= 0 else checked_delay(delay, self)
        if live["_plain"]:
            return _send(self, live, ns, data=recordable(value, self))
        number, sent = 0, live["_sent"]
        if value is not None:
            number = next(LivePhysicalAction._numbers)
            sent[number] = snapshot(value) if value.__class__ is np.ndarray else value
        taken = _send(self, live, ns, value=number)
        if not taken:
            sent.pop(number, None)
        return taken


def _send(action: Any, live: dict[str, Any], ns: int, **what: Any) -> bool:
    """No method of an action, which another thread may have put to rest since it was scheduled."""
    return engines.send(live["_memory"], live["_worker"], live["_action"], ns, engine=action._engine, **what)


@refusing_at_rest
class InPhysicalTime(LiveLogicalAction):
    """A logical action of a program that waits for physical time."""

    def schedule(self, *given: Any, **named: Any) -> Any:
        warn_of_bare(named.get("delay", given[1] if len(given) > 1 else 0), self)
        return super().schedule(*given, **named)


@known_as("PhysicalAction")
class DistantPhysicalAction(LivePhysicalAction):
    """The same from another process, the caller's above all."""

    def schedule(self, value: Any = None, delay: Any = 0) -> bool:
        live = self.__dict__
        if "_memory" not in live:
            return False
        if live["_waits"]:
            warn_of_bare(delay, self)
        ns = delay if delay.__class__ is int and delay >= 0 else checked_delay(delay, self)
        if live["_plain"]:
            data = recordable(value, self)
        else:
            try:
                data = b"" if value is None else dumps(value)
            except UNSENDABLE as error:
                raise unsendable(value, self, error) from error
        return engines.send(live["_memory"], live["_worker"], live["_action"], ns, data=data)


# ---- for threads ----


@refusing_at_rest
@never_assigned("is_present", "array", "tensor", "present")
class SeveralWorkers:
    """A port that two workers of one process use, the one that writes it and the one that reads it: by thread."""

    _lives: dict[int, Any]  # thread -> the live port of its worker
    _by_worker: dict[int, Any]

    def _live(self) -> Any:
        live = self._lives.get(threading.get_ident())
        return live if live is not None else next(iter(self._by_worker.values()))

    @property
    def value(self) -> Any:
        return self._live().value

    @value.setter
    def value(self, value: Any) -> None:
        self._live().value = value

    def _assigned(self, use: str) -> None:
        self._live()._assigned(use)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise uncopied(self)

    @property
    def is_present(self) -> Any:
        return self._live().is_present

    @property
    def array(self) -> Any:
        return self._live().array

    @property
    def tensor(self) -> Any:
        return self._live().tensor

    @property
    def present(self) -> Any:
        return self._live().present

    def set(self, *given: Any, **named: Any) -> None:
        self._live().set(*given, **named)

    def set_all(self, *given: Any, **named: Any) -> None:
        self._live().set_all(*given, **named)

    def loan(self, *given: Any, **named: Any) -> Any:
        return self._live().loan(*given, **named)

    def schedule(self, *given: Any, **named: Any) -> Any:
        return self._live().schedule(*given, **named)
