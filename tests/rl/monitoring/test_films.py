"""A film shows every position of an episode, and is written while it is played."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from reactors import rl
from reactors.rl.monitoring.films import Films
from reactors.rl.monitoring.watching import film
from tests.rl.agents.hunt import HUNT, Hunt
from tests.rl.monitoring.test_viewer import Moving

if TYPE_CHECKING:
    from pathlib import Path

imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")

SMALL: dict[str, Any] = {"num_envs": 2, "horizon": 5, "epochs": 1, "hidden": (4,)}
HUNTED = rl.IPPO(**SMALL, **HUNT), Hunt
CASES = {
    "alone": (rl.PPO(**SMALL), Moving, 13),
    "many": (*HUNTED, 6),
    "in turns": (rl.IPPO(**SMALL), "classic/tictactoe_v3", None),
}


@pytest.mark.parametrize("case", CASES)
def test_a_film_shows_how_the_episode_began_and_ended(case: str, tmp_path: Path) -> None:
    algorithm, env, frames = CASES[case]
    done = rl.train(algorithm, env, total_steps=10)
    assert len(film(done.policy, done.make, tmp_path, 2, 0).returns) == 2
    films = [tmp_path / f"rl-video-episode-{number}.mp4" for number in range(2)]
    found = [imageio_ffmpeg.count_frames_and_secs(str(each))[0] for each in films]
    assert found == [frames] * 2 if frames else all(5 < each < 11 for each in found)  # five to nine moves


@pytest.mark.parametrize("env", [Moving, Hunt])
def test_the_last_picture_is_that_of_the_last_position(
    env: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[tuple[int, int]] = []
    monkeypatch.setattr(
        Films, "add", lambda _, number, picture: shown.append((number, int(picture[:, 0, 0].sum()) // 255))
    )
    steps = 12 if env is Moving else 5
    done = rl.train(rl.PPO(**SMALL) if env is Moving else HUNTED[0], env, total_steps=10)
    film(done.policy, done.make, tmp_path, 2, 0)
    assert shown == [(number, t) for number in range(2) for t in range(steps + 1)]


def test_a_film_that_breaks_off_leaves_no_process(tmp_path: Path) -> None:
    class Broken(Moving):
        def render(self) -> Any:
            if self.t == 3:
                raise RuntimeError("no picture")
            return super().render()

    done = rl.train(rl.PPO(**SMALL), Broken, total_steps=10)
    with pytest.raises(RuntimeError, match="no picture"):
        film(done.policy, done.make, tmp_path, 1, 0)
