"""Lock-step simulation: random actions broadcast to 16 environments, every step gathered by one driver."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import cluster
import gymnasium as gym
import numpy as np
import stepping
from pool import pool, shared
from row import ALL, CORES, IDEAL, ONE, Bar, Measure, Row, Sample
from stepping import Array, Driver, N, timed
from timing import Stopwatch

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

row = Row(
    title="lock-step simulation, 16 environments",
    unit="steps/s",
    variants=("CartPole-v1", "Blackjack-v1", "Pendulum-v1"),
    work=lambda _: N,
    bars=(
        Bar(ALL, "loop", 1.6),
        Bar(ONE, "loop", 0.9),
        Bar(ALL, "Ray actors", 100),
        Bar(ALL, "Ray compiled graph", 1),
        Bar(ALL, "AsyncVectorEnv", 1),
        Bar(ALL, "SubprocVecEnv", 1),
        Bar(ALL, "EnvPool", 1),
        Bar(ALL, "PufferLib", 1),
    ),
)


def make(env_id: str) -> gym.Env[Any, Any]:
    return gym.make(env_id, disable_env_checker=True)


def actions_like(env_id: str) -> gym.Space[Array]:
    """The actions of a round, one of each environment."""
    return gym.spaces.Box(-2, 2, (N, 1)) if env_id == "Pendulum-v1" else gym.spaces.MultiDiscrete([2] * N)


def observation_size(env_id: str) -> int:
    return {"CartPole-v1": 4, "Blackjack-v1": 3, "Pendulum-v1": 3}[env_id]


class Game:
    """One environment, reset by itself when an episode ends."""

    def __init__(self, env_id: str, index: int) -> None:
        self.env, self.index = make(env_id), index

    def reset(self) -> None:
        self.env.reset(seed=self.index)

    def step(self, action: Any) -> tuple[Any, float, bool]:
        obs, reward, terminated, truncated, _ = self.env.step(action)
        done = terminated or truncated
        if done:
            obs, _ = self.env.reset()
        return obs, reward, done

    def step_own(self, actions: Array | None) -> tuple[Any, float, bool] | None:
        return self.reset() if actions is None else self.step(actions[self.index])


class World(rx.Reactor):
    """An environment: what it answers is one row, of the observation, the reward, and whether the episode is over."""

    actions = rx.Input(space="action_space")
    answer = rx.Output(shape="row_shape", dtype=np.float64)

    def __init__(self, env_id: str) -> None:
        self.env_id = env_id
        self.action_space = actions_like(env_id)
        self.row_shape = (observation_size(env_id) + 2,)

    @rx.reaction(rx.startup)
    def open(self) -> None:
        self.game = Game(self.env_id, self.bank_index)
        self.game.reset()

    @rx.reaction(actions, effects=answer)
    def step(self) -> None:
        row = self.answer.loan()
        row[:-2], row[-2], row[-1] = self.game.step(self.actions.value[self.bank_index])
        self.answer.set(row)


class Center(rx.Reactor):
    """Broadcasts the actions, gathers the answers."""

    answers = rx.Input(shape="row_shape", dtype=np.float64, width=N)
    actions = rx.Output(space="action_space")

    def __init__(self, env_id: str, rounds: int) -> None:
        self.action_space = actions_like(env_id)
        self.row_shape = (observation_size(env_id) + 2,)
        self.driver, self.watch = Driver(env_id), Stopwatch(rounds)

    @rx.reaction(rx.startup, effects=actions)
    def begin(self) -> None:
        self.watch.running()
        self.actions.set(self.driver.draw())

    @rx.reaction(answers, effects=(actions, rx.stop))
    def gather(self) -> None:
        answers = self.answers.array
        self.driver.look(answers[:, -2], answers[:, -1])
        if self.watch.running():
            self.actions.set(self.driver.draw())
        else:
            self.request_stop()


class Lockstep(rx.Reactor):
    def __init__(self, env_id: str, rounds: int) -> None:
        self.center = Center(env_id, rounds)
        self.worlds = rx.bank(N, World, env_id)
        rx.connect(self.center.actions, self.worlds.actions, after=0, broadcast=True)
        rx.connect(self.worlds.answer, self.center.answers)


def on(workers: int, variant: str) -> Iterator[Measure]:
    def measure(rounds: int) -> Sample:
        main = Lockstep(variant, rounds)
        rx.run(main, workers=workers, fast=True)
        return Sample(main.center.watch.seconds, main.center.driver.outcome())

    yield measure


@row.peer(ONE)
def one(variant: str) -> Iterator[Measure]:
    yield from on(1, variant)


@row.peer(ALL)
def all_cores(variant: str) -> Iterator[Measure]:
    yield from on(CORES, variant)


@row.peer("loop")
def loop(variant: str) -> Iterator[Measure]:
    """Without a class of ours around the environment."""
    yield from stepping.loop(variant, partial(make, variant), np.zeros((N, observation_size(variant))))


@row.peer(IDEAL)
def apart(variant: str) -> Iterator[Measure]:
    yield from stepping.apart(variant, partial(make, variant), lambda n: np.zeros((n, observation_size(variant))))


def gather(answers: list[tuple[Any, float, bool]]) -> tuple[Array, Array]:
    observations, rewards, dones = zip(*answers, strict=True)
    np.array(observations)
    return np.array(rewards), np.array(dones)


@row.peer("Ray actors", group="Ray")
def ray_actors(variant: str) -> Iterator[Measure]:
    with cluster.started(N) as ray:
        actors = [ray.remote(Game).remote(variant, i) for i in range(N)]

        def step(actions: Array) -> tuple[Array, Array]:
            return gather(ray.get([actor.step.remote(action) for actor, action in zip(actors, actions, strict=True)]))

        def measure(rounds: int) -> Sample:
            ray.get([actor.reset.remote() for actor in actors])
            return timed(variant, rounds, step)

        yield measure


@row.peer("Ray compiled graph", group="Ray")
def ray_compiled(variant: str) -> Iterator[Measure]:
    with cluster.started(N) as ray:
        actors = [ray.remote(Game).remote(variant, i) for i in range(N)]
        graph = cluster.Compiled(ray, actors, "step_own")

        def measure(rounds: int) -> Sample:
            with graph.awake():
                graph(None)  # resets: an actor in a compiled graph takes no other calls
                return timed(variant, rounds, lambda actions: gather(graph(actions)))

        yield measure
        graph.close()


@row.peer("AsyncVectorEnv")
def async_vector(variant: str) -> Iterator[Measure]:
    yield from stepping.async_vector(variant, partial(make, variant))


class Flat(gym.ObservationWrapper[Array, Any, Any]):
    """Neither Stable-Baselines3 nor PufferLib takes Blackjack's tuples of integers as they are."""

    def __init__(self, env: gym.Env[Any, Any], size: int) -> None:
        super().__init__(env)
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (size,), np.float32)

    def observation(self, observation: Any) -> Array:
        return np.array(observation, np.float32)


def flat(variant: str) -> gym.Env[Any, Any]:
    env = make(variant)
    return Flat(env, observation_size(variant)) if isinstance(env.observation_space, gym.spaces.Tuple) else env


@row.peer("SubprocVecEnv")
def subproc_vec(variant: str) -> Iterator[Measure]:
    yield from stepping.subproc_vec(variant, partial(flat, variant))


row.peer("EnvPool")(stepping.env_pool)


@row.peer("PufferLib")
def puffer_best(variant: str) -> Iterator[Measure]:
    """A core for the driver, which spins too: the setting that serves it best."""
    yield from stepping.puffer(variant, partial(flat, variant), max(1, CORES - 1))


@row.peer("PufferLib, 16 processes")
def puffer_each(variant: str) -> Iterator[Measure]:
    """An environment for each worker, as the other peers have it: more spinners than cores."""
    yield from stepping.puffer(variant, partial(flat, variant), N)


@row.peer("shared-memory pool")
def by_hand(variant: str) -> Iterator[Measure]:
    like = actions_like(variant)
    given = shared(like.shape or (), like.dtype)
    observations = shared((N, observation_size(variant)), np.float64)
    rewards, dones = shared((N,), np.float64), shared((N,), bool)

    def member(i: int) -> Callable[[], None]:
        game = Game(variant, i)
        game.reset()

        def step() -> None:
            observations[i], rewards[i], dones[i] = game.step(given[i])

        return step

    def measure(rounds: int) -> Sample:
        with pool(CORES, N, member) as round_of_all:

            def step(actions: Array) -> tuple[Array, Array]:
                given[:] = actions
                round_of_all()
                return rewards, dones

            return timed(variant, rounds, step)

    yield measure
