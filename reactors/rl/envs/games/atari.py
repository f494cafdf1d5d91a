"""How do learners see Atari games?

As in "Human-level control through deep reinforcement learning" (Mnih et al., Nature 518, 2015): with Gymnasium's
wrappers, and two more.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, fields, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from reactors.errors import ParameterError
from reactors.lowlevel import did_you_mean
from reactors.rl.public import public

if TYPE_CHECKING:
    from collections.abc import Mapping

_NEEDED = {"ale_py": "ale-py", "cv2": "opencv-python-headless"}


@public("rl.atari")
@dataclass(frozen=True)
class atari:  # noqa: N801 - one calls it, as functools.partial
    """A function that makes environments of an Atari game, named as in `ALE/Pong-v5`.

    The environments are preprocessed as by Mnih et al., 2015. Observations are uint8 (stack, screen_size, screen_size);
    with `grey=False`, there is a last axis of 3 colours. Evaluations, views and videos of `rl.train` and of its results
    use `evaluation`: whole games with the game's own scores.

    Raises `ParameterError` for an unknown game, for a number that makes no sense, and if ale-py or OpenCV is missing.

    >>> from reactors import rl
    >>> env = rl.atari("Pong")()
    >>> env.observation_space.shape, env.observation_space.dtype
    ((4, 84, 84), dtype('uint8'))
    >>> env.close()
    """

    game: str
    _: KW_ONLY
    no_ops: int = 30
    """An episode begins with 1 to so many actions that do nothing; 0 for none. Mnih et al., 2015, Extended Data
    Table 1, "no-op max"."""
    frame_skip: int = 4
    """Frames in which an action is repeated. Of the last two each pixel is the brighter one, for some games draw things
    in every other frame only. Mnih et al., 2015, Methods, "Preprocessing" and "Training details"."""
    screen_size: int = 84
    """The side of the pictures to which frames are scaled. Mnih et al., 2015, Methods, "Preprocessing"."""
    grey: bool = True
    """Luminance in the place of colours. Mnih et al., 2015, Methods, "Preprocessing"."""
    stack: int = 4
    """The last so many pictures are an observation. Mnih et al., 2015, Methods, "Preprocessing", m."""
    episodic_life: bool = True
    """In training, the loss of a life ends an episode, and the next one goes on with the same game. Mnih et al., 2015,
    Methods, "Training details"; Machado et al., 2018 (arXiv 1709.06009), section 5, advise against it."""
    fire_reset: bool = True
    """Presses the button when an episode begins, and a life in whole games, if a game waits for it. OpenAI Baselines,
    `FireResetEnv`, which presses it once in a whole game: but who was trained on lives has not learned to do so."""
    clip_rewards: bool = True
    """In training, of a reward there is the sign alone. Mnih et al., 2015, Methods, "Training details"."""
    sticky: float = 0.0
    """How probable it is that the emulator repeats the action before: never in Mnih et al., 2015; 0.25 in Machado et
    al., 2018, section 5."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What else `gymnasium.make` gets, `mode` and `difficulty` for instance."""

    def __post_init__(self) -> None:
        for module, package in _NEEDED.items():
            try:
                import_module(module)
            except ImportError as error:
                raise ParameterError(
                    f"Atari's games need the package {package} ({error}); pip install ale-py opencv-python-headless"
                ) from error
        games = [name[len("ALE/") : -len("-v5")] for name in gym.registry if name.startswith("ALE/")]
        if self.game not in games:
            remedy = '; games are named as in ALE/Pong-v5: rl.atari("Pong"), or atari:Pong'
            raise ParameterError(f"there is no Atari game {self.game!r}{did_you_mean(self.game, games) or remedy}")
        for name, least in {"no_ops": 0, "frame_skip": 1, "screen_size": 1, "stack": 1}.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ParameterError(f"{name} of rl.atari is {value!r}; write a whole number, {least} or more")
        if not 0 <= self.sticky <= 1:
            raise ParameterError(f"sticky of rl.atari is {self.sticky!r}; write a probability, from 0 to 1")

    def __call__(self, **settings: Any) -> gym.Env[Any, Any]:
        """Make an environment; `settings` go to `gymnasium.make`, or are other values of options."""
        if settings:
            return self.changed(settings)()
        import_module("ale_py")  # which registers the games; a worker has not done so
        env: gym.Env[Any, Any] = gym.make(
            f"ALE/{self.game}-v5", frameskip=1, repeat_action_probability=self.sticky, disable_env_checker=True,
            **self.settings,
        )  # fmt: skip
        env = gym.wrappers.AtariPreprocessing(
            env, noop_max=self.no_ops, frame_skip=self.frame_skip, screen_size=self.screen_size, grayscale_obs=self.grey
        )
        if self.episodic_life:
            env = EpisodicLife(env)
        if self.fire_reset and "FIRE" in env.unwrapped.get_action_meanings()[1:2]:  # type: ignore[attr-defined]
            env = FireReset(env)
        if self.clip_rewards:
            env = gym.wrappers.TransformReward(env, _sign)
        return gym.wrappers.FrameStackObservation(env, self.stack)

    @property
    def evaluation(self) -> atari:
        """Makes whole games, with unchanged rewards."""
        return replace(self, episodic_life=False, clip_rewards=False)

    def changed(self, options: Mapping[str, Any]) -> atari:
        """A copy with other options, or more settings."""
        own = {option.name for option in fields(self)} - {"game", "settings"}
        settings = {name: value for name, value in options.items() if name not in own}
        return replace(
            self,
            **{name: value for name, value in options.items() if name in own},
            settings={**self.settings, **settings},
        )

    @property
    def options(self) -> dict[str, Any]:
        """The options that differ from the defaults: `changed` of a new one by them is this one."""
        fresh = type(self)(self.game)
        own = {option.name: getattr(self, option.name) for option in fields(self) if option.name != "settings"}
        return {name: value for name, value in own.items() if value != getattr(fresh, name)} | dict(self.settings)


def _sign(reward: Any) -> float:
    return float(np.sign(reward))


class EpisodicLife(gym.Wrapper[Any, Any, Any, Any]):
    """Ends an episode when a life is lost; the next one continues there, or in a new game if the game is over."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.lives, self.over = 0, True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """The next life, or the next game; with a seed, the next game."""
        if self.over or seed is not None:
            obs, info = self.env.reset(seed=seed, options=options)
        else:
            obs, _, terminated, truncated, info = self.env.step(0)
            if terminated or truncated:
                obs, info = self.env.reset(options=options)
        self.lives, self.over = info["lives"], False
        return obs, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """One step, which may end a life."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        self.over = terminated or truncated
        lost = 0 < info["lives"] < self.lives
        self.lives = info["lives"]
        return obs, reward, terminated or lost, truncated, info


class FireReset(gym.Wrapper[Any, Any, Any, Any]):
    """Presses the button at the start of every episode, and of every life within it."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.lives = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the environment, and take one more step."""
        _, info = self.env.reset(seed=seed, options=options)
        obs, _, terminated, truncated, since = self.env.step(1)
        info = {**info, **since}
        if terminated or truncated:
            obs, info = self.env.reset(options=options)
        self.lives = info["lives"]
        return obs, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """One step, and one more where a life is lost and the game goes on."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        lost = 0 < info["lives"] < self.lives
        if lost and not (terminated or truncated):
            obs, more, terminated, truncated, info = self.env.step(1)
            reward = float(reward) + float(more)
        self.lives = info["lives"]
        return obs, reward, terminated, truncated, info
