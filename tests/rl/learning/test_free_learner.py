"""In free mode actors fill the memory, and the learner goes by the ratio, as fast as it can."""

from __future__ import annotations

import gc
import warnings
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest

import reactors as rx
from reactors import rl
from reactors.rl.algorithms.off_policy import memory_of
from reactors.rl.checkpoints.files import load
from reactors.rl.dataflow.actor import Actor
from reactors.rl.dataflow.free_actor import FreeActor
from reactors.rl.dataflow.program import LEAD, Training, placement, worker_of
from reactors.rl.learning.learners import Learners
from reactors.rl.options import Options
from reactors.rl.rounds import ROUND, STOP

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("bare_runs")

SMALL: dict[str, Any] = {"num_envs": 4, "horizon": 4, "hidden": (8,), "batch_size": 8, "learning_starts": 40}


class Paying(gym.Env[Any, Any]):
    """Ten steps an episode; the k-th pays k."""

    observation_space = gym.spaces.Box(0, 100, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.k = 0
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        self.k += 1
        return np.full(2, self.k, np.float32), float(self.k), self.k == 10, False, {}


class Driven(Paying):
    """The same, by a continuous action."""

    action_space: Any = gym.spaces.Box(-1, 1, (1,), np.float32)


def spaces(env: Any) -> tuple[Any, Any]:
    return env.observation_space, env.action_space


def trained(
    algorithm: Any, rounds: int, *, workers: int = 2, backend: Any = "thread", learners: int = 1, env: Any = Paying,
    **options: Any,
) -> Training:  # fmt: skip
    """The program, after a run in free mode."""
    made = Training(
        algorithm, env, *spaces(env),
        Options(actors=2, mode="free", seed=3, **options), learners=Learners(("cpu",) * learners),
    )  # fmt: skip
    where = placement(made, workers, "free")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rx.ReactorWarning)  # what nothing reads
        rx.run(
            made, fast=True, seed=3, timeout=(rounds - 1) * ROUND + STOP, keepalive=False, backend=backend,
            workers=workers + len(made.beside), placement=lambda path: worker_of(where, path),
        )  # fmt: skip
    return made


@pytest.fixture
def closing() -> Iterator[list[Training]]:
    """Programs whose memory is given back at the end."""
    made: list[Training] = []
    yield made
    for each in made:
        assert each.memory is not None
        each.memory.close()
    made.clear()
    gc.collect()


@pytest.mark.parametrize("backend", ["thread", "process"])
@pytest.mark.parametrize("ratio", [0.3, 1.0])
def test_the_ratio_of_updates_to_steps_is_kept(ratio: float, backend: str, closing: list[Training]) -> None:
    algorithm = rl.DQN(**SMALL, updates_per_step=ratio, prioritized=True)
    made = trained(algorithm, 30, backend=backend)
    closing.append(made)
    learner = made.learners[0]
    assert learner.added == 30 * 16
    assert (
        learner.made == algorithm.due(28 * 16) == algorithm.updates_in(30 * 16)
    )  # 40 transitions are there in round 2


@pytest.mark.parametrize("backend", ["thread", "process"])
@pytest.mark.parametrize(("kind", "options"), [(rl.DQN, {}), (rl.DQN, {"prioritized": True}), (rl.SAC, {})])
def test_several_learners_draw_at_once_and_stay_equal(
    kind: Any, options: dict[str, Any], backend: str, closing: list[Training]
) -> None:
    algorithm = kind(**SMALL, **options, updates_per_step=0.5)
    env = Driven if kind is rl.SAC else Paying
    made = trained(algorithm, 30, backend=backend, workers=3, learners=2, env=env)
    closing.append(made)
    one, two = made.learners
    assert one.made == two.made == algorithm.updates_in(30 * 16)
    assert np.array_equal(one.learning.weights(), two.learning.weights())
    assert not np.array_equal(one.learning.weights(), kind(**SMALL).learning(*spaces(env), 3).weights())
    last = made.journal.latest
    assert last["rate/update_frame_hz"] / last["rate/update_hz"] == pytest.approx(SMALL["batch_size"])
    assert one.memory.rng.random() != two.memory.rng.random()


@pytest.mark.parametrize(("options", "rewards"), [({}, 10), ({"reward_clip": 3.0}, 3)])
def test_actors_keep_all_that_they_play(options: Any, rewards: float, closing: list[Training]) -> None:
    made = trained(rl.DQN(**SMALL, **options), 20)
    closing.append(made)
    assert made.memory is not None
    kept = made.memory.take(np.arange(20 * 16))
    assert kept.reward.max() == rewards
    assert set(kept.next_obs[:, 0].astype(int)) == {*range(1, 11)}
    assert (kept.next_obs - kept.obs == 1).all()
    assert (kept.terminated == (kept.next_obs[:, 0] == 10)).all()


def test_returns_of_several_steps_are_put_together_by_each_actor(closing: list[Training]) -> None:
    made = trained(rl.DQN(**SMALL, n_step=3, gamma=0.5), 20)
    closing.append(made)
    assert made.memory is not None
    kept = made.memory.take(np.arange(len(made.memory)))
    first, steps = kept.obs[:, 0], kept.next_obs[:, 0] - kept.obs[:, 0]
    wanted = sum((first + 1 + k) * 0.5**k * (k < steps) for k in range(3))
    assert kept.reward == pytest.approx(wanted)
    assert set(steps) == {1, 2, 3}


def test_no_actor_is_further_ahead_than_it_may_be(closing: list[Training]) -> None:
    made = trained(rl.DQN(**SMALL, updates_per_step=4.0), 60)
    closing.append(made)
    ages = [row["charts/weight_age"] for row in made.journal.rows]
    assert max(ages) <= LEAD + 3  # and the rounds before there was enough to learn from


def test_one_that_went_on_has_the_memory_of_before(tmp_path: Path) -> None:
    algorithm = rl.DQN(**SMALL, updates_per_step=0.5)
    options: dict[str, Any] = {"mode": "free", "workers": 2, "backend": "thread", "seed": 1, "total_steps": 640}
    first = rl.train(algorithm, "CartPole-v1", **options, out=tmp_path / "run", checkpoint_every=10)
    saved = min((tmp_path / "run" / "checkpoints").iterdir())
    again = rl.train(algorithm, "CartPole-v1", **options, resume=saved, out=tmp_path / "again")
    assert again.steps == first.steps
    rows = [row for row in again.journal if "losses/td_loss" in row]
    assert rows[-1]["global_step"] == 640


@pytest.mark.parametrize("saved_before", [False, True])
def test_one_that_went_on_has_the_steps_that_waited_for_returns(
    saved_before: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them are kept in the end, but of a checkpoint of a version that did not save them."""
    algorithm, rounds = rl.DQN(**SMALL, n_step=3, gamma=0.5, capacity=1_000), 11
    options: dict[str, Any] = {"mode": "free", "actors": 2, "seed": 1, "checkpoint_every": rounds}
    with monkeypatch.context() as then:
        if saved_before:
            then.setattr(FreeActor, "state_dict", Actor.state_dict)
        rl.train(algorithm, Paying, **options, total_steps=16 * rounds, out=tmp_path / "run")
    saved = max((tmp_path / "run" / "checkpoints").iterdir())
    rl.train(algorithm, Paying, **options, total_steps=32 * rounds, out=tmp_path / "again", resume=saved)
    states = load(max((tmp_path / "again" / "checkpoints").iterdir())).states
    waiting = sum(int(states[f"actors[{i}]"]["n_step"]["counts"].sum()) for i in range(2))
    with memory_of(algorithm, *spaces(Paying)) as memory:
        memory.load_state_dict(states["learners[0]"]["buffer"])
        kept = memory.take(np.arange(len(memory)))
        lost = 2 * 4 if saved_before else 0
        assert len(memory) == 32 * rounds - waiting - lost
    first, steps = kept.obs[:, 0], kept.next_obs[:, 0] - kept.obs[:, 0]
    assert kept.reward == pytest.approx(sum((first + 1 + k) * 0.5**k * (k < steps) for k in range(3)))


def test_several_that_went_on_draw_other_rows(tmp_path: Path) -> None:
    algorithm = rl.DQN(**SMALL, updates_per_step=0.5)
    options: dict[str, Any] = {
        "mode": "free", "workers": 3, "learners": 2, "backend": "thread", "seed": 1, "total_steps": 640,
    }  # fmt: skip
    first = rl.train(algorithm, "CartPole-v1", **options, out=tmp_path / "run", checkpoint_every=10)
    saved = min((tmp_path / "run" / "checkpoints").iterdir())
    again = rl.train(algorithm, "CartPole-v1", **options, resume=saved, out=tmp_path / "again")
    assert again.steps == first.steps == 640
    assert not np.array_equal(again.weights, rl.load(saved).weights)


@pytest.mark.parametrize("backend", ["thread", "process"])
def test_evaluations_hold_up_no_worker(backend: str, closing: list[Training]) -> None:
    """They are made by a worker more, of the first weights of every so many rounds, and noted some rounds later."""
    made = trained(rl.DQN(**SMALL), 40, backend=backend, eval_every=10, eval_episodes=2)
    closing.append(made)
    assert made.beside == ["evaluator"]
    assert placement(made, 2, "free")["main.evaluator"] == 2
    rows = [row for row in made.journal.rows if "eval/mean_return" in row]
    assert [row["eval/mean_return"] for row in rows] == [55.0] * 4
    assert [int(row["global_step"]) // 16 - 1 for row in rows] == [2 + 5, 10 + 5, 20 + 5, 30 + 5]
