"""How does a policy look that plays, in a window or as a video?"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import ArgumentError, ParameterError
from reactors.rl.simulation import seed_of
from reactors.rl.sources import for_evaluation
from reactors.rl.spaces import reader

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reactors.rl.algorithms.algorithm import Policy


def check_video(make: Callable[..., Any]) -> None:
    """Refuse what cannot be filmed: `ArgumentError` if moviepy is missing, `ParameterError` without rgb_array."""
    try:
        import_module("moviepy")
    except ImportError as error:
        raise ArgumentError(
            f"videos need the package moviepy ({error}); pip install moviepy, or leave them out"
        ) from None
    rendering(make, "rgb_array").close()


def rendering(make: Callable[..., Any], mode: str) -> Any:
    """An environment that renders; `ParameterError` if it does not."""
    try:
        env = partial(for_evaluation(make), render_mode=mode)()
    except Exception as error:
        raise ParameterError(
            f"the environment cannot be made with render_mode={mode!r} ({type(error).__name__}: {error})"
        ) from error
    if env.render_mode != mode:
        modes = (env.metadata or {}).get("render_modes", [])
        env.close()
        raise ParameterError(f"the environment does not render {mode!r}; it has {', '.join(modes) or 'no modes'}")
    return env


def film(policy: Policy, make: Callable[..., Any], folder: Path, episodes: int, seed: int) -> list[float]:
    """Greedy episodes as videos in `folder`; their returns."""
    from gymnasium.wrappers import RecordVideo

    env = RecordVideo(rendering(make, "rgb_array"), str(folder), episode_trigger=lambda _: True, disable_logger=True)
    return watch(policy, env, episodes, seed)


def watch(policy: Policy, env: Any, episodes: int, seed: int) -> list[float]:
    """Greedy episodes one after another in an environment, which is closed then; their returns."""
    taken = reader(env.action_space)
    returns = []
    try:
        for number in range(episodes):
            obs, _ = env.reset(seed=seed_of(seed, number))
            total, over = 0.0, False
            while not over:
                action = policy.greedy(np.asarray(obs)[None])[0]
                obs, reward, terminated, truncated, _ = env.step(action if taken is None else taken(action))
                total += float(reward)
                over = terminated or truncated
            returns.append(total)
    finally:
        env.close()
    return returns
