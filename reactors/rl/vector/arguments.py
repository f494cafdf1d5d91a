"""Checks of the arguments of `rl.VectorEnv` and `rl.MultiAgentVectorEnv`, one by one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_differing_spaces, batch_space

import reactors as rx
from reactors.lowlevel import in_a_reaction, in_words
from reactors.rl.envs.owned import copied, own
from reactors.rl.errors import SimulationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reactors.rl.envs.spaces import Space


def number_of_workers(
    workers: Any, n: int, most: Any = None, *, oversubscribe: bool, path: str = "rl.VectorEnv"
) -> int:
    """The number of workers for `n` environments."""
    cores = len(os.sched_getaffinity(0))
    if workers is None or workers == "auto":
        workers = cores
    if isinstance(workers, bool) or not isinstance(workers, int | np.integer) or workers < 1:
        raise rx.ArgumentError(
            f"workers of {path} is {workers!r}; write a whole number, 1 or more, or workers='auto' for all cores"
        )
    if most is not None and not isinstance(most, int | np.integer):  # in the words of AsyncVectorEnv
        raise ValueError(f"`max_concurrency` must be an integer or None, got {most!r}")
    if most is not None and most < 1:
        raise ValueError(f"`max_concurrency` must be a positive or None, got {most!r}")
    if in_a_reaction():  # nothing nests in a reaction
        return 1
    return int(min(workers, n, 63 if oversubscribe else cores, most or n))


def check_of_others(shared_memory: Any, worker: Any) -> None:
    """Refuse arguments that would not mean what the caller expects, and those of `AsyncVectorEnv` alone."""
    if not isinstance(shared_memory, bool | np.bool_):  # users of gymnasium.make_vec do that
        raise rx.ArgumentError(
            f"rl.VectorEnv was given {shared_memory!r} for shared_memory, which is its second argument, as it is "
            "that of AsyncVectorEnv; name the number of environments: num_envs=..."
        )
    if worker is not None:
        raise rx.ArgumentError(
            "rl.VectorEnv was given worker=, a function for the processes of AsyncVectorEnv, of which it has none; "
            "write what that does as a wrapper of the environments"
        )


def check_isolate(isolate: bool, path: str) -> None:
    """Refuse `isolate` where other processes are impossible."""
    if isolate and in_a_reaction():
        raise rx.StructureError(
            f"{path}(isolate=True) inside of a reaction: nothing nests in a reaction, so its environments are "
            "stepped by the reaction's own worker; leave isolate out"
        )


def checked_mode(given: Any) -> AutoresetMode:
    """The autoreset mode, given as itself or by its value."""
    try:
        return AutoresetMode(given)
    except ValueError:
        raise ValueError(
            f'autoreset_mode of rl.VectorEnv is {given!r}; write "NextStep", "SameStep" or "Disabled"'
        ) from None


def check_belongings(makers: Sequence[Callable[[], Any]], path: str) -> None:
    """Check that each environment can have its own copy of what its function refers to, wherever it will run."""
    seen: set[int] = set()
    for i, make in enumerate(makers):
        if id(make) in seen:
            continue
        seen.add(id(make))
        try:
            copied(make)
        except Exception as error:
            raise SimulationError(
                f"{path}: environment {i} cannot have a copy of what its function carries "
                f"({in_words(error)}), and environments share nothing; let the function make all of it at each "
                "call",
                i,
            ) from error


def observation_spaces(mode: Any, single: Space, makers: Sequence[Callable[[], Any]]) -> tuple[Space, Space]:
    """The batched and the single observation space; `single` is that of the first environment."""
    if isinstance(mode, tuple) and len(mode) == 2:
        for space in mode:
            if not isinstance(space, gym.Space):
                raise TypeError(f"observation_mode of rl.VectorEnv has {space!r}, which is no gymnasium.Space")
        return mode
    if mode == "same":
        return batch_space(single, len(makers)), single
    if mode == "different":
        spaces = []
        for make in makers:
            env = own(make)()
            spaces.append(env.observation_space)
            env.close()
        return batch_differing_spaces(spaces), spaces[0]
    raise ValueError(
        f'observation_mode of rl.VectorEnv is {mode!r}; write "same", "different" or a tuple of the space of '
        "all and the space of one"
    )
