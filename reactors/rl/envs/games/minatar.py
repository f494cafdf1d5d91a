"""How do learners see MinAtar's games?

Five of Atari's games in miniature, on a grid of 10x10 cells: "MinAtar: An Atari-Inspired Testbed for Thorough and
Reproducible Reinforcement Learning Experiments" (Young and Tian, 2019, arXiv 1903.03176).
"""

from __future__ import annotations

import colorsys
from dataclasses import KW_ONLY, dataclass, fields, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from reactors.errors import ParameterError
from reactors.lowlevel import did_you_mean
from reactors.rl.public import public

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

GAMES = ("asterix", "breakout", "freeway", "seaquest", "space_invaders")
PIXELS = 16  # of a cell, in pictures


@public("rl.minatar")
@dataclass(frozen=True)
class minatar:  # noqa: N801 - one calls it, as functools.partial
    """A function that makes environments of a game of MinAtar: asterix, breakout, freeway, seaquest, space_invaders.

    Observations are float32 (channels, 10, 10), 1 where there is something of the channel's kind; actions are those
    that do something in the game. An episode is truncated after `max_steps`.

    Raises `ParameterError` for an unknown game or option, for a number that makes no sense, and if minatar is missing.

    >>> from reactors import rl
    >>> env = rl.minatar("breakout")()
    >>> env.observation_space.shape, int(env.action_space.n)
    ((4, 10, 10), 3)
    """

    game: str
    _: KW_ONLY
    sticky: float = 0.1
    """How probable it is that the game repeats the action before. Young and Tian, 2019, section 2."""
    ramping: bool = True
    """Whether games grow more difficult. Young and Tian, 2019, section 2."""
    max_steps: int = 5_000
    """The longest episode. Chosen here: some games do not end for those who play well."""
    render_mode: str | None = None
    """"rgb_array" for pictures."""

    def __post_init__(self) -> None:
        try:
            import_module("minatar")
        except ImportError as error:
            raise ParameterError(f"MinAtar's games need the package minatar ({error}); pip install minatar") from error
        if self.game not in GAMES:
            meant = did_you_mean(self.game, GAMES) or f"; there are {', '.join(GAMES)}"
            raise ParameterError(f"there is no game {self.game!r} of MinAtar{meant}")
        if not 0 <= self.sticky <= 1:
            raise ParameterError(f"sticky of rl.minatar is {self.sticky!r}; write a probability, from 0 to 1")
        steps: Any = self.max_steps
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
            raise ParameterError(f"max_steps of rl.minatar is {steps!r}; write a whole number, 1 or more")

    def __call__(self, **options: Any) -> gym.Env[Any, Any]:
        """Make an environment; `options` are other values of options."""
        if options:
            return self.changed(options)()
        return gym.wrappers.TimeLimit(MinAtar(self), self.max_steps)

    def changed(self, options: Mapping[str, Any]) -> minatar:
        """A copy with other options."""
        known = [option.name for option in fields(self) if option.name != "game"]
        for name in options:
            if name not in known:
                meant = did_you_mean(name, known) or f"; it has {', '.join(known)}"
                raise ParameterError(f"rl.minatar has no argument {name!r}{meant}")
        return replace(self, **options)

    @property
    def options(self) -> dict[str, Any]:
        """The options that differ from the defaults: `changed` of a new one by them is this one."""
        fresh = type(self)(self.game)
        own = {option.name: getattr(self, option.name) for option in fields(self)}
        return {name: value for name, value in own.items() if value != getattr(fresh, name)}


class MinAtar(gym.Env[Any, Any]):
    """A game, as `minatar` says."""

    def __init__(self, made: minatar) -> None:
        from minatar import Environment

        self.game = Environment(made.game, sticky_action_prob=made.sticky, difficulty_ramping=made.ramping)
        self.actions = self.game.minimal_action_set()
        height, width, channels = self.game.state_shape()
        self.observation_space = gym.spaces.Box(0, 1, (channels, height, width), np.float32)
        self.action_space = gym.spaces.Discrete(len(self.actions))
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": 20}
        self.render_mode = made.render_mode

    def _seen(self) -> NDArray[np.float32]:
        return np.ascontiguousarray(self.game.state().transpose(2, 0, 1), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """A new game; with a seed, its random numbers begin again."""
        super().reset(seed=seed, options=options)
        if seed is not None:
            self.game.seed(seed)
        self.game.reset()
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One step."""
        reward, over = self.game.act(self.actions[int(action)])
        return self._seen(), float(reward), bool(over), False, {}

    def render(self) -> Any:
        """A picture, uint8 (160, 160, 3): a colour for each kind of thing."""
        kinds = self.game.state()
        n = kinds.shape[2]
        colours = [(0.0, 0.0, 0.0), *(colorsys.hsv_to_rgb(i / n, 0.7, 1.0) for i in range(n))]
        picture = (np.array(colours) * 255).astype(np.uint8)[(kinds * np.arange(1, n + 1)).max(2)]
        return picture.repeat(PIXELS, 0).repeat(PIXELS, 1)
