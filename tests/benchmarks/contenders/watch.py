"""When is a contender good enough? For all by the mean of the last 20 training episodes."""

from __future__ import annotations

import statistics
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

EPISODES = 20
WARM_UP = 2.0  # seconds


@dataclass(frozen=True)
class Task:
    """What to do: reach the mean return `goal`, or show how fast you are if it is None. After `steps` it is over."""

    workload: str
    seed: int
    goal: float | None
    steps: int
    seconds: float
    """As much time as there is, from the beginning of training."""
    spawned: float
    """When the process was asked for, by `time.time()`."""


@dataclass(frozen=True)
class Answer:
    """What came of it."""

    reached: bool
    steps: int
    seconds: float
    """Of training."""
    with_start: float
    """Seconds since the process was asked for."""
    speed: float | None
    """Environment steps a second, after the warm-up."""
    mean: float
    """Of the last training episodes."""


class Watch:
    """Gets steps and returns, and knows when it is enough. Training begins where it is made."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.returns: deque[float] = deque(maxlen=EPISODES)
        self.starting = time.time() - task.spawned
        self.began = time.perf_counter()
        self.times: list[tuple[int, float]] = []
        self.mean, self.reached = float("-inf"), False

    def ended(self, returns: Iterable[float]) -> None:
        """Episodes, with such returns."""
        self.returns.extend(float(each) for each in returns)
        if len(self.returns) == EPISODES:
            self.mean = statistics.fmean(self.returns)

    def enough(self, steps: int) -> bool:
        """After so many steps: is it over?"""
        seconds = time.perf_counter() - self.began
        self.times.append((steps, seconds))
        self.reached = self.task.goal is not None and bool(self.mean >= self.task.goal)
        return self.reached or steps >= self.task.steps or seconds >= self.task.seconds

    def answer(self) -> Answer:
        """All that was seen."""
        steps, seconds = self.times[-1]
        return Answer(self.reached, steps, seconds, self.starting + seconds, speed(self.times), self.mean)


def speed(times: list[tuple[int, float]]) -> float | None:
    """Steps a second from the first of `times` that is past the warm-up to the last; None if that is too short."""
    warm = next((each for each in times if each[0] and each[1] >= WARM_UP), times[-1])
    steps, seconds = (late - early for late, early in zip(times[-1], warm, strict=True))
    return steps / seconds if seconds >= 1 else None
