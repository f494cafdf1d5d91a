"""How are slots sampled in proportion to priorities that change all the time?

This is the K-ary sum tree of csrc/rl/sumtree for callers in Python: one call into C takes a batch of slots and
priorities, or returns sampled slots. csrc/rl/sumtree/sumtree.h says what is guaranteed when several threads or
processes use one tree.
"""

from __future__ import annotations

import math
import mmap
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import ArgumentError, ReactorError
from reactors.rl._core import ffi, lib
from reactors.rl.public import public

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, DTypeLike, NDArray

_INT64, _FLOAT32, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float32), np.dtype(np.float64)
_SLOTS, _SINGLES, _DOUBLES = ffi.typeof("int64_t[]"), ffi.typeof("float[]"), ffi.typeof("double[]")
_pointer, _set, _set_f4, _get = (
    ffi.from_buffer,
    lib.rx_sumtree_set_freely,
    lib.rx_sumtree_set_f4_freely,
    lib.rx_sumtree_get_freely,
)
_sample, _find = lib.rx_sumtree_sample_freely, lib.rx_sumtree_find_freely


class SumTreeError(ReactorError, ValueError):
    """A slot, priority or mass that a sum tree cannot take, or a tree with nothing to sample."""


@public("rl.SumTree")
class SumTree:
    """Priorities of `capacity` slots, all 0 at first; slots are sampled in proportion to their priorities.

    `fanout` is a power of two from 2 to 64 (16 float32 fill one cache line). `dtype` is float32 or float64, for the
    stored priorities and sums. `minimum=True` also keeps the least positive priority, for importance weights. The tree
    lies in `memory`, a writable buffer that begins at a multiple of 64 bytes and holds zeros, or a tree of this shape,
    which is then shared. Without `memory`, it allocates memory that forked children share. Its inner sums depend only
    on its priorities, bit for bit, and never on their history, so a restored tree samples as before. Raises
    `ArgumentError` for invalid arguments. The structure is that of Parallel Actors and Learners (Zhang, Kuppannagari,
    Prasanna, HiPC 2021), section on the K-ary sum tree.

    >>> tree = SumTree(1000)
    >>> tree[[3, 500, 999]] = [1.0, 2.0, 1.0]
    >>> tree.total, tree.minimum
    (4.0, 1.0)
    >>> tree.find([0.0, 1.0, 2.9, 3.0])
    array([  3, 500, 500, 999])
    >>> slots, priorities = tree.sample(4, np.random.default_rng(0))
    >>> slots, priorities
    (array([  3, 500, 500, 999]), array([1., 2., 2., 1.]))
    """

    __slots__ = ("_block", "_tree", "capacity", "dtype", "fanout")

    def __init__(
        self, capacity: int, *, fanout: int = 16, dtype: DTypeLike = "f4", minimum: bool = True, memory: Any = None
    ) -> None:
        self.capacity, self.fanout, self.dtype = int(capacity), int(fanout), np.dtype(dtype)
        size = self.size(capacity, fanout=fanout, dtype=dtype, minimum=minimum)
        memory = mmap.mmap(-1, size) if memory is None else memory
        block = ffi.from_buffer("uint8_t[]", memory, require_writable=True)  # which keeps the memory alive
        shape = self.capacity, self.fanout, self.dtype.itemsize, minimum
        if lib.rx_sumtree_check(block, len(block), *shape) < 0:
            raise ArgumentError(f"{self!r} cannot lie in this memory: {self._misfit(block, size)}")
        if not lib.rx_sumtree_check(block, len(block), *shape):
            lib.rx_sumtree_init(block, *shape)
        self._block, self._tree = block, ffi.cast("rx_sumtree *", block)

    @staticmethod
    def size(capacity: int, *, fanout: int = 16, dtype: DTypeLike = "f4", minimum: bool = True) -> int:
        """The bytes of memory that such a tree needs. Raises `ArgumentError` for invalid arguments.

        >>> SumTree.size(1_000_000) < 5_000_000
        True
        """
        kind = np.dtype(dtype)
        if kind not in (_FLOAT32, _FLOAT64):
            raise ArgumentError(f"SumTree: dtype is {kind}; it can be float32 or float64")
        if not 1 <= capacity <= 1 << 32:
            raise ArgumentError(f"SumTree: capacity is {capacity}; it can be 1 to 2**32 slots")
        if fanout not in (2, 4, 8, 16, 32, 64):
            raise ArgumentError(f"SumTree: fanout is {fanout}; it can be a power of two from 2 to 64")
        return int(lib.rx_sumtree_bytes(capacity, fanout, kind.itemsize, minimum))

    def set(self, slots: ArrayLike, priorities: ArrayLike) -> None:
        """Set priorities of `slots` (integers): as many reals, or one for all, 0 or more and finite.

        If a slot occurs twice, the last priority counts. Priorities are rounded to the dtype of the tree. The call is
        all or nothing: for an invalid slot or priority, `SumTreeError` names it, and nothing is changed.
        """
        if type(slots) is not np.ndarray or slots.dtype is not _INT64 or not slots.flags.c_contiguous:
            slots = _as_slots(slots)
        if type(priorities) is not np.ndarray or not priorities.flags.c_contiguous:
            priorities = _as_reals(priorities, "priorities")
        n = slots.size
        if priorities.size != n:
            if priorities.ndim:
                raise SumTreeError(f"{self!r}: {n} slots, but {priorities.size} priorities")
            priorities = np.full(n, priorities)
        if priorities.dtype is _FLOAT32:
            done = _set_f4(self._tree, n, _pointer(_SLOTS, slots), _pointer(_SINGLES, priorities))
        else:
            if priorities.dtype is not _FLOAT64:
                priorities = _as_reals(priorities, "priorities").astype(_FLOAT64)
            done = _set(self._tree, n, _pointer(_SLOTS, slots), _pointer(_DOUBLES, priorities))
        if done != n:
            raise self._refusal(slots.flat[done], priorities.flat[done])

    def get(self, slots: ArrayLike) -> NDArray[np.float64]:
        """The priorities of `slots`, in the same shape. `SumTreeError` names a slot that does not exist."""
        slots = _as_slots(slots)
        priorities = np.empty(slots.shape)
        done = _get(self._tree, slots.size, _pointer(_SLOTS, slots), _pointer(_DOUBLES, priorities))
        if done != slots.size:
            raise self._refusal(slots.flat[done], 0.0)
        return priorities

    def sample(
        self, n: int, rng: np.random.Generator, stratified: bool = True
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Draw n slots in proportion to their priorities, with replacement: int64[n], and their priorities float64[n].

        If `stratified`, the i-th slot comes from the i-th of n equal parts of the total (Prioritized Experience Replay,
        Schaul et al. 2016, appendix B.2.1), so the slots ascend. Raises `SumTreeError` if all priorities are 0.
        """
        uniforms, slots, priorities = rng.random(n), np.empty(n, _INT64), np.empty(n)
        done = _sample(
            self._tree,
            n,
            _pointer(_DOUBLES, uniforms),
            stratified,
            _pointer(_SLOTS, slots),
            _pointer(_DOUBLES, priorities),
        )
        if done != n:
            raise self._refusal(0, 0.0, done)
        return slots, priorities

    def find(self, masses: ArrayLike) -> NDArray[np.int64]:
        """The slots that own `masses`, in the same shape.

        Slot i owns the masses from the sum of the priorities before it up to that sum plus its own priority. A mass
        beyond the total belongs to the last slot with a positive priority. Raises `SumTreeError` for a mass that is
        negative or NaN, and if all priorities are 0.
        """
        wanted = _as_reals(masses, "masses").astype(_FLOAT64, order="C")
        slots = np.empty(wanted.shape, _INT64)
        done = _find(self._tree, wanted.size, _pointer(_DOUBLES, wanted), _pointer(_SLOTS, slots), ffi.NULL)
        if 0 <= done < wanted.size:
            raise SumTreeError(f"{self!r}: no slot owns the mass {wanted.flat[done]}; masses are 0 or more")
        if done < 0:
            raise self._refusal(0, 0.0, done)
        return slots

    @property
    def total(self) -> float:
        """The sum of all priorities."""
        return float(lib.rx_sumtree_total(self._tree))

    @property
    def minimum(self) -> float:
        """The least positive priority, infinite if there is none. `ArgumentError` for a tree with `minimum=False`."""
        least = float(lib.rx_sumtree_minimum(self._tree))
        if math.isnan(least):
            raise ArgumentError(f"{self!r} keeps no minimum; construct it with minimum=True")
        return least

    def rebuild(self) -> None:
        """Compute all sums again: needed only after a process that used the tree was killed while writing."""
        lib.rx_sumtree_rebuild_freely(self._tree)

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """The complete state: `priorities`, one for each slot, in the dtype of the tree."""
        return {"priorities": self.get(np.arange(self.capacity)).astype(self.dtype)}

    def load_state_dict(self, state: Mapping[str, ArrayLike]) -> None:
        """Take the priorities of a tree of the same capacity. Raises `SumTreeError` if they do not fit."""
        priorities = _as_reals(state["priorities"], "priorities")
        if priorities.shape != (self.capacity,):
            raise SumTreeError(f"{self!r}: the state holds priorities of shape {priorities.shape}")
        self.set(np.arange(self.capacity), priorities)

    def __len__(self) -> int:
        return self.capacity

    def __getitem__(self, slots: ArrayLike | slice) -> NDArray[np.float64]:
        return self.get(np.arange(*slots.indices(self.capacity)) if isinstance(slots, slice) else slots)

    def __setitem__(self, slots: ArrayLike | slice, priorities: ArrayLike) -> None:
        if not isinstance(slots, slice):
            self.set(slots, priorities)
            return
        first, last, step = slots.indices(self.capacity)
        if step != 1 or np.ndim(priorities):
            self.set(np.arange(first, last, step), priorities)
            return
        value, n = float(_as_reals(priorities, "priorities")), max(0, last - first)
        if lib.rx_sumtree_fill_freely(self._tree, first, n, value) != n:
            raise self._refusal(first, value)

    def __repr__(self) -> str:
        return f"SumTree({self.capacity}, fanout={self.fanout}, dtype={self.dtype.name!r})"

    def __reduce__(self) -> Any:
        raise ArgumentError(f"{self!r} cannot be pickled: pass its memory, or its state_dict()")

    def _misfit(self, block: Any, size: int) -> str:
        if len(block) < size:
            return f"it has {len(block)} bytes, and {size} are needed"
        if int(ffi.cast("uintptr_t", block)) % 64:
            return "it does not begin at a multiple of 64 bytes"
        return "it holds something else, or a tree of another shape; clear it first"

    def _refusal(self, slot: Any, priority: Any, code: int = 0) -> SumTreeError:
        if code == lib.RX_SUMTREE_EMPTY:
            return SumTreeError(f"{self!r} has nothing to sample: every priority is 0; set some first")
        if code == lib.RX_SUMTREE_OVERFLOW:
            return SumTreeError(
                f"{self!r}: its priorities sum to more than {self.dtype.name} holds; use dtype='f8' or less"
            )
        if not 0 <= slot < self.capacity:
            return SumTreeError(f"{self!r} has no slot {slot}; nothing was changed")
        return SumTreeError(
            f"{self!r}: slot {slot} cannot have priority {priority}; priorities are 0 or more and finite as"
            f" {self.dtype.name}; nothing was changed"
        )


def _as_slots(slots: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(slots)
    if array.size and array.dtype.kind not in "iu":
        raise ArgumentError(f"SumTree: slots are integers, not {array.dtype}")
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise SumTreeError(f"SumTree: there is no slot {array.max()}")
    return array.astype(_INT64, order="C", copy=False)


def _as_reals(values: ArrayLike, name: str) -> NDArray[Any]:
    array = np.asarray(values, order="C")
    if array.dtype.kind not in "fiub":
        raise ArgumentError(f"SumTree: {name} are real numbers, not {array.dtype}")
    return array
