"""What the learner finds out about rows reaches these very rows of the replay buffer."""

import gc
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import reactors as rx
from reactors import rl
from reactors.rl.dataflow.experience import Experience

DQN = rl.DQN(
    num_envs=2, horizon=4, capacity=64, batch_size=16, learning_starts=8, updates_per_step=0.25, prioritized=True,
    alpha=1.0,
)  # fmt: skip
SPACES = gym.spaces.Box(-1, 1, (1,)), gym.spaces.Discrete(2)
ROUNDS = 6


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """A program is made of cycles, so the memory of its buffer goes when the garbage is collected."""
    yield
    gc.collect()


class Player(rx.Reactor):
    """Every reward is another one: 1, 2, 3, ..."""

    tick = rx.Timer(0, "1 ms")

    def __init__(self, like: Any) -> None:
        self.segment = rx.Output(shape=like.shape, dtype=like.dtype)
        self.made = 0
        self.add_reaction(self.tick, self.play, effects=self.segment)

    def play(self) -> None:
        rows = self.segment.loan()
        rows[...] = np.zeros((), rows.dtype)
        rows["reward"] = np.arange(1, 1 + rows.size).reshape(rows.shape) + self.made
        self.made += rows.size
        self.segment.set(rows)


class Judge(rx.Reactor):
    """The error of a row is its reward; each of `parts` judges its share of every batch."""

    def __init__(self, like: Any, errors: tuple[int, ...]) -> None:
        self.batches = rx.Input(shape=like.shape, dtype=like.dtype)
        self.errors = rx.Output(shape=errors, dtype=np.float32)
        self.share = slice(self.bank_index * errors[1], (self.bank_index + 1) * errors[1])
        self.drawn: set[int] = set()
        self.add_reaction(self.batches, self.judge, effects=self.errors)

    def judge(self) -> None:
        rewards = self.batches.value["reward"][:, self.share]
        self.drawn |= {int(reward) for reward in rewards.flat}
        self.errors.set(np.ascontiguousarray(rewards))


class Replaying(rx.Reactor):
    def __init__(self, parts: int) -> None:
        self.experience = Experience(DQN, *SPACES, actors=1, parts=parts)
        self.player = Player(self.experience.segments[0])
        errors = DQN.updates, DQN.batch_size // parts
        self.judges = rx.bank(parts, Judge, self.experience.batches, errors)
        rx.connect(self.player.segment, self.experience.segments)
        rx.connect(self.experience.batches, self.judges.batches, broadcast=True)
        rx.connect(self.judges.errors, self.experience.errors, after=0)


@pytest.mark.parametrize("parts", [1, 2])
def test_every_priority_is_that_of_its_row(parts: int) -> None:
    main = Replaying(parts)
    rx.run(main, fast=True, timeout=f"{1000 * ROUNDS - 500} us", keepalive=False)
    buffer = main.experience.buffer
    drawn = set[int]().union(*(judge.drawn for judge in main.judges))
    assert len(buffer) == ROUNDS * 8
    assert 20 < len(drawn) < len(buffer)
    indices = np.arange(len(buffer))
    priorities = dict(zip(buffer.take(indices).reward.astype(int).tolist(), buffer.priorities(indices), strict=True))
    assert {reward: priorities[reward] for reward in drawn} == pytest.approx({reward: reward for reward in drawn})
