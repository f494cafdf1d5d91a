"""What does a replay buffer return, and how do its arrays become tensors?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from reactors.errors import ArgumentError
from reactors.lowlevel import did_you_mean
from reactors.rl._core import ffi
from reactors.rl.public import public

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reactors.rl.replay.storage import Field


T = TypeVar("T")


class Columns(dict[str, T]):
    """The fields of a batch by name; a `KeyError` for an unknown name lists the known ones.

    >>> Columns(reward=1.0)["rewards"]
    Traceback (most recent call last):
    KeyError: "a batch with reward has no 'rewards'; did you mean 'reward'?"
    """

    __slots__ = ()

    def __missing__(self, name: object) -> T:
        raise KeyError(self._lacking(str(name)))

    def _lacking(self, name: str) -> str:
        return f"a batch with {', '.join(self)} has no {name!r}{did_you_mean(name, self)}"


class Batch(Columns["NDArray[Any]"]):
    """Rows of a buffer, a dict of arrays with a leading axis; `batch.obs` is `batch["obs"]`.

    Besides the fields there are `indices` (int64), the permanent numbers of the rows in the buffer, and `weights`
    (float32), the importance weights of prioritized sampling: (P(i) / least P of the batch)^-beta, all 1 if sampling is
    uniform. That is (N P(i))^-beta over the greatest in the batch (Schaul et al., Prioritized Experience Replay,
    section 3.4); a buffer with `weights="buffer"` takes the least P of all rows. If the fields include `reward` and
    `terminated`, there is always a `discount` (float32): gamma to the number of steps, the factor of the value of
    `next_obs` unless the episode terminated.
    """

    __slots__ = ("_core", "_kept", "_tensors", "_uniforms")

    if TYPE_CHECKING:  # the most common fields; others are arrays as well
        obs: NDArray[Any]
        action: NDArray[Any]
        reward: NDArray[Any]
        next_obs: NDArray[Any]
        terminated: NDArray[np.bool_]
        truncated: NDArray[np.bool_]
        discount: NDArray[np.float32]
        indices: NDArray[np.int64]
        weights: NDArray[np.float32]

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name in self:
            return self[name]
        raise AttributeError(self._lacking(name))

    def __init__(self, fields: tuple[Field, ...], n: int, *lead: int, gamma: float) -> None:
        lead = lead or (n,)
        super().__init__({f.name: np.zeros((*lead, *f.shape), f.dtype) for f in fields})
        into = ffi.new(
            "void *[]", [ffi.from_buffer(a) if a.dtype.names is None else _address(a) for a in self.values()]
        )
        rows = int(np.prod(lead))
        slots, self["indices"] = np.zeros(rows, np.int64), np.zeros(lead, np.int64)
        priorities, self["weights"] = np.ones(rows), np.ones(lead, np.float32)
        if of_one_step(fields):
            self["discount"] = np.full(lead, gamma, np.float32)
        self._uniforms = np.zeros(n)
        arrays: tuple[tuple[str, Any], ...] = (
            ("double[]", self._uniforms), ("int64_t[]", slots), ("int64_t[]", self["indices"]),
            ("double[]", priorities), ("float[]", self["weights"]),
        )  # fmt: skip
        self._core = into, *(ffi.from_buffer(kind, array) for kind, array in arrays)
        self._kept = list(self.values())  # the core writes there, even if the entries are replaced
        self._tensors: dict[str, Any] | None = None

    def copy(self) -> dict[str, NDArray[Any]]:
        """The same rows in new arrays."""
        return {name: array.copy() for name, array in self.items()}

    def tensors(self) -> dict[str, Any]:
        """The same memory as torch tensors; a record of several parts becomes a dict of tensors.

        >>> from reactors import rl
        >>> buffer = rl.ReplayBuffer(10, {"obs": ((2,), "f4")}, seed=0)
        >>> _ = buffer.add(obs=np.ones((3, 2), "f4"))
        >>> buffer.sample(2).tensors()["obs"]
        tensor([[1., 1.],
                [1., 1.]])
        """
        if self._tensors is None:
            self._tensors = {name: tensor_of(array, name) for name, array in self.items()}
        return self._tensors


def of_one_step(fields: tuple[Field, ...]) -> bool:
    """Whether rows have rewards and ends but no discount of their own; then it is gamma for all of them."""
    names = {field.name for field in fields}
    return names >= {"reward", "terminated"} and "discount" not in names


def _address(array: NDArray[Any]) -> Any:
    return ffi.cast("void *", array.ctypes.data)


def tensor_of(array: NDArray[Any], name: str) -> Any:
    """A torch view of an array, or a dict of views of the parts of a record array."""
    import torch

    if array.dtype.names is not None:
        return {part: tensor_of(array[part], f"{name}.{part}") for part in array.dtype.names}
    try:
        return torch.from_numpy(array)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"torch takes no view of {name!r}, {array.dtype} with strides {array.strides}: {error}"
        ) from None


@public("rl.batch_dtype")
def batch_dtype(fields: tuple[Field, ...], n: int) -> np.dtype[Any]:
    """The record dtype of a whole batch of `n` rows: a contiguous column for each field of an `rl.Batch`."""
    columns: list[Any] = [(field.name, field.dtype, (n, *field.shape)) for field in fields]
    if of_one_step(fields):
        columns.append(("discount", np.float32, (n,)))
    return np.dtype([*columns, ("indices", np.int64, (n,)), ("weights", np.float32, (n,))], align=True)


@public("rl.batch_tensors")
def batch_tensors(batch: NDArray[Any]) -> dict[str, Any]:
    """Torch views of the columns of a batch from `Replay.batch`, without copies.

    They must not be written to, and are valid as long as the value: during the reaction.
    """
    # torch warns about read-only memory
    memory = ffi.buffer(ffi.cast("char *", batch.ctypes.data), batch.nbytes)
    columns = np.ndarray((), batch.dtype, memory)
    return {name: tensor_of(columns[name], name) for name in batch.dtype.names or ()}
