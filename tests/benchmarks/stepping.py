"""How do others step sixteen environments in lock-step? The same peers and actions for every row that asks."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from row import CORES, Measure, Sample
from timing import Stopwatch

N = 16
Array = npt.NDArray[Any]
Step: TypeAlias = Callable[[Array], tuple[Array, Array]]  # actions -> rewards, dones


class Driver:
    """The gathering side: draws the actions, and adds up what came back."""

    def __init__(self, env_id: str) -> None:
        self.rng = np.random.default_rng(0)
        self.draw = self.continuous if env_id == "Pendulum-v1" else self.discrete
        self.total, self.ended = 0.0, 0

    def continuous(self) -> Array:
        return self.rng.uniform(-2, 2, (N, 1)).astype(np.float32)

    def discrete(self) -> Array:
        return self.rng.integers(2, size=N)

    def look(self, rewards: Array, dones: Array) -> None:
        self.total += float(rewards.sum())
        self.ended += int(np.count_nonzero(dones))

    def outcome(self) -> list[float]:
        return [round(self.total, 1), self.ended]


def timed(env_id: str, rounds: int, step: Step) -> Sample:
    """Drive `step(actions) -> rewards, dones` for the rounds."""
    driver, watch = Driver(env_id), Stopwatch(rounds)
    while watch.running():
        driver.look(*step(driver.draw()))
    return Sample(watch.seconds, driver.outcome())


def of(envs: Any) -> Step:
    """One step of a vector environment."""

    def step(actions: Array) -> tuple[Array, Array]:
        _, rewards, terminated, truncated, _ = envs.step(actions)
        return rewards, terminated | truncated

    return step


def vector(env_id: str, envs: Any) -> Iterator[Measure]:
    """Anything with Gymnasium's interface, that resets in the same step."""

    def measure(rounds: int) -> Sample:
        envs.reset(seed=0)
        return timed(env_id, rounds, of(envs))

    try:
        yield measure
    finally:
        envs.close()


def loop(env_id: str, make: Callable[[], Any], observations: Array, n: int = N) -> Iterator[Measure]:
    """What one writes who needs no parallelism: the leanest form."""
    envs = [make() for _ in range(n)]
    rewards, dones = np.zeros(n), np.zeros(n, bool)

    def step(actions: Array) -> tuple[Array, Array]:
        for i, env in enumerate(envs):
            obs, reward, terminated, truncated, _ = env.step(actions[i])
            done = terminated or truncated
            if done:
                obs, _ = env.reset()
            observations[i], rewards[i], dones[i] = obs, reward, done
        return rewards, dones

    def measure(rounds: int) -> Sample:
        for i, env in enumerate(envs):
            env.reset(seed=i)
        return timed(env_id, rounds, step)

    yield measure


def apart(env_id: str, make: Callable[[], Any], observations: Callable[[int], Array]) -> Iterator[Measure]:
    """As many loops as there are cores, each with its part of the environments, and nothing between them."""
    n = N // CORES

    def part(rounds: int, ready: int, go: int, reports: int) -> None:
        for measure in loop(env_id, make, observations(n), n):
            os.write(ready, b"r")
            os.read(go, 1)
            os.write(reports, struct.pack("d", measure(rounds).seconds))

    def measure(rounds: int) -> Sample:
        (ready, readies), (gone, go), (reports, writer) = os.pipe(), os.pipe(), os.pipe()
        children = []
        for _ in range(CORES):
            child = os.fork()
            if not child:
                try:
                    part(rounds, readies, gone, writer)
                finally:
                    os._exit(0)
            children.append(child)
        for _ in children:
            os.read(ready, 1)
        os.write(go, b"g" * CORES)
        for child in children:
            os.waitpid(child, 0)
        seconds = struct.unpack(f"{CORES}d", os.read(reports, 8 * CORES))
        for end in (ready, readies, gone, go, reports, writer):
            os.close(end)
        return Sample(max(seconds))

    yield measure


def async_vector(env_id: str, make: Callable[[], Any]) -> Iterator[Measure]:
    """Gymnasium's processes."""
    yield from vector(env_id, AsyncVectorEnv([make] * N, autoreset_mode=AutoresetMode.SAME_STEP))


def subproc_vec(env_id: str, make: Callable[[], Any]) -> Iterator[Measure]:
    """Stable-Baselines3's processes."""
    from stable_baselines3.common.vec_env import SubprocVecEnv

    envs = SubprocVecEnv([make] * N, start_method="fork")

    def step(actions: Array) -> tuple[Array, Array]:
        _, rewards, dones, _ = envs.step(actions)
        return rewards, dones

    def measure(rounds: int) -> Sample:
        envs.seed(0)
        envs.reset()
        return timed(env_id, rounds, step)

    yield measure
    envs.close()


def env_pool(env_id: str) -> Iterator[Measure]:
    """Its environments are its own, in C++."""
    import envpool

    def measure(rounds: int) -> Sample:
        envs = envpool.make_gymnasium(env_id, num_envs=N, num_threads=CORES, seed=0)
        envs.reset()
        return Sample(timed(env_id, rounds, of(envs)).seconds)

    yield measure


def puffer(env_id: str, make: Callable[[], Any], workers: int) -> Iterator[Measure]:
    """PufferLib's processes, which reset one step later than the others."""
    import pufferlib.emulation
    import pufferlib.vector

    def one(**settings: Any) -> Any:
        return pufferlib.emulation.GymnasiumPufferEnv(env_creator=make, **settings)

    def measure(rounds: int) -> Sample:
        envs = pufferlib.vector.make(
            one, num_envs=N, num_workers=workers, backend=pufferlib.vector.Multiprocessing, overwork=True
        )  # a new one: its workers spin even when they have nothing to do
        try:
            envs.reset(0)
            return Sample(timed(env_id, rounds, of(envs)).seconds)
        finally:
            envs.close()

    yield measure
