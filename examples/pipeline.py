"""Asynchronous actor-learner training of CartPole that is still deterministic.

Every tick of logical time each actor plays a segment, the replay adds what the actors saw and draws a batch, and the
learner takes a step of prioritised double Q-learning. Its weights reach the actors `lag` late, and that delay is the
actors' licence to run ahead: none waits for the learner before it is `lag` in front. Playing, learning and evaluation
overlap on different workers, no reactor holds a lock, and the run is the same bit for bit on 1 or 16 of them.

Run:   python pipeline.py --workers 2
Needs: pip install '.[rl]'
"""

import argparse
import itertools

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils import parameters_to_vector

import reactors as rx
from reactors import rl

OBS, ACTION, REWARD, NEXT, TERMINATED, IMPORTANCE = slice(0, 4), 4, 5, slice(6, 10), 10, 11  # the columns of a batch
SCALE = np.array((0.4, 0.5, 5.0, 0.5), np.float32)  # brings observations to about -1..1
LAYERS = (4, 64, 64, 2)
WEIGHTS = sum(rows * columns + columns for rows, columns in itertools.pairwise(LAYERS))


def network() -> torch.nn.Sequential:
    first, second, third = (torch.nn.Linear(rows, columns) for rows, columns in itertools.pairwise(LAYERS))
    return torch.nn.Sequential(first, torch.nn.ReLU(), second, torch.nn.ReLU(), third)


class Policy:
    """The network, evaluated in NumPy from its flat weights: for one observation that is much faster than torch."""

    def __init__(self, weights: NDArray[np.float32]) -> None:
        self.layers: list[tuple[NDArray[np.float32], NDArray[np.float32]]] = []
        for rows, columns in itertools.pairwise(LAYERS):
            matrix, bias, weights = np.split(weights, [rows * columns, rows * columns + columns])
            self.layers.append((matrix.reshape(columns, rows), bias))

    def greedy(self, obs: NDArray[np.float32]) -> int:
        (w1, b1), (w2, b2), (w3, b3) = self.layers
        return int((w3 @ np.maximum(w2 @ np.maximum(w1 @ obs + b1, 0) + b2, 0) + b3).argmax())


class Actor(rx.Reactor):
    """Plays a segment every microsecond of logical time, each actor with an epsilon of its own."""

    tick = rx.Timer(period="1 us")
    weights = rx.Input(shape=(WEIGHTS,), dtype=np.float32)
    segment = rx.Output(shape=("steps", 11), dtype=np.float32)

    def __init__(self, steps: int, epsilon: float) -> None:
        self.steps, self.epsilon = steps, epsilon

    @rx.reaction(rx.startup)
    def open(self) -> None:  # runs on this reactor's own worker: heavy state is made here
        self.env = gym.make("CartPole-v1")
        self.obs = self.env.reset(seed=self.seed)[0] * SCALE
        self.policy: Policy | None = None

    @rx.reaction(weights)
    def load(self) -> None:
        self.policy = Policy(self.weights.value.copy())

    @rx.reaction(tick, effects=segment)
    def play(self) -> None:
        rows = self.segment.loan()
        for row in rows:
            if self.policy is None or self.rng.random() < self.epsilon:
                action = int(self.rng.integers(2))
            else:
                action = self.policy.greedy(self.obs)
            nxt, _, terminated, truncated, _ = self.env.step(action)
            nxt = nxt * SCALE
            row[OBS], row[ACTION], row[REWARD], row[NEXT] = self.obs, action, -terminated, nxt  # falling costs 1
            row[TERMINATED] = terminated
            self.obs = self.env.reset()[0] * SCALE if terminated or truncated else nxt
        self.segment.set(rows)

    @rx.reaction(rx.shutdown)
    def close(self) -> None:
        self.env.close()


class Replay(rx.Reactor):
    """Keeps the latest transitions and draws each in proportion to its priority: the learner's last error on it."""

    priorities = rx.Input(shape=("size",), dtype=np.float32)
    segments = rx.Input(shape=("steps", 11), dtype=np.float32, width="actors")
    batch = rx.Output(shape=("size", 12), dtype=np.float32)

    def __init__(self, steps: int, actors: int, size: int, capacity: int) -> None:
        self.steps, self.actors, self.size = steps, actors, size
        self.memory = np.zeros((capacity, 11), np.float32)
        self.priority = np.zeros(capacity)
        self.added = 0

    @rx.reaction(priorities)
    def reweigh(self) -> None:
        self.priority[self.drawn] = (self.priorities.value + 0.01) ** 0.6

    @rx.reaction(segments, effects=batch)
    def add_and_draw(self) -> None:
        rows = self.segments.array.reshape(-1, 11)
        at = (self.added + np.arange(len(rows))) % len(self.memory)
        self.memory[at], self.priority[at] = rows, self.priority.max(initial=1.0)  # what is new is drawn soon
        self.added += len(rows)
        filled = min(self.added, len(self.memory))
        cumulated = self.priority[:filled].cumsum()
        points = self.rng.random(self.size) * cumulated[-1]
        self.drawn = cumulated.searchsorted(points, side="right").clip(max=filled - 1)
        batch = self.batch.loan()
        batch[:, :11] = self.memory[self.drawn]
        importance = self.priority[self.drawn] ** -0.4  # half undoes the bias of drawing by priority
        batch[:, IMPORTANCE] = importance / importance.max()
        self.batch.set(batch)


class Learner(rx.Reactor):
    """Turns batches into weights. Owns the optimiser."""

    batch = rx.Input(shape=("size", 12), dtype=np.float32)
    priorities = rx.Output(shape=("size",), dtype=np.float32)
    weights = rx.Output(shape=(WEIGHTS,), dtype=np.float32)

    def __init__(self, size: int, updates: int, slack: str, gamma: float = 0.97) -> None:
        self.size, self.updates, self.slack, self.gamma = size, updates, slack, gamma
        self.done = 0

    @rx.reaction(rx.startup)
    def begin(self) -> None:
        torch.set_num_threads(1)  # as in a worker process: more threads would add up in another order
        with rl.Seeded(self.seed):  # torch's own generator is shared by all threads of the process
            self.net, self.target = network(), network()
        self.optimiser = torch.optim.Adam(self.net.parameters(), lr=3e-3)

    @rx.reaction(batch, effects=(priorities, weights, rx.stop.after("slack")))
    def learn(self) -> None:
        if self.done % 25 == 0:
            self.target.load_state_dict(self.net.state_dict())
        batch = self.batch.tensor
        with torch.no_grad():
            best = self.net(batch[:, NEXT]).argmax(1, keepdim=True)
            following = self.target(batch[:, NEXT]).gather(1, best)[:, 0]
            target = batch[:, REWARD] + self.gamma * (1 - batch[:, TERMINATED]) * following
        predicted = self.net(batch[:, OBS]).gather(1, batch[:, ACTION].long()[:, None])[:, 0]
        loss = torch.nn.functional.smooth_l1_loss(predicted, target, reduction="none")
        self.optimiser.zero_grad()
        (batch[:, IMPORTANCE] * loss).mean().backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        self.priorities.set((predicted.detach() - target).abs().numpy())
        self.weights.set(parameters_to_vector(self.net.parameters()).detach().numpy())
        self.done += 1
        if self.done == self.updates:
            self.request_stop()  # that is `slack` later, and until then no worker waits for the news


class Evaluator(rx.Reactor):
    """Plays greedily with every 25th network and keeps the best. `curve` has (update, mean return)."""

    weights = rx.Input(shape=(WEIGHTS,), dtype=np.float32)

    def __init__(self, updates: int) -> None:
        self.updates = updates
        self.seen = 0
        self.best = -1.0
        self.curve: list[tuple[int, float]] = []

    @rx.reaction(weights)
    def play(self) -> None:
        self.seen += 1
        if self.seen % 25:
            return
        score = float(returns(Policy(self.weights.value), episodes=5, seed=self.seed + self.seen).mean())
        self.curve.append((self.seen, score))
        if score >= self.best:
            self.best, self.best_weights = score, self.weights.value.copy()
        if self.seen % 100 == 0:
            print(f"update {self.seen} of {self.updates}: mean return {score:.1f}, best {self.best:.1f}", flush=True)


class Train(rx.Reactor):
    def __init__(
        self, actors: int = 8, lag: str = "4 us", updates: int = 1000, steps: int = 8, size: int = 128
    ) -> None:
        self.actors = rx.bank(actors, Actor, steps, lambda i: 0.5 * 0.04 ** ((i + 1) / actors))  # epsilon 0.5 to 0.02
        self.replay = Replay(steps, actors, size, capacity=20_000)
        self.learner = Learner(size, updates, lag)
        self.evaluator = Evaluator(updates)
        rx.connect(self.actors.segment, self.replay.segments)
        rx.connect(self.replay.batch, self.learner.batch)
        rx.connect(self.learner.priorities, self.replay.priorities, after=0)
        rx.connect(self.learner.weights, self.actors.weights, after=lag, broadcast=True)
        rx.connect(self.learner.weights, self.evaluator.weights)


def returns(policy: Policy, episodes: int, seed: int) -> NDArray[np.float64]:
    """What the greedy policy gets."""
    env, totals = gym.make("CartPole-v1"), np.zeros(episodes)
    obs, _ = env.reset(seed=seed)
    for episode in range(episodes):
        over = False
        while not over:
            obs, reward, terminated, truncated, _ = env.step(policy.greedy(obs * SCALE))
            totals[episode] += float(reward)
            over = terminated or truncated
        obs, _ = env.reset()
    env.close()
    return totals


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--actors", type=int, default=8)
    options.add_argument("--lag", default="4 us", help="how late weights arrive; a microsecond is one segment")
    options.add_argument("--updates", type=int, default=1000)
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--backend", default="auto", choices=("auto", "inline", "thread", "process"))
    options.add_argument("--seed", type=int, default=0)
    args = options.parse_args()
    train = Train(args.actors, args.lag, args.updates)
    others = max(1, args.workers - 1)  # the learner, the replay and the evaluator have worker 0 for themselves
    placement = {f"main.actors[{i}]": args.workers - 1 - i % others for i in range(args.actors)}
    result = rx.run(train, workers=args.workers, backend=args.backend, placement=placement, fast=True, seed=args.seed)
    print(result.summary())
    if train.evaluator.curve:
        scores = returns(Policy(train.evaluator.best_weights), episodes=50, seed=args.seed)
        print(f"the best policy: mean return {scores.mean():.1f} of at most 500 over {len(scores)} episodes")


if __name__ == "__main__":
    main()
