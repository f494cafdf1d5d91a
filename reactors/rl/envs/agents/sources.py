"""What may be given where environments with many agents are wanted, and what do those say of themselves?"""

from __future__ import annotations

import inspect
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

from reactors.errors import ArgumentError, ParameterError
from reactors.lowlevel import in_words
from reactors.rl.envs.agents.cast import Cast
from reactors.rl.envs.agents.masks import MASK, OBSERVATION, allowed, has_mask, unmasked, without_mask
from reactors.rl.envs.agents.mistaken import of_one
from reactors.rl.envs.agents.turns import takes_turns
from reactors.rl.envs.named import imported, known, named, of_installed, spec_of, spelled
from reactors.rl.envs.named_parallel import named_parallel
from reactors.rl.envs.owned import own
from reactors.rl.envs.spaces import WrongValueError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reactors.rl.envs.spaces import Space


def agents_maker(env: Any, kwargs: Mapping[str, Any], path: str) -> Callable[[], Any]:
    """A function without arguments that makes the PettingZoo environment; names are looked up here."""
    if isinstance(env, str):
        env = agents_named(env, path)
    if not callable(env):
        raise ArgumentError(
            f"{path} is given {env!r}, of type {type(env).__name__}; give the name of a PettingZoo environment, or a "
            "function that makes one"
        )
    return partial(env, **kwargs) if kwargs else env


def agents_named(name: str, path: str) -> Callable[..., Any]:
    """A function that makes the environment of this name, whose agents act at once or take turns.

    >>> agents_named("classic/connect_four_v3", "main.env").args
    ('aec', 'classic/connect_four_v3')
    """
    try:
        return named_parallel(name, path)
    except ParameterError:
        turns = _turns_named(name, path)
        if turns is not None:
            return turns
        if _has_one_agent(name):
            raise of_one(repr(name), path) from None
        raise


def has_many_agents(name: str) -> bool:
    """Whether a name is of an environment with many agents."""
    try:
        agents_named(name, "")
    except (ParameterError, ImportError):
        return False
    return True


def _has_one_agent(name: str) -> bool:
    """Whether a name is an id of Gymnasium's."""
    try:
        return isinstance(named(name, ""), EnvSpec)
    except ParameterError:
        return False


def _turns_named(name: str, path: str) -> Callable[..., Any] | None:
    import pettingzoo

    plain = name.replace(".", "/").replace(":", "/").removeprefix("pettingzoo/")
    if _is_id("aec", plain):
        return partial(pettingzoo.make, "aec", plain)
    place = plain.replace("/", ".")
    if spec_of(place) is None:
        return None
    module = imported(place, None, f"{path}: the environment {name!r} cannot be looked up")
    made: Callable[..., Any] | None = getattr(module, "env", None)
    return made


def spelled_agents(env: Any, path: str) -> tuple[str, str | None]:
    """What a run's folder says of it, and the file of the user's own that it is in; see `named.spelled`.

    >>> spelled_agents("classic/rps_v2", "main.env")
    ('classic/rps_v2', None)
    """
    made = agents_named(env, path) if isinstance(env, str) else env
    return spelled(made) if inspect.isclass(made) or not isinstance(env, str) else (env, None)


def known_agents(name: str, file: str | None, path: str) -> Any:
    """What a name from a run's folder means, without code that only the folder leads to; else None.

    As `named.known`: ids that are registered, modules of packages that are installed, classes of environments.
    """
    from pettingzoo import AECEnv, ParallelEnv

    if is_registered(name):
        return name
    found = None if name.endswith("()") else known(name, file, path, (AECEnv, ParallelEnv))
    if found is not None:
        return found
    return name if file is None and of_installed(re.split("[:/]", name)[0]) else None


def is_registered(name: str) -> bool:
    """Whether a name is an id of PettingZoo's."""
    return _is_id("parallel", name) or _is_id("aec", name)


def _is_id(way: Literal["aec", "parallel"], name: str) -> bool:
    import pettingzoo

    try:
        pettingzoo.spec(way, name)
    except Exception:  # noqa: BLE001 - it has an error of its own for each part of an id
        return False
    return True


def cast_of(make: Callable[[], Any], path: str) -> Cast:
    """Who may be in the environment, read from one that is made, reset and closed."""
    try:
        env = own(make)()
    except Exception as error:
        raise ParameterError(
            f"{path}: its environment cannot be made here to find its spaces ({in_words(error)}); fix it"
        ) from error
    try:
        agents = tuple(env.possible_agents)
        spaces = [env.observation_space(agent) for agent in agents]
        actions = tuple(env.action_space(agent) for agent in agents)
        turns = takes_turns(env)
        told = env.reset(seed=0)
        observations, infos = ({env.agent_selection: env.observe(env.agent_selection)}, env.infos) if turns else told
        state = _state_space(env)
    except Exception as error:
        what = f"what its function makes is a {type(env).__name__}"
        if isinstance(env, gym.Env):
            raise of_one(f"the {type(env).__name__} that its function makes", path) from error
        if callable(getattr(env, "observation_space", None)) and not hasattr(env, "possible_agents"):
            raise ParameterError(
                f"{path}: {what} without possible_agents, so that no one knows before it runs which agents there may "
                "be; let possible_agents list them all"
            ) from error
        raise ParameterError(f"{path}: {what}, which is no PettingZoo environment ({in_words(error)})") from error
    finally:
        if hasattr(env, "close"):
            env.close()
    masked = any(map(has_mask, spaces)) or any(MASK in info for info in infos.values())
    for agent, space, action_space in zip(agents, spaces, actions, strict=True):
        _check_mask(
            f"{path}: the action_mask of agent {agent!r} is",
            observations.get(agent),
            infos.get(agent, {}),
            space,
            action_space,
        )
    return Cast(agents, tuple(map(without_mask, spaces)), actions, state, masked, turns)


def _check_mask(said: str, observation: Any, info: Mapping[str, Any], space: Space, actions: Space) -> None:
    seen, given = unmasked(observation, info)
    if given is None:
        return
    if seen is not observation and not isinstance(space, gym.spaces.Dict):
        raise ParameterError(
            f"{said} in its observation, whose space is {space}; let that be a Dict of {OBSERVATION!r} and {MASK!r}"
        )
    try:
        allowed(given, actions)
    except WrongValueError as error:
        raise ParameterError(f"{said} {error}") from error


def _state_space(env: Any) -> gym.spaces.Box | None:
    """Of `state()`, if it gives an array of numbers: frames as they are, all else as a vector."""
    try:
        state = np.asarray(env.state())
    except (AttributeError, NotImplementedError, KeyError, TypeError, ValueError):  # there is none
        return None
    if state.dtype.kind not in "fiub" or state.size == 0:
        return None
    if state.ndim == 3 and state.dtype == np.uint8:
        return gym.spaces.Box(0, 255, state.shape, np.uint8)
    return gym.spaces.Box(-np.inf, np.inf, (state.size,), np.float32)
