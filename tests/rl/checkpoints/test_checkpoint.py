"""Stopped at a checkpoint and resumed, a run is the one that was never stopped; what is damaged is refused."""

from __future__ import annotations

import copy
import errno
import json
import os
import random
import shutil
import signal
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest
import safetensors.numpy

import reactors as rx
from reactors import rl
from reactors.errors import ReactionError
from reactors.rl.checkpoints.files import going_on, latest, load, write
from reactors.rl.encoding import tensors
from reactors.rl.encoding.sealed import sealed
from reactors.rl.encoding.state import encode
from reactors.rl.errors import CheckpointError, NotFiniteError, RunFolderError, SimulationError
from reactors.rl.monitoring.journal_file import JournalFile, read
from reactors.rl.runs.digest import CLOCK
from reactors.rl.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("bare_runs")

ROUNDS, STEPS = 20, 64
PPO = rl.PPO(num_envs=4, horizon=16, epochs=2, batch_size=32, hidden=(16,))
DQN = rl.DQN(
    num_envs=4, horizon=16, hidden=(16,), batch_size=16, learning_starts=256, capacity=600, updates_per_step=0.125,
    prioritized=True, n_step=3, dueling=True,
)  # fmt: skip
ALGORITHMS = {"PPO": PPO, "DQN": DQN}


def train(algorithm: Any, **options: Any) -> rl.Trained:
    given: dict[str, Any] = {"total_steps": ROUNDS * STEPS, "seed": 3, "env": "CartPole-v1", **options}
    return rl.train(algorithm, **given)


def timeless(journal: list[dict[str, float]]) -> list[dict[str, str]]:
    """A journal without what depends on the clock."""
    return [{name: repr(row[name]) for name in sorted(row) if not name.startswith(CLOCK)} for row in journal]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Runs that were never stopped, with checkpoints after round 11 and at the end."""
    runs: dict[Any, rl.Trained] = {}

    def run(name: str, mode: str, workers: int = 1) -> rl.Trained:
        if (name, mode, workers) not in runs:
            out = tmp_path_factory.mktemp("whole") / "run"
            runs[name, mode, workers] = train(
                ALGORITHMS[name], mode=mode, workers=workers, out=out, checkpoint_every=12, eval_every=7,
                eval_episodes=2,
            )  # fmt: skip
        return runs[name, mode, workers]

    return run


def first_checkpoint(run: rl.Trained) -> Path:
    assert run.out is not None
    return run.out / "checkpoints" / f"{12 * STEPS:012d}"


@pytest.mark.parametrize("mode", ["sync", "pipelined"])
@pytest.mark.parametrize("name", ["PPO", "DQN"])
@pytest.mark.parametrize(("before", "after"), [(1, 1), (1, 2), (2, 1)])
def test_a_resumed_run_ends_as_the_uninterrupted_one(
    name: str, mode: str, before: int, after: int, whole: Any, tmp_path: Path
) -> None:
    full = whole(name, mode, before)
    again = train(
        ALGORITHMS[name], mode=mode, workers=after, eval_every=7, eval_episodes=2, resume=first_checkpoint(full),
        out=tmp_path / "again",
    )  # fmt: skip
    assert np.array_equal(full.weights, again.weights)
    assert timeless(full.journal) == timeless(again.journal)
    assert again.result.final_tag == full.result.final_tag
    end = [load(run.out).states for run in (full, again) if run.out is not None]
    for part in ("learners[0]", "experience", "actors[0]", "actors[1]"):
        if part in end[0]:
            (tree, arrays), (again_tree, again_arrays) = (encode(state[part]) for state in end)
            assert {**tree, "seconds": 0} == {**again_tree, "seconds": 0}
            assert {name: each.tobytes() for name, each in arrays.items()} == {
                name: each.tobytes() for name, each in again_arrays.items()
            }


OTHERS: dict[str, Any] = {
    "A2C": rl.A2C(num_envs=2, horizon=4, hidden=(8,)),
    "IMPALA": rl.IMPALA(
        num_envs=2,
        horizon=4,
        hidden=(8,),
        fragments=1,
        ring=2,
        passes=2,
        replay_slots=3,
        replay_proportion=0.7,
        latent=3,
    ),
    "APPO": rl.APPO(num_envs=2, horizon=4, hidden=(8,), fragments=1, target_every=3),
    "SAC": rl.SAC(num_envs=2, horizon=4, hidden=(8,), learning_starts=8, batch_size=4, capacity=100, target_every=7),
    "TD3": rl.TD3(num_envs=2, horizon=4, hidden=(8,), learning_starts=8, batch_size=4, capacity=100),
    "DDPG": rl.DDPG(num_envs=2, horizon=4, hidden=(8,), learning_starts=8, batch_size=4, capacity=100),
    "QLearning": rl.QLearning(num_envs=2),
}


@pytest.mark.parametrize("name", OTHERS)
def test_every_algorithm_goes_on_as_if_it_had_never_stopped(name: str, tmp_path: Path) -> None:
    algorithm = OTHERS[name]
    env = "FrozenLake-v1" if name == "QLearning" else "Pendulum-v1"
    a_round = algorithm.num_envs * algorithm.horizon
    options: dict[str, Any] = {"env": env, "total_steps": 12 * a_round, "mode": "pipelined", "backend": "thread"}
    full = train(algorithm, out=tmp_path / "full", checkpoint_every=6, **options)
    checkpoint = tmp_path / "full" / "checkpoints" / f"{6 * a_round:012d}"
    again = train(algorithm, resume=checkpoint, out=tmp_path / "again", workers=2, **options)
    assert np.array_equal(full.weights, again.weights)
    assert timeless(full.journal) == timeless(again.journal)
    assert full.digest == again.digest


@pytest.mark.parametrize("name", ["PPO", "DQN"])
def test_checkpoints_change_nothing(name: str, whole: Any) -> None:
    assert np.array_equal(train(ALGORITHMS[name], mode="pipelined").weights, whole(name, "pipelined").weights)


def test_a_run_that_goes_on_has_one_digest_for_any_workers(whole: Any, tmp_path: Path) -> None:
    resume = first_checkpoint(whole("PPO", "pipelined"))
    found = {
        train(PPO, mode="pipelined", workers=workers, backend=backend, resume=resume,
              out=tmp_path / f"{workers}{backend}").result.digest
        for workers, backend in ((1, "inline"), (2, "process"), (2, "thread"))
    }  # fmt: skip
    assert len(found) == 1


def test_a_run_goes_on_twice_and_longer_in_its_folder(whole: Any, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert whole("PPO", "sync").out is not None
    shutil.copytree(whole("PPO", "sync").out, out)
    longer = train(PPO, resume=out, total_steps=(ROUNDS + 4) * STEPS)
    assert longer.out == out
    assert [row["global_step"] for row in longer.journal] == [STEPS * (i + 1) for i in range(ROUNDS + 4)]
    assert [row["global_step"] for row in read(out / "journal.csv")] == [row["global_step"] for row in longer.journal]
    assert max(path.name for path in (out / "checkpoints").iterdir()) == f"{(ROUNDS + 4) * STEPS:012d}"


def test_checkpoints_of_an_abandoned_course_are_set_aside(whole: Any, tmp_path: Path) -> None:
    """Else the last one would not be of the run that went on."""
    out = tmp_path / "run"
    shutil.copytree(whole("PPO", "sync").out, out)
    first, last = sorted(path.name for path in (out / "checkpoints").iterdir())
    train(PPO, resume=out / "checkpoints" / first, total_steps=int(first) + STEPS)
    assert load(out).meta["global_step"] == int(first) + STEPS
    assert (out / "checkpoints" / f"abandoned-{last}").is_dir()


@pytest.mark.parametrize(("mode", "rounds"), [("free", 3), ("pipelined", 1), ("sync", 1)])
def test_the_last_round_of_a_short_run_is_saved(mode: Any, rounds: int, tmp_path: Path) -> None:
    train(PPO, mode=mode, total_steps=rounds * STEPS, out=tmp_path / "run")
    assert load(tmp_path / "run").meta["global_step"] == rounds * STEPS
    more = train(PPO, mode=mode, total_steps=(rounds + 2) * STEPS, resume=tmp_path / "run")
    assert more.steps == load(tmp_path / "run").meta["global_step"] == (rounds + 2) * STEPS


@pytest.mark.parametrize("name", ["PPO", "DQN"])
@pytest.mark.parametrize("mode", ["free", "pipelined", "sync"])
def test_a_run_that_reaches_its_goal_is_saved_as_it_ends(name: str, mode: Any, tmp_path: Path) -> None:
    done = train(ALGORITHMS[name], mode=mode, total_steps=10**6, stop_at=1.0, out=tmp_path / "run")
    assert load(tmp_path / "run").meta["global_step"] == done.steps < 10**6
    assert np.array_equal(load(tmp_path / "run").weights(), done.weights)


# ---- an interruption ----


def test_ctrl_c_saves_and_stops(whole: Any, tmp_path: Path) -> None:
    sent = []

    def press(rows: Any) -> None:
        if not sent:
            sent.append(rows[-1]["global_step"])
            signal.raise_signal(signal.SIGINT)

    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):  # two workers: the journal is watched in this thread
        train(PPO, workers=2, out=out, watch=[press], total_steps=10**7)
    assert json.loads((out / "result.json").read_text())["state"] == "interrupted"
    at = load(out).meta["global_step"]
    assert sent[0] <= at < 10**7
    assert read(out / "journal.csv")[-1]["global_step"] == at  # nothing after it, and nothing lost
    assert not (out / ".stop").exists()


def test_enough_is_saved(tmp_path: Path) -> None:
    done = train(PPO, out=tmp_path / "run", stop_at=15.0)
    assert done.journal[-1]["global_step"] < ROUNDS * STEPS
    assert load(tmp_path / "run").meta["global_step"] == done.journal[-1]["global_step"]
    assert np.array_equal(train(PPO, stop_at=15.0).weights, done.weights)


@pytest.mark.parametrize("mode", ["sync", "pipelined"])
def test_a_run_that_had_been_asked_to_end_ends_where_it_would_have(mode: Any, tmp_path: Path) -> None:
    given: Any = {"mode": mode, "stop_at": 10.0, "checkpoint_every": 1, "total_steps": 10**6}
    done = train(PPO, out=tmp_path / "run", **given)
    earlier, last = sorted((tmp_path / "run" / "checkpoints").iterdir())
    again = train(PPO, resume=earlier, out=tmp_path / "again", **given)
    assert (again.steps, again.digest) == (done.steps, done.digest)
    assert np.array_equal(again.weights, done.weights)
    assert train(PPO, resume=last, out=tmp_path / "on", **given).steps > done.steps
    assert train(PPO, resume=earlier, out=tmp_path / "other", **{**given, "stop_at": 11.0}).steps > done.steps


# ---- what is wrong with one ----


@pytest.fixture
def copied(whole: Any, tmp_path: Path) -> Path:
    out = tmp_path / "run"
    shutil.copytree(whole("DQN", "sync").out, out)
    return out


@pytest.mark.parametrize("file", ["meta.json", "state.safetensors", "weights.safetensors"])
@pytest.mark.parametrize("harm", ["cut", "changed", "gone"])
def test_a_damaged_checkpoint_is_refused(copied: Path, file: str, harm: str) -> None:
    last = latest(copied / "checkpoints")
    assert last is not None
    path = last / file
    content = bytearray(path.read_bytes())
    if harm == "cut":
        path.write_bytes(content[: len(content) * 2 // 3])
    elif harm == "changed":
        at = content.rindex(b"0.") + 2 if file == "meta.json" else len(content) - 5
        content[at] = ord("1") if content[at] != ord("1") else ord("2")
        path.write_bytes(content)
    else:
        path.unlink()
    with pytest.raises(CheckpointError, match=rf"is damaged: {file}.*take .*{12 * STEPS:012d} instead"):
        train(DQN, resume=last, total_steps=10**4)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of which every byte can be tried."""
    out = tmp_path_factory.mktemp("tiny") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunFolder, "draw", lambda *_: None)
        patch.setattr("reactors.rl.runs.curves.curve", lambda *_: None)
        rl.train(TINY, "CartPole-v1", total_steps=2, out=out, seed=3)
    return out


TINY = rl.A2C(num_envs=1, horizon=2, hidden=(1,))


def harmed(content: bytes, seed: int = 0) -> Iterator[bytes]:
    """Every byte with a bit that is another, the file cut off at many places, and longer."""
    for at in range(len(content)):
        yield content[:at] + bytes([content[at] ^ 1 << (at + seed) % 8]) + content[at + 1 :]
    for at in range(0, len(content), 97):
        yield content[:at]
    yield from (content + more for more in (b"\0", b" ", b"}", content))


@pytest.mark.parametrize("file", ["meta.json", "state.safetensors", "weights.safetensors"])
def test_no_byte_of_a_checkpoint_changes_without_notice(tiny: Path, file: str, tmp_path: Path) -> None:
    last = latest(tiny / "checkpoints")
    assert last is not None
    shutil.copytree(last, tmp_path / last.name)
    path = tmp_path / last.name / file
    for content in harmed(path.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match=last.name):
            load(path.parent)


WRONG: tuple[Any, ...] = (
    None, True, -1, 1.5, 1 << 70, "", "x", [], [1], {}, {"x": 1}, {"$x": 1}, {"$array": "x"}, {"$tuple": 3},
    {"$generator": {"bit_generator": "seed"}}, {"$tensor": "learners[0].latest", "dtype": "load"}, {"$float": "nan"},
)  # fmt: skip


def places(tree: Any) -> list[tuple[Any, Any]]:
    """All that is in a tree, as (what holds it, its key)."""
    parts = list(tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ())
    return [(tree, key) for key, _ in parts] + [place for _, part in parts for place in places(part)]


@pytest.mark.parametrize(("name", "seed"), [("PPO", 0), ("DQN", 1), ("IMPALA", 2)])
def test_a_checkpoint_of_another_structure_is_refused_by_name(name: str, seed: int, tmp_path: Path) -> None:
    """Whatever passes has to run as well as any."""
    algorithm, out = {**ALGORITHMS, **OTHERS}[name], tmp_path / "run"
    a_round = algorithm.num_envs * algorithm.horizon
    options: dict[str, Any] = {"env": "CartPole-v1", "backend": "inline"}
    train(algorithm, out=out, total_steps=5 * a_round, **options)
    path = latest(out / "checkpoints")
    assert path is not None
    whole, refused = json.loads((path / "meta.json").read_text()), 0
    dice = random.Random(seed)
    for _ in range(60):
        meta = copy.deepcopy(whole)
        held, key = dice.choice(places(meta))
        if held is meta and key in {"crc32", "format"}:
            continue
        if dice.random() < 0.3:
            del held[key]
        else:
            held[key] = dice.choice(WRONG)
        (path / "meta.json").write_bytes(sealed(json.dumps({**meta, "crc32": "00000000"}).encode()))
        found = None
        try:
            train(algorithm, resume=path, out=tmp_path / "again", total_steps=7 * a_round, **options)
        except (CheckpointError, ReactionError) as error:
            found, refused = error.__cause__ if isinstance(error, ReactionError) else error, refused + 1
        if not isinstance(found, SimulationError | NotFiniteError):  # which name the environment
            assert found is None or (isinstance(found, CheckpointError) and str(path) in str(found)), (key, held)
        shutil.rmtree(tmp_path / "again", ignore_errors=True)
    assert refused > 20


@pytest.mark.parametrize(
    ("other", "fact"),
    [
        ({"algorithm": PPO}, "algorithm was 'DQN' and is 'PPO'"),
        ({"env": "Acrobot-v1"}, "env was 'CartPole-v1' and is 'Acrobot-v1'"),
        ({"seed": 4}, "seed was 3 and is 4"),
        ({"mode": "pipelined"}, "mode was 'sync' and is 'pipelined'; lag was 1 and is 2"),
        ({"actors": 4}, "actors was 2 and is 4"),
        ({"algorithm": rl.DQN(num_envs=4, horizon=16, batch_size=8)}, "batch_size was 16 and is 8"),
    ],
)
def test_a_foreign_checkpoint_is_refused(whole: Any, other: dict[str, Any], fact: str) -> None:
    options = {"algorithm": DQN, "resume": first_checkpoint(whole("DQN", "sync")), **other}
    with pytest.raises(CheckpointError, match=fact):
        train(options.pop("algorithm"), **options)


def rewritten(path: Path, change: Callable[[Any], object]) -> None:
    """Change what is in meta.json, with the right checksum."""
    meta = json.loads((path / "meta.json").read_text())
    change(meta)
    (path / "meta.json").write_bytes(sealed(json.dumps({**meta, "crc32": "00000000"}).encode()))


def test_a_checkpoint_of_another_version_is_refused(copied: Path) -> None:
    path = copied / "checkpoints" / f"{12 * STEPS:012d}"
    rewritten(path, lambda meta: meta["versions"].update(reactors="0.0.1"))
    with pytest.raises(CheckpointError, match=r"written by reactors 0\.0\.1, and this is"):
        train(DQN, resume=path)


def test_a_checkpoint_of_other_reactors_is_refused(copied: Path) -> None:
    path = copied / "checkpoints" / f"{12 * STEPS:012d}"
    rewritten(path, lambda meta: meta["program"].update(graph="0"))
    with pytest.raises(CheckpointError, match="the reactors, ports and reactions are others"):
        train(DQN, resume=path)


def test_no_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="has no checkpoints"):
        train(PPO, resume=tmp_path)
    with pytest.raises(CheckpointError, match="does not exist"):
        train(PPO, resume=tmp_path / "nothing")


def test_a_finished_run_needs_more_steps(whole: Any) -> None:
    with pytest.raises(rx.ReactorError, match=r"is at step 1,280 of .*, so nothing is left to do; to go on, ask for"):
        train(DQN, resume=whole("DQN", "sync").out)


def test_a_folder_of_another_run_is_refused(whole: Any) -> None:
    with pytest.raises(RunFolderError, match="is the folder of a run already"):
        train(DQN, out=whole("DQN", "sync").out)


def test_a_run_that_goes_on_has_the_weights_of_its_last_checkpoint_until_it_ends(tmp_path: Path) -> None:
    given: Any = {"env": cracked, "env_kwargs": {"what": "reward"}, "checkpoint_every": 1}
    train(PPO, total_steps=4 * STEPS, out=tmp_path, **given)
    with pytest.raises(ReactionError):
        train(PPO, total_steps=20 * STEPS, resume=tmp_path, **given)
    found = load(tmp_path)
    assert found.meta["global_step"] > 4 * STEPS
    assert np.array_equal(RunFolder(tmp_path).weights, found.weights())
    (found.path / "meta.json").write_bytes((found.path / "meta.json").read_bytes()[:-100])
    with pytest.raises(RunFolderError, match=r"is damaged: meta.json: .*; take .* instead"):
        _ = RunFolder(tmp_path).weights


def test_the_folder_of_a_run_that_has_failed_has_nothing_to_go_on_from(tmp_path: Path) -> None:
    with pytest.raises(ReactionError):
        train(PPO, env=cracked, env_kwargs={"what": "reward"}, out=tmp_path)
    with pytest.raises(RunFolderError, match="already; it has no checkpoint to go on from: remove it, or give another"):
        train(PPO, out=tmp_path)
    with pytest.raises(RunFolderError, match="has no weights: the run has failed, and has no checkpoint"):
        _ = RunFolder(tmp_path).weights


def test_a_folder_of_another_run_is_refused_to_one_that_is_resumed(whole: Any, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(whole("DQN", "sync").out, out)
    there = contents(out)
    with pytest.raises(RunFolderError, match=rf"{out} is the folder of another run than .*768, which would be lost"):
        train(PPO, resume=first_checkpoint(whole("PPO", "sync")), out=out)
    assert contents(out) == there


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_checkpoints_with_later_numbers_are_not_forgotten(tmp_path: Path) -> None:
    later = [tmp_path / f"{number:012d}" for number in (7168, 7232)]
    for path in later:
        path.mkdir()
    written = write(tmp_path, {"global_step": 64}, {}, np.zeros(1, np.float32))
    assert sorted(tmp_path.iterdir()) == [written, *later]


def test_one_process_at_a_time_trains_in_a_folder(whole: Any, tmp_path: Path) -> None:
    """They would write over each other's journal and checkpoints. A file that a killed one has left holds nobody up."""
    out = tmp_path / "run"
    shutil.copytree(whole("PPO", "sync").out, out)
    (out / "running.pid").write_text("1\n")
    said = []

    def second(_: object) -> None:
        if not said:
            with pytest.raises(RunFolderError) as caught:
                train(PPO, resume=out, total_steps=(ROUNDS + 8) * STEPS)
            said.append(str(caught.value))

    longer = train(PPO, resume=out, total_steps=(ROUNDS + 4) * STEPS, watch=[second])
    assert said == [
        f"{out} is trained by process {os.getpid()} right now; wait until it is over, or give another folder"
    ]
    assert len(longer.journal) == ROUNDS + 4
    assert not (out / "running.pid").exists()


def test_a_folder_in_which_nothing_has_begun_is_gone_again(whole: Any, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="is of another training"):
        train(DQN, resume=whole("PPO", "sync").out, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_refuses_a_changed_journal_leaves_the_folder_as_it_was(whole: Any, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(whole("PPO", "sync").out, out)
    journal = (out / "journal.csv").read_text()
    (out / "journal.csv").write_text(journal.replace("1", "2", 1))
    there = contents(out)
    with pytest.raises(CheckpointError, match="the journal is not what it was at the checkpoint"):
        train(PPO, resume=out / "checkpoints" / f"{12 * STEPS:012d}", total_steps=2 * ROUNDS * STEPS)
    assert contents(out) == there


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done, write = [], tensors.write

    def full(path: Path, *rest: Any) -> str:
        done.append(path)
        if len(done) == 4:  # the second file of the second checkpoint
            path.write_bytes(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return write(path, *rest)

    monkeypatch.setattr(tensors, "write", full)
    out = tmp_path / "run"
    with pytest.raises(ReactionError) as caught:
        train(PPO, out=out, checkpoint_every=4)
    assert isinstance(caught.value.__cause__, CheckpointError)
    assert "cannot be written (No space left on device); the last one," in str(caught.value.__cause__)
    assert [path.name for path in (out / "checkpoints").iterdir()] == [f"{4 * STEPS:012d}"]
    assert "resume= goes on from there" in caught.value.__notes__[0]
    monkeypatch.setattr(tensors, "write", write)
    assert train(PPO, resume=out, out=tmp_path / "more").journal[-1]["global_step"] == ROUNDS * STEPS


def test_a_full_disk_is_reported_first_whatever_else_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the journal can, nor the result."""
    widen, times = JournalFile._widen, []

    def full(path: Any, *_: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    def some(self: Any, given: Any) -> None:
        times.append(given)
        if len(times) > 1:
            monkeypatch.setattr("reactors.rl.runs.run_folder.write_json", full)
            full(self.path)
        widen(self, given)

    monkeypatch.setattr(JournalFile, "_widen", some)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ReactionError) as caught:
        train(PPO, out=tmp_path / "run", checkpoint_every=1, backend="inline")
    assert isinstance(caught.value.__cause__, RunFolderError)
    assert "journal.csv cannot be written (No space left on device)" in str(caught.value.__cause__)
    assert "what came of the run cannot be written" in caught.value.__notes__[-1]


# ---- numbers that are none ----


class Cracked(gym.Wrapper[Any, Any, Any, Any]):
    """After so many steps, a number that is none."""

    def __init__(self, env: gym.Env[Any, Any], at: int, what: str) -> None:
        super().__init__(env)
        self.at, self.what, self.steps = at, what, 0

    def step(self, action: Any) -> Any:
        obs, reward, *rest = super().step(action)
        self.steps += 1
        if self.steps == self.at:
            wrong = {"reward": np.inf, "reward of nan": np.nan}
            reward, obs = (wrong[self.what], obs) if self.what in wrong else (reward, np.full_like(obs, np.nan))
        return obs, reward, *rest

    def reset(self, **kwargs: Any) -> Any:
        obs, infos = super().reset(**kwargs)
        return (np.full_like(obs, np.nan) if self.what == "reset" and self.steps else obs), infos


def cracked(what: str, at: int = 100, limit: int = 500) -> gym.Env[Any, Any]:
    return Cracked(gym.make("CartPole-v1", max_episode_steps=limit), at, what)


@pytest.mark.parametrize("limit", [500, 3], ids=["terminated", "truncated"])
def test_an_episode_that_begins_with_no_number_is_named(limit: int) -> None:
    with pytest.raises(ReactionError) as caught:
        train(PPO, env=cracked, env_kwargs={"what": "reset", "limit": limit})
    assert isinstance(caught.value.__cause__, NotFiniteError)
    assert "reset() of environment" in str(caught.value.__cause__)


@pytest.mark.parametrize("what", ["observation", "reward"])
def test_a_number_that_is_none_is_named(what: str, tmp_path: Path) -> None:
    with pytest.raises(ReactionError) as caught:
        train(PPO, env=cracked, env_kwargs={"what": what}, out=tmp_path / "run", checkpoint_every=2)
    assert isinstance(caught.value.__cause__, NotFiniteError)
    assert f"the {what} of environment 0 (seed" in str(caught.value.__cause__)
    assert "at its step 100 in all" in str(caught.value.__cause__)
    found = RunFolder(tmp_path / "run")
    assert found.result["state"] == "failed"
    assert "the last checkpoint is" in caught.value.__notes__[0]
    assert load(found.path).meta["global_step"] >= 4 * STEPS


def test_a_reward_of_nan_is_a_reason_to_restart_an_environment() -> None:
    done = train(PPO, env=cracked, env_kwargs={"what": "reward of nan"}, on_error="restart")
    [note] = [note for note in done.notes if note.startswith("environments failed and were made again, ")]
    assert ". One of them: actors[0]: environment 0 (seed " in note
    assert note.endswith("answered step wrongly: its reward is nan, which is no number")


def test_a_loss_that_is_no_number_is_named() -> None:
    wild = rl.PPO(num_envs=4, horizon=16, epochs=20, batch_size=32, learning_rate=1e30, anneal=False)
    with pytest.raises(ReactionError) as caught:
        train(wild)
    assert isinstance(caught.value.__cause__, NotFiniteError)
    assert "main.learners[0]: losses/" in str(caught.value.__cause__)
    assert "at step 64" in str(caught.value.__cause__)


# ---- environments that do not tell ----


class Closed(gym.Wrapper[Any, Any, Any, Any]):
    """Keeps something that there is no known way to save."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.engine = object()


def closed() -> gym.Env[Any, Any]:
    return Closed(gym.make("CartPole-v1"))


def test_environments_that_do_not_tell_begin_again_and_it_is_noted(tmp_path: Path) -> None:
    train(PPO, env=closed, out=tmp_path / "run", checkpoint_every=12)
    resume = tmp_path / "run" / "checkpoints" / f"{12 * STEPS:012d}"
    again = [train(PPO, env=closed, resume=resume, out=tmp_path / name) for name in "ab"]
    assert "Closed.engine is a object, and there is no known way to save it" in again[0].notes[0]
    assert "they began new episodes" in again[0].notes[0]
    assert RunFolder(tmp_path / "a").result["notes"] == again[0].notes
    assert np.array_equal(again[0].weights, again[1].weights)  # and still reproducible


class Lazy(gym.Wrapper[Any, Any, Any, Any]):
    """Makes something while it is played, of a class that is not to be found."""

    made: Any = None

    def step(self, action: Any) -> Any:
        class Inner:
            pass

        self.made = self.made or Inner()
        return super().step(action)


def lazy() -> gym.Env[Any, Any]:
    return Lazy(gym.make("CartPole-v1"))


def test_environments_that_cannot_take_on_their_state_begin_again_and_it_is_noted(tmp_path: Path) -> None:
    train(PPO, env=lazy, out=tmp_path / "run", checkpoint_every=12)
    resume = tmp_path / "run" / "checkpoints" / f"{12 * STEPS:012d}"
    again = [train(PPO, env=lazy, resume=resume, workers=n, out=tmp_path / f"{n}") for n in (1, 2)]
    for each in again:
        assert "actors[0] could not be restored (the state has a Lazy.step.<locals>.Inner" in each.notes[0]
    assert np.array_equal(again[0].weights, again[1].weights)


def test_the_files_are_safetensors_for_others(whole: Any) -> None:
    path = first_checkpoint(whole("DQN", "sync"))
    found = safetensors.numpy.load_file(path / "state.safetensors")
    assert found["experience.buffer.obs"].shape == (600, 4)
    assert any(name.startswith("learners[0].learning.net.") for name in found)
    weights = safetensors.numpy.load_file(whole("DQN", "sync").out / "weights.safetensors")["weights"]
    assert np.array_equal(weights, whole("DQN", "sync").weights)


def test_what_a_checkpoint_cannot_be_resumed_for_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(CheckpointError) as caught,
        going_on(tmp_path / "000000000016", "the state of learner"),
    ):
        raise KeyError("moments")
    assert str(caught.value) == (
        f"the checkpoint {tmp_path / '000000000016'} cannot be resumed: the state of learner cannot have been written "
        "by this program (KeyError: 'moments'); there is no other one beside it"
    )
