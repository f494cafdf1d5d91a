"""How does a policy look that plays, in a window or as a video?"""

from __future__ import annotations

import os
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import ArgumentError, ParameterError
from reactors.rl.contract.agents import Company
from reactors.rl.contract.recurrent import Playing
from reactors.rl.envs.simulation import seed_of
from reactors.rl.envs.sources import for_evaluation
from reactors.rl.envs.spaces import reader
from reactors.rl.monitoring.evaluation import Evaluation
from reactors.rl.monitoring.films import Films
from reactors.rl.monitoring.together import watch_together

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactors.rl.contract.algorithm import Policy
    from reactors.rl.monitoring.together import Players

MP4 = ".mp4"
OTHERS = {".avi", ".gif", ".mkv", ".mov", ".webm"}  # of videos, which the recorder of Gymnasium does not write


def check_video(make: Callable[..., Any]) -> None:
    """Refuse what cannot be filmed: `ArgumentError` if moviepy is missing, `ParameterError` without rgb_array."""
    try:
        import_module("moviepy")
    except ImportError as error:
        raise ArgumentError(
            f"videos need the package moviepy ({error}); pip install moviepy, or leave them out"
        ) from None
    rendering(make, "rgb_array").close()


def headless() -> bool:
    """Whether there is no display on which a window could open."""
    return sys.platform == "linux" and not {"DISPLAY", "WAYLAND_DISPLAY"} & {*os.environ}


def rendering(make: Callable[..., Any], mode: str) -> Any:
    """An environment that renders; `ParameterError` if it does not."""
    if headless():
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # or SDL writes an error, and goes on in the same way
    try:
        env = partial(for_evaluation(make), render_mode=mode)()
    except Exception as error:
        raise ParameterError(
            f"the environment cannot be made with render_mode={mode!r} ({type(error).__name__}: {error}); let a "
            "function that makes one take render_mode=, and pass it on"
        ) from error
    if env.render_mode != mode:
        modes = (env.metadata or {}).get("render_modes", [])
        env.close()
        raise ParameterError(f"the environment does not render {mode!r}; it has {', '.join(modes) or 'no modes'}")
    return env


def checked_target(given: Path, episodes: int, option: str) -> Path:
    """Where videos go: a folder, or a file that ends in .mp4 for a single episode; `ArgumentError` if it is neither."""
    said = f"{option} {given}"
    if given.is_dir():
        return given
    if given.exists() and given.suffix != MP4:
        raise ArgumentError(f"{said} is a file that is no video; name a folder, or a file that ends in {MP4}")
    if given.suffix in OTHERS:
        raise ArgumentError(f"{said}: videos are written as MP4 alone; name a folder, or a file that ends in {MP4}")
    if given.suffix == MP4 and episodes > 1:
        raise ArgumentError(f"{said} is one file, and there are {episodes} episodes; name a folder for them")
    if given.suffix == MP4 and not given.absolute().parent.is_dir():
        raise ArgumentError(f"there is no folder {str(given.parent)!r} for {given.name}")
    return given


def film(
    policy: Policy,
    make: Callable[..., Any],
    target: Path,
    episodes: int,
    seed: int,
    playing: Callable[[int], Players] | None = None,
) -> Evaluation:
    """Greedy episodes as videos in a folder, or a single one as a file that ends in .mp4; what they come to.

    `playing`, of many agents, is as in `watch_together`.
    """
    if target.suffix != MP4 or target.is_dir():
        return _recorded(policy, make, target, episodes, seed, playing)
    with TemporaryDirectory(dir=target.absolute().parent, prefix=f".{target.name}.") as beside:
        folder = Path(beside) / "videos"
        found = _recorded(policy, make, folder, episodes, seed, playing)
        for file in folder.glob(f"*{MP4}"):
            file.replace(target)
    return found


def _recorded(
    policy: Policy, make: Callable[..., Any], folder: Path, episodes: int, seed: int, playing: Any
) -> Evaluation:
    env = rendering(make, "rgb_array")
    films = Films(folder, (env.metadata or {}).get("render_fps", 30))
    try:
        return watch(policy, env, episodes, seed, lambda number: films.add(number, env.render()), playing)
    finally:
        films.close()


def watch(
    policy: Policy,
    env: Any,
    episodes: int,
    seed: int,
    shown: Callable[[int], None] = lambda _: None,
    playing: Callable[[int], Players] | None = None,
) -> Evaluation:
    """Greedy episodes one after another in an environment, which is closed then; what they come to.

    `shown` is called with the number of the episode when it has begun, and after each step; `playing`, of many agents,
    is as in `watch_together`.
    """
    if isinstance(policy, Company):
        return watch_together(policy, env, episodes, seed, shown, playing)
    taken = reader(env.action_space)
    returns = []
    try:
        for number in range(episodes):
            obs, _ = env.reset(seed=seed_of(seed, number))
            shown(number)
            total, over, player = 0.0, False, Playing(policy, 1)
            while not over:
                action = player(np.asarray(obs)[None])[0]
                obs, reward, terminated, truncated, _ = env.step(action if taken is None else taken(action))
                total += float(reward)
                over = terminated or truncated
                shown(number)
            returns.append(total)
    finally:
        env.close()
    return Evaluation(returns)
