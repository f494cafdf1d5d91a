"""`reactors train`, as a user at a terminal meets it."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pytest

import reactors as rx
from reactors import rl
from reactors.command.cli import main
from reactors.rl.errors import RunFolderError
from reactors.rl.monitoring.journal_file import JournalFile, Tail, read
from reactors.rl.runs.interruption import Interruption
from reactors.rl.runs.live import JournalWatch, Lines, LiveTable
from reactors.rl.runs.run_folder import RunFolder, write_json
from reactors.rl.runs.settings import algorithm_named, algorithms
from tests.command.typed import SMALL, reactors

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("fonts", "elsewhere")
PNG = b"\x89PNG\r\n\x1a\n"


# ---- train ----


def test_train_says_at_the_end_what_each_group_got() -> None:
    groups = '{"chasers": ["adversary_*"], "fleeing": ["agent_*"]}'
    done = reactors(
        "train", "IPPO", "--env", "mpe2:simple_tag_v3", *SMALL, "--set", "horizon=25", "--set", f"groups={groups}"
    )
    assert done.exit_code == 0, done.output
    returns = RunFolder(Path("runs/ippo-simple_tag_v3-0-1")).result["returns"]
    assert {*returns} == {"chasers", "fleeing"}
    assert f"(chasers {returns['chasers']:.1f}, fleeing {returns['fleeing']:.1f})" in done.output


def test_train_leaves_a_folder() -> None:
    done = reactors("train", "PPO", "--env", "CartPole-v1", *SMALL, "--checkpoint-every", 4, "--eval-every", 5)
    assert done.exit_code == 0, done.output
    out = Path("runs/ppo-CartPole-v1-0-1")
    assert f"all of it is in {out}" in done.stdout
    names = {path.name for path in out.iterdir()}
    assert names - {"graph.svg", "graph.mmd"} == {
        "config.json", "journal.csv", "curve.png", "report.html", "result.json", "weights.safetensors", "checkpoints"
    }  # fmt: skip
    assert "actors" in next(out.glob("graph.*")).read_text()
    assert (out / "curve.png").read_bytes().startswith(PNG)
    result = json.loads((out / "result.json").read_text())
    assert result["state"] == "finished"
    assert result["steps"] == 640
    assert set(result["versions"]) == {"reactors", "torch", "numpy", "gymnasium"}
    rows = read(out / "journal.csv")
    assert len(rows) == 10
    assert {"losses/policy_loss", "eval/mean_return", "time/play", "time/learn", "charts/weight_age"} <= set(rows[0])
    assert {row["charts/weight_age"] for row in rows} == {1.0}
    assert "steps 640 of 640" in done.stderr
    again = reactors("train", "ppo", "--env", "CartPole-v1", *SMALL, "--json")
    written = json.loads(again.stdout.splitlines()[-1])
    assert written["out"] == "runs/ppo-CartPole-v1-0-2"
    assert written["weights"] == result["weights"]


def test_train_goes_on(tmp_path: Path) -> None:
    options = ("--mode", "pipelined", "--seed", 4, "--set", "anneal=no")
    whole = reactors("train", "ppo", "--env", "CartPole-v1", *SMALL, *options, "--out", "a", "--json")
    short = reactors("train", "ppo", "--env", "CartPole-v1", *SMALL[:-1], 320, *options, "--out", "b")
    assert short.exit_code == 0, short.output
    more = reactors("train", "--resume", "b", "--total-steps", 640, "--json")
    assert more.exit_code == 0, more.output
    assert json.loads(more.stdout)["weights"] == json.loads(whole.stdout)["weights"]
    assert len(read(tmp_path / "b" / "journal.csv")) == 10
    refused = reactors("train", "--resume", "b", "--total-steps", 700, "--seed", 5)
    assert refused.exit_code == 2
    assert "--resume: seed was 4 and cannot be 5" in refused.stderr


def test_train_takes_a_file_and_the_command_line_comes_first() -> None:
    Path("run.toml").write_text(
        'algorithm = "ppo"\nenv = "CartPole-v1"\ntotal_steps = 320\nseed = 9\n'
        "[hyperparameters]\nnum_envs = 4\nhorizon = 16\nepochs = 1\nhidden = [8, 8]\n"
        "[env_kwargs]\nsutton_barto_reward = true\n"
    )
    done = reactors("train", "--config", "run.toml", "--seed", 2, "--set", "epochs=2", "--out", "out")
    assert done.exit_code == 0, done.output
    config = json.loads(Path("out/config.json").read_text())
    assert (config["seed"], config["hyperparameters"]["epochs"], config["hyperparameters"]["hidden"]) == (2, 2, [8, 8])
    assert config["env_kwargs"] == {"sutton_barto_reward": True}


def test_arguments_of_the_environment_are_given_on_the_command_line() -> None:
    given = ["--env-kwargs", "sutton_barto_reward=true", "--env-kwargs", "render_mode=rgb_array"]
    done = reactors(
        "train",
        "ppo",
        "--env",
        "CartPole-v1",
        "--no-preset",
        "--total-steps",
        64,
        "--out",
        "out",
        "--set",
        "num_envs=2",
        "--set",
        "horizon=32",
        "--set",
        "epochs=1",
        *given,
    )
    assert done.exit_code == 0, done.output
    kept = json.loads(Path("out/config.json").read_text())["env_kwargs"]
    assert kept == {"sutton_barto_reward": True, "render_mode": "rgb_array"}
    refused = reactors("train", "ppo", "--env", "CartPole-v1", "--env-kwargs", "length")
    assert refused.exit_code == 2
    assert "write KEY=VALUE, as in difficulty=2" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["pp0", "--env", "CartPole-v1"], "there is no algorithm 'pp0'; did you mean 'ppo'?"),
        (["ppo", "--env", "CartPol-v1"], "there is no environment 'CartPol-v1'; did you mean 'CartPole-v1'?"),
        (["ppo"], "--env is missing"),
        ([], "the name of an algorithm is missing"),
        (
            ["ppo", "--env", "CartPole-v1", "--set", "epoch=3"],
            "PPO has no hyperparameter 'epoch'; did you mean 'epochs'?",
        ),
        (
            ["ppo", "--env", "CartPole-v1", "--set", "n_steps=3"],
            "--set: PPO has no hyperparameter 'n_steps': it is horizon here",
        ),
        (
            ["ppo", "--env", "CartPole-v1", "--n-steps", "3"],
            "there is no option --n-steps: write --set horizon=...",
        ),
        (
            ["ppo", "--env", "CartPole-v1", "--total-timesteps", "3"],
            "there is no option --total-timesteps: it is --total-steps here",
        ),
        (
            ["ppo", "--env", "CartPole-v1", "--wrokers", "3"],
            "there is no option --wrokers; did you mean '--workers'?",
        ),
        (
            ["dqn", "--config", "elsewhere.toml"],
            "--config: there is no option 'buffer_size': write capacity = ... below [hyperparameters]",
        ),
        (["ppo", "--env", "CartPole-v1", "--set", "epochs=few"], "epochs is 'few', but PPO takes a whole number there"),
        (["ppo", "--env", "CartPole-v1", "--set", "epochs"], "write KEY=VALUE"),
        (
            ["ppo", "--env", "CartPole-v1", "--set", "total_steps=3"],
            "'total_steps': write --total-steps",
        ),
        (["ppo", "--env", "CartPole-v1", "--set", "epochs=0"], "epochs of PPO is 0"),
        (["ppo", "--env", "CartPole-v1", "--lag", "3"], "--lag is 3, but --mode sync is a lag of 1"),
        (["ppo", "--env", "CartPole-v1", "--double-buffer"], "write --inference central, too"),
        (["ppo", "--env", "CartPole-v1", "--opponents", "past"], "for a single one; leave them out, or take ippo"),
        (["ppo", "--env", "CartPole-v1", "--device", "abacus"], "--device is 'abacus'"),
        (
            ["ppo", "--env", "CartPole-v1", "--mode", "async"],
            'write "sync", where playing and learning take turns, or, asynchronous, "pipelined", which is the same',
        ),
        (["dqn", "--env", "Pendulum-v1"], "DQN takes discrete actions"),
        (["ppo", "--env", "FrozenLake-v1"], "PPO takes observations of a Box"),
        (["dqn", "--env", "CartPole-v1", "--set", "capacity=10"], "batch_size of DQN is 64, but its memory keeps 10"),
        (["--config", "odd.toml"], "there is no option 'wrokers'; did you mean 'workers'?"),
    ],
)
def test_train_refuses_what_makes_no_sense(arguments: list[str], said: str) -> None:
    Path("odd.toml").write_text("wrokers = 3\n")
    Path("elsewhere.toml").write_text("buffer_size = 3\n")
    done = reactors("train", *arguments)
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert not list(Path().glob("runs/*"))


@pytest.mark.parametrize("out", ["../kept", "."])
def test_an_empty_folder_of_the_users_stays_where_training_is_refused(
    out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    monkeypatch.chdir(kept)
    done = reactors("train", "ppo", "--env", "CartPol-v1", "--out", out)
    assert done.exit_code == 2
    assert "there is no environment 'CartPol-v1'" in done.stderr
    assert kept.is_dir()


def test_a_hyperparameter_is_said_as_one_sets_it() -> None:
    done = reactors("tune", "dqn", "--env", "CartPole-v1", "--fanouts", 4)
    assert done.exit_code == 2
    assert "--fanouts are of the tree of priorities, and DQN has none; write --set prioritized=True\n" in done.stderr


def test_train_refuses_more_memory_than_there_is() -> None:
    huge = ("--set", "capacity=1000000000000", "--set", "batch_size=100000000000")
    done = reactors("train", "dqn", "--env", "CartPole-v1", *huge)
    assert done.exit_code == 1
    assert "more than" in done.stderr or "GiB" in done.stderr
    assert "Traceback" not in done.stderr


FALLS = """
import gymnasium as gym
import numpy as np

class Falls(gym.Env):
    observation_space, action_space = gym.spaces.Box(-1, 1, (2,), np.float32), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.n = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.n += 1
        self.look()
        return np.zeros(2, np.float32), 0.0, False, False, {}

    def look(self):
        assert self.n < 10

class Raises(Falls):
    def look(self):
        if self.n == 10:
            raise ValueError("it fell: seed=3")

class Never(Falls):
    def __init__(self):
        assert False
"""


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("kind", "line", "said"),
    [
        ("Falls", 18, "raised in step: AssertionError (falls.py:18): assert self.n < 10"),
        ("Raises", 23, "raised in step: ValueError: it fell: seed=3"),
    ],
)
def test_an_environments_error_is_shown_by_its_own_lines(kind: str, line: int, said: str, workers: int) -> None:
    Path("falls.py").write_text(FALLS)
    words = [sys.executable, "-m", "reactors", "train", "ppo", "--env", f"falls.py:{kind}", *SMALL]
    done = subprocess.run([*words, "--workers", str(workers)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    shown = done.stderr[done.stderr.index("Traceback") :].splitlines()
    assert shown[1].endswith('falls.py", line 14, in step')
    assert f'falls.py", line {line}, in look' in done.stderr
    assert [file for file in shown if file.startswith("  File ") and "falls.py" not in file] == []
    (error,) = [each for each in shown if each.startswith("error: ")]
    whose = "|".join(map(str, range(workers)))  # who comes to it first
    assert re.search(rf"main\.actors\[({whose})\]: environment [0-9]+ \(seed [0-9]+, episode 0, step 10\)", error)
    assert error.endswith(f"{said}; fix it, or restart it with --on-error restart")
    assert done.stderr.count(said) <= workers  # once for each that came to it


def test_an_environment_that_cannot_be_made_has_its_line() -> None:
    Path("falls.py").write_text(FALLS)
    done = reactors("train", "ppo", "--env", "falls.py:Never", *SMALL)
    assert done.exit_code == 2
    assert "cannot be made here to find its spaces (AssertionError (falls.py:27): assert False); fix it" in done.stderr


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (640, "640 steps in "),
        (700, "640 steps (700 in whole rounds of 64) in "),
        (20, "64 steps (20 in whole rounds of 64) in "),
    ],
)
def test_train_says_what_whole_rounds_come_to(asked: int, said: str) -> None:
    done = reactors("train", "ppo", "--env", "CartPole-v1", *SMALL[:-1], asked)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(said)
    steps = said.partition(" ")[0]
    assert f"steps {steps} of {steps}  time" in done.stderr


def test_train_says_when_the_policy_was_evaluated() -> None:
    done = reactors("train", "ppo", "--env", "CartPole-v1", *SMALL, "--eval-every", 4, "--out", "out")
    assert done.exit_code == 0, done.output
    result = json.loads(Path("out/result.json").read_text())
    last = [row for row in read(Path("out/journal.csv")) if "eval/mean_return" in row][-1]
    assert (result["evaluation"], result["evaluated_at"]) == (last["eval/mean_return"], last["global_step"])
    assert last["global_step"] < 640
    figure = f"{last['eval/mean_return']:.1f} at step {last['global_step']:,.0f}"
    assert f", of greedy ones {figure}\n" in done.stdout
    assert f"  greedy {figure}  " in done.stderr.splitlines()[-1]
    going = reactors("train", "--resume", "out", "--total-steps", 740, "--eval-every", 100)
    assert f", of greedy ones {figure}\n" in going.stdout


def test_a_run_that_is_there_is_gone_on_with_by_an_option(run: Path) -> None:
    done = reactors("train", "ppo", "--env", "CartPole-v1", *SMALL, "--out", run)
    assert done.exit_code == 1
    assert "is the folder of a run already; go on with --resume, or give another folder" in done.stderr
    said = "has no values.rxj; reactors train --journal-values writes one"
    assert said in reactors("diff", run, run).stderr.replace("\n", " ")


def test_train_says_what_is_damaged() -> None:
    reactors("train", "ppo", "--env", "CartPole-v1", *SMALL, "--out", "a")
    path = next(Path("a/checkpoints").iterdir()) / "state.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    done = reactors("train", "--resume", "a", "--total-steps", 900)
    assert done.exit_code == 1
    assert "is damaged: state.safetensors: it is cut off" in done.stderr


@pytest.mark.parametrize(("option", "package"), [("--video", "moviepy"), ("--tensorboard", "tensorboard")])
def test_train_says_which_package_is_missing(option: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not there
    done = reactors("train", "ppo", "--env", "CartPole-v1", *SMALL, option)
    assert done.exit_code == 2
    assert f"pip install {package}" in done.stderr


@pytest.mark.parametrize("package", ["gymnasium", "torch"])
@pytest.mark.parametrize("words", [("train", "ppo", "--env", "CartPole-v1"), ("eval", "."), ("compare", ".")])
def test_without_the_extra_a_line_says_what_to_install(package: str, words: tuple[str, ...]) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; from reactors.command.cli import main; main({list(words)})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = (
        f"error: the package {package} is missing; install reactors with its extra rl, in a clone pip install '.[rl]'"
    )
    assert (done.returncode, done.stderr.splitlines()) == (1, [said])


def test_presets_are_listed() -> None:
    assert reactors("presets", "td3").stdout.splitlines()[0] == "TD3"
    assert "  CartPole-v1  " in reactors("presets").stdout
    assert "'pqo' has no presets; did you mean 'ppo'?" in reactors("presets", "pqo").stderr


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_save_and_the_run_goes_on(end: int) -> None:
    command = [sys.executable, "-m", "reactors", "train", "ppo", "--env", "CartPole-v1", *SMALL, "--workers", "2"]
    process = subprocess.Popen(
        [*command, "--total-steps", "10000000", "--out", "a"], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    with process:
        journal = Path("a/journal.csv")
        while not (journal.exists() and len(journal.read_text().splitlines()) > 3):
            assert process.poll() is None
            time.sleep(0.05)
        os.killpg(process.pid, end)  # as a terminal, or `timeout`, does it
        assert process.wait(60) == 130
        assert process.stderr is not None
        said = process.stderr.read()
    assert "saved; go on with: reactors train --resume a" in said
    assert "Traceback" not in said
    steps = int(read(Path("a/journal.csv"))[-1]["global_step"])
    assert [int(path.name) for path in Path("a/checkpoints").iterdir()] == [steps]
    more = reactors("train", "--resume", "a", "--total-steps", steps + 128, "--workers", 1)
    assert more.exit_code == 0, more.output


CART = """
from gymnasium.envs.classic_control import CartPoleEnv

class Cart(CartPoleEnv):
    pass
"""
OWN_CONFIG = """
algorithm = "own.py:Careful"
env = "cart.py:Cart"
total_steps = 128
[hyperparameters]
num_envs = 4
horizon = 16
epochs = 1
hidden = [8]
"""


def test_what_is_said_after_ctrl_c_goes_on_with_what_a_file_asked_for(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("cart.py").write_text(CART)
    Path("run.toml").write_text(OWN_CONFIG)
    train = rl.train

    def interrupted(*given: Any, **options: Any) -> None:
        train(*given, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("reactors.rl.runs.train.train", interrupted)
        done = reactors("train", "--config", "run.toml", "--out", "my run")
    assert done.exit_code == 130
    command = re.search("go on with: reactors (.*)", done.stderr)
    assert command is not None
    assert command[1] == "train own.py:Careful --env cart.py:Cart --resume 'my run'"
    forget(own)
    refused = reactors("train", "--resume", "my run", "--total-steps", 256)
    assert refused.exit_code == 1
    assert "give it: reactors train FILE:CLASS --resume ...\n" in refused.stderr
    assert "give it: --algorithm FILE:CLASS\n" in reactors("eval", "my run").stderr
    again = reactors(*shlex.split(command[1]), "--total-steps", 256)
    assert again.exit_code == 0, again.output


OWN = """
from dataclasses import dataclass
from pathlib import Path
from reactors import rl

Path("imported").touch()

@dataclass(frozen=True, kw_only=True)
class Careful(rl.PPO):
    clip: float = 0.05

rl.train(Careful(), "CartPole-v1")  # who wants the class does not want this
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file that says when it is imported."""
    file = tmp_path / "own.py"
    file.write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield file
    forget(file)


def forget(file: Path) -> None:
    """As in another process, which has not imported it."""
    sys.modules.pop(file.stem, None)
    Path("imported").unlink(missing_ok=True)


def test_an_algorithm_of_ones_own_is_imported_where_it_is_named(own: Path) -> None:
    named = f"{own}:Careful"
    done = reactors("train", named, "--env", "CartPole-v1", *SMALL, "--out", "out", "--workers", 2)
    assert done.exit_code == 0, done.output
    assert Path("imported").exists()
    assert rl.load("out").algorithm.clip == 0.05  # type: ignore[attr-defined]  # it is imported already
    forget(own)
    assert reactors("eval", "out", "--episodes", 2, "--algorithm", named).exit_code == 0
    forget(own)
    again = reactors("train", named, "--resume", "out", "--total-steps", 1280)
    assert again.exit_code == 0, again.output
    kind: Any = algorithm_named(named)
    forget(own)
    given = kind.preset("CartPole-v1", num_envs=4, horizon=16, epochs=1, hidden=(8,))
    assert rl.load("out", algorithm=kind).algorithm == given.scheduled(1280)
    assert "own.py has no algorithm 'Carefull'; did you mean 'Careful'?" in reactors(
        "train", f"{own}:Carefull", "--env", "CartPole-v1"
    ).output.replace("\n", " ")
    own.unlink()
    forget(own)
    assert "there is no file" in reactors("eval", "out", "--algorithm", named).output


@pytest.mark.parametrize("what", ["algorithm_file", "algorithm", "env"])
def test_what_a_folder_names_is_not_imported(what: str, own: Path) -> None:
    assert reactors("train", "ppo", "--env", "CartPole-v1", *SMALL, "--out", "out").exit_code == 0
    config = RunFolder("out").config
    write_json(
        Path("out/config.json"),
        {**config, what: {"env": "own:Own-v0", "algorithm": f"{own}:Careful"}.get(what, str(own))},
    )
    for command in (["eval", "out"], ["play", "out", "--video", "v"], ["train", "--resume", "out"], ["compare", "out"]):
        written = reactors(*command, *(["--total-steps", 1280] if "--resume" in command else []))
        assert (written.exit_code == 0) == (command[0] == "compare"), written.output
        assert not Path("imported").exists()
    for use in (rl.load, rl.serve):
        with pytest.raises(rx.ReactorError, match=r"give it: rl\.load\(folder, "):
            use("out")
    assert not Path("imported").exists()


def test_what_is_to_be_given_again_is_reported_with_the_folder(own: Path) -> None:
    def written(**changes: Any) -> str:
        write_json(Path("out/config.json"), {**config, **changes})
        with pytest.raises(RunFolderError) as caught:
            rl.load("out")
        return str(caught.value)

    assert reactors("train", "ppo", "--env", "CartPole-v1", *SMALL, "--out", "out").exit_code == 0
    config = RunFolder("out").config
    assert written(algorithm="Careful", algorithm_file=str(own)) == (
        f"out: its algorithm cannot be made: Careful is in {own}, which is not imported, and reading a folder imports "
        "nothing; give it: rl.load(folder, algorithm=...)"
    )
    torso = written(hyperparameters={**config["hyperparameters"], "torso": "own:torso"})
    assert torso.startswith("out: its policy cannot be made: there is no torso 'own:torso'; there are nips, ")
    assert torso.endswith("; give the algorithm with it: rl.load(folder, algorithm=rl.PPO(torso=torso, ...))")


@pytest.mark.parametrize("file", ["config.json", "weights.safetensors"])
def test_no_byte_of_a_run_changes_without_notice(file: str) -> None:
    algorithm = rl.A2C(num_envs=1, horizon=2, hidden=(1,))
    path = rl.train(algorithm, "CartPole-v1", total_steps=2).save("out") / file
    content = path.read_bytes()
    harmed = [content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :] for at in range(len(content))]
    for each in [*harmed, *(content[:at] for at in range(0, len(content), 97)), content + b" ", content + content]:
        path.write_bytes(each)
        with pytest.raises(RunFolderError, match=file):
            RunFolder("out").weights if file != "config.json" else RunFolder("out").config
    path.write_bytes(content)
    assert rl.load("out").evaluate(1) > 0


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from reactors.command.cli import main\n"
        "for command in ([], ['train'], ['eval'], ['play'], ['compare']):\n"
        "    assert CliRunner().invoke(main, [*command, '--help']).exit_code == 0\n"
        "sys.exit(' '.join({'torch', 'gymnasium', 'matplotlib', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""


def test_algorithms_are_what_the_package_exports() -> None:
    assert {"dqn", "ppo"} <= set(algorithms())
    assert all(getattr(rl, kind.__name__) is kind for kind in algorithms().values())


# ---- what is seen meanwhile ----


@pytest.fixture
def gone() -> Iterator[TextIO]:
    """A pipe whose reader has gone."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        yield stream


@pytest.mark.parametrize("kind", [Lines, LiveTable])
def test_progress_that_nobody_reads_is_lost(kind: Any, gone: TextIO) -> None:
    if kind is LiveTable:
        pytest.importorskip("rich")
    with Lines(1000, gone) if kind is Lines else kind("PPO", 1000, gone) as shown:
        shown(ROWS)
        shown(ROWS[1:])


def test_ctrl_c_saves_though_nobody_reads_that_it_does(
    gone: TextIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", gone)
    with Interruption(tmp_path / "stop") as interruption:
        signal.raise_signal(signal.SIGINT)
    assert interruption.asked
    assert interruption.file is not None
    assert interruption.file.exists()


def test_a_training_ends_well_though_nobody_reads_what_it_says(gone: TextIO, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, gone)
    with pytest.raises(SystemExit) as ended:
        main(["train", "ppo", "--env", "CartPole-v1", *SMALL, "--out", "out"])
    assert ended.value.code == 0
    assert RunFolder("out").result["state"] == "finished"


def test_ctrl_c_saves_where_it_ends_the_reader_too() -> None:
    command = [sys.executable, "-m", "reactors", "train", "ppo", "--env", "CartPole-v1", *SMALL, "--out", "out"]
    process = subprocess.Popen(
        [*command, "--total-steps", "10000000"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    with process:
        assert process.stdout is not None
        while "steps" not in process.stdout.readline():
            assert process.poll() is None
        process.stdout.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert RunFolder("out").result["state"] == "interrupted"
    assert len([*Path("out/checkpoints").iterdir()]) == 1


def test_a_journal_that_cannot_be_read_any_more_is_shown_no_more(tmp_path: Path) -> None:
    file, seen = JournalFile(tmp_path / "journal.csv"), []
    watch = JournalWatch(file.path, [seen.extend])
    file.add(ROWS[0])
    watch()
    with file.path.open("a") as harmed:
        harmed.write("what is this\n")
    with pytest.warns(rx.ReactorWarning, match=r"journal\.csv cannot be read \(.*\): no more of it is shown"):
        watch()
    file.close()
    watch.close()
    assert seen == ROWS[:1]


class Scalars:
    def __init__(self) -> None:
        self.written: list[tuple[str, float, int]] = []

    def add_scalar(self, name: str, value: float, step: int) -> None:
        self.written.append((name, value, step))


@pytest.mark.parametrize("out", [None, "out"])
def test_scalars_are_reported_once_and_in_order(out: str | None) -> None:
    writer = Scalars()
    small = rl.PPO(num_envs=4, horizon=16, epochs=1, hidden=(8,))
    done = rl.train(small, "CartPole-v1", total_steps=320, tensorboard=writer, out=out)
    expected = [(name, value, row["global_step"]) for row in done.journal for name, value in row.items() if "/" in name]
    assert sorted(writer.written) == sorted(expected)
    assert [step for _, _, step in writer.written] == sorted(step for _, _, step in writer.written)
    assert any(name == "charts/episodic_return" for name, _, _ in writer.written)


ROWS = [
    {"global_step": 64, "seconds": 1.0, "charts/SPS": 64.0, "losses/td_loss": 0.5},
    {"global_step": 128, "seconds": 2.0, "charts/SPS": 64.0, "charts/episodic_return": 21.0, "charts/weight_age": 2.0},
]


def test_lines_have_no_colours(capsys: pytest.CaptureFixture[str]) -> None:
    with Lines(1000, every=0.0) as lines:
        lines(ROWS[:1])
        lines(ROWS[1:])
    first, last = capsys.readouterr().err.splitlines()
    assert first == "steps 64 of 1,000  time 1.0 s  steps/s 64  td_loss 0.5"
    assert last == "steps 128 of 1,000  time 2.0 s  steps/s 64  return 21.0  td_loss 0.5  weights 2.0 rounds old"


def test_lines_have_what_each_group_got(capsys: pytest.CaptureFixture[str]) -> None:
    returns = {"charts/episodic_return": 0.0, "groups/a/episodic_return": 2.0, "groups/b/episodic_return": -2.0}
    with Lines(1000, every=0.0) as lines:
        lines(
            [{"global_step": 64, "seconds": 1.0, **returns, "eval/mean_return": 0.0, "eval/groups/a/mean_return": 3.0}]
        )
    assert capsys.readouterr().err.endswith("return 0.0  greedy 0.0  a 2.0, greedy 3.0  b -2.0\n")


def test_the_table_honours_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    drawn = {}
    for no_color in ("", "1"):
        monkeypatch.setenv("NO_COLOR", no_color)
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm-256color")
        with LiveTable("PPO in CartPole-v1", 1000, out := io.StringIO()) as table:
            table(ROWS)
        drawn[no_color] = out.getvalue()
    assert "128 of 1,000" in drawn["1"]
    assert "\x1b[3" not in drawn["1"].replace("\x1b[3m", "")  # no colours
    assert "weights" in drawn[""]


def test_a_tail_sees_every_row_once(tmp_path: Path) -> None:
    path = tmp_path / "journal.csv"
    tail, rows = Tail(path), []
    assert tail.new() == []
    file = JournalFile(path)
    found = []
    for i in range(6):
        rows.append({"global_step": i, **({"late": 0.5} if i > 2 else {})})
        file.add(rows[-1])
        if i % 2:
            found += tail.new()
    with path.open("a") as half:
        half.write("6")  # a row that is being written
    found += tail.new()
    file.close()
    tail.close()
    assert found == rows


SMALL_PPO = rl.PPO(num_envs=4, horizon=16, epochs=1, hidden=(8,))


def test_a_training_ends_well_though_its_curve_cannot_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise ValueError("not a font")

    monkeypatch.setattr("reactors.rl.runs.curves.curve", refused)
    with pytest.warns(rx.ReactorWarning, match=r"the curve of out cannot be drawn \(not a font\)"):
        rl.train(SMALL_PPO, "CartPole-v1", total_steps=64, out="out")
    assert RunFolder("out").result["state"] == "finished"


def test_a_journal_that_is_harmed_does_not_hide_what_has_failed() -> None:
    def fail(_: object) -> None:
        with Path("out/journal.csv").open("a") as harmed:
            harmed.write("what is this\n")
        raise ArithmeticError("too much")

    with (
        pytest.raises(ArithmeticError, match="too much") as caught,
        pytest.warns(rx.ReactorWarning, match="no more of it is shown"),
    ):
        rl.train(SMALL_PPO, "CartPole-v1", total_steps=640, out="out", watch=[fail])
    assert "the curve of out cannot be drawn (out/journal.csv is damaged in line" in caught.value.__notes__[-1]
    assert RunFolder("out").result["error"] == "ArithmeticError: too much"


def test_python_and_the_command_give_the_same() -> None:
    small = rl.PPO.preset("CartPole-v1", num_envs=4, horizon=16, epochs=1, hidden=(8,))
    done = rl.train(small, "CartPole-v1", total_steps=640, out="python")
    reactors("train", "ppo", "--env", "CartPole-v1", *SMALL, "--out", "command")
    assert json.loads(Path("command/result.json").read_text())["digest"] == done.digest


def test_files_without_a_folder_are_refused() -> None:
    options: dict[str, Any] = {"checkpoint_every": 2}
    with pytest.raises(rx.ReactorError, match="is given no folder; say out="):
        rl.train(rl.PPO(), "CartPole-v1", **options)
