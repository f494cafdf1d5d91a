"""How does a replay buffer survive its process, so that it goes on bit for bit?

In a safetensors file, so that others can read the fields by name. What is no tensor is in the header's metadata: the
shape of the buffer, the state of the random numbers, a checksum of each tensor, and one of the header itself. Checksums
find accidents; whatever passes them is looked at before it is used, so no file leads to a place outside of the buffer's
memory.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from reactors.errors import ArgumentError
from reactors.rl._core import ffi, lib
from reactors.rl.encoding.generators import rng_state, rng_with_state
from reactors.rl.encoding.sealed import UNSEALED, is_sealed, sealed
from reactors.rl.encoding.tensors import NAMES, Form, header, put, read_header, take
from reactors.rl.replay.config import Config, rate
from reactors.rl.replay.n_step import NStep
from reactors.rl.replay.storage import BufferLayout, Field, SharedBlock

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


FORMAT = "reactors.rl.ReplayBuffer 2"
LAST_FRAME = "core.last_frame."
CHECKED = ("core.greatest", "core.streams", "core.words", "core.priorities", "core.last_frame")  # as the core counts

B = TypeVar("B", bound="Savable")


# ---- what it consists of ----


class Savable(Protocol):
    """A replay buffer, as far as it is written down and made again."""

    config: Config
    rng: np.random.Generator
    beta: float
    _block: SharedBlock
    _plan: BufferLayout
    _n_step: NStep | None
    _shape: Any
    _core: Any

    def _set_up(self, config: Config, block: SharedBlock, rng: np.random.Generator, *, fresh: bool) -> None: ...


class Region(NamedTuple):
    """Where in the block an array lies: its form, where it begins, and how far it is from row to row."""

    form: Form
    offset: int
    stride: int


def _places(config: Config, plan: BufferLayout) -> dict[str, Region]:
    """All that makes up a buffer and lies in its block. What follows from it, such as sums, is left out."""
    slots, byte, word, real = config.slots, np.dtype(np.uint8), np.dtype(np.uint64), np.dtype(np.float32)
    streams, stream = (int(lib.rx_replay_header_bytes(n)) for n in (0, 1))
    found = {
        "core.greatest": Region(Form(word, (1,)), lib.RX_REPLAY_GREATEST, 8),
        "core.counters": Region(Form(word, (3,)), lib.RX_REPLAY_COUNTERS, 8),
        "core.streams": Region(Form(word, (config.num_envs, 4)), streams, stream - streams),
        "core.words": Region(Form(word, (slots,)), plan.records, plan.stride),
        "core.steps": Region(Form(np.dtype(np.uint32), (slots,)), plan.records + 8, plan.stride),
    }
    if plan.tree:
        found["core.priorities"] = Region(Form(real, (slots,)), plan.priorities, 4)
    for field, offset, stride in zip(config.fields, plan.offsets, plan.strides, strict=True):
        if field.stacked:
            found[LAST_FRAME + field.name] = Region(Form(word, (slots,)), offset, stride)
        elif _kind(field.dtype) is not None:
            found[field.name] = Region(Form(field.dtype, (slots, *field.shape)), offset, stride)
        else:  # records, complex numbers: as bytes
            found[field.name] = Region(Form(byte, (slots, field.bytes)), offset, stride)
    if plan.n_frames:
        frame = next(field for field in config.fields if field.stacked)
        shape = plan.n_frames * config.num_envs, *frame.shape[1:]
        found["core.frames"] = Region(Form(frame.dtype, shape), plan.frames, plan.frame_bytes)
    return found


def _kind(dtype: np.dtype[Any]) -> str | None:
    """What safetensors calls numbers of this kind; None where it has no word for them."""
    return NAMES.get(dtype.str[1:]) if dtype.isnative else None


def arrays(buffer: Savable) -> dict[str, NDArray[Any]]:
    """Views of all that makes up a buffer but its random numbers."""
    found = {
        name: buffer._block.view(*form, offset, stride)
        for name, (form, offset, stride) in _places(buffer.config, buffer._plan).items()
    }
    return found if buffer._n_step is None else found | buffer._n_step.state()


def snapshot(buffer: Savable) -> dict[str, NDArray[Any]]:
    """Copies of all that makes up a buffer, while others may be adding: rows that changed meanwhile are gone in it.

    Words are read before and after all else, as by those who sample, and streams after them, until they stand still:
    so no word has a number that its stream has not given, and rows whose frames were overwritten are known to be gone.
    """
    found = arrays(buffer)
    before = found["core.words"].copy()
    copied = {name: array.copy() for name, array in found.items() if name not in {"core.words", "core.streams"}}
    words, streams = found["core.words"].copy(), found["core.streams"].copy()
    while (streams != (streams := found["core.streams"].copy())).any():
        pass
    number = np.uint64(lib.RX_REPLAY_NUMBER)
    changed = (before >> number != words >> number) | ((before | words) & np.uint64(1) != 0)
    words = words >> number << number | changed  # without those who are changing priorities
    gone = words >> number == 0  # a row that was given up meanwhile, before another has come into its slot
    words[gone] = 0
    if "core.priorities" in copied:
        copied["core.priorities"][gone] = 0
    copied |= {"core.words": words, "core.streams": streams}
    return {name: copied[name] for name in found}


def restore(buffer: Savable, state: Mapping[str, Any]) -> None:
    """Overwrite all that makes up a buffer; with a state that no buffer of its fields and sizes has, nothing is."""
    into = arrays(buffer)
    for name, array in into.items():
        given = state.get(name)
        if not isinstance(given, np.ndarray) or (given.shape, given.dtype) != (array.shape, array.dtype):
            found = "missing" if given is None else f"{given.dtype}{list(given.shape)}"
            raise ArgumentError(
                f"{name!r} of the state is {found}, but {buffer!r} has {array.dtype}{list(array.shape)} there: it is "
                "the state of a buffer of other fields, sizes or options"
            )
    _check(buffer, {name: state[name] for name in into}, "the state")
    rng, beta = rng_with_state(state["rng"]), rate(state.get("beta", buffer.beta), "beta")  # 0.1.0 had none
    for name, array in into.items():
        array[...] = state[name]
    lib.rx_replay_settle(buffer._core)
    buffer.rng, buffer.beta = rng, beta


def _check(buffer: Savable, state: Mapping[str, NDArray[Any]], where: str) -> None:
    """Refuse values that would lead the core, or those who take its rows, to places that there are not."""
    last = [name for name in state if name.startswith(LAST_FRAME)]
    given, kept = ffi.new("rx_replay_state *"), {}
    for name in (*CHECKED[:4], *last):
        if name in state:
            kept[name] = np.ascontiguousarray(state[name])
    for name in kept.keys() - last:
        of = name.removeprefix("core.")
        setattr(given, of, ffi.cast("float *" if of == "priorities" else "uint64_t *", kept[name].ctypes.data))
    for i, name in enumerate(last):
        given.last[i] = ffi.cast("uint64_t *", kept[name].ctypes.data)
    wrong = lib.rx_replay_check(buffer._shape, given)
    if wrong:
        raise ArgumentError(f"{CHECKED[wrong - 1]!r} of {where} has a value that no replay buffer can have")
    for field in buffer.config.fields:
        if not field.stacked and not _has_bools(state[field.name], field.dtype):
            raise ArgumentError(f"{field.name!r} of {where} has a bool that is neither 0 nor 1")
    if buffer._n_step is not None and (state["pending.counts"] >= buffer.config.n_step).any():
        raise ArgumentError(f"'pending.counts' of {where} has more steps than can wait")


def _has_bools(array: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Whether all bools of an array, of records above all, are bools: NumPy counts on it where it selects by them."""
    if array.dtype != dtype:
        array = np.ascontiguousarray(array).view(dtype)
    if dtype.names is not None:
        return all(_has_bools(array[name], array[name].dtype) for name in dtype.names)
    return dtype.kind != "b" or bool((array.view(np.uint8) < 2).all())


# ---- the file ----


def _config(buffer: Savable) -> dict[str, Any]:
    fields = [[f.name, np.lib.format.dtype_to_descr(f.dtype), f.shape, f.stacked] for f in buffer.config.fields]
    return {**buffer.config._asdict(), "fields": fields}


def _header(buffer: Savable, found: Mapping[str, NDArray[Any]], sums: dict[str, str]) -> bytes:
    metadata = {
        **UNSEALED,
        "format": FORMAT,
        "config": json.dumps(_config(buffer)),
        "rng": json.dumps(rng_state(buffer.rng)),
        "beta": json.dumps(buffer.beta),
        "sums": json.dumps(sums),
    }
    return sealed(header(found, metadata))


def save(buffer: Savable, path: str | Path) -> None:
    """Write the file beside its place, then put it there."""
    path, found = Path(path), arrays(buffer)
    if path.is_dir():
        raise ArgumentError(f"a replay buffer is to be saved as {str(path)!r}, which is a folder; name a file in it")
    if not path.parent.is_dir():
        raise ArgumentError(
            f"a replay buffer is to be saved as {str(path)!r}, but there is no folder {str(path.parent)!r}; make it"
        )
    beside = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}")  # with a new file's permissions
    try:
        with beside.open("wb") as file:
            sums = dict.fromkeys(found, "0" * 8)
            file.write(_header(buffer, found, sums))
            for name, array in found.items():
                sums[name] = f"{put(file, array):08x}"
            file.seek(0)
            file.write(_header(buffer, found, sums))  # as long as before: the sums have a fixed width
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from None  # never the file beside it
        raise


def load(cls: type[B], path: str | Path) -> B:
    """Read what `save` wrote, into new memory."""
    path = Path(path)
    entries, begin = _entries(path)
    try:
        metadata = entries.pop("__metadata__")
        config, plan = _checked_config(json.loads(metadata["config"]))
        rng, sums = rng_with_state(json.loads(metadata["rng"])), json.loads(metadata["sums"])
        beta = rate(json.loads(metadata["beta"]), "beta")
        forms = {name: place.form for name, place in _places(config, plan).items()}
        forms |= {name: Form(*form) for name, form in NStep.forms(config).items()}
        expected = json.loads(header(forms, None)[8:])
        total = begin + sum(form.nbytes for form in forms.values())
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise ArgumentError(f"{path} is no replay buffer: {error}") from error
    if entries != expected or path.stat().st_size != total:
        raise ArgumentError(
            f"{path} is cut off, or longer than it was, or of another version of reactors: its tensors are not those "
            "of its buffer"
        )
    buffer = cls.__new__(cls)
    buffer._set_up(config, SharedBlock.reserve(plan, config.fields, config.slots), rng, fresh=True)
    buffer.beta = beta
    into = arrays(buffer)
    with path.open("rb") as file:
        file.seek(begin)
        for name, array in into.items():
            if f"{take(file, array):08x}" != sums.get(name):
                raise ArgumentError(f"{path} is damaged: the checksum of {name!r} is another")
    _check(buffer, into, str(path))
    lib.rx_replay_settle(buffer._core)
    return buffer


def _checked_config(described: dict[str, Any]) -> tuple[Config, BufferLayout]:
    """What a file says that its buffer is, which has to be what a caller could have asked for."""
    fields = tuple(
        Field(name, np.lib.format.descr_to_dtype(_as_descr(dtype)), tuple(shape), stacked)
        for name, dtype, shape, stacked in described["fields"]
    )
    said = Config(**{**described, "fields": fields})
    given = fields[:-1] if said.n_step > 1 else fields
    only = ("alpha", "beta", "eps", "stratified", "weights", "fanout") if said.prioritized else ()
    config = Config.of(
        said.share * said.num_envs,
        {field.name: (field.shape, field.dtype) for field in given},
        prioritized=said.prioritized, num_envs=said.num_envs, n_step=said.n_step, gamma=said.gamma, small=said.small,
        frame_stack=None if said.frame_stack == 1 else said.frame_stack,
        **{name: getattr(said, name) for name in only},
    )  # fmt: skip
    if config != said:
        raise ArgumentError(f"it says that it is {said!r}, which no replay buffer is")
    return config, config.plan()


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
        try:
            head = read_header(file)
        except ValueError:
            raise ArgumentError(f"{path} is no safetensors file, or cut off") from None
    try:
        entries: Any = json.loads(head[8:])
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{path} is no safetensors file, or damaged: its header is no JSON") from error
    if not isinstance(entries, dict) or not isinstance(entries.get("__metadata__"), dict):
        raise ArgumentError(f"{path} is a safetensors file, but no replay buffer")
    if (other := entries["__metadata__"].get("format")) != FORMAT:
        raise ArgumentError(f"{path} has the format {other!r}; this version reads {FORMAT!r}")
    if not is_sealed(head):
        raise ArgumentError(f"{path} is damaged: the checksum of its header is another")
    return entries, len(head)
