"""How far does a learner go on while actors play?"""

from __future__ import annotations

import gc
import threading
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from reactors import rl
from reactors.rl.algorithms.dqn import DQNLearning
from reactors.rl.learning.pace import BESIDE, Pace, Played

SMALL: dict[str, Any] = {
    "num_envs": 4, "horizon": 4, "hidden": (8,), "batch_size": 16, "learning_starts": 32, "capacity": 600,
}  # fmt: skip


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands until it is set."""
    time = [0.0]
    monkeypatch.setattr("reactors.rl.learning.pace.time.perf_counter", lambda: time[0])
    return time


def test_updates_that_are_due_add_up_to_the_least() -> None:
    made, updates = Pace(0.3, 0.3), 0
    for _ in range(1000):
        due = made.due(1)
        updates += due
        for _ in range(due):
            made.made(0.0)
    assert updates == pytest.approx(300, abs=1)


def test_no_more_are_allowed_than_the_most() -> None:
    made = Pace(0.0, 1.5)
    for _ in range(2):
        made.due(1)
    for left in (True, True, False):
        assert made.may
        made.made(0.0)
        assert made.may is left


def test_one_is_due_when_none_was_made_for_a_share_of_the_time_that_one_takes(now: list[float]) -> None:
    made = Pace(0.0, 4.0)
    now[0] = 1.0
    assert made.due(1) == 1  # the first
    now[0] = 11.0
    made.made(1.0)
    made.rest()
    now[0] += 10 * BESIDE - 0.01
    assert made.due(1) == 0
    now[0] += 0.02
    assert made.due(1) == 1
    made.allowed = 0.5 - made.most
    assert made.due(1) == 0


def test_an_actor_that_sits_out_is_not_busy_and_not_waited_for() -> None:
    """It has ended rounds that others have not."""
    played = Played(2)
    played.begin(0, 3)
    played.end(0, 3)
    played.end(1, 2)
    assert not played.busy
    played.begin(1, 3)
    assert played.busy
    assert not played.all_after(2)
    played.end(1, 3)
    assert not played.busy
    assert played.all_after(2)
    assert not played.all_after(3)


LEARNED = threading.Condition()
SO_FAR: list[int] = []  # a number for each update


class Counting(DQNLearning):
    """Counts its updates where environments, in the same process, see that."""

    def learn(self, batch: Any) -> Any:
        figures = yield from super().learn(batch)
        with LEARNED:
            SO_FAR.append(self.updates)
            LEARNED.notify_all()
        return figures


class Counted(rl.DQN):
    """The same as it was."""

    def learning(self, observation_space: Any, action_space: Any, seed: int, device: str = "cpu") -> Any:
        return Counting(self, observation_space, action_space, device)


class Waiting(gym.Env[Any, Any]):
    """From the 20th step on, each waits for three updates."""

    observation_space = gym.spaces.Box(0, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.k = 0
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        self.k += 1
        if self.k > 20:
            with LEARNED:
                wanted = len(SO_FAR) + 3
                assert LEARNED.wait_for(lambda: len(SO_FAR) >= wanted, timeout=60), "the learner waits for this round"
        return np.zeros(2, np.float32), 0.0, False, self.k == 60, {}


def test_a_learner_goes_on_while_a_round_is_played() -> None:
    done = rl.train(
        Counted(**SMALL, updates_per_step=1.0), Waiting, total_steps=640, mode="free", workers=2, backend="thread",
        adapt=rl.Bounds(updates_per_step=(0.01, 1000.0), samplers=(2, 2)), actors=2,
    )  # fmt: skip
    assert done.steps == 640
    assert len(SO_FAR) >= 3 * (640 // 4 - 20)
    del done
    gc.collect()


@pytest.mark.parametrize(("ratio", "playing"), [(0.25, 2), (1.0, 2), (0.5, 1)])
def test_bounds_that_leave_no_choice_are_kept(ratio: float, playing: int) -> None:
    """Also by fewer steps, where an actor pauses."""
    SO_FAR.clear()
    done = rl.train(
        Counted(**SMALL, anneal=True), "CartPole-v1", total_steps=640, mode="free", workers=2, backend="thread",
        adapt=rl.Bounds(batch_size=(16, 16), updates_per_step=(ratio, ratio), samplers=(playing, playing)), actors=2,
    )  # fmt: skip
    before = max(row["global_step"] for row in done.journal if row["global_step"] < SMALL["learning_starts"])
    assert len(SO_FAR) == (done.steps - before) * ratio
    assert done.journal[-1]["charts/learning_rate"] == 0
    del done
    gc.collect()
