"""rl.VectorEnv: 16 environments in lock-step behind gymnasium's interface, with automatic resets in the same step."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import stepping
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from row import ALL, CORES, ONE, Bar, Measure, Row
from stepping import N

from reactors import rl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
        Bar(ALL, "loop", 1.45, (CARTPOLE,)),
        Bar(ALL, "loop", 1.7, (PENDULUM,)),
        Bar(ONE, "loop", 0.92, (CARTPOLE,)),
        Bar(ONE, "loop", 0.96, (PENDULUM,)),
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


def ours(workers: int) -> Callable[[str], Iterator[Measure]]:
    def setup(variant: str) -> Iterator[Measure]:
        yield from stepping.vector(
            variant, rl.VectorEnv([partial(make, variant)] * N, workers=workers, autoreset_mode=SAME)
        )

    return setup


for name, workers in {ONE: 1, ALL: CORES, MANY: N}.items():
    row.peer(name)(ours(workers))


@row.peer("loop")
def loop(variant: str) -> Iterator[Measure]:
    space: Any = make(variant).observation_space
    yield from stepping.loop(variant, partial(make, variant), np.zeros((N, *space.shape), space.dtype))


@row.peer("AsyncVectorEnv")
def async_vector(variant: str) -> Iterator[Measure]:
    yield from stepping.async_vector(variant, partial(make, variant))


@row.peer("SyncVectorEnv")
def sync_vector(variant: str) -> Iterator[Measure]:
    yield from stepping.vector(variant, SyncVectorEnv([partial(make, variant)] * N, autoreset_mode=SAME))


@row.peer("SubprocVecEnv")
def subproc_vec(variant: str) -> Iterator[Measure]:
    yield from stepping.subproc_vec(variant, partial(make, variant))


row.peer("EnvPool", variants=(CARTPOLE, PENDULUM))(stepping.env_pool)


@row.peer("PufferLib")
def puffer(variant: str) -> Iterator[Measure]:
    """A core for the driver, which spins too: the setting that serves it best."""
    yield from stepping.puffer(variant, partial(make, variant), max(1, CORES - 1))
