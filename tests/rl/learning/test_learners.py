"""Several learners that share each batch stay one; actor and critics learn apart; nothing depends on who is faster."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest
import torch
from click.testing import CliRunner

import reactors as rx
from reactors import rl
from reactors.command.cli import main
from reactors.errors import ArgumentError, ParameterError, ReactionError
from reactors.rl.algorithms.a2c import A2CLearning
from reactors.rl.dataflow.program import Training
from reactors.rl.errors import CheckpointError
from reactors.rl.learning.learners import Learners
from reactors.rl.networks.layers import alone
from reactors.rl.options import Options
from reactors.rl.rounds import ROUND, STOP
from reactors.rl.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from pathlib import Path

    from reactors.rl.networks.layers import Descent

pytestmark = pytest.mark.usefixtures("bare_runs")

SMALL: dict[str, Any] = {"num_envs": 2, "horizon": 4, "hidden": (8,)}
REPLAY: dict[str, Any] = {**SMALL, "learning_starts": 8, "batch_size": 4, "capacity": 100}
ALGORITHMS: dict[str, tuple[Any, str]] = {
    "PPO": (rl.PPO(**SMALL, epochs=2, batch_size=4), "CartPole-v1"),
    "IMPALA": (
        rl.IMPALA(**SMALL, fragments=2, ring=2, passes=2, replay_slots=3, replay_proportion=0.7), "CartPole-v1"
    ),
    "DQN": (rl.DQN(**REPLAY, prioritized=True, n_step=2), "CartPole-v1"),
    "SAC": (rl.SAC(**REPLAY), "Pendulum-v1"),
    "TD3": (rl.TD3(**REPLAY, prioritized=True), "Pendulum-v1"),
}  # fmt: skip
APART: dict[str, Any] = {"actor_device": "cpu", "critic_device": "cpu"}


def trained(name: str, rounds: int = 6, **options: Any) -> rl.Trained:
    algorithm, env = ALGORITHMS[name]
    return rl.train(algorithm, env, total_steps=rounds * algorithm.num_envs * algorithm.horizon, seed=7, **options)


def bits(run: rl.Trained) -> tuple[bytes, str]:
    return run.weights.tobytes(), run.digest


# ---- several learners ----


@pytest.mark.parametrize(("name", "mode"), [("PPO", "sync"), ("DQN", "pipelined"), ("SAC", "pipelined")])
def test_two_learners_give_the_same_on_any_workers(name: str, mode: Any) -> None:
    one = trained(name, mode=mode, learners=2)
    for workers in (2, 4):
        assert bits(trained(name, mode=mode, learners=2, workers=workers, backend="thread")) == bits(one)
    assert one.weights.tobytes() != trained(name, rounds=1, mode=mode).weights.tobytes()


@pytest.mark.parametrize("name", ["DQN"])
def test_two_learners_give_the_same_in_two_processes(name: str) -> None:
    one, two = (
        trained(name, mode="pipelined", learners=2, workers=n, backend=b) for n, b in ((1, "auto"), (2, "process"))
    )
    assert bits(one) == bits(two)


def program(algorithm: Any, env: str, learners: Learners) -> Training:
    made = gym.make(env)
    return Training(
        algorithm, lambda: gym.make(env), made.observation_space, made.action_space, Options(actors=2, seed=3),
        learners=learners,
    )  # fmt: skip


def run(training: Training, rounds: int = 5) -> None:
    warnings.simplefilter("ignore", rx.ReactorWarning)  # nothing saves it
    rx.run(training, fast=True, seed=3, timeout=(rounds - 1) * ROUND + STOP, keepalive=False)


@pytest.mark.parametrize("name", ["PPO", "IMPALA", "SAC"])
def test_learners_stay_equal_bit_for_bit(name: str) -> None:
    training = program(*ALGORITHMS[name], Learners(("cpu", "cpu")))
    run(training)
    first, second = (learner.learning for learner in training.learners)
    for mine, other in zip(first.flats, second.flats, strict=True):
        assert mine.weights.detach().numpy().tobytes() == other.weights.detach().numpy().tobytes()
        assert float(mine.weights.grad.abs().max()) > 0


@pytest.mark.parametrize("algorithm", [rl.A2C(**SMALL), rl.DQN(**REPLAY)])
def test_the_mean_of_gradients_of_parts_is_the_gradient_of_the_batch(algorithm: Any) -> None:
    steps = 4 * algorithm.num_envs * algorithm.horizon
    one, two = (rl.train(algorithm, "CartPole-v1", total_steps=steps, seed=7, learners=n) for n in (1, 2))
    np.testing.assert_allclose(one.weights, two.weights, atol=2e-5)
    assert [row["global_step"] for row in one.journal] == [row["global_step"] for row in two.journal]
    assert one.journal[0].keys() == two.journal[0].keys()


@pytest.mark.parametrize("name", ["SAC", "TD3"])
def test_learners_have_random_numbers_of_their_own(name: str) -> None:
    algorithm, env = ALGORITHMS[name]
    made = gym.make(env)
    pair = [algorithm.learning(made.observation_space, made.action_space, 1) for _ in range(2)]
    for learning, seed in zip(pair, (1, 2), strict=True):
        learning.reseed(seed)
    assert pair[0].weights().tobytes() == pair[1].weights().tobytes()
    rng = np.random.default_rng(0)
    sizes = {"obs": (4, 3), "next_obs": (4, 3), "action": (4, 1), "reward": (4,), "weights": (4,)}
    batch = {name: torch.from_numpy(rng.random(size, np.float32)) for name, size in sizes.items()}
    for learning in pair:
        for _ in range(4):
            alone(learning.learn(batch | {"terminated": torch.zeros(4, dtype=torch.bool)}))
    assert pair[0].weights().tobytes() != pair[1].weights().tobytes()


def test_learners_of_one_program_draw_different_noise() -> None:
    training = program(*ALGORITHMS["SAC"], Learners(("cpu", "cpu")))
    run(training)
    first, second = (learner.learning.noise.get_state() for learner in training.learners)
    assert not torch.equal(first, second)


def resumed(name: str, tmp_path: Path, **options: Any) -> None:
    """A run that goes on from a checkpoint, on other workers, ends as the one that was never stopped."""
    whole = trained(name, rounds=10, out=tmp_path / "whole", checkpoint_every=5, **options)
    algorithm, _ = ALGORITHMS[name]
    steps = algorithm.num_envs * algorithm.horizon
    resume = tmp_path / "whole" / "checkpoints" / f"{5 * steps:012d}"
    again = trained(name, rounds=10, resume=resume, out=tmp_path / "again", workers=2, backend="thread", **options)
    assert whole.weights.tobytes() == again.weights.tobytes()
    assert len(again.journal) == 10
    for name_, value in whole.journal[-1].items():
        if name_.startswith("losses/"):
            assert again.journal[-1][name_] == value or math.isnan(value)
    with pytest.raises(CheckpointError, match=r"learners|exchange_every"):
        trained(name, rounds=10, resume=resume, out=tmp_path / "other")


@pytest.mark.parametrize("name", ["PPO", "DQN"])
def test_two_learners_go_on_from_a_checkpoint(name: str, tmp_path: Path) -> None:
    resumed(name, tmp_path, learners=2, mode="pipelined")


@pytest.mark.parametrize(
    ("algorithm", "what"),
    [
        (rl.PPO(num_envs=3), "num_envs of PPO is 3, which 2 learners cannot share evenly"),
        (rl.PPO(num_envs=2, batch_size=3), "batch_size of PPO is 3"),
        (rl.IMPALA(num_envs=2, fragments=1), "fragments of IMPALA is 1"),
        (rl.DQN(batch_size=65, learning_starts=8), "batch_size of DQN is 65"),
    ],
)
def test_a_batch_that_cannot_be_shared_evenly_is_refused(algorithm: Any, what: str) -> None:
    with pytest.raises(ParameterError, match=what):
        rl.train(algorithm, "CartPole-v1", total_steps=64, learners=2)


def test_learners_may_have_a_device_each() -> None:
    one, *each = (trained("PPO", learners=2, device=device) for device in ("cpu", "cpu, cpu", ["cpu", "cpu"]))
    assert [bits(one)] * 2 == list(map(bits, each))
    for learners, device in ((1, "cpu,cpu"), (2, "cpu,cpu,cpu")):
        with pytest.raises(ArgumentError, match=f"device of rl.train is '{device}', . devices, and learners is"):
            trained("PPO", learners=learners, device=device)
    for nothing in ([], [1], None):
        with pytest.raises(ArgumentError, match=r"device of rl.train is .*; write a name, as \"cpu\", or a list"):
            trained("PPO", device=nothing)


def test_a_table_has_one_learner() -> None:
    with pytest.raises(ArgumentError, match="QLearning has no gradients"):
        rl.train(rl.QLearning(), "FrozenLake-v1", total_steps=64, learners=2)


@dataclass(frozen=True, kw_only=True)
class Moody(rl.A2C):
    """One of its learners makes two steps where the other makes one."""

    name: ClassVar[str] = "Moody"
    made: ClassVar[list[int]] = []

    def learning(self, observation_space: Any, action_space: Any, seed: int, device: str = "cpu") -> MoodyLearning:
        return MoodyLearning(self, observation_space, action_space, seed, device)


class MoodyLearning(A2CLearning):
    def reseed(self, seed: int) -> None:
        Moody.made.append(seed)
        self.twice = len(Moody.made) == 2

    def learn(self, batch: Any) -> Descent:
        found = yield from super().learn(batch)
        if self.twice:
            found = yield from super().learn(batch)
        return found


def test_learners_that_do_not_step_together_are_reported() -> None:
    with pytest.raises(ReactionError) as caught:
        rl.train(Moody(**SMALL), "CartPole-v1", total_steps=64, learners=2)
    assert "fewer steps of the optimizer" in str(caught.value.__cause__)


# ---- actor and critics apart ----


@pytest.mark.parametrize(("name", "mode"), [("SAC", "pipelined"), ("TD3", "sync")])
def test_actor_and_critics_apart_give_the_same_on_any_workers(name: str, mode: Any) -> None:
    one = trained(name, mode=mode, exchange_every=4, **APART)
    two = trained(name, mode=mode, exchange_every=4, workers=2, backend="thread", **APART)
    assert bits(one) == bits(two)
    losses = [row[loss] for row in one.journal for loss in ("losses/qf_loss", "losses/actor_loss") if loss in row]
    assert len(losses) >= 8
    assert np.isfinite(losses).all()
    assert one.weights.tobytes() != trained(name, mode=mode, **APART).weights.tobytes()


def test_halves_have_the_networks_of_each_other() -> None:
    algorithm, env = ALGORITHMS["SAC"]
    training = program(algorithm, env, Learners(("cpu", "cpu"), exchange_every=8))
    before = algorithm.learning(*training.learners[0].spaces, 3)
    run(training)
    actor, critics = (learner.learning for learner in training.learners)
    for name in ("actor", "critics", "temperature"):
        mine, other = (half.flat[name].weights.detach() for half in (actor, critics))
        assert torch.equal(mine, other)
        assert not torch.equal(mine, before.flat[name].weights.detach())


def test_apart_learns_what_together_learns_when_the_actor_stands_still() -> None:
    """With a policy delay that never comes, critics are all that learns; apart, they learn the same."""
    algorithm = rl.TD3(**REPLAY, policy_delay=10_000, target_noise=0.0)
    together = program(algorithm, "Pendulum-v1", Learners())
    apart = program(algorithm, "Pendulum-v1", Learners(("cpu", "cpu"), exchange_every=8))
    run(together)
    run(apart)
    mine, other = (t.learners[-1].learning.flat["critics"].weights.detach() for t in (together, apart))
    assert torch.equal(mine, other)


def test_actor_and_critics_apart_go_on_from_a_checkpoint(tmp_path: Path) -> None:
    resumed("TD3", tmp_path, mode="pipelined", exchange_every=2, **APART)


@pytest.mark.parametrize(
    ("algorithm", "options", "what"),
    [
        (rl.DQN(**REPLAY), APART, "DQN has no halves"),
        (rl.SAC(**REPLAY), {**APART, "learners": 2}, "leave out one or the other"),
        (rl.SAC(**REPLAY), {**APART, "exchange_every": 3}, "a round of SAC has 8 updates; let it divide 8"),
        (
            rl.SAC(**REPLAY),
            {**APART, "device": "meta"},
            "device of rl.train is 'meta', but actor_device and critic_device",
        ),
        (rl.SAC(**REPLAY), {"exchange_every": 4}, "write actor_device and critic_device"),
        (rl.SAC(**REPLAY), {"actor_device": "nowhere"}, "actor_device of rl.train is 'nowhere'"),
        (rl.SAC(**REPLAY), {"learners": 0}, "learners of rl.train is 0"),
    ],
)
def test_halves_that_cannot_be_are_refused(algorithm: Any, options: Any, what: str) -> None:
    env = "CartPole-v1" if isinstance(algorithm, rl.DQN) else "Pendulum-v1"
    with pytest.raises(ArgumentError, match=what):
        rl.train(algorithm, env, total_steps=64, **options)


# ---- the command ----


def test_the_command_has_learners(tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = f"train ppo --env CartPole-v1 --total-steps 256 --learners 2 --set horizon=16 --set epochs=1 --out {out}"
    done = CliRunner().invoke(main, words.split())
    assert done.exit_code == 0, done.output
    assert RunFolder(out).config["learners"] == 2
    refused = CliRunner().invoke(main, ["train", "--resume", str(out), "--learners", "4"])
    assert refused.exit_code == 2
    assert "learners was 2" in refused.output
