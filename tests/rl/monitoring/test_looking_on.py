"""A training is traced, watched and reported as any run is."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import reactors as rx
from reactors import rl
from reactors.command.cli import main as command
from reactors.rl.runs.run_folder import RunFolder
from reactors.viewing.watching import Watched, watchable

SMALL: dict[str, Any] = {"num_envs": 2, "horizon": 8, "epochs": 1, "hidden": (4,)}

pytestmark = pytest.mark.usefixtures("fonts")


def trained(out: Path | None, **options: Any) -> rl.Trained:
    return rl.train(rl.PPO(**SMALL), "CartPole-v1", total_steps=160, actors=1, out=out, **options)


def test_a_training_is_traced_into_its_folder_part_by_part(tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = trained(out, trace=True, checkpoint_every=2)
    assert first.result.trace == str(out / "trace.rxt")
    assert "critical path" in first.result.summary()
    more = rl.train(rl.PPO(**SMALL), "CartPole-v1", total_steps=320, actors=1, resume=out, trace=True)
    assert more.result.trace == str(out / "trace-2.rxt")
    names = {each["path"] for each in rx.Trace(out / "trace.rxt").reactions}
    assert "main.learners[0].learn" in names
    assert rx.Trace(out / "trace.rxt").reactors[names_of(out).index("main.learners[0]")]["remedy"] == "learners=2"


def test_the_figures_of_the_journal_are_in_the_trace(tmp_path: Path) -> None:
    """The age of the weights with which was played, before all."""
    done = trained(None, trace=tmp_path / "run.rxt")
    (spans,) = rx.Trace(tmp_path / "run.rxt").by_worker()
    assert spans.names.count("charts/weight_age") == len(done.journal) == 10
    assert {*spans.names} == {name for row in done.journal for name in row}


def names_of(out: Path) -> list[str]:
    return [each["path"] for each in rx.Trace(out / "trace.rxt").reactors]


def test_a_trace_changes_nothing_that_is_learned(tmp_path: Path) -> None:
    assert trained(None, trace=tmp_path / "run.rxt").digest == trained(None).digest


def test_a_training_without_a_folder_is_traced_into_a_file_alone(tmp_path: Path) -> None:
    with pytest.raises(
        rx.ArgumentError, match=r"trace=True of rl\.train takes a folder; say out=, or the name of a file"
    ):
        trained(None, trace=True)
    trained(None, trace=str(tmp_path / "one.rxt"))
    assert (tmp_path / "one.rxt").exists()


def test_a_training_with_a_folder_can_be_watched_while_it_lasts(tmp_path: Path) -> None:
    seen: list[tuple[bool, str]] = []

    def look(_: dict[str, float]) -> None:
        pid = int(RunFolder(tmp_path / "run").pid_file.read_text())
        with Watched(pid) as watched:
            seen.append((pid == os.getpid(), watched.said["program"]))

    trained(tmp_path / "run", tell=look)
    assert seen
    assert {*seen} == {(True, "Training")}
    assert not RunFolder(tmp_path / "run").pid_file.exists()
    assert os.getpid() not in watchable()


def test_a_report_is_left_in_the_folder_and_can_be_made_again(tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = trained(out, trace=True, eval_every=5, eval_episodes=1)
    page = (out / "report.html").read_text()
    assert len(page) < 2_000_000
    for word in ("charts/episodic_return", "eval/mean_return", "learning_rate", done.digest, "torch", "critical path"):
        assert word in page
    again = CliRunner().invoke(command, ["report", str(out), "-o", str(tmp_path / "again.html")])
    assert again.exit_code == 0, again.output
    assert "critical path" in (tmp_path / "again.html").read_text()


def test_a_report_that_cannot_be_written_costs_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr("reactors.viewing.report.write", refused)
    with pytest.warns(rx.ReactorWarning, match=r"the report of .* cannot be written \(no space\)"):
        done = trained(tmp_path / "run")
    assert done.digest == trained(None).digest


def test_a_trace_alone_has_a_report_too(tmp_path: Path) -> None:
    trained(None, trace=tmp_path / "run.rxt")
    done = CliRunner().invoke(command, ["report", str(tmp_path / "run.rxt")])
    assert done.exit_code == 0, done.output
    assert "critical path: main." in (tmp_path / "run.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["top", "99999999"], "there is no process 99999999"),
        (["view", "99999999"], "there is no process 99999999"),
        (["report", "nowhere"], "does not exist"),
    ],
)
def test_what_cannot_be_looked_at_is_refused(arguments: list[str], words: str) -> None:
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code in {1, 2}
    assert words in done.output


@pytest.mark.parametrize(
    ("there", "words"),
    [([], "there is no run that can be watched now"), ([3, 5], "there are several runs, say which: 3, 5")],
)
def test_without_a_word_the_only_run_is_meant(there: list[int], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reactors.viewing.watching.watchable", lambda: there)
    done = CliRunner().invoke(command, ["top"])
    assert done.exit_code == 1
    assert words in done.output


def test_a_folder_whose_run_is_over_is_no_place_to_look(tmp_path: Path) -> None:
    trained(tmp_path / "run")
    done = CliRunner().invoke(command, ["top", str(tmp_path / "run")])
    assert done.exit_code == 1
    assert "has no run that goes on; reactors report" in done.output


def test_top_draws_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    from reactors.viewing.top import top
    from tests.viewing.test_watching import running

    with running(2) as process:
        top(process.pid, every=0.2, rounds=2)
    shown = capsys.readouterr().out
    assert "Farm (" in shown
    assert "main.works.work" in shown


def test_two_trainings_with_hashes_of_values_are_compared_by_their_folders(tmp_path: Path) -> None:
    ways: tuple[dict[str, Any], ...] = ({}, {"workers": 2}, {"seed": 2})
    for number, way in enumerate(ways):
        trained(tmp_path / str(number), journal_values=True, mode="pipelined", **way)
    runs = [str(tmp_path / str(number)) for number in range(3)]
    same = CliRunner().invoke(command, ["diff", runs[0], runs[1]])
    assert (same.exit_code, same.output.splitlines()[-1]) == (0, "the same: 57 executions, and all that they wrote")
    assert CliRunner().invoke(command, ["same", runs[0], runs[1]]).exit_code == 0
    other = CliRunner().invoke(command, ["diff", runs[0], runs[2]])
    assert other.exit_code == 1
    assert "seed: 0 | 2" in other.output
    results = [json.loads(Path(run, "result.json").read_text())["value_digest"] for run in runs]
    assert results[0] == results[1] != results[2]


def test_in_free_mode_there_is_nothing_to_compare(tmp_path: Path) -> None:
    with pytest.raises(rx.ArgumentError, match="nothing can be compared by journal_values"):
        trained(tmp_path / "run", journal_values=True, mode="free")
    assert not (tmp_path / "run").exists()
