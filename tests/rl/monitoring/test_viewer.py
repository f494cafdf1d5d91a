"""Episodes are shown on the way, and change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest
from PIL import Image

from reactors import rl
from reactors.errors import ArgumentError, ParameterError
from reactors.rl.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from pathlib import Path


class Moving(gym.Env[Any, Any]):
    """Shows how many steps an episode of twelve has had, as that many white rows."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012
    observation_space = gym.spaces.Box(0, 12, (1,))
    action_space = gym.spaces.Discrete(2)

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed, options=options)
        self.t = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: int) -> Any:
        del action
        self.t += 1
        return np.full(1, self.t, np.float32), 1.0, self.t == 12, False, {}

    def render(self) -> Any:
        shown = np.zeros((16, 16, 3), np.uint8)
        shown[: self.t] = 255
        return shown


class Unseen(Moving):
    """Does not render."""

    def __init__(self) -> None:
        super().__init__()


class Listed(Moving):
    """Renders what is no picture."""

    def render(self) -> Any:
        return [1, 2, 3]


PPO = rl.PPO(num_envs=4, horizon=8, epochs=1, hidden=(8,))


@pytest.mark.parametrize(("workers", "backend"), [(1, "thread"), (2, "process")])
def test_views_show_an_episode_and_change_nothing(
    workers: int, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunFolder, "draw", lambda *_: None)
    monkeypatch.setattr("reactors.rl.runs.curves.curve", lambda *_: None)
    given: dict[str, Any] = {"total_steps": 320, "workers": workers, "backend": backend}
    shown = rl.train(PPO, Moving, **given, out=tmp_path / "shown", view_every=3)
    assert shown.weights.tobytes() == rl.train(PPO, Moving, **given).weights.tobytes()
    views = sorted((tmp_path / "shown" / "views").iterdir())
    assert [view.name for view in views] == [f"{32 * 3 * i:012d}.gif" for i in (1, 2, 3)]
    with Image.open(views[0]) as film:
        frames: int = getattr(film, "n_frames", 0)
        assert frames == 13  # the first observation, and twelve steps
        assert film.info["duration"] == 50
        rows = []
        for i in range(frames):
            film.seek(i)
            rows.append(int((np.asarray(film.convert("L"))[:, 0] > 128).sum()))
    assert rows == [*range(13)]


def test_what_cannot_be_shown_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="given no folder; say out="):
        rl.train(PPO, Moving, view_every=3)
    with pytest.raises(ParameterError, match="cannot be made with render_mode='rgb_array'"):
        rl.train(PPO, Unseen, view_every=3, out=tmp_path / "run")
    with pytest.raises(ParameterError, match="renders a list, and no picture"):
        rl.train(PPO, Listed, view_every=3, out=tmp_path / "run")
    with pytest.raises(ArgumentError, match=r"view_every of rl\.train is 0"):
        rl.train(PPO, Moving, view_every=0)
    with pytest.raises(ArgumentError, match=r"view_every of rl\.train is 3, but the run has 2 rounds, so that nothing"):
        rl.train(PPO, Moving, total_steps=64, view_every=3, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_views_show_many_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunFolder, "draw", lambda *_: None)
    monkeypatch.setattr("reactors.rl.runs.curves.curve", lambda *_: None)
    algorithm = rl.IPPO(num_envs=2, horizon=25, epochs=1, hidden=(8,))
    given: dict[str, Any] = {"total_steps": 100, "seed": 1, "backend": "thread", "env_kwargs": {"max_cycles": 5}}
    shown = rl.train(algorithm, "mpe2:simple_spread_v3", **given, out=tmp_path / "shown", view_every=1)
    assert shown.digest == rl.train(algorithm, "mpe2:simple_spread_v3", **given).digest
    views = sorted((tmp_path / "shown" / "views").iterdir())
    assert [view.name for view in views] == ["000000000050.gif", "000000000100.gif"]
    with Image.open(views[0]) as film:
        shown_for = 0
        for i in range(getattr(film, "n_frames", 0)):  # of pictures that are the same there is one
            film.seek(i)
            shown_for += film.info["duration"]
    assert shown_for == 6 * 100  # what is there at first, and after five steps
