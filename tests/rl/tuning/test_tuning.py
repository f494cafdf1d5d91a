"""`reactors tune` measures, computes and measures again; what it finds is a training that runs."""

from __future__ import annotations

import gc
import json
import re
import signal
import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import pytest
from click.testing import CliRunner, Result

from reactors import rl
from reactors.command.cli import main
from reactors.command.toml import document
from reactors.errors import ArgumentError
from reactors.rl.runs.run_folder import RunFolder
from reactors.rl.tuning.candidates import Candidate, best, candidates, shortlist
from reactors.testing import nothing_left

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALL = ("--set", "num_envs=2", "--set", "horizon=4", "--set", "hidden=8", "--seconds", 0.01)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(RunFolder, "draw", lambda *_: None)
    monkeypatch.setattr("reactors.rl.runs.curves.curve", lambda *_: None)
    yield
    gc.collect()  # of a program, its replay buffer


def reactors(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


# ---- the choice ----

ACTING, LEARNING = {1: 1000.0, 2: 2000.0, 4: 4000.0}, {1: 1500.0, 2: 2500.0}


def ways(found: list[Candidate]) -> list[tuple[str, int, int, int, int]]:
    return [(each.mode, each.workers, each.actors, each.learners, round(each.predicted)) for each in found]


def test_the_slower_of_actors_and_learners_sets_the_pace_and_in_turns_their_times_add_up() -> None:
    assert ways(candidates(ACTING, LEARNING, 1.0, 4)) == [
        ("pipelined", 4, 2, 2, 2000),
        ("sync", 4, 4, 2, 1538),
        ("pipelined", 3, 2, 1, 1500),
        ("sync", 2, 2, 2, 1111),
        ("sync", 4, 4, 1, 1091),
        ("pipelined", 2, 1, 1, 1000),
        ("pipelined", 3, 1, 2, 1000),
        ("sync", 2, 2, 1, 857),
        ("sync", 1, 1, 1, 600),
    ]


def test_the_ratio_says_how_many_learners_are_worth_it() -> None:
    assert ways(candidates(ACTING, LEARNING, 0.25, 4, "free"))[0] == ("free", 3, 2, 1, 2000)
    assert ways(candidates(ACTING, LEARNING, 2.0, 4, "free"))[0] == ("free", 4, 2, 2, 1250)


@pytest.mark.parametrize("cores", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("mode", [None, "sync", "pipelined", "free"])
def test_there_is_always_a_candidate_and_none_has_more_workers_than_cores(cores: int, mode: Any) -> None:
    found = candidates({n: r for n, r in ACTING.items() if n <= cores}, {1: 1500.0}, 1.0, cores, mode)
    assert found
    assert all(each.workers <= cores and (mode is None or each.mode == mode) for each in found)
    assert [each.predicted for each in found] == sorted((each.predicted for each in found), reverse=True)
    assert any(each.workers == 1 for each in found)


def test_the_few_that_are_measured_are_the_best_and_one_of_each_mode() -> None:
    found = candidates(ACTING, LEARNING, 1.0, 4)
    assert shortlist(found, 1) == found[:1]
    found = candidates({1: 10.0, 2: 20.0, 3: 30.0}, {1: 1e9}, 1.0, 4, "pipelined")
    assert shortlist(found, 2) == found[:2]
    slow = [Candidate("pipelined", w, w - 1, 1, 900.0 - w) for w in (2, 3, 4)] + [Candidate("sync", 1, 1, 1, 1.0)]
    assert shortlist(slow, 2) == [slow[0], slow[3]]
    assert shortlist(slow, 9) == slow


def test_of_what_is_hardly_slower_the_simplest_is_taken() -> None:
    pipelined, sync, small = (
        Candidate("pipelined", 2, 1, 1, 9.0),
        Candidate("sync", 2, 2, 1, 8.0),
        Candidate("sync", 1, 1, 1, 7.0),
    )
    assert best([(pipelined, 100.0), (sync, 99.0), (small, 60.0)])[0] is sync
    assert best([(pipelined, 100.0), (sync, 90.0), (small, 96.0)])[0] is small
    assert best([(pipelined, 100.0), (sync, 90.0), (small, 60.0)]) == (pipelined, 100.0)


# ---- the measurements ----


class Counted(gym.Wrapper[Any, Any, Any, Any]):
    closed = 0

    def close(self) -> None:
        Counted.closed += 1
        super().close()


def counted() -> Counted:
    return Counted(gym.make("Pendulum-v1"))


@pytest.mark.parametrize("cores", [1, 2])
def test_tune_measures_all_that_can_be_and_says_what_to_train_with(cores: int) -> None:
    algorithm = rl.SAC(num_envs=2, horizon=4, hidden=(8,), batch_size=4, learning_starts=5000, capacity=6000)
    said: list[str] = []
    tuned = rl.tune(
        algorithm, counted, ratio=0.5, cores=cores, seconds=0.01, few=2, backend="inline" if cores == 1 else "thread",
        tell=said.append,
    )  # fmt: skip
    assert tuned.algorithm == rl.SAC(**{**vars(algorithm), "updates_per_step": 0.5})
    assert tuned.ratio == 0.5
    assert [*tuned.acting] == [*tuned.learning] == [*range(1, cores + 1)]
    assert len(tuned.together) == cores
    assert {each.mode for each, _ in tuned.together} == ({"sync"} if cores == 1 else {"sync", "pipelined"})
    assert tuned.options == {name: getattr(tuned.choice, name) for name in ("workers", "actors", "learners", "mode")}
    assert len(said) == 3 * cores
    assert Counted.closed
    done = rl.train(
        rl.SAC(**{**vars(algorithm), "learning_starts": 8}), counted, total_steps=32, backend="thread", **tuned.options
    )
    assert done.steps == 32


def test_central_inference_and_free_running_are_measured_as_they_will_be() -> None:
    tuned = rl.tune(
        rl.A2C(num_envs=4, horizon=4, hidden=(8,)), "CartPole-v1", mode="free", cores=2, seconds=0.01, few=1,
        inference="central", double_buffer=True, loaders=2, backend="thread",
    )  # fmt: skip
    assert tuned.options == {"workers": 2, "actors": 1, "learners": 1, "mode": "free"}
    assert tuned.predicted == 2


def test_who_has_no_gradients_learns_alone_and_three_do_not_share_what_is_even() -> None:
    tuned = rl.tune(rl.QLearning(), "FrozenLake-v1", cores=3, seconds=0.01, few=1, mode="sync", backend="thread")
    assert [*tuned.acting] == [1, 2]
    assert [*tuned.learning] == [1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cores": 0}, "cores of rl.tune is 0"),
        ({"few": True}, "few of rl.tune is True"),
        ({"seconds": -1.0}, "seconds of rl.tune is -1.0"),
        ({"seconds": float("nan")}, "seconds of rl.tune is nan"),
        ({"ratio": 2.0}, "ratio of rl.tune is 2.0, but PPO learns once from every round"),
        ({"mode": "fast"}, "mode of rl.tune is 'fast'"),
        ({"mode": "sync", "lag": 3}, "lag of rl.tune is 3"),
        ({"mode": "free", "lag": 3}, 'lag of rl.tune is 3, but mode="free" has none'),
        ({"double_buffer": True}, "double_buffer of rl.tune"),
        ({"device": "abacus"}, "is 'abacus'"),
        ({"loaders": 5}, "5 loaders cannot share"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_measured(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(said)):
        rl.tune(rl.PPO(), "CartPole-v1", tell=pytest.fail, **options)


def test_a_ratio_a_memory_or_a_device_that_cannot_be_is_refused() -> None:
    with pytest.raises(ArgumentError, match="updates_per_step of DQN is 0"):
        rl.tune(rl.DQN(), "CartPole-v1", ratio=0.0, tell=pytest.fail)
    with pytest.raises(ArgumentError, match="its memory keeps 10"):
        rl.tune(rl.DQN(capacity=10), "CartPole-v1", tell=pytest.fail)
    with pytest.raises(ArgumentError, match=r"device of rl\.tune is 'nowhere'"):
        rl.tune(rl.PPO(), "CartPole-v1", device="nowhere")
    with pytest.raises(ArgumentError, match="takes an algorithm"):
        rl.tune("dqn", "CartPole-v1")  # type: ignore[arg-type]


# ---- the command ----


def test_the_command_prints_tables_and_writes_what_train_takes() -> None:
    Path("run.toml").write_text(
        'algorithm = "ppo"\nenv = "CartPole-v1"\ntotal_steps = 32\nworkers = 9\n'
        "[hyperparameters]\nepochs = 1\n[env_kwargs]\nsutton_barto_reward = true\n"
    )
    done = reactors("tune", "--config", "run.toml", *SMALL, "--cores", 1, "--seed", 3, "-o", "tuned.toml")
    assert done.exit_code == 0, done.output
    for head in ("| actors alone | steps/s |", "| learners alone | steps/s |", "| together | workers | actors |"):
        assert head.replace(" ", "") in done.stdout.replace(" ", "")
    *_, sentence, command = done.stdout.splitlines()
    assert sentence.startswith("sync on 1 worker with 1 actor and 1 learner: ")
    assert command == "reactors train --config tuned.toml"
    assert "measuring 1 learner alone" in done.stderr
    assert tomllib.loads(Path("tuned.toml").read_text()) == {
        "algorithm": "ppo", "env": "CartPole-v1", "total_steps": 32, "seed": 3,
        "workers": 1, "actors": 1, "learners": 1, "mode": "sync",
        "hyperparameters": {"epochs": 1, "num_envs": 2, "horizon": 4, "hidden": [8]},
        "env_kwargs": {"sutton_barto_reward": True},
    }  # fmt: skip
    trained = reactors(*command.split()[1:], "--out", "out")
    assert trained.exit_code == 0, trained.output
    assert json.loads(Path("out/result.json").read_text())["steps"] == 32


def test_the_command_that_is_printed_trains_in_that_way() -> None:
    few = ("--set", "batch_size=4", "--cores", 2, "--few", 1, "--mode", "pipelined", "--json")
    done = reactors("tune", "DQN", "--env", "CartPole-v1", *SMALL, *few, "--ratio", 0.25)
    assert done.exit_code == 0, done.output
    message = json.loads(done.stdout)
    assert message["options"]["mode"] == "pipelined"
    assert message["ratio"] == 0.25
    assert len(message["together"]) == 1
    assert set(message["learning"]) == {"1", "2"}
    words = message["command"].split()
    assert words[:5] == ["reactors", "train", "dqn", "--env", "CartPole-v1"]
    assert "updates_per_step=0.25" in words
    trained = reactors(*words[1:], "--set", "learning_starts=8", "--total-steps", 32, "--workers", 1, "--out", "out")
    assert trained.exit_code == 0, trained.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dqm", "--env", "CartPole-v1"], "there is no algorithm 'dqm'; did you mean 'dqn'?"),
        (["dqn", "--env", "CartPol-v1"], "there is no environment 'CartPol-v1'; did you mean 'CartPole-v1'?"),
        (["dqn"], "--env is missing; write for instance: reactors tune dqn --env CartPole-v1"),
        (["dqn", "--env", "CartPole-v1", "--set", "batch=3"], "DQN has no hyperparameter 'batch'"),
        (["dqn", "--env", "Pendulum-v1"], "DQN takes discrete actions"),
        (["ppo", "--env", "CartPole-v1", "--ratio", "2"], "PPO learns once from every round"),
        (["dqn", "--env", "CartPole-v1", "-o", "no/such.toml"], "there is no folder 'no' for such.toml"),
        (
            ["dqn", "--env", "CartPole-v1", "--env-kwargs", "x=null", "-o", "such.toml"],
            "env_kwargs.x is None, which a TOML file cannot hold; leave it out, or write no file",
        ),
        (["dqn", "--env", "CartPole-v1", "--seconds", "0"], "--seconds is 0.0"),
        (["--config", "apart.toml"], "--config: critic_device is for a learner of each half"),
    ],
)
def test_the_command_refuses_what_makes_no_sense(arguments: list[str], said: str) -> None:
    Path("apart.toml").write_text('algorithm = "sac"\nenv = "Pendulum-v1"\ncritic_device = "cpu"\n')
    done = reactors("tune", *arguments)
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert "measuring" not in done.stderr


def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    options = [str(word) for word in (*SMALL[:-1], 60, "--cores", 2, "-o", "tuned.toml")]
    with nothing_left():
        command = [sys.executable, "-m", "reactors", "tune", "ppo", "--env", "CartPole-v1", *options]
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
            assert running.stderr is not None
            late = threading.Timer(60, running.kill)
            late.start()
            try:
                assert running.stderr.readline().startswith("preset for CartPole-v1: ")
                assert running.stderr.readline() == "measuring 1 actor alone\n"
                running.send_signal(signal.SIGINT)
                rest = running.stderr.read()
            finally:
                late.cancel()
                late.join()
    assert running.returncode == 130
    assert rest == "interrupted\n"
    assert not [*tmp_path.iterdir()]


def test_a_document_of_settings_is_read_as_it_was_written() -> None:
    settings = {
        "a": 1, "b": 1e-05, "c": True, "d": 'quoted "words"\n', "e": [[1, 2], []], "f g": "x",
        "table": {"h": {"i": [1.5], "j": {}}, "k": "é"}, "empty": {},
    }  # fmt: skip
    assert tomllib.loads(document({**settings, "none": None})) == {
        name: value for name, value in settings.items() if name != "empty"
    }


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"x": None}, r"env_kwargs\.x is None, which a TOML file cannot hold"),
        ({"x": [{"y z": None}]}, r"env_kwargs\.x\[0\]\.y z is None"),
        ({"x": object}, r"env_kwargs\.x is <class 'object'>"),
    ],
)
def test_a_value_that_a_document_cannot_hold_is_named(value: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        document({"env_kwargs": value})
