"""What is a checkpoint on disk, and how is one told from a damaged or a foreign one?

A folder named after the environment steps, with `weights.safetensors` (what the policy needs), `state.safetensors` (all
arrays of all reactors) and `meta.json` (of what program, at which tag, checksums, the rest of the states as a tree).
It is written under another name and then renamed, so a checkpoint is whole or not there.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zlib
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reactors.rl.errors import CheckpointError
from reactors.rl.training import tensors
from reactors.rl.training.state import Encoded, decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

FORMAT = "reactors.rl checkpoint 1"
KEPT = 2  # checkpoints of a run: if one is damaged, there is the one before
FOLDER = "checkpoints"


class Saved(NamedTuple):
    """A checkpoint that has been read."""

    path: Path
    meta: dict[str, Any]
    states: dict[str, Any]

    @property
    def next_round(self) -> int:
        """The round that comes next."""
        return int(self.meta["round"]) + 1


def versions() -> dict[str, str]:
    """Of what results depend on."""
    return {name: version(name) for name in ("reactors", "torch", "numpy", "gymnasium")}


def _checksum(tree: Any) -> str:
    return f"{zlib.crc32(json.dumps(tree).encode()):08x}"


def write(folder: Path, meta: Mapping[str, Any], states: Mapping[str, Encoded], weights: NDArray[Any]) -> Path:
    """Write a checkpoint into `folder`, and forget the oldest. `CheckpointError` if not: the last one stays."""
    tree = {name: state.tree for name, state in states.items()}
    arrays = {name: array for state in states.values() for name, array in state.arrays.items()}
    final = folder / f"{meta['global_step']:012d}"
    beside = ""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(".writing-*"):  # of a run that was killed
            shutil.rmtree(left)
        beside = tempfile.mkdtemp(prefix=".writing-", dir=folder)
        crc32 = {
            "weights.safetensors": tensors.write(Path(beside, "weights.safetensors"), {"weights": weights}),
            "state.safetensors": tensors.write(Path(beside, "state.safetensors"), arrays),
            "states": _checksum(tree),
        }
        whole = {"format": FORMAT, **meta, "versions": versions(), "crc32": crc32, "states": tree}
        with Path(beside, "meta.json").open("w") as file:
            json.dump(whole, file)
            file.flush()
            os.fsync(file.fileno())
        if final.exists():  # of a run that went on from an earlier one
            old = Path(tempfile.mkdtemp(prefix=".writing-", dir=folder))
            final.replace(old)
            Path(beside).replace(final)
            shutil.rmtree(old)
        else:
            Path(beside).replace(final)
        _to_disk(folder)
        for old in _all(folder)[:-KEPT]:
            shutil.rmtree(old)
    except OSError as error:
        last = latest(folder)
        raise CheckpointError(
            f"the checkpoint {final} cannot be written ({error.strerror}); "
            + (f"the last one, {last}, is as it was: resume from it" if last is not None else "there is none yet")
        ) from error
    finally:
        if beside:
            shutil.rmtree(beside, ignore_errors=True)
    return final


def _to_disk(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _all(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("[0-9]*") if path.is_dir())


def latest(folder: Path) -> Path | None:
    """The last checkpoint in a folder of them."""
    found = _all(folder)
    return found[-1] if found else None


def found(path: Path) -> Path:
    """The checkpoint that a path means: itself, or the last one of a run's folder; else `CheckpointError`."""
    if (path / "meta.json").is_file() or (path.name.isdecimal() and path.is_dir()):
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
        meta = json.loads((path / "meta.json").read_text())
        if meta["format"] != FORMAT:
            raise CheckpointError(f"{path} has the format {meta['format']!r}; this version reads {FORMAT!r}")
        then, now = meta["versions"]["reactors"], version("reactors")
        if then != now:
            raise CheckpointError(
                f"{path} was written by reactors {then}, and this is {now}; go on with the version that wrote it"
            )
        tree, sums = meta.pop("states"), meta["crc32"]
        if _checksum(tree) != sums["states"]:
            raise _damaged(path, "meta.json", "its checksum is another")
        _, weights, _ = _read(path, "weights.safetensors")
        arrays, state, _ = _read(path, "state.safetensors")
        for name, checksum in (("weights.safetensors", weights), ("state.safetensors", state)):
            if sums[name] != checksum:
                raise _damaged(path, name, "its checksum is another")
        return Saved(path, meta, decode(tree, arrays))
    except OSError as error:
        raise _damaged(path, Path(error.filename or "").name, f"it cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(path, "meta.json", f"it is cut off or garbled ({type(error).__name__}: {error})") from error


def _read(path: Path, name: str) -> tuple[Any, str, Any]:
    try:
        return tensors.read(path / name)
    except ValueError as error:
        raise _damaged(path, name, str(error)) from error


def _damaged(path: Path, file: str, why: str) -> CheckpointError:
    others = [other for other in _all(path.parent) if other != path]
    remedy = f"resume from {others[-1]} instead" if others else "there is no other one beside it"
    return CheckpointError(f"the checkpoint {path} is damaged: {file}: {why}; {remedy}")


def compare(saved: Saved, program: Mapping[str, Any]) -> None:
    """Refuse a checkpoint of another program; `CheckpointError` names all that differs."""
    then, different = saved.meta["program"], []
    now = json.loads(json.dumps(program))  # tuples are lists there
    for name in dict.fromkeys([*now, *then]):
        old, new = then.get(name), now.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            different += [
                f"{key} was {old.get(key)!r} and is {new.get(key)!r}"
                for key in dict.fromkeys([*old, *new])
                if old.get(key) != new.get(key)
            ]
        elif old != new and name != "graph":
            different.append(f"{name} was {old!r} and is {new!r}")
    if not different and then.get("graph") != now.get("graph"):
        different.append("the reactors, ports and reactions are others, though the parameters are the same")
    if different:
        raise CheckpointError(
            f"{saved.path} is of another training: {'; '.join(different)}; resume it with what it was made by"
        )
