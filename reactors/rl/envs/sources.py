"""What may be given where environments are wanted, and what do they say of themselves before the run?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

from reactors.errors import ArgumentError, ParameterError
from reactors.lowlevel import in_words
from reactors.rl.envs.agents.mistaken import check_single, of_many
from reactors.rl.envs.agents.sources import has_many_agents
from reactors.rl.envs.games.atari import atari
from reactors.rl.envs.games.minatar import minatar
from reactors.rl.envs.named import named
from reactors.rl.envs.owned import own

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from reactors.rl.envs.spaces import Space

Maker: TypeAlias = Callable[[], Any]
Game: TypeAlias = atari | minatar
Source: TypeAlias = str | EnvSpec | Callable[..., Any]
GAMES: dict[str, type[Game]] = {"atari": atari, "minatar": minatar}
"""What makes a game, by the word before the colon in its name."""


def is_row(env: Source | Sequence[Source]) -> TypeIs[Sequence[Source]]:
    """Whether several environments are given in a list."""
    return isinstance(env, list | tuple)


def makers(
    env: Source | Sequence[Source],
    num_envs: int | None,
    kwargs: Mapping[str, Any],
    path: str,
    one: Callable[[Any, Mapping[str, Any], str], Maker] | None = None,
) -> list[Maker]:
    """A function without arguments for each environment, as `one` makes it, or `maker`; names are looked up here."""
    one = maker if one is None else one
    if is_row(env):
        if num_envs not in {None, len(env)}:
            raise ArgumentError(f"{path} is given {len(env)} environments and num_envs={num_envs}; leave num_envs out")
        made = [one(each, kwargs, path) for each in env]
    else:
        count: Any = 1 if num_envs is None else num_envs
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
            raise ArgumentError(f"num_envs of {path} is {num_envs!r}; write a whole number, 1 or more")
        made = [one(env, kwargs, path)] * count
    if not made:
        raise ArgumentError(f"{path} is given no environments; give at least one")
    return made


def maker(env: Source, kwargs: Mapping[str, Any], path: str) -> Maker:
    """A function without arguments that makes the environment."""
    env = found(env, path)
    if isinstance(env, EnvSpec):
        settings = {"disable_env_checker": True, **kwargs}  # its answers are checked where it is stepped
        return partial(gym.make, env, **settings)
    if isinstance(env, Game):
        return env.changed(kwargs) if kwargs else env
    return partial(env, **kwargs) if kwargs else env


def found(env: Source, path: str, of: str = "an environment") -> EnvSpec | Callable[..., Any]:
    """A spec, a class or a function: what a name means, and anything else as it is."""
    if isinstance(env, str):
        # Here, for a worker may not have the module imported that registers an id.
        kind, colon, game = env.partition(":")
        if env.startswith("MinAtar/") and env not in gym.registry:
            raise ParameterError(
                f"{path}: {env!r} is an id that minatar.gym.register_envs() registers, which was not called; call it, "
                "or take rl.minatar, or minatar:GAME, as in minatar:breakout"
            )
        return GAMES[kind](game) if colon and kind in GAMES else _named(env, path)
    if isinstance(env, EnvSpec) or callable(env):
        return env
    raise ArgumentError(
        f"{path} is given {env!r}, of type {type(env).__name__}, for {of}; give a name, a spec, or a function that "
        "makes one"
    )


def _named(name: str, path: str) -> EnvSpec | Callable[..., Any]:
    try:
        meant: EnvSpec | Callable[..., Any] = named(name, path)
    except ParameterError:
        if has_many_agents(name):
            raise of_many(repr(name), path) from None
        raise
    return meant


def game_name(game: Game) -> str:
    """As `found` finds it.

    >>> game_name(minatar("breakout"))
    'minatar:breakout'
    """
    return f"{type(game).__name__}:{game.game}"


def for_evaluation(make: Callable[..., Any]) -> Callable[..., Any]:
    """What makes environments in which a policy shows what it can: of Atari's games, whole ones."""
    whole: Callable[..., Any] = getattr(make, "evaluation", make)
    return whole


def checked_seeds(seed: Any, k: int, path: str) -> list[int | None]:
    """A seed for each of k environments: s + i for a number s, or the entries of a list, in which None is none."""
    try:
        seeds = [None] * k if seed is None else [int(seed) + i for i in range(k)] if _is_number(seed) else list(seed)
    except TypeError:
        seeds = []
    if len(seeds) != k or not all(each is None or (_is_number(each) and each >= 0) for each in seeds):
        raise ArgumentError(f"seed of {path} is {seed!r}; give a whole number, 0 or more, or {k} of them in a list")
    return [None if each is None else int(each) for each in seeds]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | np.integer)


def spaces_of(
    make: Maker, path: str, look: Callable[[Any], None] | None = None, *, remedy: str = "fix it"
) -> tuple[Space, Space]:
    """Observation and action space, read from one that is made and closed; `look` is called with it before."""
    try:
        env = own(getattr(make, "unrecorded", make))()  # of one that records, a look must leave nothing behind
    except Exception as error:
        raise ParameterError(
            f"{path}: its environment cannot be made here to find its spaces ({in_words(error)}); {remedy}"
        ) from error
    try:
        check_single(env, path)
        both = env.observation_space, env.action_space
        if look is not None:
            look(env)
    except AttributeError as error:
        raise ParameterError(
            f"{path}: what its function makes is a {type(env).__name__}, which has no spaces ({error}); let it return "
            "a gymnasium.Env"
        ) from error
    finally:
        if hasattr(env, "close"):
            env.close()
    return both
