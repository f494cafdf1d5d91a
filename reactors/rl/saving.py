"""How does a replay buffer survive its process, so that it goes on bit for bit?

The file is in the safetensors format (a length, a JSON header, bytes), so that others can read the fields by name; it
is written and read here piece by piece, since a buffer may be larger than what is free beside it. What is no tensor is
in the header's metadata: the shape of the buffer, the state of the random numbers, a checksum of each tensor.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from reactors.errors import ArgumentError
from reactors.rl.storage import Block, Field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reactors.rl.replay_buffer import ReplayBuffer

FORMAT = "reactors.rl.ReplayBuffer 1"
PIECE = 1 << 24  # bytes that are copied at a time
NAMES = {
    "b1": "BOOL", "u1": "U8", "i1": "I8", "u2": "U16", "i2": "I16", "u4": "U32", "i4": "I32", "u8": "U64", "i8": "I64",
    "f2": "F16", "f4": "F32", "f8": "F64",
}  # fmt: skip

B = TypeVar("B", bound="ReplayBuffer")


# ---- what it consists of ----


def arrays(buffer: ReplayBuffer) -> dict[str, NDArray[Any]]:
    """Views of all that makes up a buffer but its random numbers."""
    plan, block, slots = buffer._plan, buffer._block, buffer.capacity
    byte = np.dtype(np.uint8)
    found = {
        "core.head": block.view(byte, (plan.records,), 0, 1),
        "core.words": block.view(np.dtype(np.uint64), (slots,), plan.records, plan.stride),
        "core.steps": block.view(np.dtype(np.uint32), (slots,), plan.records + 8, plan.stride),
    }
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    for field, offset, stride in zip(buffer.config.fields, plan.offsets, plan.strides, strict=True):
        if field.stacked:
            name, dtype, shape = f"core.last_frame.{field.name}", np.dtype(np.uint64), ()
        elif field.dtype.str[1:] in NAMES:
            name, dtype, shape = field.name, field.dtype, field.shape
        else:  # records, complex numbers: as bytes
            name, dtype, shape = field.name, byte, (field.bytes,)
        found[name] = block.view(dtype, (slots, *shape), offset, stride)
    if plan.n_frames:
        frame = next(field for field in buffer.config.fields if field.stacked)
        shape = (plan.n_frames * buffer.config.num_envs, *frame.shape[1:])
        found["core.frames"] = block.view(frame.dtype, shape, plan.frames, plan.frame_bytes)
    if buffer._n_step is not None:
        found |= buffer._n_step.state()
    return found


def rng_state(rng: np.random.Generator) -> dict[str, Any]:
    """The state of a generator in words that JSON has."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: plain(part) for name, part in value.items()}
        return {"array": value.tolist(), "dtype": str(value.dtype)} if isinstance(value, np.ndarray) else value

    state: dict[str, Any] = plain(rng.bit_generator.state)
    return state


def rng_with_state(state: dict[str, Any]) -> np.random.Generator:
    """The generator whose state `rng_state` gave."""

    def lively(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if set(value) == {"array", "dtype"}:
            return np.array(value["array"], value["dtype"])
        return {name: lively(part) for name, part in value.items()}

    kind = getattr(np.random, state["bit_generator"])
    generator = np.random.Generator(kind())
    generator.bit_generator.state = lively(state)
    return generator


def restore(buffer: ReplayBuffer, state: Mapping[str, Any]) -> None:
    """Overwrite all that makes up a buffer."""
    into = arrays(buffer)
    for name, array in into.items():
        given = state.get(name)
        if not isinstance(given, np.ndarray) or (given.shape, given.dtype) != (array.shape, array.dtype):
            found = "missing" if given is None else f"{given.dtype}{list(given.shape)}"
            raise ArgumentError(
                f"{name!r} of the state is {found}, but {buffer!r} has {array.dtype}{list(array.shape)} there: it is "
                "the state of a buffer of other fields, sizes or options"
            )
    rng = rng_with_state(state["rng"])
    for name, array in into.items():
        array[...] = state[name]
    buffer.rng = rng


# ---- the file ----


def _pieces(array: NDArray[Any]) -> Iterator[Any]:
    rows = max(1, PIECE // max(1, array.itemsize * math.prod(array.shape[1:])))
    for at in range(0, len(array), rows):
        yield np.ascontiguousarray(array[at : at + rows]).view(np.uint8).reshape(-1).data


def _config(buffer: ReplayBuffer) -> dict[str, Any]:
    fields = [[f.name, np.lib.format.dtype_to_descr(f.dtype), f.shape, f.stacked] for f in buffer.config.fields]
    return {**buffer.config._asdict(), "fields": fields}


def header(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None) -> bytes:
    """What a safetensors file of these arrays begins with: where each lies, and what is no array."""
    entries: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    at = 0
    for name, array in arrays.items():
        kind = NAMES[array.dtype.str[1:]]
        entries[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _header(buffer: ReplayBuffer, found: dict[str, NDArray[Any]], sums: dict[str, str]) -> bytes:
    metadata = {
        "format": FORMAT,
        "config": json.dumps(_config(buffer)),
        "rng": json.dumps(rng_state(buffer.rng)),
        "beta": json.dumps(buffer.beta),
        "crc32": json.dumps(sums),
    }
    return header(found, metadata)


def save(buffer: ReplayBuffer, path: str | Path) -> None:
    """Write the file beside its place, then put it there."""
    path, found = Path(path), arrays(buffer)
    descriptor, beside = tempfile.mkstemp(prefix=path.name + ".", dir=path.absolute().parent)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor has no path
            sums = dict.fromkeys(found, "0" * 8)
            file.write(_header(buffer, found, sums))
            for name, array in found.items():
                crc = 0
                for piece in _pieces(array):
                    crc = zlib.crc32(piece, crc)
                    file.write(piece)
                sums[name] = f"{crc:08x}"
            file.seek(0)
            file.write(_header(buffer, found, sums))  # as long as before: the sums have a fixed width
            file.flush()
            os.fsync(file.fileno())
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def load(cls: type[B], path: str | Path) -> B:
    """Read what `save` wrote, into new memory."""
    from reactors.rl.replay_buffer import Config

    path = Path(path)
    entries, begin = _entries(path)
    try:
        metadata = entries.pop("__metadata__")
        if metadata["format"] != FORMAT:
            raise ArgumentError(f"{path} has the format {metadata['format']!r}; this version reads {FORMAT!r}")
        described = json.loads(metadata["config"])
        fields = tuple(
            Field(name, np.lib.format.descr_to_dtype(_as_descr(dtype)), tuple(shape), stacked)
            for name, dtype, shape, stacked in described["fields"]
        )
        config = Config(**{**described, "fields": fields})
        rng, sums = rng_with_state(json.loads(metadata["rng"])), json.loads(metadata["crc32"])
        beta = json.loads(metadata["beta"])
        spans = {name: entry["data_offsets"] for name, entry in entries.items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"{path} is no replay buffer: its metadata lack or garble {error}") from error
    buffer = cls.__new__(cls)
    buffer._set_up(config, Block.reserve(config.plan(), fields, config.slots), rng, fresh=True)
    buffer.beta = beta
    into = arrays(buffer)
    size = path.stat().st_size - begin
    if set(into) != set(spans) or any(
        spans[n][1] - spans[n][0] != a.nbytes or spans[n][1] > size for n, a in into.items()
    ):
        raise ArgumentError(
            f"{path} is cut off, or of another version of reactors: its tensors are not those of its buffer"
        )
    with path.open("rb") as file:
        for name, array in into.items():
            file.seek(begin + spans[name][0])
            if _read(file, array) != sums.get(name):
                raise ArgumentError(f"{path} is damaged: the checksum of {name!r} is another")
    return buffer


def _as_descr(given: Any) -> Any:
    """A dtype's description as JSON gives it back: lists where NumPy wants tuples."""
    if not isinstance(given, list):
        return given
    return [
        tuple(_as_descr(p) if i == 1 else tuple(p) if isinstance(p, list) else p for i, p in enumerate(entry))
        for entry in given
    ]


def _entries(path: Path) -> tuple[dict[str, Any], int]:
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if not 2 <= size <= min(path.stat().st_size - 8, 100_000_000):
            raise ArgumentError(f"{path} is no safetensors file, or cut off")
        try:
            entries: Any = json.loads(file.read(size))
        except ValueError as error:
            raise ArgumentError(f"{path} is no safetensors file: its header is no JSON") from error
    if not isinstance(entries, dict) or "__metadata__" not in entries:
        raise ArgumentError(f"{path} is a safetensors file, but no replay buffer")
    return entries, 8 + size


def _read(file: Any, array: NDArray[Any]) -> str:
    crc = 0
    rows = max(1, PIECE // max(1, array.itemsize * math.prod(array.shape[1:])))
    for at in range(0, len(array), rows):
        part = array[at : at + rows]
        data = file.read(part.nbytes)
        crc = zlib.crc32(data, crc)
        part[...] = np.frombuffer(data, array.dtype).reshape(part.shape)
    return f"{crc:08x}"
