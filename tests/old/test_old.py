"""What an older version wrote is read as it was: a log, checkpoints, run folders, a replay buffer, policies."""

from __future__ import annotations

import csv
import gc
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner

import reactors as rx
from reactors import rl
from reactors.command.cli import main as command
from reactors.rl.runs.digest import digest_of
from tests.old.make import HERE, actions
from tests.old.programs import TRAININGS, Main, drive

if TYPE_CHECKING:
    from collections.abc import Iterator

EXPECTED = json.loads((HERE / "expected.json").read_text())

pytestmark = pytest.mark.usefixtures("fonts")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is written is not written here."""
    monkeypatch.chdir(tmp_path)
    yield
    gc.collect()  # of a program, its replay buffer


def copied(name: str) -> Path:
    return Path(shutil.copytree(HERE / name, name))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_log_is_replayed(workers: int) -> None:
    main = Main()
    result = rx.run(main, replay=HERE / "run.rxlog", workers=workers)
    assert result.digest == EXPECTED["log"]["digest"]
    assert result.seed == 7
    assert main.sensor.log == EXPECTED["log"]["sensor"]
    assert main.listener.log == EXPECTED["log"]["listener"]


def test_a_replay_buffer_goes_on() -> None:
    buffer = rl.ReplayBuffer.load(HERE / "buffer.safetensors")
    assert drive(buffer, 40, 50) == EXPECTED["buffer"]


@pytest.mark.parametrize("name", TRAININGS)
def test_a_checkpoint_is_resumed_and_the_run_ends_as_it_did_then(name: str) -> None:
    """With all that a run keeps: networks and optimizers or a table, the replay, environments, random numbers."""
    algorithm, env = TRAININGS[name]
    expected = EXPECTED[name]
    done = rl.train(
        algorithm, env, total_steps=expected["total_steps"], seed=3, out="again", workers=2,
        eval_every=10, eval_episodes=2, resume=copied(name) / expected["resume"],
    )  # fmt: skip
    assert digest_of(as_then(name, done.journal), done.weights) == expected["digest"]
    agrees(done.weights, expected["weights"])
    assert actions(done, env) == expected["actions"]


def as_then(name: str, rows: Any) -> list[dict[str, float]]:
    """Rows of a journal without the figures that it did not have then."""
    with (HERE / name / "journal.csv").open() as file:
        known = set(next(csv.reader(file)))
    return [{figure: x for figure, x in row.items() if figure in known} for row in rows]


def agrees(weights: Any, expected: list[float]) -> None:
    """On a processor of another kind, the last bits of floating-point sums may be others."""
    np.testing.assert_allclose(weights, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", TRAININGS)
def test_a_run_folder_gives_the_policy_of_then(name: str) -> None:
    policy = rl.load(HERE / name)
    assert actions(policy, TRAININGS[name][1]) == EXPECTED[name]["actions"]
    assert policy.evaluate(episodes=2) == EXPECTED[name]["returns"]


def reactors(*words: object) -> str:
    done = CliRunner().invoke(command, [*map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_commands_read_run_folders() -> None:
    said = reactors("compare", *(HERE / name for name in TRAININGS))
    assert Path("compare.png").exists()
    for name in TRAININGS:
        assert name in said
        reactors("eval", HERE / name, "--episodes", 2)


def test_the_command_goes_on_in_a_run_folder() -> None:
    folder = copied("q_learning")
    steps = 2 * EXPECTED["q_learning"]["total_steps"]
    reactors("train", "--resume", folder, "--total-steps", steps)
    assert json.loads((folder / "result.json").read_text())["steps"] == steps
