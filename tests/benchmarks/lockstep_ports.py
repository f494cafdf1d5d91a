"""Lock-step simulation as one would write it: 16 environments, each with ports of its own, and one driver."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import ale_py
import gymnasium as gym
import numpy as np
import stepping
from pool import shared, spinning
from row import ALL, CORES, IDEAL, ONE, Bar, Measure, Row, Sample
from stepping import Driver, N, timed
from timing import Stopwatch

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stepping import Array

CARTPOLE, PENDULUM, BLACKJACK, PONG = "CartPole-v1", "Pendulum-v1", "Blackjack-v1", "ALE/Pong-v5"

row = Row(
    title="lock-step simulation, 16 environments with ports of their own",
    unit="steps/s",
    variants=(CARTPOLE, PENDULUM, BLACKJACK, PONG),
    work=lambda _: N,
    bars=(
        Bar(ALL, IDEAL, 0.87, (CARTPOLE,)),
        Bar(ALL, IDEAL, 0.9, (PENDULUM,)),
        Bar(ALL, IDEAL, 0.92, (BLACKJACK,)),
        Bar(ALL, IDEAL, 0.95, (PONG,)),
        Bar(ONE, "loop", 0.95, (CARTPOLE, PENDULUM)),
        Bar(ONE, "loop", 0.97, (BLACKJACK,)),
        Bar(ONE, "loop", 0.99, (PONG,)),
        Bar(ALL, "spinning pool", 1),
    ),
)


def make(env_id: str) -> gym.Env[Any, Any]:
    gym.register_envs(ale_py)
    return gym.make(env_id, disable_env_checker=True)


def observed(env_id: str) -> Any:
    """The space of observations; Blackjack's are tuples of three numbers."""
    return gym.spaces.Box(0, 31, (3,), np.int64) if env_id == BLACKJACK else make(env_id).observation_space


def world(given: rx.Input[Any]) -> type[rx.Reactor]:
    """An environment, which begins again by itself; actions are numbers, or arrays for Pendulum."""

    class World(rx.Reactor):
        action = given
        obs = rx.Output(space="space")
        reward = rx.Output(float)
        done = rx.Output(bool)

        def __init__(self, env_id: str) -> None:
            self.env_id = env_id
            self.space = observed(env_id)

        @rx.reaction(rx.startup)
        def open(self) -> None:
            self.env = make(self.env_id)
            self.env.reset(seed=self.bank_index)

        @rx.reaction(action, effects=(obs, reward, done))
        def step(self) -> None:
            obs, reward, terminated, truncated, _ = self.env.step(self.action.value)
            if done := terminated or truncated:
                obs, _ = self.env.reset()
            self.obs.set(obs)
            self.reward.set(float(reward))
            self.done.set(done)

    return World


def center(chosen: rx.Output[Any]) -> type[rx.Reactor]:
    """Gives each environment its action, and looks at what comes back."""

    class Center(rx.Reactor):
        obs = rx.Input(space="space", width=N)
        reward = rx.Input(float, width=N)
        done = rx.Input(bool, width=N)
        action = chosen

        def __init__(self, env_id: str, rounds: int) -> None:
            self.space = observed(env_id)
            self.driver, self.watch = Driver(env_id), Stopwatch(rounds)

        @rx.reaction(rx.startup, effects=action)
        def begin(self) -> None:
            self.watch.running()
            self.act()

        @rx.reaction(obs, reward, done, effects=(action, rx.stop))
        def look(self) -> None:
            self.driver.look(self.reward.array, self.done.array)
            if self.watch.running():
                self.act()
            else:
                self.request_stop()

        def act(self) -> None:
            actions = self.driver.draw()
            for port, action in zip(self.action, actions if actions.ndim > 1 else actions.tolist(), strict=True):
                port.set(action)

    return Center


World, Center = world(rx.Input(int)), center(rx.Output(int, width=N))
Swing = {"shape": (1,), "dtype": np.float32}
SwungWorld, SwingingCenter = world(rx.Input(**Swing)), center(rx.Output(**Swing, width=N))


class Lockstep(rx.Reactor):
    def __init__(self, env_id: str, rounds: int) -> None:
        swings = env_id == PENDULUM
        self.center = (SwingingCenter if swings else Center)(env_id, rounds)
        self.worlds = rx.bank(N, SwungWorld if swings else World, env_id)
        rx.connect(self.center.action, self.worlds.action, after=0)
        rx.connect(self.worlds.obs, self.center.obs)
        rx.connect(self.worlds.reward, self.center.reward)
        rx.connect(self.worlds.done, self.center.done)


def on(workers: int) -> Callable[[str], Iterator[Measure]]:
    def setup(variant: str) -> Iterator[Measure]:
        def measure(rounds: int) -> Sample:
            main = Lockstep(variant, rounds)
            rx.run(main, workers=workers, fast=True)
            return Sample(main.center.watch.seconds, main.center.driver.outcome())

        yield measure

    return setup


row.peer(ONE)(on(1))
row.peer(ALL)(on(CORES))


def stored(variant: str, n: int = N) -> Array:
    space = observed(variant)
    return np.zeros((n, *space.shape), space.dtype)


@row.peer("loop")
def loop(variant: str) -> Iterator[Measure]:
    yield from stepping.loop(variant, partial(make, variant), stored(variant))


@row.peer(IDEAL)
def apart(variant: str) -> Iterator[Measure]:
    yield from stepping.apart(variant, partial(make, variant), partial(stored, variant))


@row.peer("spinning pool")
def pool_that_spins(variant: str) -> Iterator[Measure]:
    """The pool that one writes by hand, its hand-over by spinning: one of its workers is the driver's process."""
    space = observed(variant)
    given = shared((N, 1), np.float32) if variant == PENDULUM else shared((N,), np.int64)
    observations, rewards, dones = shared((N, *space.shape), space.dtype), shared((N,), np.float64), shared((N,), bool)

    def member(i: int) -> Callable[[], None]:
        env = make(variant)
        env.reset(seed=i)

        def step() -> None:
            obs, rewards[i], terminated, truncated, _ = env.step(given[i])
            dones[i] = terminated or truncated
            observations[i] = env.reset()[0] if dones[i] else obs

        return step

    def measure(rounds: int) -> Sample:
        with spinning(CORES, N, member) as round_of_all:

            def step(actions: Array) -> tuple[Array, Array]:
                given[:] = actions
                round_of_all()
                return rewards, dones

            return timed(variant, rounds, step)

    yield measure


@row.peer("AsyncVectorEnv")
def async_vector(variant: str) -> Iterator[Measure]:
    yield from stepping.async_vector(variant, partial(make, variant))
