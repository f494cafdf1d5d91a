"""Does a vector environment in a reactor cost anything? The same one, stepped by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from row import ONE, Bar, Measure, Row, Sample
from timing import Stopwatch

import reactors as rx
from reactors import rl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DIRECTLY = "directly"
NUMBER = {"CartPole-v1 of NumPy": 64, "CartPole-v1 of EnvPool": 64, "Pong of ALE": 8, "Pong of EnvPool": 8}

row = Row(
    title="a vector environment, stepped by one reactor",
    unit="steps/s",
    variants=tuple(NUMBER),
    work=lambda variant: NUMBER[variant],
    bars=(Bar(ONE, DIRECTLY, 0.97),),
)


def make(variant: str) -> Any:
    """The vector environment, resetting itself in the next step as all of these can."""
    number = NUMBER[variant]
    if variant == "Pong of ALE":
        from ale_py.vector_env import AtariVectorEnv

        return AtariVectorEnv("pong", num_envs=number, num_threads=2)
    if variant.endswith("EnvPool"):
        import envpool

        name = "Pong-v5" if variant.startswith("Pong") else "CartPole-v1"
        return envpool.make_gymnasium(name, num_envs=number, num_threads=2, seed=0)
    return gym.make_vec("CartPole-v1", num_envs=number)


class Actions:
    """The actions of each step: made before, so that only the stepping is timed."""

    def __init__(self, variant: str) -> None:
        self.table = np.random.default_rng(0).integers(2, size=(64, NUMBER[variant]))
        if variant.endswith("EnvPool"):
            self.table = self.table.astype(np.int32 if "Pong" in variant else np.int64)
        self.n, self.seen = 0, 0.0

    def next(self) -> Any:
        self.n += 1
        return self.table[self.n & 63]

    def look(self, observations: Any, rewards: Any) -> None:
        self.seen += float(rewards.sum()) + float(observations[0].flat[0])


class Driver(rx.Reactor):
    """Looks at what came out, and gives the next actions."""

    def __init__(self, env: rl.BatchedEnv, variant: str, rounds: int) -> None:
        layout: dict[str, Any] = {"shape": env.observation.shape, "dtype": env.observation.dtype}
        self.observation, self.reward = rx.Input(**layout), rx.Input(shape=(NUMBER[variant],), dtype=np.float64)
        actions: dict[str, Any] = {"shape": env.action.shape, "dtype": env.action.dtype}
        self.action = rx.Output(**actions)
        self.actions, self.watch = Actions(variant), Stopwatch(rounds)
        self.add_reaction(self.observation, self.act, uses=self.reward, effects=(self.action, rx.stop))

    def act(self) -> None:
        if self.reward.is_present:
            self.actions.look(self.observation.value, self.reward.value)
        if self.watch.running():
            self.action.set(self.actions.next())
        else:
            self.request_stop()


class Batched(rx.Reactor):
    def __init__(self, variant: str, rounds: int) -> None:
        self.env = rl.BatchedEnv(lambda: make(variant))
        self.driver = Driver(self.env, variant, rounds)
        rx.connect(self.env.observation, self.driver.observation)
        rx.connect(self.env.reward, self.driver.reward)
        rx.connect(self.driver.action, self.env.action, after=0)


@row.peer(ONE)
def ours(variant: str) -> Iterator[Measure]:
    def measure(rounds: int) -> Sample:
        main = Batched(variant, rounds)
        rx.run(main, fast=True, backend="inline")
        return Sample(main.driver.watch.seconds)

    yield measure


@row.peer(DIRECTLY)
def directly(variant: str) -> Iterator[Measure]:
    def measure(rounds: int) -> Sample:
        env, actions, watch = make(variant), Actions(variant), Stopwatch(rounds)
        env.reset()
        step: Callable[..., Any] = env.step
        while watch.running():
            observations, rewards, *_ = step(actions.next())
            actions.look(observations, rewards)
        env.close()
        return Sample(watch.seconds)

    yield measure
