"""Synchronised tabular Q-learning: 8 rollouts learn from an episode each, the learner averages their tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cluster
import gymnasium as gym
import numpy as np
import numpy.typing as npt
from pool import pool, shared
from row import ALL, CORES, ONE, Bar, Measure, Row, Sample
from timing import Stopwatch

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

N = 8
WARM = 5
TABLES = {"FrozenLake-v1": (16, 4), "Taxi-v4": (500, 6)}
ROUNDS = {"FrozenLake-v1": 400, "Taxi-v4": 100}  # episodes become shorter as it learns: all do the same rounds
ALPHA, GAMMA, EPSILON = 0.1, 0.99, 0.1
Array = npt.NDArray[np.float64]

row = Row(
    title=f"synchronised tabular Q-learning, {N} rollouts, a round",
    unit="ms",
    variants=tuple(TABLES),
    work=lambda _: 1,
    bars=(
        Bar(ALL, "Ray", 6, ("FrozenLake-v1",)),
        Bar(ALL, "Ray", 2, ("Taxi-v4",)),
        Bar(ALL, "loop", 1.5),
        Bar(ALL, "shared-memory pool", 1),
    ),
    rounds=lambda variant: ROUNDS[variant],
)


class Player:
    """Plays an epsilon-greedy episode and learns from it, in a table of its own."""

    def __init__(self, env_id: str, index: int) -> None:
        self.env = gym.make(env_id, disable_env_checker=True)
        self.index = index
        self.restart()

    def restart(self) -> None:
        self.rng = np.random.default_rng(self.index)
        self.state = int(self.env.reset(seed=self.index)[0])

    def play(self, table: Array) -> Array:
        """Learn in place."""
        rng, env, state = self.rng, self.env, self.state
        actions = table.shape[1]
        done = False
        while not done:
            greedy = rng.random() >= EPSILON
            action = int(table[state].argmax()) if greedy else int(rng.integers(actions))
            after, reward, terminated, truncated, _ = env.step(action)
            target = reward if terminated else reward + GAMMA * table[after].max()
            table[state, action] += ALPHA * (target - table[state, action])
            state, done = int(after), terminated or truncated
        self.state = int(env.reset()[0])
        return table

    def play_copy(self, table: Array) -> Array:
        return self.play(table.copy())


def timed(variant: str, rounds: int, exchange: Callable[[Array], Array]) -> Sample:
    """The learner."""
    watch = Stopwatch(rounds, WARM)
    table = np.zeros(TABLES[variant])
    while watch.running():
        table = exchange(table).mean(axis=0)
    return Sample(watch.seconds, float(table.sum()))


class Rollout(rx.Reactor):
    table = rx.Input(shape="shape", dtype=np.float64)
    learned = rx.Output(shape="shape", dtype=np.float64)

    def __init__(self, env_id: str) -> None:
        self.env_id, self.shape = env_id, TABLES[env_id]

    @rx.reaction(rx.startup)
    def open(self) -> None:
        self.player = Player(self.env_id, self.bank_index)

    @rx.reaction(table, effects=learned)
    def play(self) -> None:
        mine = self.learned.loan()
        mine[:] = self.table.value
        self.learned.set(self.player.play(mine))


class Learner(rx.Reactor):
    tables = rx.Input(shape="shape", dtype=np.float64, width=N)
    table = rx.Output(shape="shape", dtype=np.float64)

    def __init__(self, env_id: str, rounds: int) -> None:
        self.shape = TABLES[env_id]
        self.watch, self.q = Stopwatch(rounds, WARM), np.zeros(self.shape)

    @rx.reaction(rx.startup, effects=table)
    def begin(self) -> None:
        self.watch.running()
        self.table.set(self.q)

    @rx.reaction(tables, effects=(table, rx.stop))
    def average(self) -> None:
        self.q = self.tables.array.mean(axis=0)
        if self.watch.running():
            self.table.set(self.q)
        else:
            self.request_stop()


class QLearning(rx.Reactor):
    def __init__(self, env_id: str, rounds: int) -> None:
        self.learner = Learner(env_id, rounds)
        self.rollouts = rx.bank(N, Rollout, env_id)
        rx.connect(self.learner.table, self.rollouts.table, after=0, broadcast=True)
        rx.connect(self.rollouts.learned, self.learner.tables)


def on(workers: int, variant: str) -> Iterator[Measure]:
    def measure(rounds: int) -> Sample:
        main = QLearning(variant, rounds)
        rx.run(main, workers=workers, fast=True)
        return Sample(main.learner.watch.seconds, float(main.learner.q.sum()))

    yield measure


@row.peer(ONE)
def one(variant: str) -> Iterator[Measure]:
    yield from on(1, variant)


@row.peer(ALL)
def all_cores(variant: str) -> Iterator[Measure]:
    yield from on(CORES, variant)


@row.peer("loop")
def loop(variant: str) -> Iterator[Measure]:
    players = [Player(variant, i) for i in range(N)]
    tables = np.zeros((N, *TABLES[variant]))

    def exchange(table: Array) -> Array:
        tables[:] = table
        for player, own in zip(players, tables, strict=True):
            player.play(own)
        return tables

    def measure(rounds: int) -> Sample:
        for player in players:
            player.restart()
        return timed(variant, rounds, exchange)

    yield measure


@row.peer("Ray")
def ray_actors(variant: str) -> Iterator[Measure]:
    """The table goes as an argument: with ray.put, as the documentation has it, a round takes a millisecond more."""
    with cluster.started(N) as ray:
        actors = [ray.remote(Player).remote(variant, i) for i in range(N)]

        def exchange(table: Array) -> Array:
            return np.array(ray.get([actor.play_copy.remote(table) for actor in actors]))

        def measure(rounds: int) -> Sample:
            ray.get([actor.restart.remote() for actor in actors])
            return timed(variant, rounds, exchange)

        yield measure


@row.peer("shared-memory pool")
def by_hand(variant: str) -> Iterator[Measure]:
    given, learned = shared(TABLES[variant], np.float64), shared((N, *TABLES[variant]), np.float64)

    def member(i: int) -> Callable[[], Any]:
        player = Player(variant, i)

        def step() -> None:
            learned[i] = given
            player.play(learned[i])

        return step

    def measure(rounds: int) -> Sample:
        with pool(CORES, N, member) as round_of_all:

            def exchange(table: Array) -> Array:
                given[:] = table
                round_of_all()
                return learned

            return timed(variant, rounds, exchange)

    yield measure
