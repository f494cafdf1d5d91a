"""How are steps saved as a Minari dataset?"""

from __future__ import annotations

import importlib.util
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.errors import ArgumentError, ParameterError, ReactorError
from reactors.rl.envs.spaces import reader
from reactors.rl.public import public

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reactors.rl.envs.env import Env


_VARIABLE = "MINARI_DATASETS_PATH"


@public("rl.record.Trajectories")
class Trajectories(rx.Reactor):
    """Collects all steps of environments, and writes them as a Minari dataset when the program ends.

    It is made for `env`, an `rl.Env` or `rl.BatchedEnv`. Connect the `transition` of `env` to its `transition`, and for
    an `rl.BatchedEnv` also `valid` to `valid`. `dataset_id` is Minari's, such as "cartpole/random-v0"; the dataset is
    written into `folder`, or where Minari keeps its datasets. Episodes that are still running at the end of the program
    are truncated there. Rewards are float32, as in transitions. `options` go to `minari.create_dataset_from_buffers`.
    Raises `ReactorError` if the package minari is missing, and `ArgumentError` for an id that is none or is there
    already.

    >>> import reactors.rl as rl
    >>> env = rl.Env("CartPole-v1", num_envs=2)
    >>> rl.record.Trajectories(env, "cartpole/random-v0").transition.shape
    (2,)
    """

    transition: rx.Input[Any]
    if TYPE_CHECKING:
        valid: rx.Input[Any]  # only for an rl.BatchedEnv

    def __init__(self, env: Env, dataset_id: str, *, folder: str | Path | None = None, **options: Any) -> None:
        if importlib.util.find_spec("minari") is None:
            raise ReactorError('rl.record.Trajectories needs the package minari: pip install "minari[hdf5]"')
        if env.transition.dtype is None or env.transition.shape is None:
            raise ParameterError(
                f"{env.transition.where()} has no records to keep, because values of {env.observation_space} and "
                f"{env.action_space} have no fixed size"
            )
        self.observation_space, self.action_space = env.observation_space, env.action_space
        given = folder or os.environ.get(_VARIABLE)  # Minari itself takes no relative one
        self.folder = Path(given).absolute() if given else None
        self.dataset_id, self.options = dataset_id, options
        self.check_id()
        self.transition = rx.Input(shape=env.transition.shape, dtype=env.transition.dtype)
        self.masked = hasattr(env, "valid")
        if self.masked:
            self.valid = rx.Input(shape=env.transition.shape, dtype=bool)
        self.episodes = 0
        self._under_way: list[list[Any]] = [[] for _ in range(env.num_envs or 1)]
        self._over: list[NDArray[Any]] = []
        self.add_reaction(rx.startup, self.check_id)  # another program may have written it meanwhile
        self.add_reaction(self.transition, self.keep, uses=self.valid if self.masked else ())
        self.add_reaction(rx.shutdown, self.write)

    def check_id(self) -> None:
        """Refuse what Minari would refuse only in the end, when all steps would be lost."""
        from minari.dataset.minari_dataset import parse_dataset_id

        try:
            parse_dataset_id(self.dataset_id)
        except (ValueError, TypeError):  # the second where there is no version
            raise ArgumentError(
                f"dataset_id of rl.record.Trajectories is {self.dataset_id!r}; write a name and a version, as in "
                "cartpole-v0, maybe after a namespace and /"
            ) from None
        folder = self.folder or Path.home() / ".minari" / "datasets"
        if (folder / self.dataset_id).exists():
            raise ArgumentError(
                f"{folder} has a dataset {self.dataset_id} already; give rl.record.Trajectories another version, or "
                "remove it"
            )

    def keep(self) -> None:
        """Add a step of each environment."""
        rows = np.atleast_1d(self.transition.value.copy())
        valid = self.valid.value if self.masked else None
        for i, row in enumerate(rows):
            if valid is not None and not valid[i]:
                continue
            self._under_way[i].append(row)
            if row["terminated"] or row["truncated"]:
                self._over.append(np.array(self._under_way[i]))
                self._under_way[i] = []

    def write(self) -> None:
        """Write all collected steps as a Minari dataset."""
        import minari

        for steps in self._under_way:
            if steps:
                steps[-1]["truncated"] = True
                self._over.append(np.array(steps))
        self.episodes = len(self._over)
        if self._over:
            buffers = [self._buffer(number, steps) for number, steps in enumerate(self._over)]
            spaces = {"observation_space": self.observation_space, "action_space": self.action_space}
            with _datasets_in(self.folder):
                minari.create_dataset_from_buffers(self.dataset_id, buffers, **{**spaces, **self.options})
        self._over, self._under_way = [], []

    def _buffer(self, number: int, steps: NDArray[Any]) -> Any:
        from minari.data_collector.episode_buffer import EpisodeBuffer

        observations = np.concatenate([steps["obs"], steps["next_obs"][-1:]])
        observe, act = reader(self.observation_space), reader(self.action_space)
        return EpisodeBuffer(
            id=number,
            observations=list(observations) if observe is None else observe(observations),
            actions=list(steps["action"]) if act is None else act(steps["action"]),
            rewards=steps["reward"].tolist(),
            terminations=steps["terminated"].tolist(),
            truncations=steps["truncated"].tolist(),
        )


@contextmanager
def _datasets_in(folder: Path | None) -> Iterator[None]:
    """Let Minari write into a folder within this context."""
    before = os.environ.get(_VARIABLE)
    if folder is not None:
        os.environ[_VARIABLE] = str(folder)
    try:
        yield
    finally:
        if folder is not None:
            os.environ.pop(_VARIABLE)
            if before is not None:
                os.environ[_VARIABLE] = before
