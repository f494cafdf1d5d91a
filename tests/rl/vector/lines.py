"""Environments of a given length that play along a line, and what Gymnasium's own vector environment makes of them."""

import copy
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import SyncVectorEnv

from reactors import rl


class Word(gym.Space[str]):
    """A space that Gymnasium does not know."""

    def __init__(self) -> None:
        super().__init__(None, None)

    def __repr__(self) -> str:
        return "Word()"

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        return "word"

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Word)

    __hash__ = None  # type: ignore[assignment]


class Line(gym.Env[Any, Any]):
    """Walks for a given number of steps, and says a lot on the way."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    gravity = 9.8

    def __init__(
        self,
        length: int = 4,
        observation_space: gym.Space[Any] | None = None,
        action_space: gym.Space[Any] | None = None,
        render_mode: str | None = None,
        wrong: Any = None,
        reuses: bool = False,
    ) -> None:
        self.length, self.render_mode, self.wrong, self.reuses = length, render_mode, wrong, reuses
        self.observation_space = copy.deepcopy(observation_space or Box(-1000, 1000, (2,), np.float32))
        self.action_space = action_space or Discrete(3)
        self.buffer = np.zeros(2, np.float32)
        self.at, self.closed = 0, False

    def look(self) -> Any:
        if isinstance(self.observation_space, Word):
            return f"at {self.at}"
        if not isinstance(self.observation_space, Box) or self.observation_space.shape != (2,):
            return self.observation_space.sample()
        self.buffer[:] = self.at, self.np_random.integers(100)
        return self.buffer if self.reuses else self.buffer.copy()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self.at = (options or {}).get("start", 0)
        if self.wrong == "reset" and seed == 8:
            raise KeyError("no start")
        return self.look(), {"began": self.at} if options else {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at += 1
        if self.wrong == self.at:
            raise ZeroDivisionError(f"bumped at {self.at}")
        if self.wrong == ("wrong", self.at):
            return np.zeros(7), 0.0, False, False, {}
        if self.wrong == ("dies", self.at):
            os._exit(3)
        if self.wrong == ("sleeps", self.at):
            time.sleep(0.4)
        info = {"at": self.at, "place": np.array([self.at, 1.5]), "name": str(self.at), "deep": {"er": {"x": self.at}}}
        over = self.at >= self.length
        return self.look(), float(self.at), over and self.length % 2 == 0, over, info if self.at % 2 else {}

    def render(self) -> Any:
        return np.full((2, 2, 3), self.at, np.uint8)

    def add(self, x: int, y: int = 0) -> int:
        return self.at + x + y

    def close(self) -> None:
        self.closed = True


LENGTHS = (2, 3, 5, 4, 7)


def lines(**settings: Any) -> list[Callable[[], Line]]:
    return [partial(Line, length, **settings) for length in LENGTHS]


def equal(a: Any, b: Any) -> bool:
    """Of one type, dtype and shape, and of equal values, all the way down; objects' fields by their values."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, np.ndarray) and a.dtype == object:
        return (
            a.shape == b.shape and b.dtype == object and all(equal(*pair) for pair in zip(a.flat, b.flat, strict=True))
        )
    return bool(data_equivalence(a, b, exact=True))


@contextmanager
def both(makers: list[Any], **settings: Any) -> Iterator[tuple[rl.VectorEnv, SyncVectorEnv]]:
    workers = settings.pop("workers", 1)
    ours, theirs = (
        rl.VectorEnv(makers, workers=workers, oversubscribe=True, **settings),
        SyncVectorEnv(makers, **settings),
    )
    try:
        yield ours, theirs
    finally:
        ours.close()
        theirs.close()


def actions_for(envs: Any, steps: int) -> list[Any]:
    envs.action_space.seed(5)
    return [envs.action_space.sample() for _ in range(steps)]
