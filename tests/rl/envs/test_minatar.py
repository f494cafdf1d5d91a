"""MinAtar's games: what is seen, done and drawn, and that runs find them again and go on in the middle of a game."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest

from reactors import rl
from reactors.errors import ParameterError

if TYPE_CHECKING:
    from pathlib import Path

GAMES = {"asterix": (4, 5), "breakout": (4, 3), "freeway": (7, 3), "seaquest": (10, 6), "space_invaders": (6, 4)}
SMALL: dict[str, Any] = {"num_envs": 2, "horizon": 16, "epochs": 1, "batch_size": 16}


@pytest.mark.parametrize(("game", "channels", "actions"), [(game, *sizes) for game, sizes in GAMES.items()])
def test_a_game_shows_channels_first_and_has_the_actions_that_do_something(
    game: str, channels: int, actions: int
) -> None:
    env = rl.minatar(game, render_mode="rgb_array")()
    seen, _ = env.reset(seed=1)
    assert (seen.shape, seen.dtype) == ((channels, 10, 10), np.float32)
    assert env.action_space == gym.spaces.Discrete(actions)
    assert {*np.unique(seen)} == {0, 1}
    picture: Any = env.render()
    assert (picture.shape, picture.dtype) == ((160, 160, 3), np.uint8)
    assert ((seen.max(0) > 0) == (picture[::16, ::16].max(2) > 0)).all()


def test_a_seed_says_all_that_happens() -> None:
    def played() -> list[Any]:
        env, found = rl.minatar("breakout", max_steps=60)(), []
        env.reset(seed=7)
        for step in range(60):
            seen, reward, terminated, truncated, _ = env.step(step % 3)
            found.append((seen.tobytes(), reward, terminated, truncated))
            if terminated or truncated:
                env.reset()
        return found

    assert played() == played()


def test_the_preset_is_that_of_the_game() -> None:
    assert rl.PPO.preset("minatar:asterix") == rl.PPO.preset("MinAtar/Asterix-v1")
    assert rl.PPO.preset("minatar:asterix").torso == "minatar"


@pytest.mark.usefixtures("bare_runs")
def test_a_run_says_which_game_it_plays_and_goes_on_in_the_middle_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given: Any = {"seed": 3, "checkpoint_every": 2}
    options: dict[str, Any] = {"sticky": 0.2}
    whole = rl.train(rl.PPO(**SMALL), "minatar:breakout", total_steps=256, out="whole", env_kwargs=options, **given)
    assert (whole.config["env"], whole.config["env_kwargs"]) == ("minatar:breakout", options)
    game = rl.minatar("breakout", **options)
    on = rl.train(rl.PPO(**SMALL), game, total_steps=256, resume="whole/checkpoints/000000000192", out="on", **given)
    assert on.digest == whole.digest
    assert not on.notes
    assert rl.load("on").evaluate(1) == rl.load("whole").evaluate(1)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: rl.minatar("pong"), "there is no game 'pong' of MinAtar; there are asterix, breakout, freeway"),
        (lambda: rl.minatar("brakout"), "there is no game 'brakout' of MinAtar; did you mean 'breakout'?"),
        (lambda: rl.minatar("breakout", sticky=2), "sticky of rl.minatar is 2; write a probability, from 0 to 1"),
        (lambda: rl.minatar("breakout", max_steps=0), "max_steps of rl.minatar is 0; write a whole number, 1 or more"),
        (lambda: rl.Env("minatar:breakout", stiky=1), "rl.minatar has no argument 'stiky'; did you mean 'sticky'?"),
        (lambda: rl.Env("MinAtar/Breakout-v1"), r"minatar.gym.register_envs\(\) registers, which was not called; "),
    ],
)
def test_what_is_no_game_is_refused(make: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        make()


def test_it_says_which_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minatar", None)
    with pytest.raises(ParameterError, match=r"MinAtar's games need the package minatar .*; pip install minatar"):
        rl.minatar("breakout")
