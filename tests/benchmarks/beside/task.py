"""What is learned, by whom and for how long, and what came of it: the same for all contenders."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from beside import spread

from reactors import rl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

EPISODES = 20  # of a mean in training, and of an evaluation
GAMES = ("asterix", "breakout", "freeway", "seaquest", "space_invaders")
SPREAD = "mpe2:simple_spread_v3"


@dataclass(frozen=True)
class Task:
    """One run."""

    algorithm: str
    env: str
    """An id of Gymnasium's, atari:GAME, minatar:GAME, or `SPREAD`."""
    steps: int
    seed: int

    @property
    def make(self) -> Any:
        """The environment to train in, or a function that makes it."""
        suite, _, name = self.env.rpartition(":")
        if suite == "mpe2":
            return spread.environment
        return {"atari": lambda: rl.atari(name, screen_size=42), "minatar": lambda: rl.minatar(name)}.get(
            suite, lambda: self.env
        )()

    @property
    def evaluated(self) -> Callable[[], gym.Env[Any, Any]]:
        """Makes what is played afterwards: whole games, with the rewards of the game."""
        make = self.make
        if isinstance(make, str):
            return lambda: gym.make(make)
        return make.evaluation if isinstance(make, rl.atari) else make

    @property
    def settings(self) -> Any:
        """The algorithm with its hyperparameters, which all contenders share."""
        kind = getattr(rl, self.algorithm)
        if self.env == SPREAD:
            return kind(
                num_envs=spread.NUM_ENVS, horizon=spread.HORIZON, gamma=spread.GAMMA, lam=spread.LAM,
                learning_rate=spread.LEARNING_RATE, batch_size=spread.MINIBATCH, epochs=spread.EPOCHS,
                entropy=spread.ENTROPY, value=spread.VALUE, clip=spread.CLIP, max_grad_norm=spread.MAX_GRAD_NORM,
                hidden=spread.HIDDEN,
            )  # fmt: skip
        return kind.preset(self.env)


@dataclass(frozen=True)
class Learned:
    """What came of it."""

    steps: int
    seconds: float
    """Of training."""
    processor: float
    """Seconds of it that processors worked, which does not depend on what else they had to do."""
    last: float
    """The mean return of the last training episodes."""
    mean: float
    """Of an evaluation, whose seeds training never sees."""
    deviation: float
    """Of its returns."""
    curve: list[tuple[int, float]]
    """Steps, and the mean return of the last training episodes then."""
    digest: str = ""
    """Of a run of ours, by which it can be made again; a version with other figures in its journal has another one."""
    weights: str = ""
    """A hash of its weights alone."""


class Watch:
    """The mean return of the last training episodes, a hundred times in a run."""

    def __init__(self, task: Task) -> None:
        self.every = task.steps / 100
        self.returns: deque[float] = deque(maxlen=EPISODES)
        self.curve: list[tuple[int, float]] = []

    def ended(self, steps: int, returns: Iterable[float]) -> None:
        """Some episodes ended after so many steps."""
        self.returns.extend(float(each) for each in returns)
        if self.returns and steps >= self.every * (len(self.curve) + 1):
            self.curve.append((steps, round(fmean(self.returns), 2)))


def evaluate(task: Task, choose: Callable[[Any], Any]) -> tuple[float, float]:
    """Mean and deviation of the returns of episodes in which `choose` acts, given one observation."""
    env = task.evaluated()
    returns = []
    for episode in range(EPISODES):
        obs, _ = env.reset(seed=1_000_000 + 1000 * task.seed + episode)
        total, over = 0.0, False
        while not over:
            obs, reward, terminated, truncated, _ = env.step(choose(np.asarray(obs)))
            total, over = total + float(reward), terminated or truncated
        returns.append(total)
    env.close()
    return round(fmean(returns), 2), round(pstdev(returns), 2)
