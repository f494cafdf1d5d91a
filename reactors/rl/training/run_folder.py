"""What is left of a run, and how does one come back to it?

A folder: `config.json` (all that was said), `journal.csv` (row by row while it runs), `graph.svg`, `checkpoints/`, and
at the end `weights.safetensors`, `curve.png` and `result.json`.
"""

from __future__ import annotations

import json
from functools import cached_property, partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import ArgumentError, DrawingError, ParameterError
from reactors.json_text import finite
from reactors.rl.algorithms.algorithm import Algorithm
from reactors.rl.errors import RunFolderError
from reactors.rl.sealed import MARK, is_sealed, sealed
from reactors.rl.sources import maker, spaces_of
from reactors.rl.training import tensors
from reactors.rl.training.checkpoint_files import FOLDER, latest, load, set_aside
from reactors.rl.training.journal_file import Row, read, verified
from reactors.rl.training.settings import algorithm_without_import, with_settings
from reactors.rl.training.state import StateError, check_form

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    import reactors as rx
    from reactors.rl.algorithms.algorithm import Policy
    from reactors.rl.training.checkpoint_files import Saved


CONFIG = {
    "algorithm": "", "hyperparameters": {}, "env": "", "env_kwargs": {}, "mode": "", "workers": 1, "total_steps": 1
}  # fmt: skip

_GIVE_IT = (
    "give the algorithm as it was given to rl.train: rl.load(folder, algorithm=...), or as FILE:CLASS on the command "
    "line"
)


class RunFolder:
    """The folder of a run. `RunFolderError` if it is none.

    What it reads there is data: nothing is imported that only the folder names. So an algorithm of the user's own has
    to be given again: as it was given to `rl.train`, or its class.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        algorithm: Algorithm | type[Algorithm] | None = None,
        make: Callable[[], Any] | None = None,
    ) -> None:
        self.path, self._algorithm, self._make = Path(path), algorithm, make

    def begin(self, config: Mapping[str, Any], saved: Saved | None = None) -> None:
        """Make it, or go on in it from a checkpoint."""
        path = self.path
        if self.config_file.exists() and saved is None:
            raise RunFolderError(f"{path} is the folder of a run already; go on with resume, or give another folder")
        try:
            path.mkdir(parents=True, exist_ok=True)
            self.stop.unlink(missing_ok=True)
            write_json(self.config_file, config)
            set_aside(saved, self.checkpoints)
        except OSError as error:
            raise RunFolderError(f"{path} cannot be the folder of a run: {error.strerror}") from error

    @property
    def config_file(self) -> Path:
        """What was said."""
        return self.path / "config.json"

    @property
    def journal_file(self) -> Path:
        """What happened."""
        return self.path / "journal.csv"

    @property
    def result_file(self) -> Path:
        """What came of it."""
        return self.path / "result.json"

    @property
    def checkpoints(self) -> Path:
        """Where to go on from."""
        return self.path / FOLDER

    @property
    def decisions_file(self) -> Path:
        """What was adapted, a line of JSON each."""
        return self.path / "decisions.jsonl"

    @property
    def views(self) -> Path:
        """Episodes that were played on the way."""
        return self.path / "views"

    @property
    def stop(self) -> Path:
        """The file that asks a run to end."""
        return self.path / ".stop"

    @cached_property
    def config(self) -> dict[str, Any]:
        """All that was said."""
        found = self._json("config.json")
        if found is None:
            fact = "there is no config.json in it" if self.path.is_dir() else "it does not exist"
            raise RunFolderError(f"{self.path} is no folder of a run: {fact}")
        try:
            check_form(CONFIG, found, "config")
        except StateError as error:
            raise RunFolderError(f"{self.config_file} is not what a run writes: {error}") from error
        return found

    @cached_property
    def result(self) -> dict[str, Any]:
        """What came of it; nothing, if it has not ended."""
        return self._json(self.result_file.name) or {}

    @cached_property
    def rows(self) -> list[Row]:
        """The journal: that of the result, if the run has ended, and else as it is."""
        of_result = self.result.get("journal")
        return read(self.journal_file) if of_result is None else list(verified(self.journal_file, **of_result))

    def _json(self, name: str) -> dict[str, Any] | None:
        try:
            text = (self.path / name).read_bytes()
            found: dict[str, Any] = json.loads(text)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            raise RunFolderError(f"{self.path / name} cannot be read: {error}") from error
        if not is_sealed(text):
            raise RunFolderError(
                f"{self.path / name} was changed since a run wrote it: its checksum is another; say what is to be "
                "different where the folder is used, as in rl.load(folder, env=...)"
            )
        del found["crc32"]
        return found

    @cached_property
    def algorithm(self) -> Algorithm:
        """The algorithm, with its hyperparameters."""
        given, config = self._algorithm, self.config
        if isinstance(given, Algorithm):
            return given
        try:
            kind = given or algorithm_without_import(config["algorithm"], config.get("algorithm_file"))
            made = with_settings(kind, config["hyperparameters"], "config.json")
        except ArgumentError as error:
            raise RunFolderError(f"{self.path}: its algorithm cannot be made: {error}; {_GIVE_IT}") from error
        return made.scheduled(config["total_steps"])

    def maker(self, **kwargs: Any) -> Callable[[], Any]:
        """What makes its environment; `kwargs` are added to those of the run."""
        if self._make is not None:
            return partial(self._make, **kwargs) if kwargs else self._make
        env = self.config["env"]
        if ":" in env and "(" in env:
            raise RunFolderError(
                f"{self.path}: its environment was made by the function {env}; give it: rl.load(folder, env=...)"
            )
        return maker(env, {**self.config["env_kwargs"], **kwargs}, str(self.path))

    @cached_property
    def spaces(self) -> tuple[Any, Any]:
        """Of observations and actions."""
        return spaces_of(self.maker(), str(self.path))

    @cached_property
    def weights(self) -> NDArray[np.float32]:
        """Those of the end, or of the last checkpoint."""
        file = self.path / "weights.safetensors"
        if file.exists():
            try:
                found: NDArray[np.float32] = tensors.read(file)[0]["weights"]
                check_form(np.zeros(len(found), np.float32), found, "weights")
                whole = is_sealed(file.read_bytes())
            except (OSError, ValueError, KeyError, TypeError, StateError) as error:
                raise RunFolderError(f"{file} is damaged: {error}") from error
            if not whole:
                raise RunFolderError(f"{file} is damaged: its checksum is another")
        elif latest(self.checkpoints) is not None:
            found = load(self.path).weights()
        else:
            raise RunFolderError(f"{self.path} has no weights yet: the run has not ended, and has no checkpoint")
        return found

    def policy(self) -> Policy:
        """The policy with these weights."""
        try:
            self.algorithm.check(*self.spaces)
            policy = self.algorithm.policy(*self.spaces)
        except ParameterError as error:
            raise RunFolderError(f"{self.path}: its policy cannot be made: {error}; {_GIVE_IT}") from error
        if self.weights.shape != (policy.size,):
            raise RunFolderError(
                f"{self.path} has {self.weights.size} weights, and the policy of config.json {policy.size}"
            )
        policy.load(self.weights)
        return policy

    def keep(self, weights: NDArray[Any]) -> None:
        """Write the weights."""
        metadata = {"crc32": MARK[-9:-1], "algorithm": self.config["algorithm"], "env": self.config["env"]}
        beside = self.path / ".weights.safetensors.new"
        tensors.write(beside, {"weights": weights}, metadata)
        beside.write_bytes(sealed(beside.read_bytes()))
        beside.replace(self.path / "weights.safetensors")

    def draw(self, graph: rx.Graph, workers: int, placement: Any) -> None:
        """The program, as a picture if there is `dot`, else as Mermaid text."""
        try:
            graph.draw(self.path / "graph.svg", workers=workers, placement=placement)
        except DrawingError:
            graph.draw(self.path / "graph.mmd", workers=workers, placement=placement)

    def finish(self, result: Mapping[str, Any], weights: NDArray[Any] | None) -> None:
        """What came of it: the curve, the weights, the result."""
        from reactors.rl.training.curves import curve

        if weights is not None:
            self.keep(weights)
        write_json(self.result_file, finite(result))
        curve({self.path.name: read(self.journal_file)}, self.path / "curve.png")
        self.stop.unlink(missing_ok=True)


def folder_of(path: Path) -> Path:
    """The folder of the run to which a checkpoint belongs."""
    return path.parent.parent if path.parent.name == FOLDER else path.parent


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Replace a file by a new one, at once, with its checksum in it."""
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.write_bytes(sealed(json.dumps({"crc32": MARK[-9:-1], **value}, indent=2).encode() + b"\n"))
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def numbered(parent: Path, name: str) -> Path:
    """A folder that is not there yet: the name with a number."""
    parent.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        path = parent / f"{name}-{number}"
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
        else:
            return path


def fingerprint(weights: NDArray[Any]) -> str:
    """A name for these bits and no others."""
    return blake2b(weights.tobytes(), digest_size=16).hexdigest()


def described(env: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """An environment in words that JSON has."""
    from reactors.rl.training.settings import plain

    while isinstance(env, partial):
        kwargs, env = {**env.keywords, **kwargs}, env.func
    name = env if isinstance(env, str) else getattr(env, "id", None)
    if name is None:
        name = f"{getattr(env, '__module__', '')}:{getattr(env, '__qualname__', type(env).__qualname__)}()"
    return {"env": name, "env_kwargs": plain(dict(kwargs))}
