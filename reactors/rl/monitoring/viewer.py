"""How does the policy look while it learns?

Visualisation is a stage of its own, beside sampling, learning and evaluation, as in Spreeze (Hou et al., 2023): on a
worker that nothing else needs. Weights of every so many rounds wait there until it has time for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.errors import ParameterError
from reactors.rl.contract.agents import Company
from reactors.rl.contract.recurrent import Playing
from reactors.rl.envs.simulation import seed_of
from reactors.rl.envs.spaces import reader
from reactors.rl.monitoring.together import episode_of
from reactors.rl.monitoring.watching import rendering
from reactors.rl.rounds import round_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import gymnasium as gym

    from reactors.rl.contract.algorithm import Algorithm

LEAST = 40  # ms that a picture of an animation is shown; many programs show none for less than 20
MOST = 1000  # pictures of one


def check_view(make: Callable[..., Any]) -> None:
    """Refuse what cannot be shown, with a `ParameterError`."""
    env = rendering(make, "rgb_array")
    try:
        env.reset(seed=0)
        picture(env)
    finally:
        env.close()


def picture(env: Any) -> Any:
    """What an environment shows, as an image with 256 colours; `ParameterError` if that is no picture."""
    from PIL import Image

    try:
        shown = env.render()
    except Exception as error:
        raise ParameterError(f"the environment cannot be rendered ({type(error).__name__}: {error})") from error
    if not isinstance(shown, np.ndarray) or shown.dtype != np.uint8 or shown.ndim != 3 or shown.shape[2] != 3:
        raise ParameterError(
            f"the environment renders a {type(shown).__name__}, and no picture of uint8 (height, width, 3)"
        )
    return Image.fromarray(shown).quantize()


class Viewer(rx.Reactor):
    """Plays a greedy episode with all weights that it gets, and writes it into `folder` as an animated GIF.

    Files are named after the environment steps that the policy has learned from. An animation has at most a thousand
    pictures, 25 a second; those of faster environments are left out, and a longer episode is broken off.
    """

    weights = rx.Input(shape="size", dtype=np.float32)

    def __init__(
        self,
        algorithm: Algorithm,
        make: Callable[..., Any],
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        size: int,
        *,
        steps: int,
        folder: Path,
    ) -> None:
        self.make, self.size, self.steps, self.folder = make, size, steps, folder
        self.action_space = action_space
        self.policy = algorithm.policy(observation_space, action_space)

    @rx.reaction(weights)
    def view(self) -> None:
        """An episode, as a file that is whole or not there."""
        number = round_of(self.tag)
        self.policy.load(self.weights.value)
        images, pause = self.play(seed_of(self.seed, number))
        self.folder.mkdir(parents=True, exist_ok=True)
        final = self.folder / f"{(number + 1) * self.steps:012d}.gif"
        beside = final.with_name(f".{final.name}.new")
        images[0].save(beside, "GIF", save_all=True, append_images=images[1:], duration=pause, loop=0)
        beside.replace(final)

    def play(self, seed: int) -> tuple[list[Any], int]:
        """Pictures of an episode, and how long each is shown, in ms."""
        env = rendering(self.make, "rgb_array")
        pause = 1000 / (env.metadata or {}).get("render_fps", 30)
        stride = max(1, round(LEAST / pause))
        images: list[Any] = []
        try:
            for t, over in enumerate(self.steps_of(env, seed)):
                if over or t % stride == 0:
                    images.append(picture(env))
                if len(images) >= MOST:
                    break
        finally:
            env.close()
        return images, round(pause * stride)

    def steps_of(self, env: Any, seed: int) -> Iterator[bool]:
        """Play an episode; whether it is over, when it begins and after each step."""
        if isinstance(self.policy, Company):
            yield from episode_of(self.policy, env, seed)
            return
        taken, playing = reader(self.action_space), Playing(self.policy, 1)
        obs, _ = env.reset(seed=seed)
        over = False
        yield over
        while not over:
            action = playing(np.asarray(obs)[None])[0]
            obs, _, terminated, truncated, _ = env.step(action if taken is None else taken(action))
            over = terminated or truncated
            yield over
