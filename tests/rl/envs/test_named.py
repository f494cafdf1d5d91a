"""Environments by name: what is found, everywhere the same, and what is said where nothing is."""

from __future__ import annotations

import gc
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest
from click.testing import CliRunner, Result
from torch import nn

import reactors as rx
from reactors import rl
from reactors.command.cli import main
from reactors.rl.errors import RunFolderError
from reactors.rl.runs.run_folder import RunFolder, write_json
from reactors.rl.serving.single import SingleAgent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SMALL = rl.PPO(num_envs=2, horizon=8, epochs=1, hidden=(4,))
SET = ("--set", "num_envs=2", "--set", "horizon=8", "--set", "epochs=1", "--set", "hidden=4", "--total-steps", 32)
MAZES = """
from pathlib import Path

import gymnasium as gym
import numpy as np
import reactors as rx

Path("imported").touch()


class Maze(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, size=5):
        self.size = size

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.t += 1
        return np.full(2, self.t / 10, np.float32), 1.0, self.t >= self.size, False, {}


def small():
    return Maze(3)


SIZE = 5
gym.register("Corridor-v3", "mazes:Maze", kwargs={"size": 2})
rx.run(rx.Reactor())  # who wants an environment does not want this
"""

pytestmark = pytest.mark.usefixtures("fonts")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a file of environments, in which one stands; it is on no path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "mazes.py").write_text(MAZES)
    (tmp_path / "broken.py").write_text("import gymnasium\nimport no_such_thing\n")
    (tmp_path / "leaves.py").write_text("raise SystemExit(3)\n")
    yield tmp_path
    forget()
    gc.collect()


def forget() -> None:
    """As in a process that has imported nothing of it."""
    for name in ("mazes", "broken", "leaves"):
        sys.modules.pop(name, None)
    gym.registry.pop("Corridor-v3", None)
    Path("imported").unlink(missing_ok=True)


def reactors(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def said(result: Result) -> str:
    """The last line of what is said."""
    return result.stderr.strip().splitlines()[-1]


# ---- what is found ----


@pytest.mark.parametrize(
    ("name", "length"),
    [
        ("mazes:Maze", 5),
        ("mazes.py:Maze", 5),
        ("./mazes:Maze", 5),
        ("mazes:small", 3),
        ("mazes.py:Corridor-v3", 2),
        ("mazes:Corridor-v3", 2),
    ],
)
def test_a_name_means_the_same_everywhere(name: str, length: int) -> None:
    def lengths(envs: Any) -> int:
        envs.reset()
        ends = [bool(envs.step(np.zeros(2, int))[2].all()) for _ in range(6)]
        envs.close()
        return ends.index(True) + 1

    assert rl.Env(name, num_envs=2).observation.shape == (2, 2)
    assert lengths(rl.VectorEnv(name, num_envs=2, workers=1)) == length
    assert lengths(rl.sb3.VecEnv(name, num_envs=2, workers=1)) == length
    if name != "mazes:small":  # a function makes the vector environment itself
        assert rl.BatchedEnv(name, num_envs=2).observation.shape == (2, 2)
    asked = rl.serve(SMALL, env=name).asked
    assert isinstance(asked, SingleAgent)
    assert asked.observed.shape == (2,)


def test_workers_find_what_a_name_means(folder: Path) -> None:
    folder.joinpath("elsewhere").mkdir()
    folder.joinpath("mazes.py").rename("elsewhere/mazes.py")
    done = {
        workers: rl.train(SMALL, "elsewhere/mazes.py:Maze", total_steps=32, workers=workers, backend="process")
        for workers in (1, 2)
    }
    assert done[1].digest == done[2].digest
    assert done[1].config["env"] == "mazes:Maze"
    assert done[1].config["env_file"] == str(folder / "elsewhere/mazes.py")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "CartPol-v1",
            "Env: there is no environment 'CartPol-v1'; did you mean 'CartPole-v1'?",
        ),
        (
            "Chessboard-v1",
            (
                "Env: there is no environment 'Chessboard-v1'; Atari's games are written atari:Pong, MinAtar's "
                "minatar:breakout, ids that a package registers module:Id, and a class of your own FILE:CLASS"
            ),
        ),
        (
            "mazes.py",
            (
                "Env: there is no environment 'mazes.py'; it is a file, so say which class of it is meant: FILE:CLASS, "
                "as in mazes.py:Maze"
            ),
        ),
        ("mazes:Mace", "Env: mazes has no environment 'Mace'; did you mean 'Maze'?"),
        (
            "mazes:Coridor-v3",
            "Env: mazes has no environment 'Coridor-v3'; did you mean 'Corridor-v3'?",
        ),
        (
            "mazes:Labyrinth",
            "Env: mazes has no environment 'Labyrinth'; it has Maze, small",
        ),
        ("mazes:SIZE", "Env: mazes:SIZE is 5, of type int, and no class or function that makes an environment"),
        (
            "maze.py:Maze",
            "Env: there is no file 'maze.py', in which 'maze.py:Maze' would be; did you mean 'mazes.py'?",
        ),
        (
            "gymnasium.env:Maze",
            (
                "Env: the environment 'gymnasium.env:Maze' cannot be looked up: there is no module 'gymnasium.env' "
                "that Python finds from here; did you mean 'gymnasium.envs'?"
            ),
        ),
        (
            "quagmires:Maze",
            (
                "Env: the environment 'quagmires:Maze' cannot be looked up: there is no module 'quagmires' that Python "
                "finds from here; name its file, as in FILE:CLASS, or let its folder be on PYTHONPATH"
            ),
        ),
        (
            "broken:Id-v0",
            (
                "Env: the environment 'broken:Id-v0' cannot be looked up: importing broken raised "
                "ModuleNotFoundError: No "
                "module named 'no_such_thing' (broken.py:2)"
            ),
        ),
        (
            "leaves:Id-v0",
            (
                "Env: the environment 'leaves:Id-v0' cannot be looked up: importing leaves raised ImportError: "
                "leaves.py ends the process when it is imported (sys.exit(3)); put what is meant for running it as a "
                'script under if __name__ == "__main__":'
            ),
        ),
        (":Maze", "Env: ':Maze' names no environment; write module:Id, module:CLASS or FILE:CLASS"),
        (
            "atari:Pung",
            "there is no Atari game 'Pung'; did you mean 'Pong'?",
        ),
        (
            "atari:Chess960",
            ("there is no Atari game 'Chess960'; games are named as in ALE/Pong-v5: rl.atari(\"Pong\"), or atari:Pong"),
        ),
    ],
)
def test_a_wrong_name_is_reported_with_the_nearest_or_with_what_went_wrong(name: str, message: str) -> None:
    with pytest.raises(rx.ParameterError) as caught:
        rl.Env(name)
    assert str(caught.value) == message
    if "raised" in message:
        assert caught.value.__cause__ is not None
    command = reactors("train", "ppo", "--env", name)
    assert command.exit_code == 2
    here = f"{Path.cwd()}/"
    assert said(command).replace(here, "") == f"Error: {message.replace('Env: ', '--env: ', 1)}"


# ---- what a folder says ----


def test_a_run_in_an_environment_of_ones_own_is_used_without_a_word(folder: Path) -> None:
    for out, name in (("a", "mazes:Maze"), ("b", "mazes.py:Corridor-v3")):
        done = reactors("train", "ppo", "--env", name, *SET, "--out", out)
        assert done.exit_code == 0, done.output
        weights = RunFolder(out).weights
        forget()
        assert "mean 5.00" in reactors("eval", out, "--episodes", 1).stdout or out == "b"
        forget()
        sys.path.insert(0, str(folder))
        assert (rl.load(out).weights == weights).all()
        forget()
        assert reactors("train", "--resume", out, "--total-steps", 64).exit_code == 0
    assert [path.name for path in Path("runs").glob("*")] == []


def test_a_folder_leads_to_no_code_but_the_environment_that_it_names(folder: Path) -> None:
    assert reactors("train", "ppo", "--env", "mazes:Maze", *SET, "--out", "out").exit_code == 0
    config = RunFolder("out").config
    for env in ("mazes:Other", "mazes:small()", "mazes:Other-v0", "this:Maze", "subprocess:Popen"):
        forget()
        write_json(Path("out/config.json"), {**config, "env": env})
        assert reactors("eval", "out").exit_code == 1
        assert not Path("imported").exists()
        assert "this" not in sys.modules


def test_what_has_to_be_given_again_is_reported_as_one_gives_it(folder: Path) -> None:
    for name, out in (("mazes:small", "made"), ("mazes:Maze", "other")):
        assert reactors("train", "ppo", "--env", name, *SET, "--out", out).exit_code == 0
    forget()
    made = (
        "error: made: its environment was made by the function mazes:small, and reading a folder calls none; give it: "
    )
    for command in (["eval", "made"], ["play", "made"], ["train", "--resume", "made"]):
        assert said(reactors(*command)) == f"{made}--env mazes.py:small"
    with pytest.raises(RunFolderError) as caught:
        rl.load("made")
    assert str(caught.value) == f"{made.removeprefix('error: ')}rl.load(folder, env=...)"
    assert reactors("eval", "made", "--env", "mazes.py:small", "--episodes", 1).stdout.startswith(
        "1 greedy episodes: me"
    )
    go_on = ("train", "--resume", "made", "--env", "mazes.py:small", "--total-steps")
    assert reactors(*go_on, 64).exit_code == 0
    assert said(reactors(*go_on, 64)) == (
        "Error: made/checkpoints/000000000064 is at step 64 of 64, so nothing is left to do; to go "
        "on, ask for 80 steps in all, or more"
    )
    forget()
    folder.joinpath("mazes.py").rename(folder / "gone.py")
    assert said(reactors("eval", "other")) == (
        "error: other: its environment mazes:Maze is not imported, and Python finds no environment "
        "of this name; give it: "
        "--env FILE:CLASS"
    )
    assert "mean 5.00" in reactors("eval", "other", "--env", "gone.py:Maze", "--episodes", 1).stdout
    sys.modules.pop("gone", None)


def own(space: Any) -> nn.Module:
    made: Any = nn.Linear(2, 3)
    made.features = 3
    return made


def test_a_torso_of_ones_own_is_reported_with_the_algorithm_that_it_belongs_to() -> None:
    algorithm = rl.PPO(num_envs=2, horizon=8, epochs=1, torso=own)
    done = rl.train(algorithm, "mazes:Maze", total_steps=16, out="out")
    with pytest.raises(RunFolderError) as caught:
        rl.load("out", env="mazes:Maze")
    assert str(caught.value).endswith("; give the algorithm with it: rl.load(folder, algorithm=rl.PPO(torso=own, ...))")
    assert (rl.load("out", algorithm=algorithm).weights == done.weights).all()
    assert said(reactors("eval", "out")).endswith("; give a class of yours that has torso=own: --algorithm FILE:CLASS")


# ---- interrupted ----


def interrupting(after: int) -> Callable[[Any], None]:
    """Called with rows of the journal: Ctrl-C when there have been so many."""
    import signal

    seen: list[Any] = []

    def look(rows: Any) -> None:
        before = len(seen)
        seen.extend(rows)
        if before < after <= len(seen):
            signal.raise_signal(signal.SIGINT)

    return look


def test_an_interrupted_run_says_how_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        rl.train(SMALL, "mazes:Maze", total_steps=10**6, out="out", watch=[interrupting(2)])
    assert str(caught.value) == "saved; go on with rl.train(..., resume='out')"

    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(rx, "run", stopped)
    with pytest.raises(KeyboardInterrupt) as caught:
        rl.train(SMALL, "mazes:Maze", total_steps=32)
    assert caught.value.__notes__ == [
        "nothing is saved, for rl.train was given no folder: with out= it saves when it is interrupted"
    ]
    with pytest.raises(KeyboardInterrupt) as caught:
        rl.train(SMALL, "mazes:Maze", total_steps=32, out="b")
    assert caught.value.__notes__ == ["nothing is saved: it was stopped before the first round was"]
    command = reactors("train", "ppo", "--env", "mazes:Maze", *SET, "--out", "c")
    assert command.exit_code == 130
    assert "nothing is saved: it was stopped before its first round was\ninterrupted\n" in command.stderr


# ---- Atari ----


def test_atari_is_as_in_the_paper() -> None:
    env = rl.atari("Breakout", no_ops=5)()
    obs, info = env.reset(seed=1)
    assert (obs.shape, obs.dtype) == ((4, 84, 84), np.uint8)
    assert info["episode_frame_number"] <= 5 + 4  # no-ops, and the button for one step
    rng, rewards, lives = np.random.default_rng(0), set(), []
    while True:
        _, reward, terminated, _, info = env.step(rng.integers(4))
        rewards.add(reward)
        if terminated:
            lives.append(info["lives"])
            if len(lives) == 5:
                break
            assert env.reset()[1]["lives"] == info["lives"]  # the same game
    assert rewards <= {0.0, 1.0}
    assert lives == [4, 3, 2, 1, 0]
    assert env.reset()[1]["lives"] == 5
    env.close()


def test_policies_are_evaluated_in_whole_games_by_their_own_rewards() -> None:
    game = rl.atari("Breakout")
    whole = game.evaluation()
    whole.reset(seed=1)
    rng, over, info = np.random.default_rng(0), False, dict[str, Any]()
    while not over:
        _, _, terminated, truncated, info = whole.step(rng.integers(4))
        over = terminated or truncated
    assert info["lives"] == 0
    assert str(game()).count("EpisodicLife") == str(game()).count("TransformReward") == 1
    assert str(whole).count("EpisodicLife") == str(whole).count("TransformReward") == 0
    whole.close()


def test_frames_as_the_emulator_gives_them_are_warned_of() -> None:
    """Not so its memory, from which some learn."""
    algorithm, name = rl.PPO(num_envs=1, horizon=2, epochs=1, hidden=(4,)), "ale_py:ALE/Pong-v5"
    said = r"the emulator's frames as they are, of shape \(210, 160, 3\), .* as in atari:Pong"
    with pytest.warns(rx.ReactorWarning, match=said):
        rl.train(replace(algorithm, torso="nips"), name, total_steps=2)
    rl.train(algorithm, name, env_kwargs={"obs_type": "ram"}, total_steps=2)


def test_options_of_atari_are_in_the_folder() -> None:
    algorithm = rl.PPO(num_envs=2, horizon=2, epochs=1, torso="nips")
    options = {"stack": 1, "screen_size": 20, "difficulty": 0}
    done = rl.train(algorithm, "atari:Pong", total_steps=4, env_kwargs=options, out="out", workers=2, backend="process")
    assert (done.config["env"], done.config["env_kwargs"]) == ("atari:Pong", options)
    found: Any = rl.load("out").make
    assert found == rl.atari("Pong", stack=1, screen_size=20, settings={"difficulty": 0})
    assert rl.BatchedEnv("atari:Pong", num_envs=2, stack=2).observation.shape == (2, 2, 84, 84)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stack": 0}, "stack of rl.atari is 0; write a whole number, 1 or more"),
        ({"no_ops": -1}, "no_ops of rl.atari is -1; write a whole number, 0 or more"),
        ({"sticky": 2}, "sticky of rl.atari is 2; write a probability, from 0 to 1"),
    ],
)
def test_options_of_atari_that_make_no_sense(options: Any, message: str) -> None:
    with pytest.raises(rx.ParameterError) as caught:
        rl.atari("Pong", **options)
    assert str(caught.value) == message


def test_atari_says_which_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(
        rx.ParameterError,
        match=r"need the package opencv-python-headless .*; pip install ale-py opencv-python-headless$",
    ):
        rl.atari("Pong")


@pytest.mark.filterwarnings("ignore:.*the emulator's frames as they are")
def test_a_module_registers_its_games_and_pictures_have_a_torso() -> None:
    algorithm = rl.A2C(num_envs=1, horizon=2, torso="nips")
    done = rl.train(algorithm, "ale_py:ALE/Pong-v5", total_steps=2, out="out")
    assert done.config["env"] == "ale_py:ALE/Pong-v5"
    assert (rl.load("out").weights == done.weights).all()


# ---- many agents ----


@pytest.mark.parametrize(
    "name",
    ["mpe2/simple_spread_v3", "mpe2:simple_spread_v3", "mpe2.simple_spread_v3", "mpe2.simple_spread_v3:parallel_env"],
)
def test_a_package_of_parallel_environments_is_named_in_any_of_its_ways(name: str) -> None:
    assert [*rl.MultiAgentEnv(name, max_cycles=3).agents] == ["agent_0", "agent_1", "agent_2"]


@pytest.mark.parametrize(
    "name", ["classic/rps_v2", "pettingzoo:classic/rps_v2", "pettingzoo.classic.rps_v2", "pettingzoo/classic/rps_v2"]
)
def test_so_are_those_of_pettingzoo(name: str) -> None:
    assert [*rl.MultiAgentEnv(name).agents] == ["player_0", "player_1"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "mpe2/simple_spred_v3",
            "mpe2 has no environment 'simple_spred_v3'; did you mean 'simple_spread_v3'?",
        ),
        (
            "simple_spread_v3",
            "PettingZoo has no environment 'simple_spread_v3'; did you mean 'mpe2:simple_spread_v3'?",
        ),
        (
            "simple_spred_v3",
            "PettingZoo has no environment 'simple_spred_v3'; did you mean 'mpe2:simple_spread_v3'?",
        ),
        (
            "rps_v3",
            "PettingZoo has no environment 'rps_v3'; did you mean 'classic/rps-v2'?",
        ),
        (
            "mpe3/simple_spread_v3",
            (
                "PettingZoo has no environment 'mpe3/simple_spread_v3'; Python finds no module 'mpe3'; did "
                "you mean 'mpe2'?"
            ),
        ),
        (
            "pettingzoo.classic.rps_v7",
            "pettingzoo.classic has no environment 'rps_v7'; did you mean 'rps_v2'?",
        ),
        ("mazes:Mace", "mazes has no environment 'Mace'; did you mean 'Maze'?"),
        (
            "broken:simple_v3",
            (
                "the environment 'broken:simple_v3' cannot be looked up: importing broken raised "
                "ModuleNotFoundError: No "
                "module named 'no_such_thing' (broken.py:2)"
            ),
        ),
    ],
)
def test_a_wrong_name_of_many_agents_is_reported_with_the_nearest(name: str, message: str) -> None:
    with pytest.raises(rx.ParameterError) as caught:
        rl.MultiAgentEnv(name)
    assert str(caught.value).startswith(f"MultiAgentEnv: {message}")


def test_whole_games_of_atari_get_the_button_for_each_life() -> None:
    """A policy that was trained on lives never presses it, and without that there is no next ball."""
    env = rl.atari("Breakout", screen_size=8).evaluation()
    env.reset(seed=1)
    lives, over = [], False
    while not over and len(lives) < 600:
        over, _, info = env.step(3)[2:]  # to the left
        lives.append(info["lives"])
    env.close()
    assert over
    assert sorted({*lives}) == [0, 1, 2, 3, 4, 5]
