"""Where do the values of ports and actions live, and how does a door's `where` lead to them?

A store belongs to one source, on one worker. Objects that stay with their tag and worker are one attribute away.
Objects that travel in time, or to another thread, are numbered by the core, and kept under that number until no
reader needs them. Between processes they are pickled once into a slot. Arrays lie in slots of shared memory, and all
read them there.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from reactors_runtime._core import ffi, lib
from reactors_runtime._doors import COPIES
from reactors_runtime.program import Kind

if TYPE_CHECKING:
    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image
    from reactors_runtime.planning.plan import Worker, WrittenPort

OUTSIDE: int = lib.RX_OUTSIDE  # in `where`: the value is a copy at this address
_RECORD = ffi.sizeof("rx_record")


class StoreOwner(Protocol):
    """The engine that stores belong to."""

    image: Image
    worker: int
    part: Worker  # of the plan: its own
    memory: Memory
    base: Any  # where the memory begins
    shared: dict[int, SequenceStore]  # by source: what the workers of one process see of each other's values

    def tag(self) -> tuple[int, int]:
        """The tag that is being executed."""
        ...


class Stores:
    """The stores of one worker, made when they are first asked for."""

    def __init__(self, engine: StoreOwner) -> None:
        self.engine = engine
        self.actions: list[Any] = [None]  # values of logical actions by their number; 0: no value. Its length: 2^k
        self.here: list[Any] = []  # the values of all sources that are read here and now, side by side; 2^k of them
        self._made: dict[tuple[int, int | None], Store] = {}  # by source, and by cell where cells do not share one

    def forget(self) -> None:
        """All stores have been given out; the values that are read here get a list of a length that C can mask."""
        self._made.clear()
        if self.here:
            self.here += [None] * ((1 << (len(self.here) - 1).bit_length()) - len(self.here))

    def close(self) -> None:
        """Let go of the engine and all values."""
        self.actions.clear()
        self.here.clear()
        self.forget()
        del self.engine

    def of(self, element: int) -> Store | None:
        """The store in which this worker finds, or puts, the values of a port; None if nothing drives it."""
        e = self.engine.image.program.elements[element]
        source = self.engine.image.sources.get(e.source if e.kind == Kind.PORT else -1)
        if source is None:
            return None
        at_hand = source.worker == self.engine.worker and e.offset == (0, 0) and not e.physical
        shared = source.bytes or e.dtype is not None or source.mode != lib.RX_SLOTS
        key = source.element, None if shared else self.engine.part.door_cells[self.engine.part.doors[element]]
        store = self._made.get(key)
        if store is None:
            store = self._made[key] = self._make(source, at_hand)
        return store

    def _make(self, source: WrittenPort, at_hand: bool) -> Store:
        e = self.engine.image.program.elements[source.element]
        if e.dtype is not None:
            assert e.shape is not None
            return ArrayStore(self.engine, source, e.dtype, e.shape)
        if source.mode == lib.RX_PLAIN:
            self.here.append(None)
            return ObjectStore(self.here, len(self.here) - 1)
        if source.mode == lib.RX_SEQUENCE:
            return self.engine.shared.setdefault(source.element, SequenceStore())
        return ObjectStore([None], 0) if at_hand else PickleStore(self.engine, source)

    def pickled(self, element: int) -> PickleStore | None:
        """Where the writer of a port puts what goes to other processes, if anything does."""
        source = self.engine.image.sources[element]
        if source.bytes or source.mode != lib.RX_SLOTS or self.engine.image.program.elements[element].dtype is not None:
            return None
        return PickleStore(self.engine, source)


class Store:
    """What is common to all."""

    __slots__ = ()


class ObjectStore(Store):
    """The one value of a source whose readers are all here and now, at its place in a list."""

    __slots__ = ("place", "values")

    def __init__(self, values: list[Any], place: int) -> None:
        self.values, self.place = values, place


class SequenceStore(ObjectStore):
    """Values by number, for readers later or on other threads: value n is at n modulo the length, a power of two.

    The list grows where more values are on their way than ever before; what no reader needs any more is overwritten.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__([None], 0)


class PickleStore(Store):
    """Objects in slots: numbers and short texts as csrc/python/record.c puts them, the rest pickled (protocol 5).

    Buffers follow the pickle, each on a boundary of 64 bytes. Who reads through one cell shares a store, and the object
    that is read; another cell may have another value of the same tag, in the same slot, which is free again after its
    last reader.
    """

    __slots__ = ("_cached", "_engine", "_map", "_source")

    def __init__(self, engine: StoreOwner, source: WrittenPort) -> None:
        self._engine, self._source = engine, source
        self._map = memoryview(engine.memory.map)
        self._cached: tuple[tuple[int, tuple[int, int]], Any] | None = None

    def way(self) -> dict[str, Any]:
        """What `Engine.way` takes for a port that is read: where the records are."""
        at = int(ffi.cast("uintptr_t", self._engine.base)) + self._source.data
        return {"records": at, "stride": self._source.stride}

    def put(self, slot: int, value: Any) -> None:
        """Write `value` into a slot, pickled."""
        source, engine = self._source, self._engine
        data = dumps(value)
        at = source.data + slot * source.stride
        record = ffi.cast("rx_record *", engine.base + at)
        start = at + _RECORD
        if len(data) > source.stride - _RECORD:
            if record.capacity < len(data):
                capacity = 1 << (len(data) - 1).bit_length()
                record.spill = lib.rx_spill(engine.base, engine.memory.descriptor, capacity)
                record.capacity = capacity if record.spill else 0
                if not record.spill:
                    path = engine.image.program.elements[source.element].path
                    raise MemoryError(f"{path}: no memory for a value of {len(data):,} bytes; send less, or in parts")
            start = record.spill
        record.kind, record.size = lib.RX_PICKLED, len(data)
        self._map[start : start + len(data)] = data

    def get(self, where: int) -> Any:
        """The value in a slot, or in a copy of one; the same object for all readers of one tag."""
        key = where, self._engine.tag()
        if self._cached is not None and self._cached[0] == key:
            return self._cached[1]
        if where & OUTSIDE:
            value = loads(outside(where))
        else:
            source = self._source
            at = source.data + where * source.stride
            record = ffi.cast("rx_record *", self._engine.base + at)
            start = record.spill if record.size > source.stride - _RECORD else at + _RECORD
            value = loads(self._map[start : start + record.size])
        if value.__class__ is np.ndarray:  # all readers share it
            value.flags.writeable = False
        self._cached = key, value
        return value


class ArrayStore(Store):
    """Arrays of one shape and dtype in slots of the arena. `views` are read-only, `slots` the same memory to write."""

    __slots__ = ("dtype", "shape", "slots", "source", "views")

    def __init__(self, engine: StoreOwner, source: WrittenPort, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self.source, self.dtype, self.shape = source, canonical(dtype), shape
        dtype = self.dtype
        buffer = engine.memory.map
        self.slots = source.by_slot(lambda at: np.ndarray(shape, dtype, buffer, at))
        self.views = source.by_slot(lambda at: read_only(np.ndarray(shape, dtype, buffer, at)))

    def way(self) -> dict[str, Any]:
        """What `Engine.way` takes for a port that is written."""
        return {"values": self.views, "slots": self.slots, "sets": COPIES}

    def get(self, where: int) -> np.ndarray[Any, Any]:
        """The value in a slot, or in a copy of one."""
        if where < OUTSIDE:
            return self.views[where]
        return read_only(np.ndarray(self.shape, self.dtype, outside(where)))


def canonical(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The one object that NumPy's own arrays of a dtype have, where there is one; what was pickled is another.

    So those who compare dtypes all day, in C, compare addresses.
    """
    same = np.dtype(dtype.str) if dtype.names is None and dtype.metadata is None else dtype
    return same if same == dtype else dtype


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A view that cannot be written through."""
    view = array.view()
    view.flags.writeable = False
    return view


def outside(where: int) -> Any:
    """The bytes of a copy outside the ring."""
    copy = ffi.cast("rx_copy *", where & ~OUTSIDE)
    return ffi.buffer(copy + 1, copy.size)


def dumps(value: Any) -> bytes:
    """A value as bytes: count of buffers, their sizes and the pickle's, the pickle, the buffers."""
    buffers: list[pickle.PickleBuffer] = []
    try:
        body = pickle.dumps(value, 5, buffer_callback=buffers.append)
    except (pickle.PicklingError, AttributeError, TypeError):
        from reactors_runtime import by_value

        buffers.clear()
        body = by_value.dumps(value, buffers.append)
    raw = [buffer.raw() for buffer in buffers]
    head = np.array([len(raw), len(body), *(len(view) for view in raw)], np.uint64).tobytes()
    if not raw:
        return head + body
    pieces: list[bytes | memoryview] = [head, body]
    length = len(head) + len(body)
    for view in raw:
        pad = -length % 64
        pieces += [b"\0" * pad, view]
        length += pad + len(view)
    return b"".join(pieces)


def loads(data: Any) -> Any:
    """What `dumps` wrote. Buffers are copied: an object may be kept, the slot may not."""
    view = memoryview(data)
    count, size = view[:16].cast("Q")
    if not count:
        return pickle.loads(view[16 : 16 + size])
    sizes = view[16 : 16 + 8 * count].cast("Q").tolist()
    at = 16 + 8 * count
    body = view[at : at + size]
    at += size
    buffers = []
    for length in sizes:
        at += -at % 64
        buffers.append(bytearray(view[at : at + length]))
        at += length
    return pickle.loads(body, buffers=buffers)
