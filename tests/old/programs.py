"""The programs whose log, checkpoints, run folders and buffer an older version wrote, in names that do not change."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import reactors as rx
from reactors import rl

VALUES = [1, -2.5, "three", b"four", None, [5, (6, {"k": True})], np.arange(3, dtype="i4")]
TRAININGS: dict[str, tuple[Any, str]] = {
    "ppo": (
        rl.PPO.preset("CartPole-v1", num_envs=4, horizon=16, epochs=2, batch_size=32, hidden=(8,)),
        "CartPole-v1",
    ),
    "dqn": (
        rl.DQN.preset(
            "CartPole-v1", num_envs=4, horizon=16, hidden=(8,), batch_size=16, learning_starts=256, capacity=300,
            updates_per_step=0.125, prioritized=True, n_step=3,
        ),
        "CartPole-v1",
    ),
    "q_learning": (rl.QLearning(num_envs=2), "FrozenLake-v1"),
}  # fmt: skip
FIELDS = {
    "obs": ((3,), "f4"),
    "reward": ((), "f4"),
    "next_obs": ((3,), "f4"),
    "terminated": ((), "?"),
    "truncated": ((), "?"),
}


class Sensor(rx.Reactor):
    """Passes on what comes from outside, and misses a deadline."""

    heard = rx.PhysicalAction()
    tick, out = rx.Timer(0, "1 ms"), rx.Output()

    def __init__(self) -> None:
        self.log = list[Any]()

    @rx.reaction(heard, effects=out)
    def hear(self) -> None:
        value = self.heard.value
        self.log.append([*self.tag, repr(value)])
        self.out.set(len(self.log))

    @rx.reaction(tick)
    def work(self) -> None:
        if self.tag.time == 3_000_000:
            time.sleep(0.004)

    @rx.reaction(tick)
    def punctual(self) -> None:
        self.log.append([*self.tag, "in time"])

    @punctual.deadline("2 ms")
    def late(self) -> None:
        self.log.append([*self.tag, "late"])


class Listener(rx.Reactor):
    inp = rx.Input()

    def __init__(self) -> None:
        self.log = list[Any]()

    @rx.reaction(inp)
    def hear(self) -> None:
        self.log.append([*self.tag, self.inp.value])


class Main(rx.Reactor):
    def __init__(self) -> None:
        self.sensor, self.listener = Sensor(), Listener()
        rx.connect(self.sensor.out, self.listener.inp, physical=True)


def clock(main: Main) -> rx.VirtualClock:
    """What comes from outside, and when."""
    made = rx.VirtualClock(sleep=True)
    for k, value in enumerate(VALUES):
        made.at(1_500_000 * k, main.sensor.heard, value)
    return made


def drive(buffer: Any, first: int, last: int) -> list[list[Any]]:
    """Add steps to a replay buffer, and sample after each; what was drawn."""
    drawn = []
    for k in range(first, last):
        obs = np.arange(3, dtype="f4")[None] + k
        rest = {"reward": [float(k % 5)], "terminated": [k % 7 == 6], "truncated": [False]}
        buffer.add({"obs": obs, "next_obs": obs + 1, **{name: np.array(each) for name, each in rest.items()}})
        if len(buffer) > 4:
            batch = buffer.sample(4)
            drawn.append([batch.indices.tolist(), batch.reward.tolist(), batch.obs.tolist()])
            buffer.update_priorities(batch, 1.0 + batch.reward)
    return drawn
