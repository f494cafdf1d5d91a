"""What may be given where environments are wanted, and what do they say of themselves before the run?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from reactors.errors import ArgumentError, ParameterError
from reactors.layout import checked_length

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from reactors.rl.spaces import Space

Maker: TypeAlias = Callable[[], Any]
Source: TypeAlias = str | EnvSpec | Callable[..., Any]


def is_row(env: Source | Sequence[Source]) -> TypeIs[Sequence[Source]]:
    """Whether several environments are given in a list."""
    return isinstance(env, list | tuple)


def makers(env: Source | Sequence[Source], num_envs: int | None, kwargs: Mapping[str, Any], path: str) -> list[Maker]:
    """A function without arguments for each environment; ids are looked up here, where they are registered."""
    if is_row(env):
        if num_envs not in {None, len(env)}:
            raise ArgumentError(f"{path} is given {len(env)} environments and num_envs={num_envs}; leave num_envs out")
        made = [maker(each, kwargs, path) for each in env]
    else:
        count = 1 if num_envs is None else checked_length(num_envs, "num_envs", path)
        made = [maker(env, kwargs, path)] * count
    if not made:
        raise ArgumentError(f"{path} is given no environments; give at least one")
    return made


def maker(env: Source, kwargs: Mapping[str, Any], path: str) -> Maker:
    """A function without arguments that makes the environment."""
    if isinstance(env, str):
        try:
            env = gym.spec(env)  # a worker may not have the module imported that registers it
        except gym.error.Error as error:
            raise ParameterError(f"{path}: there is no environment {env!r}: {error}") from error
    if isinstance(env, EnvSpec):
        settings = {"disable_env_checker": True, **kwargs}  # its answers are checked where it is stepped
        return partial(gym.make, env, **settings)
    if callable(env):
        return partial(env, **kwargs) if kwargs else env
    raise ArgumentError(
        f"{path} is given {env!r}, of type {type(env).__name__}, for an environment; give an id, a spec, or a function "
        "that makes one"
    )


def spaces_of(make: Maker, path: str) -> tuple[Space, Space]:
    """Observation and action space, read from one that is made and closed."""
    try:
        env = getattr(make, "unrecorded", make)()  # of one that records, a look must leave nothing behind
    except Exception as error:
        raise ParameterError(
            f"{path}: its environment cannot be made here to find its spaces ({type(error).__name__}: {error}); mend "
            "it, or give observation_space and action_space if it can be made on its worker alone"
        ) from error
    try:
        return env.observation_space, env.action_space
    except AttributeError as error:
        raise ParameterError(
            f"{path}: what its function makes is a {type(env).__name__}, which has no spaces ({error}); let it return "
            "a gymnasium.Env"
        ) from error
    finally:
        if hasattr(env, "close"):
            env.close()
