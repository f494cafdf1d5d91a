"""Environments that say what they were given."""

from __future__ import annotations

import itertools
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple

N = 3


def described(value: Any) -> str:
    """Type, dtype, shape and bits, all the way down."""
    if isinstance(value, dict):
        return f"{type(value).__name__}({', '.join(f'{key}: {described(part)}' for key, part in value.items())})"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}({', '.join(map(described, value))})"
    if isinstance(value, np.ndarray | np.generic):
        return f"{type(value).__name__} {value.dtype}{value.shape} {value.tobytes().hex()}"
    return f"{type(value).__name__} {value!r}"


class Echo(gym.Env[Any, Any]):
    """Says what it was given, and spoils it."""

    observation_space = Box(0, 1, (1,), np.float32)

    def __init__(self, action_space: Any) -> None:
        self.action_space = action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        info = {"got": described(action)}
        for part in action.values() if isinstance(action, dict) else [action]:
            if isinstance(part, np.ndarray):
                part[...] = 0
        return np.zeros(1, np.float32), 0.0, False, False, info


BOTH = Dict(at=Box(-1, 1, (2,), np.float32), door=Discrete(3))
PAIR = Tuple([Box(-1, 1, (2,), np.float64), MultiBinary(2)])
GIVEN: list[tuple[Any, Any]] = [
    *((Box(-5, 5, (2,), dtype), np.arange(6.0).reshape(3, 2)) for dtype in (np.float16, np.float32, np.float64)),
    (Box(-5, 5, (2,), np.float32), np.arange(6, dtype=np.float32).reshape(3, 2)),
    (Box(-5, 5, (2,), np.float32), np.asfortranarray(np.arange(6, dtype=np.float32).reshape(3, 2))),
    (Box(-5, 5, (2,), np.float32), np.arange(6).reshape(3, 2)),
    (Box(-5, 5, (2,), np.float32), [[1, 2], [3.5, 4], [5, 6]]),
    (Box(-5, 5, (2,), np.float32), [np.ones(2), (1, 2), None]),
    (Box(-5, 5, (), np.float32), np.array([0.1, 0.2, 0.3])),
    (Box(0, 255, (2,), np.uint8), np.arange(6, dtype=np.uint8).reshape(3, 2)),
    (Box(-5, 5, (2,), np.int32), np.arange(6.0).reshape(3, 2)),
    *((Discrete(5), np.array([1, 2, 3], dtype)) for dtype in (np.int64, np.int32, np.uint8, np.float32, np.float64)),
    (Discrete(5), np.array([True, False, True])),
    (Discrete(5), [1, 2, 3]),
    (Discrete(5), (np.int32(1), 2.0, True)),
    (Discrete(5), np.array([[1], [2], [3]])),
    (Discrete(5), ["left", None, 1]),
    (MultiDiscrete([3, 4]), np.array([[1, 2], [0, 3], [2, 1]])),
    (MultiDiscrete([3, 4]), np.array([[1, 2], [0, 3], [2, 1]], np.uint8)),
    (MultiDiscrete([3, 4]), [[1, 2], (0, 3), np.array([2, 1])]),
    (MultiBinary(2), np.array([[1, 0], [0, 1], [1, 1]], np.int8)),
    (MultiBinary(2), np.array([[1, 0], [0, 1], [1, 1]], bool)),
    (BOTH, {"at": np.ones((3, 2), np.float32), "door": np.array([0, 1, 2])}),
    (BOTH, {"at": np.ones((3, 2)), "door": [0, 1, 2]}),
    (PAIR, (np.ones((3, 2)), np.ones((3, 2), np.int8))),
    (PAIR, (np.ones((3, 2), np.float32), [[1, 0], [0, 1], [1, 1]])),
    (Text(5), ("a", "bc", "")),
]


# ---- what functions carry ----


class Count(gym.Env[Any, Any]):
    """Counts its steps; its space, a generator of its own, and a buffer come from outside."""

    action_space = Discrete(2)

    def __init__(self, space: Any = None, buffer: Any = None, counter: Any = None) -> None:
        self.observation_space = space or Box(0, 1000, (1,), np.float32)
        self.buffer = np.zeros(1, np.float32) if buffer is None else buffer
        self.counter, self.closed, self.steps = counter or itertools.count(), False, 0

    def look(self) -> Any:
        self.buffer += 1
        return self.buffer + np.float32(next(self.counter)) + self.observation_space.sample().round()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return self.look(), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        return self.look(), float(self.steps), False, False, {}

    def close(self) -> None:
        self.closed = True
