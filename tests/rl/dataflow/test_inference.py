"""Wherever actions are chosen, who does the work does not matter, and a run that was stopped goes on."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from reactors import rl
from reactors.errors import ArgumentError, ReactionError
from reactors.rl.checkpoints.files import load
from reactors.rl.dataflow.program import Training, placement
from reactors.rl.encoding.state import encode
from reactors.rl.errors import NotFiniteError
from reactors.rl.options import Options
from reactors.rl.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

SMALL: dict[str, Any] = {"num_envs": 8, "horizon": 4, "hidden": (8,)}
REPLAY: dict[str, Any] = {**SMALL, "learning_starts": 32, "batch_size": 4, "capacity": 200, "updates_per_step": 0.1}
CASES: dict[str, tuple[Any, str]] = {
    "PPO": (rl.PPO(**SMALL, epochs=2, batch_size=16), "CartPole-v1"),
    "DQN": (rl.DQN(**REPLAY, prioritized=True, n_step=2), "CartPole-v1"),
    "SAC": (rl.SAC(**REPLAY), "Pendulum-v1"),
}
ROUNDS, STEPS = 8, 32


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Graphs are cycles, and replay memory goes with them."""
    yield
    gc.collect()


def trained(name: str, double_buffer: bool, **options: Any) -> rl.Trained:
    algorithm, env = CASES[name]
    given: dict[str, Any] = {"total_steps": ROUNDS * STEPS, "seed": 5, **options}
    return rl.train(algorithm, env, inference="central", double_buffer=double_buffer, **given)


@pytest.mark.parametrize("mode", ["sync", "pipelined"])
@pytest.mark.parametrize("double_buffer", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_results_do_not_depend_on_workers_or_simulators(name: str, double_buffer: bool, mode: Any) -> None:
    one = trained(name, double_buffer, mode=mode, actors=4)
    for workers in (2, 4):
        many = trained(name, double_buffer, mode=mode, actors=4, workers=workers, backend="thread")
        assert many.weights.tobytes() == one.weights.tobytes()
        assert many.digest == one.digest
    other = trained(name, double_buffer, mode=mode, actors=1)
    assert other.weights.tobytes() == one.weights.tobytes()


@pytest.mark.parametrize(
    ("name", "mode", "workers", "double_buffer"),
    [
        ("PPO", "sync", 2, False),
        ("PPO", "sync", 4, True),
        ("DQN", "pipelined", 2, True),
        ("SAC", "pipelined", 4, False),
    ],
)
def test_processes_and_threads_agree(name: str, mode: Any, workers: int, double_buffer: bool) -> None:
    one = trained(name, double_buffer, mode=mode, actors=4)
    many = trained(name, double_buffer, mode=mode, actors=4, workers=workers, backend="process")
    assert many.weights.tobytes() == one.weights.tobytes()
    assert many.digest == one.digest


class Watching(rl.A2C):
    """Says how well rows fit together, and how far the remembered probabilities are from the network's."""

    def learning(self, observation_space: Any, action_space: Any, seed: int, device: str = "cpu") -> Any:
        made: Any = super().learning(observation_space, action_space, seed, device)
        learn = made.learn

        def watched(batch: Mapping[str, torch.Tensor]) -> Any:
            goes_on = ~(batch["terminated"] | batch["truncated"])[:-1, :, None]
            apart = ((batch["next_obs"][:-1] - batch["obs"][1:]).abs() * goes_on).max()
            with torch.no_grad():
                features = made.net.features(batch["obs"].flatten(0, 1))
                log_prob = made.net.judge(features, batch["action"].flatten())[0]
            off = (log_prob - batch["log_prob"].flatten()).abs().max()
            ends = (~goes_on).sum().float()
            figures = yield from learn(batch)
            return {**figures, "losses/apart": apart, "losses/off": off, "losses/ends": ends}

        made.learn = watched
        return made


@pytest.mark.parametrize("double_buffer", [False, True])
def test_rows_follow_one_another_and_have_the_actions_of_their_observations(double_buffer: bool) -> None:
    done = rl.train(
        Watching(num_envs=8, horizon=16, hidden=(8,)), "CartPole-v1", total_steps=1280, actors=2, inference="central",
        double_buffer=double_buffer,
    )  # fmt: skip
    assert len(done.journal) == 10
    assert all(row["losses/apart"] == 0 and row["losses/off"] < 1e-5 for row in done.journal)
    assert sum(row["losses/ends"] for row in done.journal) > 5
    assert len({row["charts/episodic_return"] for row in done.journal if "charts/episodic_return" in row}) > 3


@pytest.mark.parametrize("double_buffer", [False, True])
@pytest.mark.parametrize(("name", "mode"), [("PPO", "pipelined"), ("DQN", "sync")])
def test_a_resumed_run_ends_as_the_uninterrupted_one(
    name: str, mode: str, double_buffer: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunFolder, "draw", lambda *_: None)
    monkeypatch.setattr("reactors.rl.runs.curves.curve", lambda *_: None)
    full = trained(name, double_buffer, mode=mode, out=tmp_path / "full", checkpoint_every=5)
    again = trained(
        name, double_buffer, mode=mode, workers=2, backend="thread", out=tmp_path / "again",
        resume=tmp_path / "full" / "checkpoints" / f"{5 * STEPS:012d}",
    )  # fmt: skip
    assert full.weights.tobytes() == again.weights.tobytes()
    states = [load(tmp_path / run).states for run in ("full", "again")]
    for part in ("learners[0]", "server", "simulators[0]", "simulators[1]"):
        (tree, arrays), (again_tree, again_arrays) = (encode(each[part]) for each in states)
        assert {**tree, "seconds": 0} == {**again_tree, "seconds": 0}
        assert {at: each.tobytes() for at, each in arrays.items()} == {
            at: each.tobytes() for at, each in again_arrays.items()
        }


def test_free_mode_has_the_newest_weights() -> None:
    done = trained("PPO", double_buffer=True, mode="free", workers=2, backend="thread")
    assert len(done.journal) == ROUNDS
    alone = trained("PPO", double_buffer=True, mode="free")
    assert alone.weights.tobytes() == trained("PPO", double_buffer=True).weights.tobytes()


class Broken(gym.Env[Any, Any]):
    """Its third observation is none."""

    observation_space = gym.spaces.Box(-1, 1, (2,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, **_: Any) -> Any:
        self.t = 0
        return np.zeros(2, np.float32), {}

    def step(self, action: int) -> Any:
        del action
        self.t += 1
        return np.full(2, np.nan if self.t == 3 else 0, np.float32), 0.0, False, False, {}


def test_what_is_no_number_is_reported_with_its_environment() -> None:
    with pytest.raises(ReactionError) as caught:
        rl.train(rl.A2C(**SMALL), Broken, total_steps=64, inference="central", double_buffer=True)
    assert isinstance(caught.value.__cause__, NotFiniteError)
    assert "main.simulators[0]: the observation of environment 0 (seed " in str(caught.value.__cause__)
    assert "at its step 3 in all" in str(caught.value.__cause__)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ArgumentError, match='write "actors" or "central"'):
        rl.train(rl.PPO(), "CartPole-v1", inference="server")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match='write inference="central", too'):
        rl.train(rl.PPO(), "CartPole-v1", double_buffer=True)
    with pytest.raises(ArgumentError, match="be a multiple of twice their number"):
        rl.train(rl.PPO(num_envs=6), "CartPole-v1", inference="central", double_buffer=True, actors=2)


@pytest.mark.parametrize(
    ("mode", "double_buffer", "workers", "server", "simulators"),
    [
        ("sync", False, 2, 0, [0, 1]), ("pipelined", False, 2, 1, [1, 1]), ("pipelined", False, 3, 1, [1, 2]),
        ("sync", True, 1, 0, [0, 0]), ("sync", True, 2, 0, [0, 1]), ("sync", True, 3, 0, [1, 2]),
        ("pipelined", True, 3, 1, [1, 2]), ("pipelined", True, 4, 1, [2, 3]),
    ],
)  # fmt: skip
def test_a_server_works_beside_simulators_or_by_itself(
    mode: Any, double_buffer: bool, workers: int, server: int, simulators: list[int]
) -> None:
    env = gym.make("CartPole-v1")
    training = Training(
        rl.PPO(**SMALL), lambda: gym.make("CartPole-v1"), env.observation_space, env.action_space,
        Options(actors=2, mode=mode, lag=1, inference="central", double_buffer=double_buffer),
    )  # fmt: skip
    where = placement(training, workers, mode)
    assert where == {"main.learners[0]": 0, "main.server": server} | {
        f"main.simulators[{i}]": at for i, at in enumerate(simulators)
    }
