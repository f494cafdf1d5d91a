"""Where does each field of a row lie in the memory that a replay buffer is made of?

The C core takes any layout: it is given where each field begins and how far it is from row to row. Small fields of a
row lie together in one record, beside the word that guards the row, because one array for each field would cost a cold
line of memory for each field of each row that is drawn. Large fields (images) have arrays of their own.

The memory is a memfd without a name. Other processes of the same user reach it through `/proc/<process>/fd` while the
process that gave it to them lives; it is gone with the last process that has it.
"""

from __future__ import annotations

import gc
import math
import os
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from reactors.errors import ArgumentError, MemoryTooSmall
from reactors.lowlevel import Memory, OutOfMemory, available, in_units
from reactors.rl._core import ffi, lib

if TYPE_CHECKING:
    from numpy.typing import NDArray

LINE = 64  # bytes
ROW_HEADER = 16  # bytes of a record before its fields
SMALL = 512  # bytes of a field that still lies in the record
TIDY = 1 << 27  # bytes of buffers from which on those are looked for that nothing refers to any more
FANOUT = 16  # of the tree of priorities: sixteen float32 fill one line


class Field(NamedTuple):
    """One field of a row: its name, the dtype of its elements and their shape; `stacked` if it is made of frames."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    stacked: bool = False

    @property
    def bytes(self) -> int:
        """Of one row, as it is given and sampled."""
        return self.dtype.itemsize * math.prod(self.shape)

    @property
    def stored(self) -> int:
        """Of one row, as it is kept: for frames, the number of the last of them."""
        return 8 if self.stacked else self.bytes

    def __str__(self) -> str:
        return f"{self.name!r} {self.dtype}{list(self.shape) if self.shape else ''}"


def checked_fields(given: object) -> tuple[Field, ...]:
    """Fields from a record dtype, or from a mapping of names to `(shape, dtype)` or to dtypes."""
    if isinstance(given, np.dtype) and given.names:
        specs: dict[str, Any] = {name: given[name] for name in given.names}
    elif isinstance(given, Mapping) and given:
        specs = dict(given)
    else:
        raise ArgumentError(
            f"the fields of a replay buffer are given as {given!r}; write a record dtype, such as rl.transition_dtype "
            'makes, or names with shapes and dtypes: {"obs": ((4,), "f4"), ...}'
        )
    return tuple(_field(name, spec) for name, spec in specs.items())


def _field(name: object, spec: Any) -> Field:
    if not isinstance(name, str) or not name.isidentifier() or name in {"indices", "weights"}:
        raise ArgumentError(f"a field is named {name!r}; take an identifier other than 'indices' and 'weights'")
    try:
        dtype = np.dtype((spec[1], spec[0])) if isinstance(spec, tuple) and len(spec) == 2 else np.dtype(spec)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f'field {name!r} is described by {spec!r}; write ((4,), "f4") or a dtype: {error}'
        ) from None
    base, shape = dtype.subdtype or (dtype, ())
    if base.hasobject or not base.itemsize or not math.prod(shape):
        raise ArgumentError(f"field {name!r} is of {dtype}, which has no fixed size above 0")
    return Field(name, base, shape)


class BufferLayout(NamedTuple):
    """Where everything lies: offsets in bytes from the beginning of the block."""

    bytes: int
    tree: int  # 0: there is none
    priorities: int  # in the tree
    records: int
    stride: int  # of a record
    offsets: tuple[int, ...]  # of each field in slot 0
    strides: tuple[int, ...]  # of each field from slot to slot
    frames: int
    frame_bytes: int
    n_frames: int  # of a stream
    stack: int


def _up(size: int, to: int) -> int:
    return -(-size // to) * to


class TreeShape(NamedTuple):
    """The shape of a tree of priorities, as the core takes it."""

    slots: int
    fanout: int
    real_bytes: int
    minima: bool
    """Whether it keeps the least of them."""


def plan(
    fields: tuple[Field, ...], share: int, streams: int, *, tree: TreeShape | None, stack: int, extra: int, small: int
) -> BufferLayout:
    """Lay out `streams` times `share` rows; `extra` frames of a stream belong to rows that are still to come."""
    slots = share * streams
    at = _up(int(lib.rx_replay_header_bytes(streams)), LINE)
    tree_at = priorities = 0
    if tree is not None:
        tree_at, at = at, at + _up(int(lib.rx_sumtree_bytes(*tree)), LINE)
        priorities = tree_at + int(lib.rx_sumtree_priorities(*tree))
    inside, end = {}, ROW_HEADER
    for i in sorted(range(len(fields)), key=lambda i: -_alignment(fields[i])):
        if fields[i].stored <= small:
            end = _up(end, _alignment(fields[i]))
            inside[i] = end
            end += fields[i].stored
    whole = 1 << (end - 1).bit_length() if end <= LINE else _up(end, LINE)
    stride = whole if whole <= end * 1.3 else _up(end, 8)  # records that straddle no line, where that costs little
    records, at = at, at + stride * slots
    offsets, strides = [], []
    for i, field in enumerate(fields):
        if i in inside:
            offsets.append(records + inside[i])
            strides.append(stride)
        else:
            at = _up(at, LINE)
            offsets.append(at)
            strides.append(field.stored)
            at += field.stored * slots
    frame_bytes = next((field.bytes // stack for field in fields if field.stacked), 0)
    n_frames = share + share // 8 + extra if frame_bytes else 0
    frames = _up(at, LINE)
    size = _up(frames + frame_bytes * n_frames * streams, 4096)
    return BufferLayout(
        size, tree_at, priorities, records, stride, tuple(offsets), tuple(strides), frames, frame_bytes, n_frames,
        stack,
    )  # fmt: skip


def _alignment(field: Field) -> int:
    return 8 if field.stacked else max(1, field.dtype.alignment)


class Address(NamedTuple):
    """How another process finds a block: a descriptor of a process, and what has to lie behind it."""

    process: int
    descriptor: int
    device: int
    inode: int
    size: int


class SharedBlock:
    """Shared memory, opened once in a process however often it is unpickled."""

    _open: ClassVar[weakref.WeakValueDictionary[tuple[int, int], SharedBlock]] = weakref.WeakValueDictionary()

    def __init__(self, memory: Memory) -> None:
        self.memory, self.map, self.size = memory, memory.map, memory.size
        found = os.fstat(memory.descriptor)
        self.identity = found.st_dev, found.st_ino
        self._open[self.identity] = self
        weakref.finalize(self, memory.close)

    @classmethod
    def reserve(cls, plan: BufferLayout, fields: tuple[Field, ...], slots: int) -> SharedBlock:
        """New zeroed memory, or `MemoryTooSmall`, which says what needs how much."""
        if plan.bytes + sum(block.size for block in cls._open.values()) > TIDY:
            gc.collect()  # programs that have ended are cycles, which may hold buffers as large as this one
        free = available()
        try:
            if plan.bytes <= free:
                return cls(Memory.reserve(plan.bytes))
        except OutOfMemory:
            free = available()
        shares = {str(field): field.stored * slots for field in fields}
        shares["frames"] = plan.frame_bytes * plan.n_frames
        largest = sorted(shares.items(), key=lambda share: -share[1])[:3]
        raise MemoryTooSmall(
            f"a replay buffer of {slots} rows needs {in_units(plan.bytes)}, but {in_units(free)} are free; the largest "
            f"fields: {', '.join(f'{name} {in_units(size)}' for name, size in largest if size)}; take a smaller "
            f"capacity ({max(0, int(slots * 0.9 * free / plan.bytes))} would fit), smaller dtypes (uint8 for images), "
            "or frame_stack for stacked frames"
        )

    def address(self) -> Address:
        """What `SharedBlock.at` of another process needs."""
        return Address(os.getpid(), self.memory.descriptor, *self.identity, self.size)

    @classmethod
    def at(cls, address: Address) -> SharedBlock:
        """The block behind an address: the same object where it is open here already."""
        here = cls._open.get((address.device, address.inode))
        if here is not None and here.memory.descriptor >= 0:
            return here
        try:
            descriptor = os.open(f"/proc/{address.process}/fd/{address.descriptor}", os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise _gone(address) from error
        found = os.fstat(descriptor)
        if (found.st_dev, found.st_ino) != (address.device, address.inode):
            os.close(descriptor)
            raise _gone(address)
        return cls(Memory.attach(descriptor, address.size))

    def view(self, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int, stride: int) -> NDArray[Any]:
        """An array of rows of `shape`, `stride` bytes apart."""
        inner = np.empty(shape[1:], dtype).strides
        return np.ndarray(shape, dtype, self.map, offset, (stride, *inner))


def _gone(address: Address) -> ArgumentError:
    return ArgumentError(
        f"the memory of this replay buffer belonged to process {address.process}, which has ended or closed it; "
        "unpickle it while that process lives and holds it, on the same machine and as the same user"
    )


def opened(
    block: SharedBlock,
    plan: BufferLayout,
    fields: tuple[Field, ...],
    streams: int,
    share: int,
    *,
    tree: TreeShape | None,
    fresh: bool,
) -> tuple[Any, Any]:
    """The core's view of a block, and the shape that it has there."""
    names = [field.name for field in fields]
    shape = ffi.new("rx_replay_shape *")
    shape.bytes, shape.streams, shape.share = plan.bytes, streams, share
    shape.tree, shape.records, shape.stride = plan.tree, plan.records, plan.stride
    shape.frames, shape.frame_bytes, shape.n_frames, shape.stack = plan[7:]
    shape.n_fields = len(fields)
    for end in ("terminated", "truncated"):
        setattr(shape, end, names.index(end) if end in names else lib.RX_REPLAY_NO_FIELD)
    table = ffi.new("rx_replay_field[]", len(fields))
    for entry, field, offset, stride in zip(table, fields, plan.offsets, plan.strides, strict=True):
        entry.offset, entry.stride, entry.bytes, entry.sampled = offset, stride, field.stored, field.bytes
    base, sound = ffi.from_buffer(block.map), True
    if tree is not None:
        if fresh and lib.rx_sumtree_init(base + plan.tree, *tree):
            raise ArgumentError(f"a tree of priorities has 1 to 2**32 slots, not {tree.slots}")
        sound = lib.rx_sumtree_check(base + plan.tree, plan.bytes - plan.tree, *tree) == 1
    core = lib.rx_replay_open(base, shape, table, fresh) if sound else ffi.NULL
    if core == ffi.NULL:
        raise ArgumentError("this memory is no replay buffer of that shape: another version of reactors made it")
    return ffi.gc(core, lib.rx_replay_close), shape
