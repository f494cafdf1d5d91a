"""Synchronised parallel Q-learning as one dataflow graph, on FrozenLake and Taxi.

The learner broadcasts its table; every rollout plays `horizon` steps with it and sends what it saw; the learner folds
all of it in. The cycle learner -> rollouts -> learner is cut by one microstep, so the microstep of the tag counts the
rounds. With the same seed the result is the same bit for bit, whatever `--workers` is: the digest, which is of what
ran when and so the same for both environments, and the table that was learned, which is not.

Run:   python qlearning.py
       python qlearning.py --env Taxi-v4 --workers 1
Needs: pip install '.[rl]'
"""

import argparse
import os
import shutil
import sys
from hashlib import blake2b
from pathlib import Path

import gymnasium as gym
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import reactors as rx

CLEAR = "\r\x1b[2K" if sys.stdout.isatty() else ""  # takes the progress line off the terminal
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

    gamma = 0.99

    def __init__(self, table_shape: tuple[int, int], horizon: int, actors: int, rounds: int, alpha: float) -> None:
        self.table_shape, self.horizon, self.actors = table_shape, horizon, actors
        self.rounds, self.alpha = rounds, alpha
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
            print(f"{CLEAR}round {len(self.curve):4d} of {self.rounds}: mean return {self.curve[-1]:8.2f}", flush=True)
        if len(self.curve) < self.rounds:
            self.table.set(self.q)
        else:
            self.request_stop()

    def update(self, batch: NDArray[np.float32]) -> None:
        """Moves every cell that was visited towards the mean of its targets, as far as n steps of size alpha would."""
        states, actions, following = (batch[:, column].astype(int) for column in (STATE, ACTION, NEXT))
        targets = batch[:, REWARD] + self.gamma * (1 - batch[:, TERMINATED]) * self.q.max(1)[following]
        cells = states * self.q.shape[1] + actions
        visits = np.bincount(cells, minlength=self.q.size)
        totals = np.bincount(cells, targets, minlength=self.q.size)
        seen, q = visits > 0, self.q.reshape(-1)
        q[seen] += (1 - (1 - self.alpha) ** visits[seen]) * (totals[seen] / visits[seen] - q[seen])


class QLearning(rx.Reactor):
    def __init__(
        self,
        env_id: str = "FrozenLake-v1",
        actors: int = 16,
        horizon: int = 100,
        rounds: int = 200,
        alpha: float = 0.1,
    ) -> None:
        env = gym.make(env_id)
        states, actions = env.observation_space, env.action_space
        assert isinstance(states, gym.spaces.Discrete), f"{env_id} has no discrete states"
        assert isinstance(actions, gym.spaces.Discrete), f"{env_id} has no discrete actions"
        shape = (int(states.n), int(actions.n))
        self.learner = Learner(shape, horizon, actors, rounds, alpha)
        self.rollouts = rx.bank(actors, Rollout, env_id, shape, horizon, rounds)
        rx.connect(self.learner.table, self.rollouts.table, after=0, broadcast=True)
        rx.connect(self.rollouts.trajectory, self.learner.trajectories)


def evaluate(env_id: str, q: NDArray[np.float32], episodes: int, seed: int) -> NDArray[np.float64]:
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


def draw(program: QLearning, path: Path, workers: int) -> Path:
    """The dataflow graph, coloured by worker: as SVG, or as Mermaid text where graphviz's `dot` is not installed."""
    return rx.Graph(program).draw(path.with_suffix(".svg" if shutil.which("dot") else ".mmd"), workers=workers)


def plot(curve: list[float], title: str, path: Path) -> Path:
    """The learning curve."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(curve, linewidth=1)
    axes.set(title=title, xlabel="round", ylabel="mean return of the episodes that ended")
    axes.grid(alpha=0.3)
    figure.savefig(path)
    return path


def train(env_id: str, args: argparse.Namespace) -> None:
    """Runs the program, with pictures before and after, and evaluates what it has learned."""

    def show(tag: rx.Tag, elapsed: float, _: float | None) -> None:
        print(f"{CLEAR}round {tag.microstep} of {args.rounds}, {elapsed:.1f} s", end="", flush=True)

    program = QLearning(env_id, args.actors, args.horizon, args.rounds, args.alpha)
    print(f"the graph: {draw(program, args.out / f'{env_id}-graph', args.workers)}")
    result = rx.run(
        program,
        workers=args.workers,
        backend=args.backend,
        fast=True,
        seed=args.seed,
        progress=show if CLEAR else None,  # without a terminal the learner's lines will do
    )
    print(f"{CLEAR}{result.summary()}")
    print(f"the learning curve: {plot(program.learner.curve, env_id, args.out / f'{env_id}-curve.png')}")
    returns = evaluate(env_id, program.learner.q, args.episodes, args.seed + 1)
    success = f", success rate {(returns > 0).mean():.3f}" if env_id.startswith("FrozenLake") else ""
    print(f"{env_id}: the greedy policy has mean return {returns.mean():.3f} over {args.episodes:,} episodes{success}")
    print(f"digest {result.digest}: what ran when, which is the same for every environment")
    print(f"table  {blake2b(program.learner.q.tobytes(), digest_size=16).hexdigest()}: what was learned\n")


def main() -> None:
    cores = len(os.sched_getaffinity(0))
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--env", nargs="+", default=["FrozenLake-v1", "Taxi-v4"], help="discrete states and actions")
    options.add_argument("--actors", type=int, default=16)
    options.add_argument("--horizon", type=int, default=100, help="steps of an actor in a round")
    options.add_argument("--rounds", type=int, default=200)
    options.add_argument("--alpha", type=float, default=0.1, help="step size: small where the environment is random")
    options.add_argument("--workers", type=int, default=min(cores, 16), help="all cores, if left out")
    options.add_argument("--backend", default="auto", choices=("auto", "inline", "thread", "process"))
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--episodes", type=int, default=1000, help="of the evaluation at the end")
    options.add_argument("--out", type=Path, default=Path("runs"), help="folder for the pictures")
    args = options.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for env_id in args.env:
        train(env_id, args)


if __name__ == "__main__":
    main()
