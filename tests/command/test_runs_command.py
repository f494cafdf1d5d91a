"""`reactors eval`, `play`, `compare` and `report`, as a user at a terminal meets them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import reactors as rx
from reactors import rl
from reactors.rl.errors import RunFolderError
from reactors.rl.runs.run_folder import RunFolder
from tests.command.typed import SMALL, reactors

pytestmark = pytest.mark.usefixtures("fonts", "elsewhere")
PNG = b"\x89PNG\r\n\x1a\n"


def test_eval_plays_the_episodes_of_its_seed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[Any] = []

    def play(*given: Any) -> rl.Evaluation:
        seeds.append(given[-1])
        return rl.Evaluation([1.0])

    monkeypatch.setattr("reactors.rl.monitoring.evaluator.play", play)
    for arguments in ((), ("--seed", 3)):
        assert reactors("eval", run, *arguments).exit_code == 0
    assert seeds == [0, 3]


def test_eval_plays_greedy_episodes(run: Path) -> None:
    done = reactors("eval", run, "--episodes", 5, "--seed", 3, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["episodes"] == 5
    assert 8 <= found["min"] <= found["mean"] <= found["max"] <= 500
    assert f"mean {found['mean']:.2f}" in reactors("eval", run, "--episodes", 5, "--seed", 3).stdout


def test_a_policy_that_is_loaded_is_reported_in_one_line(run: Path) -> None:
    assert repr(rl.load(run)) == "<trained policy: PPO in CartPole-v1, seed 0, 58 weights>"
    assert "TrainedPolicy" not in repr(rl.load(run))


def test_no_number_is_null_in_json(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = rl.Evaluation([1.0, float("inf"), float("nan")])
    monkeypatch.setattr("reactors.rl.monitoring.evaluator.play", lambda *_: found)
    done = reactors("eval", run, "--json")
    assert done.stdout == '{"episodes": 100, "mean": null, "min": 1.0, "max": null}\n'
    RunFolder(Path("new")).path.mkdir()
    RunFolder(Path("new")).finish({"return": float("nan"), "steps": 3}, None)
    assert RunFolder(Path("new")).result == {"return": None, "steps": 3}


def test_eval_refuses_what_is_no_run(run: Path, tmp_path: Path) -> None:
    done = reactors("eval", tmp_path)
    assert done.exit_code == 1
    assert "is no folder of a run: there is no config.json in it" in done.stderr
    assert reactors("eval", tmp_path / "nothing").exit_code == 2


def test_play_says_what_is_missing(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "moviepy", None)  # as if it were not there
    done = reactors("play", run, "--video", "videos")
    assert done.exit_code == 2
    assert "pip install moviepy" in done.stderr


def test_play_without_a_display_says_so(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reactors.rl.monitoring.watching.watch", lambda *_, **__: rl.Evaluation([9.0]))
    said = (
        "there is no display here (DISPLAY and WAYLAND_DISPLAY are not set), so no window opens; to see it play: "
        f"reactors play {run} --video\n"
    )
    monkeypatch.setenv("SDL_VIDEODRIVER", "x11")  # so that it is as it was afterwards
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    assert reactors("play", run).stderr == said * (sys.platform == "linux")
    monkeypatch.setenv("DISPLAY", ":0")
    done = reactors("play", run)
    assert (done.stderr, done.stdout) == ("", "episode 1: return 9.00\n")


def test_play_films(run: Path) -> None:
    pytest.importorskip("moviepy")
    done = reactors("play", run, "--video", "videos")
    assert done.exit_code == 0, done.output
    assert [path.suffix for path in Path("videos").glob("*.mp4")] == [".mp4"]
    assert "videos are in videos\n" in done.stdout
    done = reactors("play", run, "--video", "film.mp4")
    assert done.exit_code == 0, done.output
    assert "the video is film.mp4\n" in done.stdout
    assert Path("film.mp4").is_file()
    assert not list(Path().glob(".film.mp4.*"))
    done = reactors("play", run, "--video", "--seed", 3)
    assert done.exit_code == 0, done.output
    assert f"videos are in {run / 'played'}\n" in done.stdout
    assert [path.suffix for path in (run / "played").iterdir()] == [".mp4"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["film.mp4", "--episodes", 2],
            "--video film.mp4 is one file, and there are 2 episodes; name a folder for them",
        ),
        (["no/film.mp4"], "there is no folder 'no' for film.mp4"),
        (["film.gif"], "--video film.gif: videos are written as MP4 alone; name a folder, or a file that ends in .mp4"),
        (["notes"], "--video notes is a file that is no video; name a folder, or a file that ends in .mp4"),
    ],
)
def test_play_refuses_where_no_video_can_be(run: Path, arguments: list[Any], said: str) -> None:
    Path("notes").write_text("")
    done = reactors("play", run, "--video", *arguments)
    assert done.exit_code == 2, done.output
    assert done.stderr.splitlines()[-1] == f"Error: {said}"


def test_an_environment_with_other_spaces_is_named(run: Path) -> None:
    said = (
        f"{run} was trained in CartPole-v1, and Acrobot-v1 has other spaces: observations Box(..., (6,), float32) "
        "instead of Box(..., (4,), float32), actions Discrete(3) instead of Discrete(2); give an environment with the "
        "same spaces"
    )
    for command in ("eval", "play"):
        done = reactors(command, run, "--env", "Acrobot-v1")
        assert done.exit_code == 1
        assert said in done.stderr
    with pytest.raises(RunFolderError) as caught:
        rl.load(run, env="Acrobot-v1")
    assert str(caught.value) == said
    with pytest.raises(RunFolderError, match=r"FrozenLake-v1 has other spaces: observations Discrete\(16\) instead of"):
        rl.load(run, env="FrozenLake-v1")  # of which PPO makes no policy at all
    with pytest.raises(rx.ParameterError, match=r"there is no environment 'Acrobot'; did you mean 'Acrobot-v1'\?$"):
        rl.load(run, env="Acrobot")


def test_play_opens_a_window(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    done = reactors("play", run)
    assert done.exit_code == 0, done.output
    assert "episode 1: return" in done.stdout


def test_compare_draws_and_prints(run: Path) -> None:
    done = reactors("compare", run, run, "-o", "both.png")
    assert done.exit_code == 0, done.output
    assert Path("both.png").read_bytes().startswith(PNG)
    head, first, *_ = done.stdout.splitlines()
    assert head.split()[:3] == ["run", "algorithm", "environment"]
    assert head.split()[4:7] == ["workers", "seed", "steps"]
    assert first.split()[:7] == ["trained", "PPO", "CartPole-v1", "sync", "1", "0", "320"]
    assert head.split()[-1] == "digest"
    assert first.split()[-1] == json.loads((run / "result.json").read_text())["digest"][:12]
    Path("note.txt").touch()
    assert reactors("compare", run, "note.txt").stdout.splitlines()[0] == head
    assert "none is a folder of a run" in reactors("compare", "note.txt").stderr
    assert reactors("compare", run, "-o", "nowhere/x.png").exit_code == 2


def test_runs_are_called_by_their_folders_however_those_are_named(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run)
    page = Path("..") / "named.html"
    for path in (".", "checkpoints/.."):
        done = reactors("compare", path, "-o", page)
        assert done.exit_code == 0, done.output
        assert done.stdout.splitlines()[1].split()[0] == "trained"
        assert "<title>trained" in page.read_text() or '"title": "trained"' in page.read_text()


def test_report_leaves_the_page_that_the_run_wrote(run: Path) -> None:
    written = (run / "report.html").read_bytes()
    assert "the page that the run wrote" in reactors("report", run).stdout
    assert (run / "report.html").read_bytes() == written
    assert reactors("report", run, "-o", "other.html").exit_code == 0
    assert Path("other.html").exists()


def test_compare_says_in_which_settings_runs_differ(run: Path) -> None:
    reactors("train", "ppo", "--env", "CartPole-v1", *SMALL, "--set", "gamma=0.9", "--out", "other")
    done = reactors("compare", run, "other", "-o", "both.html")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    setting = next(i for i, line in enumerate(lines) if line.startswith("setting"))
    assert lines[setting].split() == ["setting", "trained", "other"]
    assert ["gamma", "0.99", "0.9"] in [line.split() for line in lines[setting:]]
    assert "clip" not in [line.split()[0] for line in lines[setting:] if line]
    page = Path("both.html").read_text()
    assert '["Settings in which they differ", ["setting", "trained", "other"], [' in page
