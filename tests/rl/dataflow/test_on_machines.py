"""Training on several machines: the weights of one, and what becomes of it when one is lost."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import reactors as rx
from reactors import rl
from reactors.rl.runs.machines import without_lost
from reactors.rl.runs.train import TrainCall
from tests.machines.lost import machine

ALGORITHMS = pytest.mark.parametrize(
    ("algorithm", "env", "steps"),
    [
        (rl.PPO(num_envs=4, horizon=16, epochs=2, hidden=(8,)), "CartPole-v1", 512),
        (rl.APPO(num_envs=4, horizon=16, hidden=(8,)), "CartPole-v1", 512),
        (rl.SAC(num_envs=2, horizon=4, hidden=(8,), learning_starts=32, batch_size=16), "Pendulum-v1", 128),
    ],
    ids=["PPO", "APPO", "SAC"],
)


@ALGORITHMS
def test_training_on_two_machines_gives_the_weights_of_one(algorithm: Any, env: str, steps: int) -> None:
    given: dict[str, Any] = {"total_steps": steps, "mode": "pipelined", "seed": 3}
    one = rl.train(algorithm, env, **given)
    two = rl.train(algorithm, env, workers=2, machines=rx.Machines(count=2), **given)
    assert (two.weights == one.weights).all()
    assert (two.digest, two.result.digest) == (one.digest, one.result.digest)


@ALGORITHMS
def test_training_on_two_machines_goes_on_on_one(
    algorithm: Any, env: str, steps: int, tmp_path: Path, bare_runs: None
) -> None:
    """And the checkpoint, with the state of both machines, is where the one that leads has written it."""
    given: dict[str, Any] = {"total_steps": steps, "mode": "pipelined", "seed": 3, "checkpoint_every": 2}
    rl.train(algorithm, env, workers=2, machines=rx.Machines(count=2), out=tmp_path / "two", **given)
    given["total_steps"] *= 2
    one = rl.train(algorithm, env, resume=tmp_path / "two", out=tmp_path / "one", **given)
    two = rl.train(
        algorithm, env, resume=tmp_path / "two", out=tmp_path / "on", workers=2, machines=rx.Machines(count=2), **given
    )
    assert (two.weights == one.weights).all()
    assert (two.digest, two.result.digest) == (one.digest, one.result.digest)


class Kills(gym.Wrapper[Any, Any, Any, Any]):
    """An environment whose machine is lost at one of its steps, once."""

    def __init__(self, done: str, env: str = "CartPole-v1", at: int = 100) -> None:
        super().__init__(gym.make(env))
        self.done, self.at, self.steps = done, at, 0

    def step(self, action: Any) -> Any:
        self.steps += 1
        if self.steps == self.at and not Path(self.done).exists():
            Path(self.done).touch()
            os.kill(machine(), signal.SIGKILL)
        return super().step(action)


@pytest.mark.parametrize("count", [2, 3])
def test_training_goes_on_without_a_machine_that_is_lost(count: int, tmp_path: Path, bare_runs: None) -> None:
    algorithm = rl.PPO(num_envs=6, horizon=16, epochs=2, hidden=(8,))
    done = tmp_path / "done"
    given: dict[str, Any] = {
        "total_steps": 6 * 16 * 16, "mode": "pipelined", "seed": 3, "actors": 3, "env_kwargs": {"done": str(done)},
        "checkpoint_every": 2,
    }  # fmt: skip
    with pytest.warns(rx.ReactorWarning, match=r"is lost: it was cut; going on from the last checkpoint in .* with"):
        lost = rl.train(
            algorithm, Kills, workers=count, machines=rx.Machines(count=count), on_machine_lost="resume",
            out=tmp_path / "lost", **given,
        )  # fmt: skip
    whole = rl.train(algorithm, Kills, out=tmp_path / "whole", **given)
    assert done.exists()
    assert (lost.weights == whole.weights).all()
    assert lost.digest == whole.digest


@ALGORITHMS
def test_what_a_lost_machine_leaves_is_what_its_last_checkpoint_gives(
    algorithm: Any, env: str, steps: int, tmp_path: Path, bare_runs: None
) -> None:
    """The run that goes on by itself is the one that somebody resumes from that checkpoint on one machine."""
    at = 3 * steps // 4 // algorithm.num_envs
    kills = {"done": str(tmp_path / "done"), "env": env, "at": at}
    given: dict[str, Any] = {
        "total_steps": steps, "mode": "pipelined", "seed": 3, "checkpoint_every": 2, "env_kwargs": kills,
        "actors": algorithm.num_envs,
    }  # fmt: skip
    two: dict[str, Any] = {"workers": 2, "machines": rx.Machines(count=2)}
    with pytest.raises(rx.MachineLost):
        rl.train(algorithm, Kills, out=tmp_path / "by hand", **two, **given)
    by_hand = rl.train(algorithm, Kills, resume=tmp_path / "by hand", **given)
    (tmp_path / "done").unlink()
    with pytest.warns(rx.ReactorWarning, match=r"is lost: it was cut; going on from the last checkpoint"):
        by_itself = rl.train(
            algorithm, Kills, out=tmp_path / "by itself", on_machine_lost="resume", **two, **given
        )  # fmt: skip
    assert (by_itself.weights == by_hand.weights).all()
    assert by_itself.digest == by_hand.digest


def test_training_that_has_no_checkpoint_says_so(tmp_path: Path) -> None:
    with pytest.raises(rx.MachineLost, match="is lost: it was cut") as caught:
        rl.train(
            rl.PPO(num_envs=2, horizon=16, hidden=(8,)), Kills, total_steps=2048, workers=2, mode="pipelined",
            env_kwargs={"done": str(tmp_path / "done")}, machines=rx.Machines(count=2), on_machine_lost="resume",
        )  # fmt: skip
    assert any("there is no checkpoint to go on from" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("given", ["run", "run/checkpoints/000000000512", "run/checkpoints/000000000128"])
def test_training_that_began_from_a_checkpoint_goes_on_in_the_folder_of_its_run(given: str, tmp_path: Path) -> None:
    """Also where that checkpoint is gone since, for there are later ones."""
    for steps in (256, 512):
        (tmp_path / f"run/checkpoints/{steps:012d}").mkdir(parents=True)
    lost = rx.MachineLost("machine 1 is lost")
    lost.machines = frozenset({1})
    before = TrainCall(
        algorithm=rl.PPO(num_envs=4, horizon=16), env="CartPole-v1", total_steps=1024, workers=2,
        machines=rx.Machines(count=2), resume=tmp_path / given, on_machine_lost="resume",
    )  # fmt: skip
    with pytest.warns(rx.ReactorWarning, match=f"last checkpoint in {tmp_path / 'run'} with 1 worker on 1 machine"):
        now = without_lost(before, lost)
    assert (now.resume, now.out, now.machines, now.workers) == (tmp_path / "run", None, None, 1)
