"""Synchronised parallel Q-learning as one dataflow graph, on FrozenLake and Taxi.

The learner broadcasts its table; every rollout plays `horizon` steps with it and sends what it saw; the learner folds
all of it in. The cycle learner -> rollouts -> learner is cut by one microstep, so the microstep of the tag counts the
rounds. With the same seed the result is the same bit for bit, whatever `--workers` is: compare the digests.

Run:   python qlearning.py --workers 2
       python qlearning.py --env Taxi-v4 --workers 2
Needs: pip install 'reactors[rl]'
"""

import argparse
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
from matplotlib.figure import Figure

import reactors as rx

STATE, ACTION, REWARD, NEXT, TERMINATED, RETURN = range(6)  # the columns of a trajectory


class Rollout(rx.Reactor):
    """Plays its own copy of the environment, epsilon-greedily, with the table of the round."""

    table = rx.Input(shape="table_shape", dtype=np.float32)
    trajectory = rx.Output(shape=("horizon", 6), dtype=np.float32)

    def __init__(self, env_id: str, table_shape: tuple[int, int], horizon: int, rounds: int) -> None:
        self.env_id, self.table_shape, self.horizon, self.rounds = env_id, table_shape, horizon, rounds

    @rx.reaction(rx.startup)
    def open(self) -> None:  # runs on this reactor's own worker: heavy state is made here
        self.env = gym.make(self.env_id)
        self.obs, _ = self.env.reset(seed=self.seed)
        self.total = 0.0

    @rx.reaction(table, effects=trajectory)
    def play(self) -> None:
        table, rows = self.table.value, self.trajectory.loan()  # a writable view of the slot the learner will read
        epsilon = max(0.1, 1 - 2 * self.tag.microstep / self.rounds)  # explores less and less until half-time
        for row in rows:
            greedy = self.rng.random() >= epsilon
            action = int(table[self.obs].argmax()) if greedy else int(self.rng.integers(table.shape[1]))
            nxt, reward, terminated, truncated, _ = self.env.step(action)
            self.total += float(reward)
            row[:] = self.obs, action, reward, nxt, terminated, np.nan
            self.obs = nxt
            if terminated or truncated:
                row[RETURN], self.total = self.total, 0.0
                self.obs, _ = self.env.reset()
        self.trajectory.set(rows)  # no copy: `rows` is the loaned slot

    @rx.reaction(rx.shutdown)
    def close(self) -> None:
        self.env.close()


class Learner(rx.Reactor):
    """Owns the table. `curve` has the mean return of the episodes that ended in each round (NaN: none did)."""

    trajectories = rx.Input(shape=("horizon", 6), dtype=np.float32, width="actors")
    table = rx.Output(shape="table_shape", dtype=np.float32)

    def __init__(
        self, table_shape: tuple[int, int], horizon: int, actors: int, rounds: int, alpha: float = 0.1, gamma: float = 0.99
    ) -> None:
        self.table_shape, self.horizon, self.actors = table_shape, horizon, actors
        self.rounds, self.alpha, self.gamma = rounds, alpha, gamma
        self.q = np.zeros(table_shape, np.float32)
        self.curve: list[float] = []

    @rx.reaction(rx.startup, effects=table)
    def begin(self) -> None:
        self.table.set(self.q)

    @rx.reaction(trajectories, effects=(table, rx.stop))
    def learn(self) -> None:
        batch = self.trajectories.array.reshape(-1, 6)  # (actors, horizon, 6), one block of memory: no copy
        self.update(batch)
        returns = batch[~np.isnan(batch[:, RETURN]), RETURN]
        self.curve.append(float(returns.mean()) if len(returns) else float("nan"))
        if len(self.curve) % max(1, self.rounds // 10) == 0:
            print(f"round {len(self.curve):4d} of {self.rounds}: mean return {self.curve[-1]:8.2f}", flush=True)
        if len(self.curve) < self.rounds:
            self.table.set(self.q)
        else:
            self.request_stop()

    def update(self, batch: np.ndarray) -> None:
        """Moves every cell that was visited towards the mean of its targets, as far as n steps of size alpha would."""
        states, actions, following = (batch[:, column].astype(int) for column in (STATE, ACTION, NEXT))
        targets = batch[:, REWARD] + self.gamma * (1 - batch[:, TERMINATED]) * self.q.max(1)[following]
        cells = states * self.q.shape[1] + actions
        visits = np.bincount(cells, minlength=self.q.size)
        totals = np.bincount(cells, targets, minlength=self.q.size)
        seen, q = visits > 0, self.q.reshape(-1)
        q[seen] += (1 - (1 - self.alpha) ** visits[seen]) * (totals[seen] / visits[seen] - q[seen])


class QLearning(rx.Reactor):
    def __init__(self, env_id: str = "FrozenLake-v1", actors: int = 16, horizon: int = 100, rounds: int = 300) -> None:
        env = gym.make(env_id)
        shape = (int(env.observation_space.n), int(env.action_space.n))
        self.learner = Learner(shape, horizon, actors, rounds)
        self.rollouts = rx.bank(actors, Rollout, env_id, shape, horizon, rounds)
        rx.connect(self.learner.table, self.rollouts.table, after=0, broadcast=True)
        rx.connect(self.rollouts.trajectory, self.learner.trajectories)


def evaluate(env_id: str, q: np.ndarray, episodes: int = 1000, seed: int = 2**31) -> np.ndarray:
    """Returns of the greedy policy."""
    env = gym.make(env_id)
    returns = np.zeros(episodes)
    obs, _ = env.reset(seed=seed)
    for episode in range(episodes):
        over = False
        while not over:
            obs, reward, terminated, truncated, _ = env.step(int(q[obs].argmax()))
            returns[episode] += float(reward)
            over = terminated or truncated
        obs, _ = env.reset()
    env.close()
    return returns


def save_pictures(out: Path, program: QLearning, curve: list[float]) -> None:
    """The dataflow graph and the learning curve."""
    out.mkdir(parents=True, exist_ok=True)
