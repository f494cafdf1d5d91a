"""Batches that loaders make are those that the learner would have made."""

from __future__ import annotations

from typing import Any

import pytest

from reactors import rl
from reactors.errors import ArgumentError

SMALL: dict[str, Any] = {"num_envs": 4, "horizon": 8, "hidden": (8,)}
CASES: dict[str, tuple[Any, str]] = {
    "PPO": (rl.PPO(**SMALL, epochs=2, batch_size=8), "CartPole-v1"),
    "A2C, continuous": (rl.A2C(**SMALL), "Pendulum-v1"),
    "APPO, kept batches": (
        rl.APPO(**SMALL, fragments=2, ring=2, passes=2, replay_slots=3, replay_proportion=0.5), "CartPole-v1"
    ),
    "QLearning": (rl.QLearning(num_envs=4, horizon=8), "FrozenLake-v1"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_without_loaders(name: str) -> None:
    algorithm, env = CASES[name]

    def train(**options: Any) -> rl.Trained:
        return rl.train(algorithm, env, total_steps=256, seed=4, mode="pipelined", **options)

    plain = train().weights.tobytes()
    for loaders in (1, 2, 4):
        one = train(loaders=loaders)
        two = train(loaders=loaders, workers=2, backend="thread")
        assert one.weights.tobytes() == two.weights.tobytes() == plain
        assert one.digest == two.digest


def test_processes_and_central_inference_have_loaders_too() -> None:
    given: dict[str, Any] = {"total_steps": 256, "inference": "central", "double_buffer": True, "loaders": 2}
    one = rl.train(CASES["PPO"][0], "CartPole-v1", **given)
    two = rl.train(CASES["PPO"][0], "CartPole-v1", workers=2, backend="process", **given)
    assert one.weights.tobytes() == two.weights.tobytes()
    assert one.digest == two.digest


@pytest.mark.parametrize(
    ("algorithm", "loaders", "what"),
    [
        (rl.DQN(), 2, "learns from replay, which loads its batches itself"),
        (rl.PPO(horizon=8), 3, "let horizon be a multiple of loaders"),
        (rl.PPO(), -1, "write a whole number, 0 or more"),
    ],
)
def test_what_loaders_cannot_share_is_refused(algorithm: Any, loaders: int, what: str) -> None:
    with pytest.raises(ArgumentError, match=what):
        rl.train(algorithm, "CartPole-v1", loaders=loaders)
