"""Where do weights come from?"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import reactors as rx
from reactors.rl.algorithms.algorithm import INITIALISING
from reactors.rl.training.actor import experience_dtype

if TYPE_CHECKING:
    import gymnasium as gym

    from reactors.rl.algorithms.algorithm import Algorithm


class Learner(rx.Reactor):
    """Owns the networks, learns once a round, and says what they weigh then."""

    weights = rx.Output(shape="size", dtype=np.float32)
    figures = rx.Output(dict)

    def __init__(
        self,
        algorithm: Algorithm,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        seed: int,
        size: int,
        device: str,
    ) -> None:
        self.algorithm, self.device, self.size = algorithm, device, size
        self.spaces = observation_space, action_space
        self.learner_seed = seed
        self.learning: Any = None
        self.seconds = 0.0
        self.add_reaction(rx.startup, self.open)

    def open(self) -> None:
        """Make the networks, from the seed."""
        with INITIALISING:
            self.learning = self.algorithm.learning(*self.spaces, self.learner_seed, self.device)

    def tell(self, figures: dict[str, Any]) -> None:
        """New weights, and what became of the old ones."""
        self.weights.set(self.learning.weights())
        self.figures.set(
            {name: float(value.mean() if isinstance(value, torch.Tensor) else value) for name, value in figures.items()}
        )


class RolloutLearner(Learner):
    """Learns once from every round of experience, and never again."""

    def __init__(self, algorithm: Algorithm, *args: Any, actors: int, num_envs: int) -> None:
        super().__init__(algorithm, *args)
        dtype = experience_dtype(algorithm, *self.spaces)
        self.segments = rx.Input(shape=(algorithm.horizon, num_envs), dtype=dtype, width=actors)
        self.add_reaction(self.segments, self.learn, effects=(self.weights, self.figures))

    def learn(self) -> None:
        """All that the algorithm makes of a round."""
        began = time.perf_counter()
        rows = self.segments.array  # (actors, steps, environments)
        batch = {}
        for name in rows.dtype.names or ():
            field = np.ascontiguousarray(np.moveaxis(rows[name], 0, 1))
            batch[name] = torch.from_numpy(field.reshape(field.shape[0], -1, *field.shape[3:])).to(self.device)
        figures = self.learning.learn(batch)
        self.seconds += time.perf_counter() - began
        self.tell(figures)


class ReplayLearner(Learner):
    """Learns from batches that replay has drawn, so many a round, and answers with their errors."""

    def __init__(self, algorithm: Any, *args: Any, batches: Any) -> None:
        super().__init__(algorithm, *args)
        self.prioritized: bool = algorithm.prioritized
        self.batches = rx.Input(shape=batches.shape, dtype=batches.dtype)
        self.errors = rx.Output(shape=(*batches.shape, algorithm.batch_size), dtype=np.float32)
        self.add_reaction(self.batches, self.learn, effects=(self.weights, self.figures, self.errors))

    def learn(self) -> None:
        """One update for each batch."""
        began = time.perf_counter()
        records = self.batches.value
        errors = self.errors.loan()
        figures: dict[str, Any] = {}
        for i, record in enumerate(records):
            batch = {name: torch.from_numpy(record[name].copy()).to(self.device) for name in records.dtype.names or ()}
            figures = self.learning.learn(batch)
            if self.prioritized:
                errors[i] = figures.pop("errors").cpu().numpy()
        if self.prioritized:
            self.errors.set(errors)
        self.seconds += time.perf_counter() - began
        self.tell(figures)
