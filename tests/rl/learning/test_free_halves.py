"""In free mode an actor and its critics learn apart, each at its own pace, by the other's newest weights."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest

import reactors as rx
from reactors import rl
from reactors.errors import ArgumentError
from reactors.rl.dataflow.program import Training, placement, worker_of
from reactors.rl.learning.adaptation import Adaptation, Follower, adapting
from reactors.rl.learning.free_halves import FreeHalfLearner
from reactors.rl.learning.latest import Latest
from reactors.rl.learning.learners import Learners
from reactors.rl.learning.split_learner import ACTOR, CRITICS, halves
from reactors.rl.options import Options
from reactors.rl.rounds import ROUND, STOP

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.usefixtures("bare_runs"),
    pytest.mark.filterwarnings("ignore::reactors.errors.ReactorWarning"),  # what nothing reads
]

SMALL: dict[str, Any] = {
    "num_envs": 4, "horizon": 4, "hidden": (8,), "batch_size": 16, "learning_starts": 32, "capacity": 600,
}  # fmt: skip
APART: dict[str, Any] = {"actor_device": "cpu", "critic_device": "cpu"}
ROUNDS = 20


def trained(algorithm: Any, *, workers: int, backend: Any = "thread", exchange_every: int = 1) -> Training:
    """The program, after a run in free mode."""

    def make() -> Any:
        return gym.make("Pendulum-v1")

    env = make()
    learners = Learners(("cpu", "cpu"), exchange_every)
    options = Options(actors=2, mode="free", seed=3)
    made = Training(algorithm, make, env.observation_space, env.action_space, options, learners=learners)
    where = placement(made, workers, "free")
    rx.run(
        made, fast=True, seed=3, timeout=(ROUNDS - 1) * ROUND + STOP, keepalive=False, backend=backend, workers=workers,
        placement=lambda path: worker_of(where, path),
    )  # fmt: skip
    return made


def closed(made: Training) -> None:
    """Give the memory back."""
    assert made.memory is not None
    for learner in made.learners:
        del learner.memory
    made.memory.close()
    gc.collect()


@pytest.mark.parametrize("backend", ["thread", "process"])
@pytest.mark.parametrize("algorithm", [rl.SAC(**SMALL, updates_per_step=0.5), rl.TD3(**SMALL, prioritized=True)])
def test_both_halves_keep_the_ratio(algorithm: Any, backend: str) -> None:
    made = trained(algorithm, workers=3, backend=backend)
    wanted = algorithm.updates_in(ROUNDS * 16)
    assert [learner.made for learner in made.learners] == [wanted, wanted]
    closed(made)


def test_each_half_goes_by_the_newest_weights_of_the_other() -> None:
    """They are not the same, as the other goes on, but much nearer than those of the beginning."""
    algorithm = rl.TD3(**SMALL, learning_rate=1e-3, policy_delay=1)
    made = trained(algorithm, workers=1)
    actor, critics = (made.learners[half].learning for half in (ACTOR, CRITICS))
    observations, actions = made.learners[0].spaces
    first = algorithm.learning(observations, actions, 3)
    for half, owner, other in ((ACTOR, actor, critics), (CRITICS, critics, actor)):
        weights, known, initial = (halves(each)[half][0].fetch() for each in (owner, other, first))
        assert 0 < np.abs(weights - known).max() < np.abs(weights - initial).max() / 2
    closed(made)


def test_updates_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `adapt` each half makes as many as it has time for, and a mean would be of neither."""
    told: dict[int, set[str]] = {ACTOR: set(), CRITICS: set()}

    def tell(learner: FreeHalfLearner, figures: dict[str, Any]) -> None:
        told[learner.bank_index or 0] |= set(figures)
        original(learner, figures)

    original = FreeHalfLearner.tell
    monkeypatch.setattr(FreeHalfLearner, "tell", tell)
    closed(trained(rl.SAC(**SMALL), workers=3))
    assert {half for half, names in told.items() if {"updates", "frames"} & names} == {CRITICS}


def test_one_that_went_on_has_the_memory_and_both_halves_of_before(tmp_path: Path) -> None:
    options: dict[str, Any] = {"mode": "free", "workers": 3, "backend": "thread", "seed": 1, **APART}
    algorithm = rl.SAC(**SMALL)
    rl.train(algorithm, "Pendulum-v1", **options, total_steps=640, out=tmp_path / "run")
    saved = max((tmp_path / "run" / "checkpoints").iterdir())
    done = rl.train(algorithm, "Pendulum-v1", **options, total_steps=960, resume=saved)
    assert done.steps == 960
    assert done.journal[-1]["charts/buffer_fill"] == 1.0
    del done
    gc.collect()


@pytest.mark.parametrize("name", ["SAC", "TD3", "DDPG"])
def test_the_critics_find_out_and_the_actor_follows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reactors.rl.learning.adaptation.SECONDS", 0.01)
    done = rl.train(
        getattr(rl, name)(**SMALL), "Pendulum-v1", total_steps=3_200, mode="free", workers=3, backend="thread",
        adapt=rl.Bounds(batch_size=(8, 64)), **APART,
    )  # fmt: skip
    assert "batch_size" in {each["what"] for each in done.decisions}
    rows = [row for row in done.journal if "adapt/batch_size" in row]
    assert {row["adapt/batch_size"] for row in rows} <= {8, 16, 32, 64}
    assert {"losses/actor_loss", "losses/qf_loss"} <= {name for row in rows for name in row}
    del done
    gc.collect()


def test_a_follower_does_as_it_was_last_told() -> None:
    """But its pace is its own."""
    plan = Latest(2)
    made = Adaptation.of(rl.SAC(**SMALL), rl.Bounds(updates_per_step=(0.25, 0.5)), 2, plan=plan)
    follower = Follower.of(made)
    assert follower.due(16) == made.due(16) == 4
    made.batch_sizes.at += 1
    made.publish()
    assert follower.due(16) == 4
    assert (follower.batch_size, follower.playing) == (32, 2)
    assert (follower.pace.allowed, made.pace.allowed) == (16.0, 8.0)


def test_halves_need_a_worker_each_beside_the_samplers() -> None:
    with pytest.raises(ArgumentError, match=r"the actor's and the critics' learners work beside samplers.* workers=3"):
        adapting(rl.SAC(**SMALL), Options(mode="free", adapt=True, actors=2), 2, 1, None, apart=True)
