"""What was played is kept: statistics, videos, trajectories."""

import csv
import importlib.util
from pathlib import Path
from typing import Any

import gymnasium as gym
import minari
import numpy as np
import pytest

import reactors as rx
from reactors import rl


class Policy(rx.Reactor):
    """Acts as it comes."""

    def __init__(self, env: rl.Env) -> None:
        shape = () if env.num_envs is None else (env.num_envs,)
        self.observation = rx.Input(shape=(*shape, 4), dtype=np.float32)
        self.action = rx.Output(shape=shape, dtype=np.int64)
        self.n = env.num_envs
        self.add_reaction(self.observation, self.act, effects=self.action)

    def act(self) -> None:
        self.action.set(np.asarray(self.rng.integers(2, size=self.n)))


class Counted(rx.Reactor):
    def __init__(self, path: Path | None) -> None:
        self.envs = [rl.Env("CartPole-v1", num_envs=2), rl.Env("CartPole-v1")]
        self.policies = [Policy(env) for env in self.envs]
        self.statistics = rl.record.EpisodeStatistics(2, window=3, path=path)
        for i, (env, policy) in enumerate(zip(self.envs, self.policies, strict=True)):
            rx.connect(env.observation, policy.observation)
            rx.connect(policy.action, env.action, after="1 us")
            rx.connect(env.episode, self.statistics.episode[i])


def test_statistics_of_episodes_are_the_same_on_two_workers(tmp_path: Path) -> None:
    texts = []
    for workers in (1, 2):
        main = Counted(tmp_path / "episodes.csv")
        rx.run(main, fast=True, timeout="200 us", seed=4, workers=workers)
        texts.append((tmp_path / "episodes.csv").read_text())
        rows = list(csv.DictReader(texts[-1].splitlines()))
        assert len(rows) == len(main.statistics.returns) > 10
        assert {(row["source"], row["env"]) for row in rows} == {("0", "0"), ("0", "1"), ("1", "0")}
        assert [float(row["return"]) for row in rows] == main.statistics.returns
        assert all(row["failed"] == "False" and row["return"] == f"{row['length']}.0" for row in rows)
        latest = main.statistics.latest
        assert latest is not None
        assert latest.episodes == len(rows)
        assert latest.steps == sum(main.statistics.lengths)
        assert latest.mean_return == pytest.approx(np.mean(main.statistics.returns[-3:]))
    assert texts[0] == texts[1]


class Kept(rx.Reactor):
    def __init__(self, env: rl.Env, folder: Path) -> None:
        self.env, self.policy = env, Policy(env)
        self.trajectories = rl.record.Trajectories(env, "cartpole/test-v0", folder=folder, algorithm_name="random")
        rx.connect(env.observation, self.policy.observation)
        rx.connect(self.policy.action, env.action, after="1 us")
        rx.connect(env.transition, self.trajectories.transition)
        if isinstance(env, rl.BatchedEnv):
            rx.connect(env.valid, self.trajectories.valid)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")  # Minari's own
@pytest.mark.parametrize("kind", ["single", "row", "batched"])
def test_trajectories_are_a_minari_dataset(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = {
        "single": lambda: rl.Env("CartPole-v1"),
        "row": lambda: rl.Env("CartPole-v1", num_envs=3),
        "batched": lambda: rl.BatchedEnv("CartPole-v1", num_envs=3),
    }[kind]()
    main = Kept(env, tmp_path)
    rx.run(main, fast=True, timeout="100 us", seed=4)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    dataset = minari.load_dataset("cartpole/test-v0")
    episodes = list(dataset.iterate_episodes())
    assert len(episodes) == main.trajectories.episodes > 3
    physics: Any = gym.make("CartPole-v1").unwrapped
    for episode in episodes:
        assert len(episode.observations) == len(episode.actions) + 1
        assert not episode.terminations[:-1].any()
        assert episode.terminations[-1] or episode.truncations[-1]
        for before, action, after in zip(episode.observations, episode.actions, episode.observations[1:], strict=False):
            physics.reset()
            physics.state = before.astype(np.float64)
            assert np.allclose(physics.step(action)[0], after, atol=1e-6)  # steps that do not count would not fit
    steps = sum(len(episode.actions) for episode in episodes)
    assert steps == 100 * (env.num_envs or 1) if kind != "batched" else 270 < steps < 300


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")  # Minari's own
def test_trajectories_go_into_a_relative_folder_and_overwrite_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rx.run(Kept(rl.Env("CartPole-v1"), Path("sets")), fast=True, timeout="50 us", seed=4)
    assert (tmp_path / "sets" / "cartpole" / "test-v0" / "data").is_dir()
    with pytest.raises(rx.ArgumentError, match=r"sets has a dataset cartpole/test-v0 already; give .* another version"):
        Kept(rl.Env("CartPole-v1"), Path("sets"))


def test_an_id_without_a_version_is_refused_before_the_first_step() -> None:
    with pytest.raises(rx.ArgumentError, match=r"dataset_id of .* is 'cartpole/test'; write a name"):
        rl.record.Trajectories(rl.Env("CartPole-v1"), "cartpole/test")


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(rx.ReactorError, match=r"needs moviepy.* pip install moviepy"):
        rl.record.video("CartPole-v1", "videos")
    with pytest.raises(rx.ReactorError, match=r'needs the package minari: pip install "minari\[hdf5\]"'):
        rl.record.Trajectories(rl.Env("CartPole-v1"), "cartpole/test-v0")


def test_videos_are_written_where_the_environment_runs(tmp_path: Path) -> None:
    pytest.importorskip("pygame")
    moviepy = pytest.importorskip("moviepy")
    folder = tmp_path / "videos"
    env = rl.Env(rl.record.video("CartPole-v1", folder, every=2, disable_logger=True), seed=1)
    assert not folder.exists()  # looking at the spaces leaves nothing behind

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.env, self.policy = env, Policy(env)
            rx.connect(env.observation, self.policy.observation)
            rx.connect(self.policy.action, env.action, after="1 us")

    rx.run(Main(), fast=True, timeout="80 us", seed=4)
    written = sorted(path.name for path in folder.iterdir())
    assert written[:2] == ["rl-video-episode-0.mp4", "rl-video-episode-2.mp4"]
    with moviepy.VideoFileClip(str(folder / written[0])) as clip:
        assert (clip.size, clip.fps) == ([600, 400], 50)
        frames = list(clip.iter_frames())
    assert len(frames) > 5
    assert frames[0].std() > 0  # something can be seen
    assert (frames[0] != frames[-1]).any()  # and it moves
