"""Synchronised deep Q-learning on Blackjack-v1: 16 rollouts of 100 steps a round, a replay memory, a learner in torch.

The workload of arXiv 2312.04704: a 3-32-2 network, Adam at 1e-2, gamma 0.99, the target copied every 10 rounds,
mini-batches of 500, 1,000 or 2,000.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cluster
import gymnasium as gym
import numpy as np
import numpy.typing as npt
import torch
from pool import pool, shared
from row import ALL, CORES, ONE, Bar, Measure, Row, Sample
from timing import Stopwatch
from torch import nn

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

N, STEPS, CAPACITY = 16, 100, 20_000
BATCHES = {"Blackjack-v1": 500, "mini-batch 1000": 1000, "mini-batch 2000": 2000}
FIELDS = 9  # observation (3), action, reward, next observation (3), terminated
WEIGHTS = 3 * 32 + 32 + 32 * 2 + 2
WARM = 3
Array = npt.NDArray[np.float32]

row = Row(
    title=f"deep Q-learning, {N} rollouts of {STEPS} steps, mini-batch 500, a round",
    unit="ms",
    variants=("Blackjack-v1",),
    further=tuple(BATCHES)[1:],
    work=lambda _: 1,
    bars=(Bar(ALL, "Ray", 3), Bar(ALL, "loop", 1.5), Bar(ALL, "shared-memory pool", 1)),
    check_rounds=12,
)


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))


def put_weights(net: nn.Module, flat: Array) -> None:
    nn.utils.vector_to_parameters(torch.from_numpy(flat.copy()), net.parameters())


class Player:
    """Plays epsilon-greedily by the network, 100 steps a call."""

    def __init__(self, index: int) -> None:
        torch.set_num_threads(1)
        self.env = gym.make("Blackjack-v1", disable_env_checker=True)
        self.index, self.net = index, network()
        self.restart()

    def restart(self) -> None:
        self.rng = np.random.default_rng(self.index)
        self.obs = self.env.reset(seed=self.index)[0]

    def play(self, weights: Array, rows: Array) -> None:
        put_weights(self.net, weights)
        with torch.inference_mode():
            for row in rows:
                if self.rng.random() >= 0.1:
                    action = int(self.net(torch.tensor(self.obs, dtype=torch.float32)).argmax())
                else:
                    action = int(self.rng.integers(2))
                after, reward, terminated, truncated, _ = self.env.step(action)
                row[:3], row[3], row[4], row[5:8], row[8] = self.obs, action, reward, after, terminated
                self.obs = self.env.reset()[0] if terminated or truncated else after

    def play_new(self, weights: Array) -> Array:
        rows = np.zeros((STEPS, FIELDS), np.float32)
        self.play(weights, rows)
        return rows


class Memory:
    """The last transitions, of which it draws mini-batches."""

    def __init__(self, variant: str) -> None:
        self.batch = BATCHES[variant]
        self.restart()

    def restart(self) -> None:
        self.rows = np.zeros((CAPACITY, FIELDS), np.float32)
        self.filled = self.next = 0
        self.rng = np.random.default_rng(99)

    def add_and_draw(self, *blocks: Array) -> Array:
        for block in blocks:
            where = np.arange(self.next, self.next + len(block)) % CAPACITY
            self.rows[where] = block
            self.next = int(where[-1] + 1) % CAPACITY
            self.filled = min(self.filled + len(block), CAPACITY)
        return self.rows[self.rng.integers(self.filled, size=self.batch)]


class Student:
    """The network that learns."""

    def __init__(self) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.net, self.target = network(), network()
        self.target.load_state_dict(self.net.state_dict())
        self.adam = torch.optim.Adam(self.net.parameters(), lr=1e-2)
        self.rounds = 0

    def weights(self) -> Array:
        return nn.utils.parameters_to_vector(self.net.parameters()).detach().numpy()

    def learn(self, batch: Array) -> None:
        data = torch.from_numpy(np.array(batch))
        with torch.inference_mode():
            best = self.target(data[:, 5:8]).max(dim=1).values
        aim = (data[:, 4] + 0.99 * best * (1 - data[:, 8])).clone()
        chosen = self.net(data[:, :3]).gather(1, data[:, 3:4].long())[:, 0]
        loss = nn.functional.mse_loss(chosen, aim)
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        self.rounds += 1
        if self.rounds % 10 == 0:
            self.target.load_state_dict(self.net.state_dict())


def timed(rounds: int, draw: Callable[[Array], Array]) -> Sample:
    """The learner's side: weights out, a mini-batch in."""
    watch, student = Stopwatch(rounds, WARM), Student()
    while watch.running():
        student.learn(draw(student.weights()))
    return Sample(watch.seconds, float(student.weights().sum()))


class Rollout(rx.Reactor):
    weights = rx.Input(shape=(WEIGHTS,), dtype=np.float32)
    transitions = rx.Output(shape=(STEPS, FIELDS), dtype=np.float32)

    @rx.reaction(rx.startup)
    def open(self) -> None:
        self.player = Player(self.bank_index)

    @rx.reaction(weights, effects=transitions)
    def play(self) -> None:
        rows = self.transitions.loan()
        self.player.play(self.weights.value, rows)
        self.transitions.set(rows)


class Replay(rx.Reactor):
    transitions = rx.Input(shape=(STEPS, FIELDS), dtype=np.float32, width=N)
    batch = rx.Output(shape=("n", FIELDS), dtype=np.float32)

    def __init__(self, variant: str) -> None:
        self.memory = Memory(variant)
        self.n = self.memory.batch

    @rx.reaction(transitions, effects=batch)
    def draw(self) -> None:
        self.batch.set(self.memory.add_and_draw(*self.transitions.array))


class Learner(rx.Reactor):
    batch = rx.Input(shape=("n", FIELDS), dtype=np.float32)
    weights = rx.Output(shape=(WEIGHTS,), dtype=np.float32)

    def __init__(self, variant: str, rounds: int) -> None:
        self.n = BATCHES[variant]
        self.watch, self.outcome = Stopwatch(rounds, WARM), 0.0

    @rx.reaction(rx.startup, effects=weights)
    def begin(self) -> None:
        self.student = Student()
        self.watch.running()
        self.weights.set(self.student.weights())

    @rx.reaction(batch, effects=(weights, rx.stop))
    def learn(self) -> None:
        self.student.learn(self.batch.value)
        if self.watch.running():
            self.weights.set(self.student.weights())
        else:
            self.outcome = float(self.student.weights().sum())
            self.request_stop()


class DeepQLearning(rx.Reactor):
    def __init__(self, variant: str, rounds: int) -> None:
        self.learner, self.replay = Learner(variant, rounds), Replay(variant)
        self.rollouts = rx.bank(N, Rollout)
        rx.connect(self.learner.weights, self.rollouts.weights, after=0, broadcast=True)
        rx.connect(self.rollouts.transitions, self.replay.transitions)
        rx.connect(self.replay.batch, self.learner.batch)


def on(variant: str, workers: int) -> Iterator[Measure]:
    def measure(rounds: int) -> Sample:
        main = DeepQLearning(variant, rounds)
        rx.run(main, workers=workers, fast=True)
        return Sample(main.learner.watch.seconds, main.learner.outcome)

    yield measure


@row.peer(ONE)
def one(variant: str) -> Iterator[Measure]:
    yield from on(variant, 1)


@row.peer(ALL)
def all_cores(variant: str) -> Iterator[Measure]:
    yield from on(variant, CORES)


@row.peer("loop")
def loop(variant: str) -> Iterator[Measure]:
    players, memory = [Player(i) for i in range(N)], Memory(variant)
    blocks = np.zeros((N, STEPS, FIELDS), np.float32)

    def draw(weights: Array) -> Array:
        for player, rows in zip(players, blocks, strict=True):
            player.play(weights, rows)
        return memory.add_and_draw(*blocks)

    def measure(rounds: int) -> Sample:
        memory.restart()
        for player in players:
            player.restart()
        return timed(rounds, draw)

    yield measure


@row.peer("Ray")
def ray_actors(variant: str) -> Iterator[Measure]:
    """Rollout actors and a replay actor; the transitions go from one to the other without passing by the learner."""
    with cluster.started(N) as ray:
        actors, memory = [ray.remote(Player).remote(i) for i in range(N)], ray.remote(Memory).remote(variant)

        def draw(weights: Array) -> Any:
            return ray.get(memory.add_and_draw.remote(*[actor.play_new.remote(weights) for actor in actors]))

        def measure(rounds: int) -> Sample:
            ray.get([memory.restart.remote(), *(actor.restart.remote() for actor in actors)])
            return timed(rounds, draw)

        yield measure


@row.peer("shared-memory pool")
def by_hand(variant: str) -> Iterator[Measure]:
    given, blocks = shared((WEIGHTS,), np.float32), shared((N, STEPS, FIELDS), np.float32)

    def member(i: int) -> Callable[[], None]:
        player = Player(i)
        return lambda: player.play(given, blocks[i])

    def measure(rounds: int) -> Sample:
        memory = Memory(variant)
        with pool(CORES, N, member) as round_of_all:

            def draw(weights: Array) -> Array:
                given[:] = weights
                round_of_all()
                return memory.add_and_draw(*blocks)

            return timed(rounds, draw)

    yield measure
