"""rl.VectorEnv: 16 environments in lock-step behind gymnasium's interface, with automatic resets in the same step."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from row import ALL, CORES, ONE, Bar, Measure, Row, Sample
from timing import Stopwatch

from reactors import rl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

N = 16
CARTPOLE, PENDULUM, PONG = "CartPole-v1", "Pendulum-v1", "ALE/Pong-v5"
MANY = f"reactors, {N} workers"
SAME = AutoresetMode.SAME_STEP

row = Row(
    title="rl.VectorEnv, 16 environments",
    unit="steps/s",
    variants=(CARTPOLE, PENDULUM, PONG),
    work=lambda _: N,
    bars=(
        Bar(ALL, "AsyncVectorEnv", 6, (CARTPOLE,)),
        Bar(ALL, "AsyncVectorEnv", 2, (PENDULUM,)),
        Bar(ALL, "AsyncVectorEnv", 1.7, (PONG,)),
        Bar(ALL, "SubprocVecEnv", 1),
        Bar(ALL, "PufferLib", 1),
        Bar(ALL, "loop", 1.3, (CARTPOLE,)),
        Bar(ONE, "loop", 0.9),
        Bar(MANY, ALL, 0.8),
    ),
)


def make(variant: str) -> gym.Env[Any, Any]:
    if variant != PONG:
        return gym.make(variant, disable_env_checker=True)
    import ale_py
    from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

    gym.register_envs(ale_py)
    env = gym.make(PONG, frameskip=1, repeat_action_probability=0.0, disable_env_checker=True)
    return FrameStackObservation(AtariPreprocessing(env, noop_max=0), 4)


def timed(variant: str, rounds: int, step: Callable[[Any], tuple[Any, Any]]) -> Sample:
    """Drive `step(actions) -> rewards, dones` with random actions for the rounds."""
    rng, watch, total, ended = np.random.default_rng(0), Stopwatch(rounds), 0.0, 0
    while watch.running():
        rewards, dones = step(
            rng.uniform(-2, 2, (N, 1)).astype(np.float32) if variant == PENDULUM else rng.integers(2, size=N)
        )
        total += float(rewards.sum())
        ended += int(np.count_nonzero(dones))
    return Sample(watch.seconds, [round(total, 1), ended])


def driven(variant: str, envs: Any) -> Iterator[Measure]:
    def step(actions: Any) -> tuple[Any, Any]:
        _, rewards, terminated, truncated, _ = envs.step(actions)
        return rewards, terminated | truncated

    def measure(rounds: int) -> Sample:
        envs.reset(seed=0)
        return timed(variant, rounds, step)

    try:
        yield measure
    finally:
        envs.close()


def ours(workers: int) -> Callable[[str], Iterator[Measure]]:
    def setup(variant: str) -> Iterator[Measure]:
        yield from driven(variant, rl.VectorEnv([partial(make, variant)] * N, workers=workers, autoreset_mode=SAME))

    return setup


for name, workers in {ONE: 1, ALL: CORES, MANY: N}.items():
    row.peer(name)(ours(workers))


@row.peer("loop")
def loop(variant: str) -> Iterator[Measure]:
    """What one writes who needs no parallelism."""
    envs = [make(variant) for _ in range(N)]
    space = envs[0].observation_space
    observations = np.zeros((N, *(space.shape or ())), space.dtype)
    rewards, dones = np.zeros(N), np.zeros(N, bool)

    def step(actions: Any) -> tuple[Any, Any]:
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
        return timed(variant, rounds, step)

    yield measure


@row.peer("AsyncVectorEnv")
def async_vector(variant: str) -> Iterator[Measure]:
    yield from driven(variant, AsyncVectorEnv([partial(make, variant)] * N, autoreset_mode=SAME))


@row.peer("SyncVectorEnv")
def sync_vector(variant: str) -> Iterator[Measure]:
    yield from driven(variant, SyncVectorEnv([partial(make, variant)] * N, autoreset_mode=SAME))


@row.peer("SubprocVecEnv")
def subproc_vec(variant: str) -> Iterator[Measure]:
    from stable_baselines3.common.vec_env import SubprocVecEnv

    envs = SubprocVecEnv([partial(make, variant)] * N, start_method="fork")

    def measure(rounds: int) -> Sample:
        envs.seed(0)
        envs.reset()
        return timed(variant, rounds, lambda actions: envs.step(actions)[1:3])  # type: ignore[return-value]

    yield measure
    envs.close()


@row.peer("EnvPool", variants=(CARTPOLE, PENDULUM))
def env_pool(variant: str) -> Iterator[Measure]:
    """Its environments are its own, in C++."""
    import envpool

    def measure(rounds: int) -> Sample:
        envs = envpool.make_gymnasium(variant, num_envs=N, num_threads=CORES, seed=0)
        envs.reset()

        def step(actions: Any) -> tuple[Any, Any]:
            _, rewards, terminated, truncated, _ = envs.step(actions)
            return rewards, terminated | truncated

        return Sample(timed(variant, rounds, step).seconds)

    yield measure


@row.peer("PufferLib")
def puffer(variant: str) -> Iterator[Measure]:
    """A core for the driver, which spins too: the setting that serves it best. It resets one step later."""
    import pufferlib.emulation
    import pufferlib.vector

    def one(**settings: Any) -> Any:
        return pufferlib.emulation.GymnasiumPufferEnv(env_creator=partial(make, variant), **settings)

    def measure(rounds: int) -> Sample:
        envs = pufferlib.vector.make(
            one, num_envs=N, num_workers=max(1, CORES - 1), backend=pufferlib.vector.Multiprocessing, overwork=True
        )  # made anew: its workers spin even when they have nothing to do
        try:
            envs.reset(0)

            def step(actions: Any) -> tuple[Any, Any]:
                _, rewards, terminated, truncated, _ = envs.step(actions)
                return rewards, terminated | truncated

            return Sample(timed(variant, rounds, step).seconds)
        finally:
            envs.close()

    yield measure
