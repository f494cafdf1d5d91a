"""How are single steps combined to n-step rows?

A row waits until it has n steps, or until its episode ends. Waiting rows belong to the process that adds them, because
each stream has one writer; they are not in the buffer yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.rl._core import ffi, lib
from reactors.rl.encoding.state import StateError, check_form

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from reactors.rl.replay.config import Config
    from reactors.rl.replay.incoming import Incoming

# taken from the last step; all else is as it was at the first
LAST = ("next_obs", "next_acted", "next_masks", "next_state", "terminated", "truncated")


class NStep:
    """The queues of waiting steps of all streams, and the complete rows that come out of them."""

    @staticmethod
    def forms(config: Config) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
        """Dtypes and shapes of the waiting rows, as `state` returns them; empty for single-step rows."""
        if config.n_step == 1:
            return {}
        waiting, row = config.num_envs * config.n_step, sum(field.stored for field in config.fields)
        return {
            "pending.rows": (np.dtype(np.uint8), (waiting * row,)),
            "pending.returns": (np.dtype(np.float64), (waiting,)),
            "pending.counts": (np.dtype(np.uint32), (config.num_envs,)),
        }

    def __init__(self, config: Config) -> None:
        fields = config.fields
        names = [f.name for f in fields]
        self._dtype = np.dtype([(f.name, f"V{f.stored}") for f in fields])
        offsets = [self._dtype.fields[name][1] for name in names]  # type: ignore[index]  # it has fields
        self._pending, self._returns, self._counts = (
            np.zeros(shape, dtype) for dtype, shape in self.forms(config).values()
        )
        self._pending = self._pending.view(self._dtype)
        self._fold = ffi.new("rx_replay_fold *")
        self._fold.n_fields, self._fold.n, self._fold.streams = len(fields), config.n_step, config.num_envs
        for name in ("reward", "terminated", "truncated", "discount"):
            setattr(self._fold, name, names.index(name))
        self._fold.row_bytes, self._fold.gamma = self._dtype.itemsize, config.gamma
        self._table = (
            ffi.new("uint64_t[]", offsets),
            ffi.new("uint64_t[]", [f.stored for f in fields]),
            ffi.new("uint8_t[]", [name in LAST for name in names]),
        )
        self._offsets = offsets

    def fold(self, rows: Incoming, n: int, streams: Any, complete: Incoming) -> tuple[int, NDArray[np.int32]]:
        """Take `n` single-step rows and point `complete` at those that are whole; returns their number and streams."""
        out = np.empty(n + len(self._pending), self._dtype)
        of = np.empty(len(out), np.int32)
        state = self._pending.ctypes.data, self._returns.ctypes.data, self._counts.ctypes.data
        kinds = "uint8_t *", "double *", "uint32_t *"
        made = lib.rx_replay_fold_rows(
            self._fold, *self._table, n, rows.pointers, rows.strides, streams,
            *(ffi.cast(kind, at) for kind, at in zip(kinds, state, strict=True)),
            ffi.cast("uint8_t *", out.ctypes.data), ffi.from_buffer("int32_t[]", of),
        )  # fmt: skip
        complete.point(out, self._offsets)
        return made, of

    def state(self) -> dict[str, NDArray[Any]]:
        """The waiting rows, as plain arrays that are not copied."""
        pending = self._pending.view(np.uint8)
        return {"pending.rows": pending, "pending.returns": self._returns, "pending.counts": self._counts}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue with the waiting rows of another process."""
        for name, array in self.state().items():
            array[:] = state[name]

    def state_of(self, streams: slice) -> dict[str, NDArray[Any]]:
        """The waiting rows of some streams, an array's row for each stream; they are not copied."""
        n = len(self._counts)
        return {name.removeprefix("pending."): array.reshape(n, -1)[streams] for name, array in self.state().items()}

    def restore_of(self, streams: slice, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue with waiting rows of some streams; `StateError` for what these cannot have."""
        into = self.state_of(streams)
        check_form(into, state, "n_step")
        if (state["counts"] >= self._fold.n).any():
            raise StateError("n_step.counts has more steps than can wait")
        for name, array in into.items():
            array[...] = state[name]

    def give_up(self, broken_off: NDArray[np.bool_], first: int = 0) -> None:
        """Forget the waiting rows of streams whose episodes go on no more; bool (streams,), from the `first` on."""
        self._counts[first : first + len(broken_off)][broken_off] = 0
