"""The C structs of csrc/api.inc as NumPy dtypes, so that whole tables are written, and statistics read, in one go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors_runtime._core import ffi

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reactors_runtime.memory import Memory

_NUMPY = {"uint8_t": np.uint8, "uint32_t": np.uint32, "uint64_t": np.uint64, "int64_t": np.int64}


def _dtype(name: str) -> np.dtype[Any]:
    """The struct of that name; layout and names come from the compiler, through cffi."""
    struct = ffi.typeof(name)
    if struct.kind == "primitive":
        return np.dtype(_NUMPY[name])
    names, formats, offsets = [], [], []
    for field, info in struct.fields:
        names.append(field)
        formats.append(
            np.dtype((_NUMPY[info.type.item.cname], info.type.length))
            if info.type.kind == "array"
            else _dtype(info.type.cname)
        )
        offsets.append(info.offset)
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": ffi.sizeof(name)})


TAG = _dtype("rx_tag")
REACTION = _dtype("rx_reaction")
CELL = _dtype("rx_cell")
FAN = _dtype("rx_fan")
SOURCE = _dtype("rx_source")
SUB = _dtype("rx_sub")
TAP = _dtype("rx_tap")
WAIT = _dtype("rx_wait")
TIMER = _dtype("rx_timer")
ACTION = _dtype("rx_action")
MODE = _dtype("rx_mode")
MODAL = _dtype("rx_modal")
REPLAYED = _dtype("rx_replayed")
INJECTION = _dtype("rx_injection")
STATS = _dtype("rx_stats")
TABLES = _dtype("rx_tables")
ENTRY = _dtype("rx_entry")
NOTED = _dtype("rx_noted")
JOURNAL = _dtype("rx_journal")
SPAN = _dtype("rx_span")
TRACE = _dtype("rx_trace")
IMAGE = _dtype("rx_image")
LINE = _dtype("rx_line")
BELL = _dtype("rx_bell")
FAR = _dtype("rx_far")
PASSAGE = _dtype("rx_passage")
QUIET = _dtype("rx_quiet")
TRAFFIC = _dtype("rx_traffic")


def view(memory: Memory, offset: int, count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """`count` items at an offset of the arena, in place."""
    return np.ndarray((count,), dtype, memory.map, offset)


def seconds(stats: NDArray[Any]) -> NDArray[np.float64]:
    """What each reaction took altogether: of the known executions as measured, of all others by those that were drawn.

    >>> rows = np.zeros(1, STATS)
    >>> rows["count"], rows["sampled"], rows["ns"], rows["known"], rows["known_ns"] = 101, 2, 10, 1, 10**9
    >>> seconds(rows).tolist()
    [1.0000005]
    """
    others = np.maximum(stats["count"].astype(float) - stats["known"], 0)  # of a run that goes on, one may be ahead
    found: NDArray[np.float64] = (stats["known_ns"] + stats["ns"] * others / np.maximum(stats["sampled"], 1)) / 1e9
    return found
