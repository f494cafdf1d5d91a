"""What can a port, a timer or an action do while a program runs?

At rest these objects refuse to act (`ports.py`, `actions.py`). When a run starts, each gets the class here that fits where its
values live, and afterwards its own again; so the common case, an object that stays on its worker, costs two look-ups.

The core opens a *door* for everything that a reaction declared, just before it runs, and closes it afterwards: a byte that
says whether the thing may be read, is present, may be written. A closed door means that the reaction that runs now did not
declare it, or that none runs.
"""

from __future__ import annotations

import itertools
import pickle
import threading
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
from reactors_runtime import engine as engines
from reactors_runtime._core import lib
from reactors_runtime.program import Kind
from reactors_runtime.values import OUTSIDE, ArrayStore, ObjectStore, SequenceStore, dumps, loads, outside, read_only

from reactors.actions import LogicalAction, PhysicalAction, Timed
from reactors.declared import Declared
from reactors.errors import (
    ActionValueError,
    OutsideReactionError,
    ReactorWarning,
    SharedValueError,
    UndeclaredAccessError,
    ValueMismatchError,
)
from reactors.ports import Port
from reactors.time import Tag, duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reactors_runtime.engine import Engine
    from reactors_runtime.image import Image
    from reactors_runtime.memory import Memory

    from reactors.reactor import Reactor

_OPEN, _PRESENT, _WRITABLE = 1, 2, 4
_WRITTEN = _OPEN | _PRESENT | _WRITABLE


class Live:
    """What is common to everything with a door."""

    _engine: Engine
    _element: int
    _doors: memoryview
    _door: int
    _where: memoryview

    @property
    def is_present(self) -> bool:
        door = self._doors[self._door]
        if door & _OPEN:
            return door & _PRESENT != 0
        self._refuse("is_present", "triggers or uses")

    def _refuse(self, use: str, kind: str) -> NoReturn:
        assert isinstance(self, Declared)
        running = self._engine.running()
        if running < 0:
            raise OutsideReactionError(
                f"{self.where()}: .{use} outside of a reaction; it can be used only while a reaction that declares it runs"
            )
        program = self._engine.image.program
        reaction = program.reactions[running]
        path = f"{program.reactors[reaction.reactor].path}.{reaction.name}"
        raise UndeclaredAccessError(
            f"{self.where()}: .{use} while the reaction {path} runs, which does not declare it; name it in the {kind} of the "
            f"reaction that uses it, and use it nowhere else (a thread that outlives its reaction included)"
        )


class LivePort(Live):
    """A port: reading it and writing it differ by store."""

    _type: Any

    @property
    def value(self) -> Any:
        door = self._doors[self._door]
        if door & _PRESENT:
            return self._get()
        if door:
            return None
        self._refuse("value", "triggers or uses")

    def set(self, value: Any) -> None:
        if not self._doors[self._door] & _WRITABLE:
            self._refuse("set", "effects")
        self._put(snapshot(value) if value.__class__ is np.ndarray else value)
        self._doors[self._door] = _WRITTEN

    def _get(self) -> Any:
        raise NotImplementedError

    def _put(self, value: Any) -> None:
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
    def present(self) -> Sequence[int]:
        raise TypeError(f"{self.where()} is a single port and has no channels; ask for .is_present")  # type: ignore[attr-defined]

    def loan(self) -> Any:
        raise TypeError(  # type: ignore[misc]
            f"{self.where()} carries objects and has no memory to lend; "  # type: ignore[attr-defined]
            "declare it with shape= and dtype=, or use .set(value)"
        )


class NoSource(LivePort):
    """An input that nothing drives: always absent."""


class ObjectPort(LivePort):
    """Objects by reference, here and now."""

    _store: ObjectStore

    @property
    def value(self) -> Any:
        door = self._doors[self._door]
        if door & _PRESENT:
            return self._store.value
        if door:
            return None
        self._refuse("value", "triggers or uses")

    def set(self, value: Any) -> None:
        if not self._doors[self._door] & _WRITABLE:
            self._refuse("set", "effects")
        if value.__class__ is np.ndarray:
            value = snapshot(value)
        self._store.value = value
        self._doors[self._door] = _WRITTEN


class SequencePort(LivePort):
    """Objects by reference, to readers later or on other threads."""

    _store: SequenceStore

    def _get(self) -> Any:
        return self._store.values[self._where[self._door]]

    def _put(self, value: Any) -> None:
        self._store.put(self._where[self._door], self._engine.low[self._door], value)


class PicklePort(LivePort):
    """Objects that go to other processes, or came from one."""

    _store: Any  # PickleStore: what came; ObjectStore: what this worker wrote itself
    _pickled: Any = None

    def _get(self) -> Any:
        store = self._store
        return store.value if store.__class__ is ObjectStore else store.get(self._where[self._door])

    def _put(self, value: Any) -> None:
        try:
            self._pickled.put(self._where[self._door], value)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise ValueMismatchError(
                f"{self.where()}: a {type(value).__name__} cannot be sent to another process ({error}); "  # type: ignore[attr-defined]
                f"send plain data, or place both reactors on one worker"
            ) from error
        self._store.value = value


class ArrayPort(LivePort):
    """Arrays of one shape and dtype: written into a slot, read there."""

    _store: ArrayStore
    _tensors: dict[int, Any] | None = None

    @property
    def value(self) -> Any:
        door = self._doors[self._door]
        if door & _PRESENT:
            where = self._where[self._door]
            return self._store.views[where] if where < OUTSIDE else self._store.get(where)
        if door:
            return None
        self._refuse("value", "triggers or uses")

    @property
    def array(self) -> Any:
        return self.value

    @property
    def tensor(self) -> Any:
        import torch

        if not self.is_present:
            return None
        where = self._where[self._door]
        if self._tensors is None:
            self._tensors = {}
        tensor = self._tensors.get(where)
        if tensor is None:
            if where >= OUTSIDE:
                return torch.from_numpy(self._store.get(where).copy())
            tensor = self._tensors[where] = torch.from_numpy(self._store.slots[where])
        return tensor

    def loan(self) -> Any:
        if not self._doors[self._door] & _WRITABLE:
            self._refuse("loan", "effects")
        return self._store.slots[self._where[self._door]]

    def set(self, value: Any) -> None:
        if not self._doors[self._door] & _WRITABLE:
            self._refuse("set", "effects")
        slot = self._store.slots[self._where[self._door]]
        if value is not slot:
            copy_into(slot, value, self)
        self._doors[self._door] = _WRITTEN


def copy_into(slot: Any, value: Any, port: Any) -> None:
    """Write a value of the right shape and kind into the memory of a port."""
    if hasattr(value, "detach"):  # a torch tensor, perhaps with a gradient or on another device
        value = value.detach().cpu().numpy()
    array = np.asarray(value)
    if array.shape != slot.shape or not np.can_cast(array.dtype, slot.dtype, "same_kind"):
        if array.shape == slot.shape and array.ndim == 0 and not isinstance(value, np.generic | np.ndarray):
            converted = np.asarray(value, slot.dtype)  # a Python number, if it fits exactly
            if converted == array:
                slot[...] = converted
                return
        raise ValueMismatchError(
            f"{port.where()} takes arrays of shape {slot.shape} and dtype {slot.dtype}, and was given "
            f"{type(value).__name__} of shape {array.shape} and dtype {array.dtype}; convert it first"
        )
    slot[...] = array


def snapshot(array: Any) -> Any:
    """What travels when an array is put on a port that carries any object: a copy that nobody can change."""
    if not array.flags.writeable and (array.base is None or not getattr(array.base, "flags", array.flags).writeable):
        return array
    return read_only(array.copy())


# ---- multiports ----


class LiveMultiport:
    """All channels at once. Each channel is live by itself."""

    _engine: Engine
    _channels: list[Any]
    _first: int  # door of channel 0 if the doors of all lie side by side, else -1
    _everybody: bytes  # what the doors say when all are present
    _blocks: dict[bytes, Any]  # what `where` says -> the rows as one array, where they lie together
    _writable_blocks: dict[bytes, Any]
    _tensors: dict[int, Any]

    @property
    def is_present(self) -> bool:
        return bool(self.present)

    @property
    def present(self) -> Sequence[int]:
        if self._first >= 0:
            doors = self._engine.doors[self._first : self._first + len(self._channels)].tobytes()
            if doors == self._everybody:
                return range(len(doors))
            if 0 not in doors:
                return [i for i, door in enumerate(doors) if door & _PRESENT]
        return [i for i, channel in enumerate(self._channels) if channel.is_present]

    @property
    def value(self) -> Any:
        return [channel.value for channel in self._channels]

    @property
    def array(self) -> Any:
        if self._first >= 0:
            end = self._first + len(self._channels)
            if self._engine.doors[self._first : end].tobytes() == self._everybody:
                block = self._blocks.get(self._engine.where[self._first : end].tobytes())
                if block is not None:
                    return block
        return self._gathered()

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
            writable = next(b for k, b in self._writable_blocks.items() if self._blocks.get(k) is block)
            tensor = self._tensors[id(block)] = torch.from_numpy(writable)
        return tensor

    def _own_block(self) -> Any:
        if self._first < 0:
            return None
        end = self._first + len(self._channels)
        return self._writable_blocks.get(self._engine.where[self._first : end].tobytes())

    def loan(self) -> Any:
        for channel in self._channels:
            channel.loan()  # refuses where it must
        block = self._own_block()
        if block is None:
            layout = self._channels[0]._carried()
            block = np.zeros((len(self._channels), *layout.shape), layout.dtype)
        return block

    def set(self, value: Any) -> None:
        block = self._own_block()
        if block is not None and value is block:
            for channel in self._channels:
                channel.set(channel.loan())
            return
        if len(value) != len(self._channels):
            raise ValueMismatchError(
                f"{self.where()} has {len(self._channels)} channels and was given {len(value)} values; "  # type: ignore[attr-defined]
                f"set one for each, or set single channels by index"
            )
        for channel, row in zip(self._channels, value, strict=True):
            channel.set(row)


# ---- timers and actions ----


class LiveTimer(Live):
    """A timer, a startup, a shutdown."""


class LiveLogicalAction(Live):
    """Schedules events of this worker."""

    _action: int

    @property
    def value(self) -> Any:
        door = self._doors[self._door]
        if door & _PRESENT:
            return self._engine.stores.actions[self._where[self._door]]
        if door & _OPEN:
            return None
        self._refuse("value", "triggers or uses")

    def schedule(self, value: Any = None, delay: Any = 0) -> None:
        if delay.__class__ is not int or delay < 0:
            delay = checked_delay(delay, self)
        number = lib.rx_schedule(self._engine.core, self._action, delay, value is not None)
        if number > 0:
            values = self._engine.stores.actions
            while len(values) <= number:
                values.append(None)
            values[number] = snapshot(value) if value.__class__ is np.ndarray else value
        elif number == lib.RX_REFUSED:
            self._refuse("schedule", "effects")


def checked_delay(delay: Any, action: Any) -> int:
    """The delay of a schedule in ns, or an error that names the action."""
    try:
        return duration(delay, "delay of schedule", action.where())
    except ValueError as error:
        raise ActionValueError(str(error)) from None


class LivePhysicalAction(Live):
    """Takes events from any thread of its process."""

    _action: int
    _memory: Memory
    _worker: int
    _waiting: dict[int, Any]  # values on their way, by number
    _numbers: ClassVar[Any] = itertools.count(1)
    _shown: int = 0

    @property
    def value(self) -> Any:
        door = self._doors[self._door]
        if door & _PRESENT:
            where = self._where[self._door]
            if where & OUTSIDE:
                return loads(outside(where))
            if self._shown != where:
                self._waiting.pop(self._shown, None)
                self._shown = where
            return self._waiting.get(where)
        if door & _OPEN:
            return None
        self._refuse("value", "triggers or uses")

    def schedule(self, value: Any = None, delay: Any = 0) -> bool:
        ns = delay if delay.__class__ is int and delay >= 0 else checked_delay(delay, self)
        number = 0
        if value is not None:
            number = next(self._numbers)
            self._waiting[number] = snapshot(value) if value.__class__ is np.ndarray else value
        taken = engines.send(self._memory, self._worker, self._action, ns, value=number)
        if not taken:
            self._waiting.pop(number, None)
        return taken


class DistantPhysicalAction(LivePhysicalAction):
    """The same from another process, the caller's above all."""

    def schedule(self, value: Any = None, delay: Any = 0) -> bool:
        ns = delay if delay.__class__ is int and delay >= 0 else checked_delay(delay, self)
        data = b"" if value is None else dumps(value)
        return engines.send(self._memory, self._worker, self._action, ns, data=data)


# ---- debug mode ----


class DebugPort(ObjectPort):
    """What costs too much for every day: types are checked, values that a reader changed are found."""

    _seal: bytes | None = None

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
        wanted = self._carried().type  # type: ignore[attr-defined]
        if wanted is not None and not isinstance(value, wanted) and not (wanted is float and type(value) is int):
            raise ValueMismatchError(
                f"{self.where()} takes {getattr(wanted, '__name__', wanted)} and was given "  # type: ignore[attr-defined]
                f"{value!r}, of type {type(value).__name__}"
            )
        self._check_seal()
        super().set(value)
        self._store.seal = _sealed(self._store.value), self._store.value

    def _check_seal(self) -> None:
        seal, value = getattr(self._store, "seal", (None, None))
        if seal is not None and _sealed(value) != seal:
            self._store.seal = (None, None)
            raise SharedValueError(
                f"{self.where()}: its value was changed after it was set; readers share it with the writer: "  # type: ignore[attr-defined]
                f"copy it before changing it"
            )

    def _moment(self) -> tuple[Any, ...]:
        return (*self._engine.tag(), self._engine.running())

    def _asked_before_reading(self) -> None:
        running = self._engine.running()
        if running < 0 or getattr(self, "_asked", None) == self._moment():
            return
        reaction = self._engine.image.program.reactions[running]
        if self._element in reaction.triggers or self._element in reaction.effects or getattr(self, "_warned", False):
            return
        self._warned = True
        path = f"{self._engine.image.program.reactors[reaction.reactor].path}.{reaction.name}"
        warnings.warn(
            f"{path} reads {self.where()} without asking for .is_present; it is no trigger of this reaction, "  # type: ignore[attr-defined]
            f"so it may be absent, and its value None",
            ReactorWarning,
            stacklevel=4,
        )


class DebugStore(ObjectStore):
    """Remembers a digest of the value, to find out that somebody changed it."""

    __slots__ = ("seal",)


def _sealed(value: Any) -> bytes | None:
    try:
        return pickle.dumps(value, 5)
    except Exception:  # noqa: BLE001 - what cannot be pickled cannot be checked
        return None


# ---- what a reactor asks ----


class Context:
    """The run, as the reactors of one worker see it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def tag(self) -> Tag:
        """The tag being executed."""
        return Tag(*self._engine.tag())

    def physical_time(self) -> int:
        """Ns since the start."""
        return self._engine.physical_time()

    def request_stop(self, reactor: Reactor) -> None:
        """End the program, as the reaction that runs now has declared."""
        if not self._engine.request_stop(reactor._index):
            running = self._engine.running()
            reaction = self._engine.image.program.reactions[running].name if running >= 0 else "no reaction"
            raise UndeclaredAccessError(
                f"{reactor.path}.{reaction}: request_stop() needs effects=rx.stop (or rx.stop.after(delay)) in the declaration "
                f"of the reaction that calls it"
            )


# ---- coming alive, and going back to rest ----


class SeveralWorkers:
    """A port that two workers of one process use, the one that writes it and the one that reads it: by thread."""

    _lives: dict[int, Any]  # thread -> the live port of its worker
    _by_worker: dict[int, Any]

    def _live(self) -> Any:
        live = self._lives.get(threading.get_ident())
        return live if live is not None else next(iter(self._by_worker.values()))

    def set(self, value: Any) -> None:
        self._live().set(value)

    def loan(self) -> Any:
        return self._live().loan()

    def schedule(self, value: Any = None, delay: Any = 0) -> Any:
        return self._live().schedule(value, delay)


for _name in ("value", "is_present", "array", "tensor", "present"):
    setattr(SeveralWorkers, _name, property(lambda self, name=_name: getattr(self._live(), name)))


@cache
def live_class(life: type, rest: type) -> type:
    """`life` on top of the class that an object has at rest."""
    return type(f"{life.__name__}{rest.__name__}", (life, rest), {"__module__": __name__})


_LIFE = ("_engine", "_doors", "_door", "_where", "_store", "_pickled", "_action", "_memory", "_worker", "_waiting", "_first",
         "_everybody", "_blocks", "_writable_blocks", "_tensors", "_lives", "_by_worker", "_asked", "_warned", "_shown")  # fmt: skip


class Binding:
    """Makes the objects of a program live for the engines of this process, and lets them rest again."""

    def __init__(self, objects: Sequence[Any], *, debug: bool = False) -> None:
        self.objects, self.debug = objects, debug
        self._rest: list[tuple[Any, type]] = []
        self._lock = threading.Lock()

    def attach(self, engine: Engine) -> None:
        """Everything that this worker's reactions declare."""
        with self._lock:
            multiports: dict[int, Any] = {}
            for element, door in engine.part.doors.items():
                thing = self.objects[element]
                if thing is None:
                    continue
                self._bind(thing, engine, element, door)
                multiport = getattr(thing, "_multiport", None)
                if multiport is not None:
                    multiports[id(multiport)] = multiport
            for multiport in multiports.values():
                self._bind_multiport(multiport, engine)

    def attach_caller(self, image: Image, memory: Memory) -> None:
        """The physical actions, for threads of a process that runs no worker."""
        for worker, part in enumerate(image.parts):
            for element, action in part.actions.items():
                if image.program.elements[element].kind == Kind.PHYSICAL_ACTION and self.objects[element] is not None:
                    thing = self.objects[element]
                    self._become(thing, DistantPhysicalAction)
                    thing._memory, thing._worker, thing._action = memory, worker, action

    def detach(self) -> None:
        """Everything at rest again."""
        for thing, rest in reversed(self._rest):
            thing.__class__ = rest
            for name in _LIFE:
                thing.__dict__.pop(name, None)
        self._rest.clear()

    def _become(self, thing: Any, life: type) -> None:
        self._rest.append((thing, thing.__class__))
        thing.__class__ = live_class(life, thing.__class__)

    def _again(self, thing: Any, engine: Engine) -> Any:
        """What to bind: the thing itself, or its double for this thread if another worker of this process has it."""
        if not isinstance(thing, Live | LiveMultiport | SeveralWorkers):
            return thing
        if not isinstance(thing, SeveralWorkers):
            double = object.__new__(thing.__class__)
            double.__dict__.update(thing.__dict__)
            rest = next(rest for other, rest in self._rest if other is thing)
            thing.__class__ = live_class(SeveralWorkers, rest)
            thing._by_worker = {double._engine.worker: double}
            thing._lives = {double._engine.thread: double}
        again = object.__new__(next(rest for other, rest in self._rest if other is thing))
        again.__dict__.update({k: v for k, v in thing.__dict__.items() if k not in _LIFE})
        thing._by_worker[engine.worker] = again
        thing._lives[engine.thread] = again
        return again

    def _bind(self, thing: Any, engine: Engine, element: int, door: int) -> None:
        thing = self._again(thing, engine)
        e = engine.image.program.elements[element]
        if isinstance(thing, Port):
            store = engine.stores.of(element)
            pickled = engine.stores.pickled(element) if element in engine.image.sources and e.source == element else None
            if pickled is not None and engine.image.sources[element].worker != engine.worker:
                pickled = None
            life: type
            if store is None:
                life = NoSource
            elif isinstance(store, ArrayStore):
                life = ArrayPort
            elif isinstance(store, SequenceStore):
                life = SequencePort
            elif pickled is not None or not isinstance(store, ObjectStore):
                life = PicklePort
                thing._pickled = pickled
            else:
                life = DebugPort if self.debug else ObjectPort
                if self.debug:
                    store = _debug_store(engine, store)
            thing._store = store
        elif isinstance(thing, LogicalAction):
            life = LiveLogicalAction
            thing._action = engine.part.actions[element]
        elif isinstance(thing, PhysicalAction):
            life = LivePhysicalAction
            thing._action, thing._memory, thing._worker = engine.part.actions[element], engine.memory, engine.worker
            thing._waiting = {}
        else:
            assert isinstance(thing, Timed | Declared)
            life = LiveTimer
        self._become(thing, life)
        thing._engine, thing._door = engine, door
        thing._doors, thing._where = engine.doors, engine.where

    def _bind_multiport(self, thing: Any, engine: Engine) -> None:
        thing = self._again(thing, engine)
        doors = [engine.part.doors.get(channel._element, -1) for channel in thing._channels]
        side_by_side = bool(doors) and doors[0] >= 0 and doors == list(range(doors[0], doors[0] + len(doors)))
        channels = [channel._by_worker[engine.worker] if isinstance(channel, SeveralWorkers) else channel for channel in thing._channels]
        self._become(thing, LiveMultiport)
        thing._engine, thing._channels = engine, channels
        thing._first = doors[0] if side_by_side else -1
        writing = side_by_side and all(engine.image.sources.get(c._element) is not None for c in channels)
        thing._everybody = bytes([(_WRITTEN if writing else _OPEN | _PRESENT)]) * len(doors)
        thing._blocks, thing._writable_blocks, thing._tensors = {}, {}, {}
        if side_by_side:
            for where, block in blocks(engine, [channel._element for channel in channels]):
                thing._writable_blocks[where] = block
                thing._blocks[where] = read_only(block)


def _debug_store(engine: Engine, store: ObjectStore) -> ObjectStore:
    """One store for the writer and its readers, as before, that can be sealed."""
    found = engine.debug_stores.get(id(store))
    if found is None:
        found = engine.debug_stores[id(store)] = DebugStore()
        found.value = store.value
    return found


def blocks(engine: Engine, elements: list[int]) -> list[tuple[bytes, Any]]:
    """Where the values of these channels lie as rows of one block: for each slot, what `where` says, and the block."""
    sources = [engine.image.sources.get(engine.image.program.elements[e].source) for e in elements]
    first = sources[0]
    if first is None or not first.bytes:
        return []
    for row, source in enumerate(sources):
        if source is None or source.block != first.block or source.block < 0 or source.data != first.data + row * first.bytes:
            return []
    like = engine.image.program.elements[first.element]
    assert like.shape is not None
    shape = (len(sources), *like.shape)
    found = []
    for slot in range(first.slots):
        where = np.full(len(sources), slot, np.uint64).tobytes()
        found.append((where, np.ndarray(shape, like.dtype, engine.memory.map, first.data + slot * first.stride)))
    return found
