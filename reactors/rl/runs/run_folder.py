"""What is left of a run, and how does one come back to it?

A folder: `config.json` (all that was said), `journal.csv` (row by row while it runs), `graph.svg`, `checkpoints/`, and
at the end `weights.safetensors`, `curve.png`, `result.json` and `report.html`; with `trace`, what that has written.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from hashlib import blake2b
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from gymnasium.envs.registration import EnvSpec

from reactors.errors import ArgumentError, DrawingError, ParameterError
from reactors.lowlevel import finite
from reactors.rl.checkpoints.files import FOLDER, is_checkpoint, latest, load, set_aside
from reactors.rl.contract.agents import MultiAgent
from reactors.rl.contract.algorithm import Algorithm
from reactors.rl.encoding import tensors
from reactors.rl.encoding.sealed import UNSEALED, is_sealed, sealed
from reactors.rl.encoding.state import StateError, check_form
from reactors.rl.envs.agents.sources import known_agents, spelled_agents
from reactors.rl.envs.named import known, spelled
from reactors.rl.envs.sources import GAMES, Game, Source, found, game_name
from reactors.rl.errors import CheckpointError, RunFolderError
from reactors.rl.monitoring.journal_file import Row, read, verified
from reactors.rl.runs.environments import maker_of, spaces_in
from reactors.rl.runs.settings import algorithm_without_import, algorithms, with_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    import reactors as rx
    from reactors.rl.checkpoints.files import Saved
    from reactors.rl.contract.algorithm import Policy


CONFIG = {
    "algorithm": "", "hyperparameters": {}, "env": "", "env_kwargs": {}, "mode": "", "workers": 1, "total_steps": 1
}  # fmt: skip


class Asking(NamedTuple):
    """How the user of a folder gives what cannot be read from it."""

    env: str
    algorithm: str


IN_PYTHON = Asking("rl.load(folder, env=...)", "rl.load(folder, algorithm=...)")
ON_THE_COMMAND_LINE = Asking("--env FILE:CLASS", "--algorithm FILE:CLASS")
TO_TRAIN = Asking("--env FILE:CLASS", "reactors train FILE:CLASS --resume ...")


class Leg(NamedTuple):
    """A part of a run from `first`, a round, on: its schedules cover `total_steps`.

    With `new_episodes` it was resumed there, and environments that do not tell their state began new episodes.
    """

    first: int
    total_steps: int
    new_episodes: bool = False


class RunFolder:
    """The folder of a run; of a checkpoint in it, with the weights of then. `RunFolderError` if it is none.

    What it reads there is data: nothing is imported that only the folder names. So an algorithm of the user's own has
    to be given again: as it was given to `rl.train`, or its class. So has an environment that `named.known` does not
    find.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        algorithm: Algorithm | type[Algorithm] | None = None,
        env: Source | None = None,
        env_kwargs: Mapping[str, Any] | None = None,
        asking: Asking = IN_PYTHON,
    ) -> None:
        self.path, self.asking = Path(path), asking
        self.at: Path | None = None
        if is_checkpoint(self.path):
            self.path, self.at = folder_of(self.path), self.path
        self._algorithm, self._env, self._env_kwargs = algorithm, env, env_kwargs

    @contextmanager
    def held(self) -> Iterator[None]:
        """Have it for this process alone, and make it if it is not there; `RunFolderError` if another one has it."""
        made = not self.path.exists()
        with self._usable():
            self.path.mkdir(parents=True, exist_ok=True)
            file = self._locked()
        try:
            yield
        finally:
            with file, suppress(OSError):
                self.pid_file.unlink()
                if made:
                    self.path.rmdir()  # if nothing came of it

    def _locked(self) -> IO[str]:
        """The file with the number of this process, locked: the system lets go of it however the process ends."""
        while True:
            file = self.pid_file.open("a+")
            try:
                self._lock(file)
                if self.pid_file.exists() and os.path.samestat(os.fstat(file.fileno()), self.pid_file.stat()):
                    file.truncate(0)
                    file.write(f"{os.getpid()}\n")
                    file.flush()
                    return file
            except BaseException:
                file.close()
                raise
            file.close()  # it was of a process that has ended meanwhile, and has removed it

    def _lock(self, file: IO[str]) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise RunFolderError(
                f"{self.path} is trained by process {file.read().strip()} right now; wait until it is over, or give "
                "another folder"
            ) from None
        except OSError:
            pass  # a file system without locks is none to refuse

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RunFolderError(f"{self.path} cannot be the folder of a run: {error.strerror}") from error

    def begin(self, config: Mapping[str, Any], saved: Saved | None = None) -> None:
        """Begin a run in it, or go on there from one of its checkpoints, or from one of another folder."""
        path = self.path
        if self.config_file.exists():
            if saved is None:
                has_one = latest(self.checkpoints) is not None
                remedy = "go on with resume=" if has_one else "it has no checkpoint to go on from: remove it"
                raise RunFolderError(f"{path} is the folder of a run already; {remedy}, or give another folder")
            if folder_of(saved.path).resolve() != path.resolve():
                raise RunFolderError(
                    f"{path} is the folder of another run than {saved.path}, which would be lost; give another folder"
                )
        with self._usable():
            self.stop.unlink(missing_ok=True)
            for file in (self.result_file, self.weights_file, self.report_file, path / "curve.png"):
                file.unlink(missing_ok=True)  # of the run that is resumed, which gets others
            write_json(self.config_file, config)
            set_aside(saved, self.checkpoints)

    @property
    def name(self) -> str:
        """What the run is called where it stands beside others."""
        return self.path.resolve().name if self.path.name in {"", ".."} else self.path.name

    @property
    def config_file(self) -> Path:
        """The settings of the run, as JSON."""
        return self.path / "config.json"

    @property
    def journal_file(self) -> Path:
        """The journal, a row for each round, as CSV."""
        return self.path / "journal.csv"

    @property
    def result_file(self) -> Path:
        """What came of it."""
        return self.path / "result.json"

    @property
    def weights_file(self) -> Path:
        """What was learned in the end."""
        return self.path / "weights.safetensors"

    @property
    def checkpoints(self) -> Path:
        """Where to go on from."""
        return self.path / FOLDER

    @property
    def decisions_file(self) -> Path:
        """What was adapted, a line of JSON each."""
        return self.path / "decisions.jsonl"

    @property
    def pid_file(self) -> Path:
        """The process that trains, while it does."""
        return self.path / "running.pid"

    @property
    def report_file(self) -> Path:
        """What came of it, as a page."""
        return self.path / "report.html"

    def facts(self) -> dict[str, Mapping[str, object]]:
        """What is to be known to make the run again: tables of names and values, by title."""
        config, result = self.config, self.result
        nested = ("hyperparameters", "versions", "legs")
        return {
            "Result": {name: value for name, value in result.items() if name not in {"versions", "journal"}},
            "Hyperparameters": config.get("hyperparameters", {}),
            "Options": {name: value for name, value in config.items() if name not in nested},
            "Versions": config.get("versions", {}),
        }

    def new_file(self, stem: str, suffix: str) -> Path:
        """Where the trace of a run, or of its next part, is to be, for instance: trace.rxt, trace-2.rxt."""
        numbers = range(1, 2 + len([*self.path.glob(f"{stem}*{suffix}")]))
        names = [self.path / (f"{stem}{suffix}" if n == 1 else f"{stem}-{n}{suffix}") for n in numbers]
        return next(name for name in names if not name.exists())

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

    @property
    def legs(self) -> list[Leg]:
        """From which rounds on it was trained for so many steps: its start, and where it was resumed."""
        config = self.config
        return [Leg(*each) for each in config.get("legs", [(0, config["total_steps"])])]  # of 0.1.0: only the last one

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
            raise RunFolderError(
                f"{self.path}: its algorithm cannot be made: {error}; give it: {self.asking.algorithm}"
            ) from error
        return made.scheduled(config["total_steps"])

    @property
    def is_ours(self) -> bool:
        """Whether its algorithm is one of `reactors.rl`."""
        return self.config.get("algorithm_file") is None and self.config["algorithm"].lower() in algorithms()

    @property
    def many(self) -> bool:
        """Whether its algorithm is for many agents."""
        return isinstance(self.algorithm, MultiAgent)

    @cached_property
    def env(self) -> Source:
        """What its environments are made of."""
        if self._env is not None:
            return self._env
        name, file = self.config["env"], self.config.get("env_file")
        what = f"{self.path}: its environment {name} cannot be made"
        if self.many:
            there: Source | None = known_agents(name, file, what)
            if there is None:
                raise RunFolderError(f"{self.path}: {_unknown(name)}; give it: {self._asked(name, file)}")
            return there
        if name.partition(":")[0] in GAMES:
            return name  # type: ignore[no-any-return]
        found: Source | None = None
        if not name.endswith("()"):
            found = known(name, file, what)
        if found is None:
            raise RunFolderError(f"{self.path}: {_unknown(name)}; give it: {self._asked(name, file)}")
        if isinstance(found, EnvSpec):  # with its module, which workers import
            return name if file is None else f"{file}:{name.rpartition(':')[2]}"
        return found

    def _asked(self, name: str, file: str | None) -> str:
        asked = self.asking.env
        if ":" not in name:
            return asked.replace("FILE:CLASS", "module:Id")
        if file is not None and Path(file).is_file():
            asked = asked.replace("FILE:CLASS", f"{_nearer(file)}:{name.rpartition(':')[2].removesuffix('()')}")
        return asked

    @property
    def env_kwargs(self) -> Mapping[str, Any]:
        """What else it is made with: what is given with it, or what the run says, if it is the same one."""
        same = self._env is None or (isinstance(self._env, str) and self._says(self._env))
        own = self.config["env_kwargs"] if same else {}
        return own if self._env_kwargs is None else self._env_kwargs

    def _says(self, env: str) -> bool:
        return bool(described(env, {}, str(self.path), many=self.many)["env"] == self.config["env"])

    def maker(self) -> Callable[[], Any]:
        """What makes its environment."""
        return maker_of(self.algorithm, self.env, self.env_kwargs, str(self.path))

    @cached_property
    def spaces(self) -> tuple[Any, Any]:
        """Of observations and actions."""
        return spaces_in(self.algorithm, self.maker(), str(self.path))

    @cached_property
    def weights(self) -> NDArray[np.float32]:
        """Those of the end, or of the last checkpoint, or of the one that was given."""
        file = self.weights_file
        if self.at is not None:
            found: NDArray[np.float32] = _weights_of(self.at)
        elif file.exists():
            try:
                found = tensors.read(file)[0]["weights"]
                check_form(np.zeros(len(found), np.float32), found, "weights")
                whole = is_sealed(file.read_bytes())
            except (OSError, ValueError, KeyError, TypeError, StateError) as error:
                raise RunFolderError(f"{file} is damaged: {error}") from error
            if not whole:
                raise RunFolderError(f"{file} is damaged: its checksum is another")
        elif latest(self.checkpoints) is not None:
            found = _weights_of(self.path)
        else:
            is_over = "has failed" if self.result.get("state") == "failed" else "has not ended"
            raise RunFolderError(f"{self.path} has no weights: the run {is_over}, and has no checkpoint")
        return found

    def policy(self) -> Policy:
        """The policy with these weights."""
        algorithm, spaces = self.algorithm, self.spaces
        try:
            algorithm.check(*spaces)
            policy = algorithm.policy(*spaces)
        except ParameterError as error:
            self._refuse_other_spaces()
            raise RunFolderError(f"{self.path}: its policy cannot be made: {error}; {self._with_its_own()}") from error
        if self.weights.shape != (policy.size,):
            self._refuse_other_spaces()
            raise RunFolderError(
                f"{self.path} has {self.weights.size} weights, and the policy of config.json {policy.size}"
            )
        policy.load(self.weights)
        return policy

    def _refuse_other_spaces(self) -> None:
        """Refuse an environment that has other spaces than the one in which the run was trained."""
        was, now = self.config.get("spaces"), [str(space) for space in self.spaces]
        if was is None or was == now:
            return
        given = described(self.env, self.env_kwargs, str(self.path), many=self.many)["env"]
        others = ", ".join(
            f"{what} {_brief(there, here)} instead of {_brief(here, there)}"
            for what, here, there in zip(("observations", "actions"), was, now, strict=True)
            if here != there
        )
        raise RunFolderError(
            f"{self.path} was trained in {self.config['env']}, and {given} has other spaces: {others}; give an "
            "environment with the same spaces"
        )

    def _with_its_own(self) -> str:
        """How to give an algorithm one of whose hyperparameters is a function, of which a folder has the name."""
        config = self.config
        functions = {
            key: value.rpartition(":")[2]
            for key, value in config["hyperparameters"].items()
            if isinstance(value, str) and ":" in value
        }
        if not functions:
            return f"give the algorithm: {self.asking.algorithm}"
        listed = ", ".join(f"{key}={value}" for key, value in functions.items())
        if self.asking is IN_PYTHON:
            return f"give the algorithm with it: rl.load(folder, algorithm=rl.{config['algorithm']}({listed}, ...))"
        return f"give a class of yours that has {listed}: {self.asking.algorithm}"

    def keep(self, weights: NDArray[Any]) -> None:
        """Write the weights of the policy, with a checksum, in place of those before."""
        metadata = {**UNSEALED, "algorithm": self.config["algorithm"], "env": self.config["env"]}
        beside = self.path / ".weights.safetensors.new"
        tensors.write(beside, {"weights": weights}, metadata)
        beside.write_bytes(sealed(beside.read_bytes()))
        beside.replace(self.weights_file)

    def draw(self, graph: rx.Graph, workers: int, placement: Any) -> None:
        """The program, as a picture if there is `dot`, else as Mermaid text."""
        try:
            graph.draw(self.path / "graph.svg", workers=workers, placement=placement)
        except DrawingError:
            graph.draw(self.path / "graph.mmd", workers=workers, placement=placement)

    def finish(self, result: Mapping[str, Any], weights: NDArray[Any] | None) -> None:
        """What came of it: the weights, the result."""
        if weights is not None:
            self.keep(weights)
        write_json(self.result_file, finite(result))
        self.stop.unlink(missing_ok=True)

    def draw_curve(self) -> None:
        """How it went, as a picture."""
        from reactors.rl.runs.curves import curve

        curve({self.name: read(self.journal_file)}, self.path / "curve.png")


def _weights_of(checkpoint: Path) -> NDArray[np.float32]:
    try:
        return load(checkpoint).weights()
    except CheckpointError as error:
        raise RunFolderError(str(error)) from error


def folder_of(path: Path) -> Path:
    """The folder of the run to which a checkpoint belongs."""
    return path.parent.parent if path.parent.name == FOLDER else path.parent


def legs_with(saved: Saved | None, total_steps: int) -> list[Leg]:
    """Those of a run that begins, or goes on from a checkpoint, for so many steps in all."""
    if saved is None:
        return [Leg(0, total_steps)]
    before = RunFolder(folder_of(saved.path))
    earlier = before.legs if before.config_file.exists() else [Leg(0, total_steps)]
    begun = Leg(saved.next_round, total_steps, bool(saved.meta["notes"]))
    return [*(leg for leg in earlier if leg.first < saved.next_round), begun]


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Replace a file by a new one, at once, with its checksum in it."""
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.write_bytes(sealed(json.dumps({**UNSEALED, **value}, indent=2).encode() + b"\n"))
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


def described(env: Source, kwargs: Mapping[str, Any], path: str, *, many: bool = False) -> dict[str, Any]:
    """An environment in words that JSON has; `file_of_env` has the file, if it is in one of the user's own.

    It has `many` agents where the algorithm is for such.
    """
    from reactors.rl.runs.settings import plain

    while isinstance(env, partial):
        kwargs, env = {**env.keywords, **kwargs}, env.func
    if many:
        return {"env": spelled_agents(env, path)[0], "env_kwargs": plain(dict(kwargs))}
    what = found(env, path)
    if isinstance(what, Game):
        what = what.changed(kwargs)
        return {"env": game_name(what), "env_kwargs": plain(what.options)}
    if isinstance(what, EnvSpec) and not isinstance(env, str):
        return {"env": what.id, "env_kwargs": plain(dict(kwargs))}
    name, _ = spelled(env if isinstance(what, EnvSpec) else what)
    return {"env": name, "env_kwargs": plain(dict(kwargs))}


def file_of_env(env: Source, path: str, *, many: bool = False) -> str | None:
    """The file of the user's own that an environment is in."""
    if many:
        return spelled_agents(env, path)[1]
    what = found(env, path)
    if isinstance(what, EnvSpec):
        return spelled(env)[1] if isinstance(env, str) else None
    return None if isinstance(what, Game) else spelled(what)[1]


def _unknown(name: str) -> str:
    """Why a name from a folder is not enough."""
    if name.endswith("()"):
        return f"its environment was made by the function {name.removesuffix('()')}, and reading a folder calls none"
    if ":" not in name:
        return f"its environment {name} is none of those that are registered here"
    return f"its environment {name} is not imported, and Python finds no environment of this name"


def _brief(space: str, beside: str) -> str:
    """A space in words, without the bounds of a Box, unless these are what it differs in from another one."""
    short, other = (
        re.sub(r"^Box\(.*, (\([\d, ]*\), \w+\))$", r"Box(..., \1", each, flags=re.DOTALL) for each in (space, beside)
    )
    return space if short == other else short


def _nearer(file: str) -> str:
    """A path as one would write it here."""
    path = Path(file)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
