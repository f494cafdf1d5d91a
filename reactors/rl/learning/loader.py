"""How does experience get into the form of a batch while the learner still learns from the last one?

Loaders are reactors of their own, on the workers of the actors: they write a round into the slots of their outputs, of
which there are several, and the learner finds its batch there, in one piece. It is the parallel data loading of the
improved IMPALA ("Accelerating Distributed Deep RL", RLDM 2019). Replay has it already: `Experience` draws batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.errors import ArgumentError
from reactors.rl.contract.rows import experience_dtype
from reactors.rl.learning.learner import Learner

if TYPE_CHECKING:
    from reactors.rl.contract.algorithm import Algorithm
    from reactors.rl.networks.layers import Descent


def check_loaders(algorithm: Algorithm, loaders: int) -> None:
    """Refuse what loaders cannot share."""
    if loaders and not algorithm.on_policy:
        raise ArgumentError(
            f"loaders of rl.train is {loaders}, but {algorithm.name} learns from replay, which loads its batches "
            "itself; leave loaders out"
        )
    if loaders and algorithm.horizon % loaders:
        raise ArgumentError(
            f"{loaders} loaders cannot share the {algorithm.horizon} steps of a round of {algorithm.name} evenly; let "
            "horizon be a multiple of loaders"
        )


def _fields(dtype: Any) -> list[tuple[str, Any, tuple[int, ...]]]:
    """Name, dtype and shape of each field of a record, with the name of its port first."""
    return [(f"field_{name}", dtype[name].base, dtype[name].shape) for name in dtype.names]


class Loader(rx.Reactor):
    """One of `loaders` that share the steps of a round: arrays (steps, environments, ...) of all actors' segments.

    Each field has a port. Shares are of steps, so that what lies one behind the other is the whole batch.
    """

    def __init__(self, dtype: Any, horizon: int, num_envs: int, actors: int, loaders: int) -> None:
        self.names = dtype.names
        self.steps = horizon // loaders
        self.shape = self.steps, actors, num_envs
        self.segments = rx.Input(shape=(horizon, num_envs), dtype=dtype, width=actors)
        for port, kind, shape in _fields(dtype):
            setattr(self, port, rx.Output(shape=(self.steps, actors * num_envs, *shape), dtype=kind))
        self.ports = [port for port, _, _ in _fields(dtype)]
        self.add_reaction(self.segments, self.load, effects=[getattr(self, port) for port in self.ports])

    def load(self) -> None:
        """A share of a round."""
        first = self.steps * self.bank_index
        rows = self.segments.array[:, first : first + self.steps].swapaxes(0, 1)  # steps, actors, environments
        for name, at in zip(self.names, self.ports, strict=True):
            port = getattr(self, at)
            array = port.loan()
            np.copyto(array.reshape(*self.shape, *array.shape[2:]), rows[name])
            port.set(array)


class LoadedLearner(Learner):
    """Learns once from every round, of which loaders have made a batch; each of several from its environments."""

    def __init__(self, algorithm: Algorithm, *args: Any, loaders: int, **kwargs: Any) -> None:
        super().__init__(algorithm, *args, **kwargs)
        dtype = experience_dtype(algorithm, *self.spaces)
        self.names, self.loaders = dtype.names, loaders
        self.ports = [port for port, _, _ in _fields(dtype)]
        self.num_envs = algorithm.num_envs
        steps, width = algorithm.horizon // loaders, loaders if loaders > 1 else None
        for port, kind, shape in _fields(dtype):
            setattr(self, port, rx.Input(shape=(steps, algorithm.num_envs, *shape), dtype=kind, width=width))
        self.learn_from([getattr(self, port) for port in self.ports])

    def round(self) -> Descent:
        """All that the algorithm makes of a round."""
        mine = self.share(self.num_envs)
        batch = {}
        for name, port in zip(self.names, self.ports, strict=True):
            tensor = getattr(self, port).tensor  # what the loaders have written, one behind the other
            if self.loaders > 1:
                tensor = tensor.flatten(0, 1)
            if self.exchange is not None:  # a later microstep could not read the port
                tensor = tensor[:, mine].clone()
            batch[name] = tensor.numpy()
        return self.learned(self.upload(batch))
