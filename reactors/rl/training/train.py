"""Train, from one call."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.errors import ArgumentError
from reactors.rl.sources import Source, maker, spaces_of
from reactors.rl.training.evaluator import play
from reactors.rl.training.program import Mode, Training, placement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from reactors.rl.algorithms.algorithm import Algorithm, Policy


@dataclass(frozen=True)
class Trained:
    """What came of `rl.train`: the `policy`, its `weights`, the `journal` row by row, and the run's own result."""

    algorithm: Algorithm
    policy: Policy
    weights: NDArray[np.float32]
    journal: list[dict[str, float]]
    result: rx.Result
    make: Callable[[], Any]
    spaces: tuple[Any, Any]

    @property
    def digest(self) -> str:
        """Of the run; the values are in the weights."""
        return self.result.digest

    def evaluate(self, episodes: int = 10, seed: int = 0) -> float:
        """The mean return of greedy episodes."""
        return float(np.mean(play(self.policy, self.make, *self.spaces, episodes, seed)))

    def __call__(self, observation: Any) -> Any:
        """The greedy action for one observation."""
        return self.policy.greedy(np.asarray(observation)[None])[0]


def train(
    algorithm: Algorithm,
    env: Source,
    *,
    total_steps: int = 100_000,
    workers: int = 1,
    backend: str = "auto",
    actors: int = 2,
    mode: Mode = "sync",
    lag: int | None = None,
    seed: int = 0,
    device: str = "cpu",
    eval_every: int | None = None,
    eval_episodes: int = 10,
    stop_at: float | None = None,
    journal: Path | None = None,
    tell: Callable[[dict[str, float]], None] | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
) -> Trained:
    """Train `algorithm` for `total_steps` environment steps in `env`, an id, a spec or a function.

    `mode` is how actors and learner go together: "sync", "pipelined" with weights `lag` rounds late (2, if nothing is
    said), or "free". In the first two, the final weights are the same bit for bit for a seed, whatever the workers and
    backend. `actors` share the algorithm's environments. `stop_at` ends the run when the mean return of the last twenty
    episodes gets there. `eval_every` counts rounds. `tell` is called with every row of the journal.

    >>> from reactors import rl
    >>> done = rl.train(rl.PPO(num_envs=4, horizon=16, epochs=2), "CartPole-v1", total_steps=256)
    >>> done.journal[-1]["global_step"], done.weights.shape
    (256, (4610,))
    """
    if mode not in {"sync", "pipelined", "free"}:
        raise ArgumentError(f'mode of rl.train is {mode!r}; write "sync", "pipelined" or "free"')
    lag = _checked_lag(mode, lag)
    make = maker(env, env_kwargs or {}, "rl.train")
    spaces = spaces_of(make, "rl.train")
    algorithm.check(*spaces)
    if any(field.name == "total_steps" for field in fields(algorithm)):
        algorithm = replace(algorithm, total_steps=total_steps)  # type: ignore[call-arg]
    steps = algorithm.horizon * algorithm.num_envs
    rounds = max(1, total_steps // steps)
    training = Training(
        algorithm, make, *spaces, actors=min(actors, algorithm.num_envs), mode=mode, lag=lag, seed=seed, device=device,
        eval_every=eval_every, eval_episodes=eval_episodes, stop_at=stop_at, journal=journal, tell=tell,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rx.ReactorWarning)
        result = rx.run(
            training, workers=workers, backend=backend, fast=True, seed=seed, timeout=(rounds - 1) * 1000,  # type: ignore[arg-type]
            keepalive=False, placement=partial(_worker, placement(training, workers, mode)),
        )  # fmt: skip
    weights = training.learner.learning.weights()
    policy = algorithm.policy(*spaces)
    policy.load(weights)
    return Trained(algorithm, policy, weights, training.journal.rows, result, make, spaces)


def _worker(where: Mapping[str, int], path: str) -> int:
    return where.get(path, 0)


def _checked_lag(mode: str, lag: int | None) -> int:
    if lag is None:
        return 2 if mode == "pipelined" else 1
    given: object = lag
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise ArgumentError(f"lag of rl.train is {lag!r}; write a whole number of rounds, 1 or more")
    if mode == "sync" and lag != 1:
        raise ArgumentError(f'lag of rl.train is {lag}, but mode="sync" is a lag of 1; write mode="pipelined"')
    return lag
