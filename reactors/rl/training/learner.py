"""Where do weights come from?"""

from __future__ import annotations

import math
import time
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import reactors as rx
from reactors.rl.algorithms.algorithm import INITIALISING
from reactors.rl.errors import NotFiniteError
from reactors.rl.networks import alone
from reactors.rl.training.rollout import experience_dtype
from reactors.rl.training.stateful import Stateful

if TYPE_CHECKING:
    import gymnasium as gym

    from reactors.rl.algorithms.algorithm import Algorithm
    from reactors.rl.replay_buffer import ReplayBuffer


NO_NUMBER = {"losses/explained_variance"}  # of returns that are all the same


class Learner(Stateful):
    """Owns the networks, learns once a round, and says what they weigh then.

    It keeps the weights of the last `lag` rounds, which are still on their way to the actors: one that goes on from a
    checkpoint sends them `again`, each at its tag. Raises `NotFiniteError` for losses and weights that are not finite.
    """

    again = rx.LogicalAction(int)
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
        lag: int,
        steps: int,
        lately: ReplayBuffer | None,
    ) -> None:
        self.algorithm, self.device, self.size = algorithm, device, size
        self.spaces = observation_space, action_space
        self.learner_seed, self.lately = seed, lately
        self.learning: Any = None
        self.seconds, self.began, self.steps = 0.0, 0.0, steps
        self.sent: deque[tuple[int, Any]] = deque(maxlen=lag)  # when, in ns, and what
        self.add_reaction(rx.startup, self.open, effects=self.again)
        self.add_reaction(self.again, self.send_again, effects=self.weights)

    def open(self) -> None:
        """Make the networks, from the seed, or as they were."""
        with INITIALISING:
            self.learning = self.algorithm.learning(*self.spaces, self.learner_seed, self.device)
        restored = self.taken()
        if restored is None:
            return
        self.learning.load_state_dict(restored["learning"])
        torch.set_rng_state(restored["torch"])
        if restored["cuda"] and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(restored["cuda"])
        self.seconds = restored["seconds"]
        last = self.first - 1000 * (self.sent.maxlen or 0)
        for when, weights in zip(restored["times"], restored["sent"], strict=True):
            if when >= last:
                self.again.schedule(len(self.sent), when)
                self.sent.append((when, weights))

    def send_again(self) -> None:
        """Weights that were on their way."""
        self.weights.set(self.sent[self.again.value][1])

    def state_dict(self) -> dict[str, Any]:
        """Networks, optimizers, torch's random numbers, weights on their way, and the latest."""
        on_cuda = torch.device(self.device).type == "cuda"
        return {
            "learning": self.learning.state_dict(), "torch": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all() if on_cuda else [],
            "times": [when for when, _ in self.sent], "sent": [weights for _, weights in self.sent],
            "seconds": self.seconds, "latest": self.learning.weights(),
        }  # fmt: skip

    def tell(self, figures: dict[str, Any]) -> None:
        """New weights, and what became of the old ones."""
        weights = self.learning.weights()
        told = {
            name: float(value.mean() if isinstance(value, torch.Tensor) else value) for name, value in figures.items()
        }
        wrong = [n for n, x in told.items() if n.startswith("losses/") and not math.isfinite(x) and n not in NO_NUMBER]
        if wrong or not np.isfinite(weights).all():
            step = (self.tag.time // 1000 + 1) * self.steps
            what = f"{wrong[0]} is {told[wrong[0]]}" if wrong else "a weight is no finite number"
            raise NotFiniteError(
                f"{self.path}: {what} at step {step:,}; a smaller learning rate, or scaled observations and rewards, "
                "may keep it finite"
            )
        self.weights.set(weights)
        if self.lately is not None:
            self.lately.add(vector=weights[None], round=np.array([self.tag.time // 1000]))
        self.sent.append((self.tag.time, weights))
        spent = time.perf_counter() - self.began
        self.seconds += spent
        self.figures.set({**told, "time/learn": spent})


class RolloutLearner(Learner):
    """Learns once from every round of experience, and never again."""

    def __init__(self, algorithm: Algorithm, *args: Any, actors: int, num_envs: int) -> None:
        super().__init__(algorithm, *args)
        dtype = experience_dtype(algorithm, *self.spaces)
        self.segments = rx.Input(shape=(algorithm.horizon, num_envs), dtype=dtype, width=actors)
        self.add_reaction(self.segments, self.learn, effects=(self.weights, self.figures))

    def learn(self) -> None:
        """All that the algorithm makes of a round."""
        self.began = time.perf_counter()
        rows = self.segments.array  # (actors, steps, environments)
        batch = {}
        for name in rows.dtype.names or ():
            field = np.ascontiguousarray(np.moveaxis(rows[name], 0, 1))
            batch[name] = torch.from_numpy(field.reshape(field.shape[0], -1, *field.shape[3:])).to(self.device)
        figures = alone(self.learning.learn(batch))
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
        self.began = time.perf_counter()
        records = self.batches.value
        errors = self.errors.loan()
        figures: dict[str, Any] = {}
        for i, record in enumerate(records):
            batch = {name: torch.from_numpy(record[name].copy()).to(self.device) for name in records.dtype.names or ()}
            figures = alone(self.learning.learn(batch))
            if self.prioritized:
                errors[i] = figures.pop("errors").cpu().numpy()
        if self.prioritized:
            self.errors.set(errors)
        self.tell(figures)
