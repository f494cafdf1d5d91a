"""A film of many agents shows every position of an episode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import imageio_ffmpeg

from reactors import rl
from reactors.rl.monitoring.films import film_together
from reactors.rl.monitoring.together import play_together
from reactors.rl.monitoring.watching import rendering

if TYPE_CHECKING:
    from pathlib import Path


def test_a_film_shows_how_the_episode_ended(tmp_path: Path) -> None:
    small = rl.IPPO(num_envs=2, horizon=32, epochs=1, hidden=(8,))
    done = rl.train(small, "classic/tictactoe_v3", total_steps=64)
    policy, films = done.policy, tmp_path / "films"
    found = film_together(policy, rendering(done.make, "rgb_array"), films, 2, 0)  # type: ignore[arg-type]
    episodes = play_together(policy, done.make, 2, 0)  # type: ignore[arg-type]
    assert len(found.returns) == 2
    for number, episode in enumerate(episodes):
        frames, _ = imageio_ffmpeg.count_frames_and_secs(str(films / f"rl-video-episode-{number}.mp4"))
        assert frames == episode.length + 1
