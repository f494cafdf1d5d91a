"""A training is executed again, from its start or a checkpoint, and is the same bit for bit."""

from __future__ import annotations

import gc
import itertools
import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest

import reactors as rx
from reactors import rl
from reactors.rl.runs.retrained import retrained
from reactors.rl.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

PPO = rl.PPO(num_envs=2, horizon=16, epochs=1, hidden=(8,))
DQN = rl.DQN(num_envs=2, horizon=4, learning_starts=16, batch_size=8, capacity=128, prioritized=True, hidden=(8,))


@pytest.fixture(autouse=True)
def bare_runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs draw no pictures, which are tested elsewhere; graphs are cycles, and replay memory goes with them."""
    monkeypatch.setattr("reactors.rl.runs.run_folder.RunFolder.draw", lambda *_: None)
    monkeypatch.setattr("reactors.rl.runs.curves.curve", lambda *_: None)
    yield
    gc.collect()


def weights(r: rx.Replay) -> Any:
    return r.main.learners[0].learning.weights()


@pytest.mark.parametrize("algorithm", [PPO, DQN], ids=["PPO", "DQN"])
def test_any_round_is_what_it_was_from_the_start_or_a_checkpoint(algorithm: Any, tmp_path: Path) -> None:
    a_round = algorithm.num_envs * algorithm.horizon
    done = rl.train(algorithm, "CartPole-v1", total_steps=9 * a_round, seed=3, out=tmp_path / "one", checkpoint_every=3)
    short = rl.train(algorithm, "CartPole-v1", total_steps=9 * a_round, until=5 * a_round, seed=3)
    with rx.Replay(tmp_path / "one") as r:
        r.to("4 min")  # the end of round 4, before the first checkpoint that is kept
        early = weights(r)
        assert (early == short.weights).all()
        r.end()
        assert (weights(r) == done.weights).all()
        r.to("8 min")
        assert len(r._timelines) == 2  # from a checkpoint
        assert (weights(r) == done.weights).all()
        r.to("4 min")
        assert (weights(r) == early).all()
    assert sorted(path.name for path in (tmp_path / "one").iterdir() if path.name.startswith(".")) == []


class Engine(gym.Env[Any, Any]):
    """Where it is only a generator knows."""

    observation_space, action_space = gym.spaces.Box(-100, 100, (1,), np.float32), gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.engine = itertools.accumulate(self.np_random.normal(size=38))
        return np.array([next(self.engine)], np.float32), {}

    def step(self, action: Any) -> Any:
        at = next(self.engine, None)
        return np.array([at or 0.0], np.float32), float(action), False, at is None, {}


def losses(folder: Path, rounds: Iterable[int]) -> list[float]:
    """Of a run that is executed again."""
    found = []
    with rx.Replay(folder, env=Engine) as r:
        for number in rounds:
            r.to(f"{60 * number + 29} s")
            found.append(r.main.journal.latest["losses/value_loss"])
    return found


def test_rounds_after_a_checkpoint_that_does_not_know_the_environment_are_executed_from_the_start(
    tmp_path: Path,
) -> None:
    done = rl.train(PPO, Engine, total_steps=320, checkpoint_every=4, out=tmp_path)
    assert losses(tmp_path, (8, 9)) == [row["losses/value_loss"] for row in done.journal[8:10]]


def test_a_run_whose_environments_began_new_episodes_is_executed_from_there_and_trained_likewise(
    tmp_path: Path,
) -> None:
    algorithm = replace(PPO, anneal=False)
    given: Any = {"total_steps": 320, "checkpoint_every": 2, "out": tmp_path / "one"}
    rl.train(algorithm, Engine, until=256, **given)
    done = rl.train(algorithm, Engine, resume=tmp_path / "one", **given)
    with pytest.warns(rx.ReactorWarning, match="at round 8 where environments that do not tell their state began new"):
        found = losses(tmp_path / "one", (7, 8, 9))
    assert found == [row["losses/value_loss"] for row in done.journal[7:10]]
    again = retrained(RunFolder(tmp_path / "one", env=Engine), tmp_path / "again")
    assert again.digest == done.digest


def test_one_of_many_agents_and_their_past_policies_is_what_it_was(tmp_path: Path) -> None:
    ippo = rl.IPPO(num_envs=2, horizon=8, epochs=1, hidden=(8,))
    past = rl.Past(every=2, choose="elo", chance=1.0)
    given: Any = {"total_steps": 9 * 16, "opponents": past, "out": tmp_path / "one", "checkpoint_every": 3}
    done = rl.train(ippo, "classic/tictactoe_v3", **given)
    with rx.Replay(tmp_path / "one") as r:
        assert r.to("5 min").main.actors[0].acting.opponents.pools[0].rounds == [0, 2, 4]
        r.end()
        assert (r.main.groups["agents"].learner.learning.weights() == done.weights).all()
        assert r.main.elo.rated["agents"]["past"][6] == done.past[3].elo["agents"]


def test_what_was_trained_freely_or_by_other_versions_is_refused(tmp_path: Path) -> None:
    rl.train(PPO, "CartPole-v1", total_steps=64, mode="free", out=tmp_path / "free")
    with pytest.raises(rx.ReplayError, match='mode="free", where what actors play depends on timing'):
        rx.Replay(tmp_path / "free")
    rl.train(PPO, "CartPole-v1", total_steps=64, out=tmp_path / "one")
    file = tmp_path / "one" / "config.json"
    config = json.loads(file.read_text())
    config["versions"]["torch"] = "1.0"
    from reactors.rl.runs.run_folder import write_json

    del config["crc32"]
    write_json(file, config)
    with pytest.raises(rx.ReplayError, match=r"with other versions: torch was 1\.0 and is"):
        rx.Replay(tmp_path / "one")


def test_until_stops_a_run_that_goes_on_as_if_it_had_not_been_stopped(tmp_path: Path) -> None:
    annealed = rl.PPO(num_envs=2, horizon=16, epochs=1, hidden=(8,), anneal=True)
    whole = rl.train(annealed, "CartPole-v1", total_steps=256, seed=1)
    part = rl.train(annealed, "CartPole-v1", total_steps=256, seed=1, until=128, out=tmp_path / "one")
    assert part.steps == 128
    rest = rl.train(annealed, "CartPole-v1", total_steps=256, seed=1, resume=tmp_path / "one")
    assert np.array_equal(rest.weights, whole.weights)
    assert rest.digest == whole.digest


def test_a_run_that_went_on_for_more_steps_follows_the_schedules_of_then(tmp_path: Path) -> None:
    """Its learning rate falls over 128 steps, and from the checkpoint at 96 on over 320."""
    annealed = rl.PPO(num_envs=2, horizon=16, epochs=1, hidden=(8,), anneal=True)
    first = rl.train(annealed, "CartPole-v1", total_steps=128, until=96, out=tmp_path / "one")
    early = rl.train(annealed, "CartPole-v1", total_steps=128, until=64)
    done = rl.train(annealed, "CartPole-v1", total_steps=320, resume=tmp_path / "one", checkpoint_every=4)
    with pytest.warns(rx.ReactorWarning, match=r"was resumed at round 3 with total_steps=320 instead of 128"):
        r = rx.Replay(tmp_path / "one")
    with r:
        assert (weights(r.to("1 min")) == early.weights).all()
        assert (weights(r.to("2 min")) == first.weights).all()
        with pytest.raises(rx.ReplayError, match="from its start it is executed again only up to there"):
            r.to("4 min")
        assert (weights(r.to("8 min").end()) == done.weights).all()
        assert (weights(r.to("2 min").end()) == done.weights).all()


def test_without_schedules_a_run_that_went_on_is_one(tmp_path: Path) -> None:
    rl.train(PPO, "CartPole-v1", total_steps=64, out=tmp_path / "one")
    done = rl.train(PPO, "CartPole-v1", total_steps=128, resume=tmp_path / "one")
    for path in (tmp_path / "one" / "checkpoints").iterdir():
        shutil.rmtree(path)
    with rx.Replay(tmp_path / "one") as r:
        assert (weights(r.end()) == done.weights).all()
