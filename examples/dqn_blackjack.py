"""Synchronised parallel deep Q-learning on Blackjack: the workload of arXiv 2312.04704, section D.

Every round 16 rollouts play 100 steps each with the learner's network (3-32-2), a replay reactor keeps what they saw
and draws a mini-batch, and the learner takes one Adam step on it and broadcasts the new weights as one flat array.
The rollouts evaluate the network in NumPy, which for one observation at a time is several times faster than torch.

Run:   python dqn_blackjack.py
       python dqn_blackjack.py --batch 2000 --workers 1
Needs: pip install '.[rl]'
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch.nn.utils import parameters_to_vector

import reactors as rx
from reactors import rl

CLEAR = "\r\x1b[2K" if sys.stdout.isatty() else ""  # takes the progress line off the terminal
OBS, ACTION, REWARD, NEXT, TERMINATED = slice(0, 3), 3, 4, slice(5, 8), 8  # the columns of a transition
WEIGHTS = 3 * 32 + 32 + 32 * 2 + 2


def network() -> torch.nn.Sequential:
    return torch.nn.Sequential(torch.nn.Linear(3, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))


def flat(net: torch.nn.Module) -> NDArray[np.float32]:
    weights: NDArray[np.float32] = parameters_to_vector(net.parameters()).detach().numpy()
    return weights


class Policy:
    """The network of `network`, evaluated in NumPy from its flat weights."""

    def __init__(self, weights: NDArray[np.float32]) -> None:
        self.w1, self.b1 = weights[:96].reshape(32, 3), weights[96:128]
        self.w2, self.b2 = weights[128:192].reshape(2, 32), weights[192:]

    def greedy(self, obs: NDArray[np.float32]) -> int:
        return int((self.w2 @ np.maximum(self.w1 @ obs + self.b1, 0) + self.b2).argmax())


class Rollout(rx.Reactor):
    """Plays its own Blackjack table, epsilon-greedily, with the weights of the round."""

    weights = rx.Input(shape=(WEIGHTS,), dtype=np.float32)
    trajectory = rx.Output(shape=("horizon", 9), dtype=np.float32)

    def __init__(self, horizon: int, epsilon: float = 0.1) -> None:
        self.horizon, self.epsilon = horizon, epsilon

    @rx.reaction(rx.startup)
    def open(self) -> None:
        self.env = gym.make("Blackjack-v1")
        self.obs, _ = self.env.reset(seed=self.seed)

    @rx.reaction(weights, effects=trajectory)
    def play(self) -> None:
        policy, rows = Policy(self.weights.value), self.trajectory.loan()
        for row in rows:
            row[OBS] = self.obs
            greedy = self.rng.random() >= self.epsilon
            action = policy.greedy(row[OBS]) if greedy else int(self.rng.integers(2))
            nxt, reward, terminated, truncated, _ = self.env.step(action)
            row[ACTION:] = action, reward, *nxt, terminated
            self.obs = self.env.reset()[0] if terminated or truncated else nxt
        self.trajectory.set(rows)

    @rx.reaction(rx.shutdown)
    def close(self) -> None:
        self.env.close()


class Replay(rx.Reactor):
    """Keeps the latest `capacity` transitions. `curve` has the mean return of the episodes that ended in each round."""

    trajectories = rx.Input(shape=("horizon", 9), dtype=np.float32, width="actors")
    batch = rx.Output(shape=("size", 9), dtype=np.float32)

    def __init__(self, horizon: int, actors: int, size: int, capacity: int) -> None:
        self.horizon, self.actors, self.size = horizon, actors, size
        self.memory = np.zeros((capacity, 9), np.float32)
        self.seen = 0
        self.curve: list[float] = []

    @rx.reaction(trajectories, effects=batch)
    def add_and_sample(self) -> None:
        rows = self.trajectories.array.reshape(-1, 9)
        self.memory[(self.seen + np.arange(len(rows))) % len(self.memory)] = rows
        self.seen += len(rows)
        draw = self.rng.integers(min(self.seen, len(self.memory)), size=self.size)
        self.batch.set(self.memory[draw])
        self.curve.append(float(rows[:, REWARD].sum() / max(1, rows[:, TERMINATED].sum())))  # one reward per episode
        if len(self.curve) % 50 == 0:
            print(f"{CLEAR}round {len(self.curve):4d}: mean return {np.mean(self.curve[-50:]):7.3f}", flush=True)


class Learner(rx.Reactor):
    """Owns the network, its target and the optimiser."""

    batch = rx.Input(shape=("size", 9), dtype=np.float32)
    weights = rx.Output(shape=(WEIGHTS,), dtype=np.float32)

    def __init__(self, size: int, rounds: int, gamma: float = 0.99) -> None:
        self.size, self.rounds, self.gamma = size, rounds, gamma
        self.steps = 0

    @rx.reaction(rx.startup, effects=weights)
    def begin(self) -> None:
        torch.set_num_threads(1)  # as in a worker process: more threads would add up in another order
        with rl.Seeded(self.seed):  # torch's own generator is shared by all threads of the process
            self.net, self.target = network(), network()
        self.optimiser = torch.optim.Adam(self.net.parameters(), lr=1e-2)
        self.weights.set(flat(self.net))

    @rx.reaction(batch, effects=(weights, rx.stop))
    def learn(self) -> None:
        if self.steps % 10 == 0:
            self.target.load_state_dict(self.net.state_dict())
        batch = self.batch.tensor
        with torch.no_grad():
            following = self.target(batch[:, NEXT]).amax(1)
            target = batch[:, REWARD] + self.gamma * (1 - batch[:, TERMINATED]) * following
        predicted = self.net(batch[:, OBS]).gather(1, batch[:, ACTION].long()[:, None])[:, 0]
        self.optimiser.zero_grad()
        torch.nn.functional.mse_loss(predicted, target).backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        self.steps += 1
        if self.steps < self.rounds:
            self.weights.set(flat(self.net))
        else:
            self.request_stop()


class Blackjack(rx.Reactor):
    def __init__(
        self, batch: int = 500, rounds: int = 500, actors: int = 16, horizon: int = 100, capacity: int = 20_000
    ) -> None:
        self.rollouts = rx.bank(actors, Rollout, horizon)
        self.replay = Replay(horizon, actors, batch, capacity)
        self.learner = Learner(batch, rounds)
        rx.connect(self.learner.weights, self.rollouts.weights, after=0, broadcast=True)
        rx.connect(self.rollouts.trajectory, self.replay.trajectories)
        rx.connect(self.replay.batch, self.learner.batch)


def evaluate(net: torch.nn.Module, hands: int, seed: int) -> NDArray[np.float64]:
    """Returns of the greedy policy."""
    env, policy = gym.make("Blackjack-v1"), Policy(flat(net))
    returns = np.zeros(hands)
    obs, _ = env.reset(seed=seed)
    for hand in range(hands):
        over = False
        while not over:
            obs, reward, terminated, truncated, _ = env.step(policy.greedy(np.array(obs, np.float32)))
            returns[hand] += float(reward)
            over = terminated or truncated
        obs, _ = env.reset()
    env.close()
    return returns


def draw(program: Blackjack, path: Path, workers: int) -> Path:
    """The dataflow graph, coloured by worker: as SVG, or as Mermaid text where graphviz's `dot` is not installed."""
    return rx.Graph(program).draw(path.with_suffix(".svg" if shutil.which("dot") else ".mmd"), workers=workers)


def plot(curve: list[float], title: str, path: Path) -> Path:
    """The learning curve."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(curve, linewidth=0.5, label="every round")
    axes.plot([float(np.mean(curve[max(0, i - 24) : i + 1])) for i in range(len(curve))], label="mean of 25")
    axes.set(title=title, xlabel="round", ylabel="mean return of the hands that ended")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(path)
    return path


def main() -> None:
    cores = len(os.sched_getaffinity(0))
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--batch", type=int, default=500, help="mini-batch; the paper has 500, 1000 and 2000")
    options.add_argument("--actors", type=int, default=16)
    options.add_argument("--horizon", type=int, default=100, help="steps of an actor in a round")
    options.add_argument("--rounds", type=int, default=500)
    options.add_argument("--workers", type=int, default=min(cores, 16), help="all cores, if left out")
    options.add_argument("--backend", default="auto", choices=("auto", "inline", "thread", "process"))
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--hands", type=int, default=10_000, help="of the evaluation at the end")
    options.add_argument("--out", type=Path, default=Path("runs"), help="folder for the pictures")
    args = options.parse_args()

    def show(tag: rx.Tag, elapsed: float, _: float | None) -> None:
        print(f"{CLEAR}round {tag.microstep} of {args.rounds}, {elapsed:.1f} s", end="", flush=True)

    program = Blackjack(args.batch, args.rounds, args.actors, args.horizon)
    args.out.mkdir(parents=True, exist_ok=True)
    print(f"the graph: {draw(program, args.out / 'Blackjack-v1-graph', args.workers)}")
    progress = show if CLEAR else None  # elsewhere the learner's lines will do
    result = rx.run(program, workers=args.workers, backend=args.backend, fast=True, seed=args.seed, progress=progress)
    print(f"{CLEAR}{result.summary()}")
    print(f"the learning curve: {plot(program.replay.curve, 'Blackjack-v1', args.out / 'Blackjack-v1-curve.png')}")
    returns = evaluate(program.learner.net, args.hands, args.seed + 1)
    print(
        f"the greedy policy: mean return {returns.mean():.3f} over {args.hands} hands (the best there is: about -0.045)"
    )
    print(f"digest {result.digest}")


if __name__ == "__main__":
    main()
