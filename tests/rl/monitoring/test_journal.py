"""The journal of a training: in its file, not in memory and not in checkpoints; whole, or refused."""

from __future__ import annotations

import os
import random
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest

import reactors as rx
from reactors import rl
from reactors.rl.checkpoints import files
from reactors.rl.errors import CheckpointError, RunFolderError
from reactors.rl.monitoring.journal import Journal
from reactors.rl.monitoring.journal_file import JournalFile, read
from reactors.rl.runs.curves import table
from reactors.rl.runs.digest import CLOCK
from reactors.rl.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROUNDS, STEPS = 12, 16
SMALL = rl.PPO(num_envs=2, horizon=8, epochs=1, hidden=(8,))


def train(**options: Any) -> rl.Trained:
    return rl.train(SMALL, **{"env": "CartPole-v1", "total_steps": ROUNDS * STEPS, "seed": 5, **options})


def timeless(rows: list[dict[str, float]]) -> list[dict[str, float]]:
    """Rows without what depends on the clock."""
    return [{name: row[name] for name in row if not name.startswith(CLOCK)} for row in rows]


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pictures are tested elsewhere."""
    monkeypatch.setattr("reactors.rl.runs.curves.curve", lambda *_: None)
    monkeypatch.setattr(RunFolder, "draw", lambda *_: None)
    return  # type: ignore[return-value]


@pytest.fixture(scope="module")
def whole() -> rl.Trained:
    """Without a folder."""
    return train(eval_every=4, eval_episodes=1)


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """The folder of a run that is to go on from the checkpoint after 8 rounds."""
    out = tmp_path / "run"
    train(out=out, checkpoint_every=4, eval_every=4, eval_episodes=1)
    return out


def go_on(folder: Path) -> rl.Trained:
    return train(resume=folder / "checkpoints" / f"{8 * STEPS:012d}", eval_every=4, eval_episodes=1)


def test_a_journal_with_a_file_keeps_no_rows_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    close, journals = Journal.close, []

    def keep(self: Journal) -> None:
        journals.append((len(self.rows), self.noted))
        close(self)

    monkeypatch.setattr(Journal, "close", keep)
    train(out=tmp_path / "run")
    train()
    assert journals == [(0, ROUNDS), (ROUNDS, ROUNDS)]


def test_what_a_run_tells_is_the_same_from_its_file_as_from_memory(whole: rl.Trained, tmp_path: Path) -> None:
    done = train(out=tmp_path / "run", eval_every=4, eval_episodes=1)
    assert "journal" not in vars(done)  # it is read when it is asked for
    assert timeless(done.journal) == timeless(whole.journal)
    assert [{name: type(row[name]) for name in row} for row in timeless(done.journal)] == [
        {name: type(row[name]) for name in row} for row in timeless(whole.journal)
    ]
    assert done.digest == whole.digest
    assert done.steps == whole.steps == ROUNDS * STEPS


def test_checkpoints_do_not_grow_with_the_rounds(tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(out=out, total_steps=200 * STEPS, checkpoint_every=20)
    sizes = [sum(file.stat().st_size for file in path.iterdir()) for path in (out / "checkpoints").iterdir()]
    assert len(sizes) == 2
    assert max(sizes) - min(sizes) < 20 * 8  # a row is more
    assert max(sizes) < 40_000


def test_a_run_that_goes_on_has_the_journal_of_one_that_never_stopped(whole: rl.Trained, stopped: Path) -> None:
    assert len(read(stopped / "journal.csv")) == ROUNDS  # some later than the checkpoint
    done = go_on(stopped)
    assert timeless(done.journal) == timeless(whole.journal)
    assert read(stopped / "journal.csv") == done.journal
    assert done.digest == whole.digest


def test_a_journal_belongs_to_its_result_though_the_folder_goes_on(tmp_path: Path) -> None:
    first = train(out=tmp_path / "run", total_steps=8 * STEPS, checkpoint_every=4)
    second = train(resume=tmp_path / "run")
    assert (len(first.journal), len(second.journal)) == (8, ROUNDS)
    assert second.journal[:8] == first.journal


@pytest.mark.parametrize(("harm", "why"), [("changed", "its checksum is another"), ("cut", "it has 7 of 8 rows"),
                                           ("garbled", "is damaged in line 4")])  # fmt: skip
def test_a_run_does_not_go_on_with_another_journal(stopped: Path, harm: str, why: str) -> None:
    file = stopped / "journal.csv"
    lines = file.read_bytes().splitlines(keepends=True)
    if harm == "changed":
        lines[3] = lines[3].replace(b",0.", b",1.", 1)
    elif harm == "cut":
        del lines[8:]
    else:
        lines[3] = lines[3].replace(b",0.", b",o.", 1)
    file.write_bytes(b"".join(lines))
    with pytest.raises(
        CheckpointError, match=f"the journal is not what it was at the checkpoint: .*journal.csv.*{why}"
    ):
        go_on(stopped)
    assert file.read_bytes() == b"".join(lines)


def test_without_its_journal_a_run_goes_on_and_says_so(whole: rl.Trained, stopped: Path) -> None:
    (stopped / "journal.csv").unlink()
    done = go_on(stopped)
    assert (
        f"the journal {stopped / 'journal.csv'} of the first 8 rounds is gone: it begins where the run goes on"
        in done.notes
    )
    assert timeless(done.journal) == timeless(whole.journal[8:])
    np.testing.assert_array_equal(done.weights, whole.weights)


def test_rows_are_appended_to_a_file_that_is_there_and_columns_added(tmp_path: Path) -> None:
    path, rows = tmp_path / "journal.csv", []
    for i in range(4):
        file = JournalFile(path)
        rows.append({"global_step": i, f"only/{i}": 0.1 * i, "each": 1e-300})
        file.add(rows[-1])
        file.close()
    assert read(path) == rows


def test_a_damaged_run_folder_is_refused_in_our_words(stopped: Path) -> None:
    """Whatever is cut off or changed."""
    dice = random.Random(1)
    for name in ("journal.csv", "config.json"):
        file = stopped / name
        good = file.read_bytes()
        at = range(0, len(good), 7)
        cut = [good[:i] for i in at]
        flipped = [good[:i] + bytes([good[i] ^ 1 << dice.randrange(8)]) + good[i + 1 :] for i in at]
        refusals = []
        for damaged in cut + flipped:
            file.write_bytes(damaged)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                try:
                    table([RunFolder(stopped)])
                except RunFolderError as error:
                    refusals.append(str(error))
        assert refusals
        assert all(str(file) in refusal for refusal in refusals)
        file.write_bytes(good)


def test_checkpoints_have_the_permissions_that_the_user_wants(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        path = files.write(tmp_path / "checkpoints", {"global_step": 1}, {}, np.zeros(2, np.float32))
        files.write(tmp_path / "checkpoints", {"global_step": 1}, {}, np.zeros(2, np.float32))
        buffer = rl.ReplayBuffer(8, {"reward": "f4"})
        buffer.save(tmp_path / "buffer")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o750
    assert {file.stat().st_mode & 0o777 for file in path.iterdir()} == {0o640}
    assert (tmp_path / "buffer").stat().st_mode & 0o777 == 0o640


def test_our_error_names_the_line_of_a_damaged_journal(stopped: Path) -> None:
    file = stopped / "journal.csv"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:2], b"\xff" + lines[2], *lines[3:]]))
    with pytest.raises(rx.ReactorError, match=r"journal.csv is damaged in line 3 .*; all rows before it are good"):
        read(file)


def test_no_bit_of_a_journal_that_has_ended_changes_a_figure_without_notice(tmp_path: Path) -> None:
    done = train(out=tmp_path / "run")
    file, rows, refusals = tmp_path / "run" / "journal.csv", done.journal, []
    good = file.read_bytes()
    harmed = [good[:at] + bytes([good[at] ^ 1 << at % 8]) + good[at + 1 :] for at in range(0, len(good), 3)]
    for each in [*harmed, *(good[:at] for at in range(0, len(good), 97))]:
        file.write_bytes(each)
        again = replace(done)
        for read_back in (lambda: RunFolder(done.out or "").rows, lambda again=again: again.journal):
            try:
                assert read_back() == rows  # as with 1E-05 for 1e-05
            except RunFolderError as error:
                refusals.append(str(error))
    assert len(refusals) > 1.8 * len(harmed)
    assert all(str(file) in refusal for refusal in refusals)
    assert f"{file} was changed since a run wrote it: its checksum is another" in refusals
    file.unlink()
    with pytest.raises(RunFolderError, match=f"it has 0 of {ROUNDS} rows"):
        table([RunFolder(tmp_path / "run")])


def test_a_run_that_goes_on_has_no_result_yet(stopped: Path) -> None:
    """So its journal is read as it is."""
    found = []

    def tell(_: Any) -> None:
        folder = RunFolder(stopped)
        found.append((folder.result, len(folder.rows)))

    checkpoint = stopped / "checkpoints" / f"{8 * STEPS:012d}"
    train(resume=checkpoint, eval_every=4, eval_episodes=1, tell=tell)
    assert found == [({}, n) for n in range(9, ROUNDS + 1)]
    assert len(RunFolder(stopped).rows) == ROUNDS
    assert RunFolder(stopped).result["journal"]["count"] == ROUNDS


class Fragile(gym.Wrapper[Any, Any, Any, Any]):
    """Fails in the third step of each episode."""

    def __init__(self) -> None:
        super().__init__(gym.make("CartPole-v1"))

    def reset(self, **options: Any) -> Any:
        self.made = 0
        return super().reset(**options)

    def step(self, action: Any) -> Any:
        self.made += 1
        if self.made == 3:
            raise RuntimeError("broken")
        return super().step(action)


def test_environments_that_were_made_again_are_counted_also_by_a_run_that_goes_on(tmp_path: Path) -> None:
    options: dict[str, Any] = {"env": Fragile, "on_error": "restart", "mode": "sync"}
    done = train(**options)
    counted = [row["charts/restarts"] for row in done.journal]
    assert counted == sorted(counted)
    assert counted[0] >= 4  # 8 steps in each of two environments
    assert any("made again, " in note and f"{counted[-1]:.0f} times" in note for note in done.notes)
    train(**options, out=tmp_path / "run", until=4 * STEPS)
    again = train(**options, resume=tmp_path / "run")
    assert timeless(again.journal) == timeless(done.journal)
    assert again.digest == done.digest


def test_without_failures_there_is_no_such_column(whole: rl.Trained) -> None:
    assert not any("charts/restarts" in row for row in whole.journal)
