"""What does an algorithm play in? One for many agents is given names of PettingZoo's, others those of Gymnasium."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from reactors.errors import ReactorWarning
from reactors.rl.contract.agents import MultiAgent
from reactors.rl.envs.agents.sources import agents_maker, cast_of
from reactors.rl.envs.sources import maker, spaces_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reactors.rl.contract.algorithm import Algorithm
    from reactors.rl.envs.sources import Source


def maker_of(algorithm: Algorithm, env: Source, kwargs: Mapping[str, Any], path: str) -> Callable[[], Any]:
    """What makes its environments; names are looked up here."""
    return agents_maker(env, kwargs, path) if isinstance(algorithm, MultiAgent) else maker(env, kwargs, path)


def environment_of(
    algorithm: Algorithm, env: Source, kwargs: Mapping[str, Any], path: str
) -> tuple[Callable[[], Any], tuple[Any, Any]]:
    """What makes its environments, and their spaces; of many agents a `Cast`, and the spaces of their actions."""
    make = maker_of(algorithm, env, kwargs, path)
    return make, spaces_in(algorithm, make, path)


def spaces_in(algorithm: Algorithm, make: Callable[[], Any], path: str) -> tuple[Any, Any]:
    """Of observations and actions in what `make` makes."""
    if not isinstance(algorithm, MultiAgent):
        return spaces_of(make, path, partial(warn_of_the_unlikely, path))
    cast = cast_of(make, path)
    return cast, cast.actions


def warn_of_the_unlikely(path: str, env: Any) -> None:
    """Warn of environments with which learning is slow, or other than it seems."""
    _warn_of_raw_frames(path, env)
    _warn_of_statistics(path, env)


def _warn_of_raw_frames(path: str, env: Any) -> None:
    """Of Atari's frames as the emulator gives them, which are what a user gets who writes the usual id."""
    emulator, shape = getattr(env, "unwrapped", env), env.observation_space.shape or ()
    if type(emulator).__module__ == "ale_py.env" and shape == emulator.observation_space.shape and len(shape) > 1:
        warnings.warn(
            f"{path}: its observations are the emulator's frames as they are, of shape {shape}, from which learning is "
            'slow; write atari:GAME, as in atari:Pong, or rl.atari("Pong"), which scales and stacks them, and has '
            "presets",
            ReactorWarning,
            stacklevel=2,
        )


def _warn_of_statistics(path: str, env: Any) -> None:
    """Of wrappers that normalise by what their environment has seen, which others do not know."""
    while isinstance(env, gym.Wrapper):
        if isinstance(env, gym.wrappers.NormalizeObservation | gym.wrappers.NormalizeReward):
            instead = "observations" if isinstance(env, gym.wrappers.NormalizeObservation) else "rewards"
            warnings.warn(
                f"{path}: its environments are in a {type(env).__name__}, of which each has its own statistics, and "
                f"evaluations begin without any; leave it out, and give the algorithm normalise_{instead}=True, if it "
                "has that: those statistics are part of the policy",
                ReactorWarning,
                stacklevel=2,
            )
        env = env.env
