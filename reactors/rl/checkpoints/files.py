"""What is a checkpoint on disk, and how does one recognise a damaged or a foreign one?

A folder named after the environment steps, with `weights.safetensors` (what the policy needs), `state.safetensors` (all
arrays of all reactors) and `meta.json` (of what program, at which tag, the rest of the states as a tree, a checksum of
the other files and one of itself). It is written under another name and then renamed, so a checkpoint is whole or not
there; and no byte of it changes without notice.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reactors.rl.encoding import tensors
from reactors.rl.encoding.sealed import UNSEALED, is_sealed, sealed
from reactors.rl.encoding.state import Encoded, check_form, count, decode
from reactors.rl.errors import CheckpointError, SimulationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

FORMAT = "reactors.rl checkpoint 2"
OLDER = ("0.1.0",)
"""Versions whose runs this one goes on with as they would have, as tests/old shows."""
KEPT = 2  # checkpoints of a run: if one is damaged, there is the one before
FOLDER = "checkpoints"


class Saved(NamedTuple):
    """A checkpoint that has been read."""

    path: Path
    meta: dict[str, Any]
    states: dict[str, Any]
    of_policies: dict[str, NDArray[Any]]
    """Arrays that policies need: their weights, of all groups one behind the other."""

    @property
    def next_round(self) -> int:
        """The round that comes next."""
        return int(self.meta["round"]) + 1

    def weights(self, size: int | None = None) -> NDArray[np.float32]:
        """Those that policies need, `size` of them if that is known."""
        with going_on(self.path, "the weights"):
            found = self.of_policies["weights"]
            check_form(np.zeros(len(found) if size is None else size, np.float32), found, "weights")
        return found


def versions() -> dict[str, str]:
    """Of what results depend on."""
    return {name: version(name) for name in ("reactors", "torch", "numpy", "gymnasium")}


def write(folder: Path, meta: Mapping[str, Any], states: Mapping[str, Encoded], weights: NDArray[Any]) -> Path:
    """Write a checkpoint into `folder`, and forget the oldest. `CheckpointError` if not: the last one stays."""
    tree = {name: state.tree for name, state in states.items()}
    arrays = {name: array for state in states.values() for name, array in state.arrays.items()}
    final = folder / f"{meta['global_step']:012d}"
    beside, old = folder / ".writing-new", folder / ".writing-old"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(".writing-*"):  # of a run that was killed
            shutil.rmtree(left)
        beside.mkdir()  # with the permissions of any folder, which those of a temporary one are not
        sums = {
            "weights.safetensors": tensors.write(beside / "weights.safetensors", {"weights": weights}),
            "state.safetensors": tensors.write(beside / "state.safetensors", arrays),
        }
        with (beside / "meta.json").open("wb") as file:
            file.write(_meta({**meta, "versions": versions(), "sums": sums, "states": tree}))
            file.flush()
            os.fsync(file.fileno())
        if final.exists():  # of a run that went on from an earlier one
            final.replace(old)
            beside.replace(final)
            shutil.rmtree(old)
        else:
            beside.replace(final)
        _to_disk(folder)
        for surplus in [each for each in _all(folder) if each.name <= final.name][:-KEPT]:
            shutil.rmtree(surplus)
    except OSError as error:
        last = latest(folder)
        raise CheckpointError(
            f"the checkpoint {final} cannot be written ({error.strerror}); "
            + (f"the last one, {last}, is as it was: resume from it" if last is not None else "there is none yet")
        ) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return final


def _meta(meta: Mapping[str, Any]) -> bytes:
    return sealed(json.dumps({**UNSEALED, "format": FORMAT, **meta}).encode())


def _to_disk(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _all(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("[0-9]*") if path.is_dir())


def kept(run: Path) -> list[Path]:
    """The checkpoints in a run's folder, the earliest first."""
    return _all(run / FOLDER)


def latest(folder: Path) -> Path | None:
    """The last checkpoint in a folder of them."""
    found = _all(folder)
    return found[-1] if found else None


def is_checkpoint(path: Path) -> bool:
    """Whether it is one, maybe damaged, and no run's folder."""
    return (path / "meta.json").is_file() or (path.name.isdecimal() and path.parent.name == FOLDER and path.is_dir())


def found(path: Path) -> Path:
    """The checkpoint that a path means: itself, or the last one of a run's folder; else `CheckpointError`."""
    if is_checkpoint(path):
        return path
    last = latest(path / FOLDER)
    if last is None:
        fact = "has no checkpoints" if path.is_dir() else "does not exist"
        raise CheckpointError(f"{path} {fact}; give the folder of a run that was started with checkpoint_every")
    return last


def set_aside(saved: Saved | None, folder: Path) -> None:
    """Rename checkpoints in this folder that are later than the one a run goes on from: they are not of its course."""
    if saved is None or saved.path.parent.resolve() != folder.resolve():
        return
    for other in _all(folder):
        if other.name > saved.path.name:
            place = folder / f"abandoned-{other.name}"
            shutil.rmtree(place, ignore_errors=True)
            other.replace(place)


def load(path: Path) -> Saved:
    """Read a checkpoint, or the last one of a run; `CheckpointError` says what is wrong with it."""
    path = found(path)
    try:
        text = (path / "meta.json").read_bytes()
    except OSError as error:
        raise _damaged(path, "meta.json", f"it cannot be read ({error.strerror})") from error
    try:
        meta: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, "meta.json", "it is cut off or garbled") from error
    if isinstance(meta, dict) and isinstance(other := meta.get("format"), str) and other != FORMAT:
        raise CheckpointError(f"{path} has the format {other!r}; this version reads {FORMAT!r}")
    if not is_sealed(text):
        raise _damaged(path, "meta.json", "its checksum is another")
    _check_meta(path, meta)
    then, now = meta["versions"].get("reactors"), version("reactors")
    if then not in (now, *OLDER):
        raise CheckpointError(
            f"{path} was written by reactors {then}, and this is {now}; go on with the version that wrote it"
        )
    weights = _read(path, "weights.safetensors", meta["sums"])
    arrays = _read(path, "state.safetensors", meta["sums"])
    with going_on(path, "what its reactors were"):
        return Saved(path, meta, decode(meta.pop("states"), arrays), weights)


def _check_meta(path: Path, meta: Any) -> None:
    """Refuse one that no run writes, though its checksum is right."""
    with going_on(path, "meta.json"):
        check_form({"notes": [], "program": {}, "versions": {}, "sums": {}, "states": {}}, meta, "meta")
        check_form([""] * len(meta["notes"]), meta["notes"], "notes")
        count(meta["round"])
        count(meta["global_step"])


def _read(path: Path, name: str, sums: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    try:
        arrays, checksum, _ = tensors.read(path / name)
    except OSError as error:
        raise _damaged(path, name, f"it cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise _damaged(path, name, str(error)) from error
    if sums.get(name) != checksum:
        raise _damaged(path, name, "its checksum is another")
    return arrays


def _damaged(path: Path, file: str, why: str) -> CheckpointError:
    return CheckpointError(f"the checkpoint {path} is damaged: {file}: {why}; {_remedy(path)}")


def _remedy(path: Path) -> str:
    others = [other for other in _all(path.parent) if other != path]
    return f"take {others[-1]} instead" if others else "there is no other one beside it"


@contextmanager
def going_on(path: Path, what: str) -> Iterator[None]:
    """What fails in here, where a checkpoint is resumed, is its fault: `CheckpointError` names it, and `what`."""
    try:
        yield
    except (CheckpointError, SimulationError):
        raise
    except Exception as error:
        raise CheckpointError(
            f"the checkpoint {path} cannot be resumed: {what} cannot have been written by this program "
            f"({type(error).__name__}: {error}); {_remedy(path)}"
        ) from error


def compare(saved: Saved, program: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Refuse a checkpoint of another program; `CheckpointError` names all that differs.

    A hyperparameter that there was not yet then had what is its default in `defaults` now.
    """
    then, different = saved.meta["program"], []
    now = json.loads(json.dumps(program))  # tuples are lists there
    for name in dict.fromkeys([*now, *then]):
        old, new = then.get(name), now.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            different += [
                f"{key} was {old.get(key)!r} and is {new.get(key)!r}"
                for key in dict.fromkeys([*old, *new])
                if (old.get(key) if key in old or name != "hyperparameters" else defaults.get(key)) != new.get(key)
            ]
        elif old != new and name != "graph":
            different.append(f"{name} was {old!r} and is {new!r}")
    if not different and then.get("graph") != now.get("graph"):
        different.append("the reactors, ports and reactions are others, though the parameters are the same")
    if different:
        raise CheckpointError(
            f"{saved.path} is of another training: {'; '.join(different)}; resume it with what it was made by"
        )
