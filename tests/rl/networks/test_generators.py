"""What is learned depends on no generator that all threads share, and leaves those as they were."""

from __future__ import annotations

import random
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch import nn

import reactors as rx
from reactors import rl
from reactors.errors import ReactionError
from reactors.rl.algorithms.a2c import A2CLearning
from reactors.rl.networks.seeded import Seeded
from tests.rl.algorithms.test_algorithms import CASES, REPLAY, SMALL, Frames

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("bare_runs")


def shared_generators() -> tuple[Any, ...]:
    return torch.get_rng_state().tolist(), repr(np.random.get_state()), random.getstate()  # noqa: NPY002


@contextmanager
def untouched() -> Iterator[None]:
    """No draw of this thread is from torch's own generator, and no shared generator has moved afterwards."""
    before = shared_generators()
    with Seeded(0) as outer:
        yield
    assert outer.drawn is None
    assert shared_generators() == before


@contextmanager
def others_drawing() -> Iterator[None]:
    """Another thread draws and seeds meanwhile."""
    over = threading.Event()

    def draw() -> None:
        while not over.is_set():
            torch.manual_seed(random.randrange(1000))
            torch.randn(3)
            np.random.seed(np.random.randint(1000))  # noqa: NPY002 - it is the shared one that is meant

    with ThreadPoolExecutor(1) as pool:
        drawing = pool.submit(draw)
        try:
            yield
        finally:
            over.set()
            drawing.result()


class Seeing(nn.Module):
    """A torso whose layers draw in several ways."""

    features = 6

    def __init__(self, space: Any) -> None:
        super().__init__()
        self.filters, self.last = nn.Conv2d(space.shape[0], 2, 8, 8), nn.Linear(200, self.features)
        nn.init.orthogonal_(self.filters.weight)
        self.last.bias.data = torch.randn(self.features) + torch.rand_like(self.last.bias)

    def forward(self, frames: torch.Tensor) -> Any:
        return self.last(self.filters(frames / 255).flatten(1))


MORE: dict[str, tuple[Any, Any]] = {
    **CASES,
    "A2C with a torso": (rl.A2C(num_envs=2, horizon=4, torso=Seeing), Frames),
}


def trained(name: str, **options: Any) -> rl.Trained:
    algorithm, env = MORE[name]
    return rl.train(algorithm, env, total_steps=6 * algorithm.num_envs * algorithm.horizon, seed=7, **options)


@pytest.mark.parametrize("name", MORE)
def test_training_leaves_the_generators_alone_that_all_share(name: str) -> None:
    with untouched():
        trained(name, eval_every=2, eval_episodes=1)


@pytest.mark.parametrize(
    "options",
    [
        {"inference": "central", "double_buffer": True},
        {"mode": "pipelined", "learners": 2},
        {"mode": "free", "workers": 2, "backend": "thread"},
        {"loaders": 2},
    ],
)
def test_so_does_every_way_to_train(options: dict[str, Any]) -> None:
    before = shared_generators()
    rl.train(rl.PPO(num_envs=4, horizon=4, hidden=(8,)), "CartPole-v1", total_steps=64, **options)
    assert shared_generators() == before


def test_so_do_checkpoints_loading_tuning_and_serving(tmp_path: Path) -> None:
    algorithm = rl.SAC(**REPLAY)
    options: dict[str, Any] = {"env": "Pendulum-v1", "backend": "inline"}
    with untouched():
        rl.train(algorithm, total_steps=24, out=tmp_path / "run", checkpoint_every=1, **options)
        rl.train(algorithm, total_steps=48, resume=tmp_path / "run", **options)
        rl.load(tmp_path / "run").evaluate(1)
        rl.serve(algorithm, env="Pendulum-v1")
        rl.tune(algorithm, "Pendulum-v1", seconds=0.05, few=1, cores=1)


class Agents(rx.Reactor):
    """Three of them, once."""

    def __init__(self) -> None:
        with Seeded(1):
            networks = [nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(), nn.Linear(8, 2)) for _ in range(3)]
        self.policies = rl.Policies(networks, shape=(4,), choose="sample")
        self.add_reaction(rx.startup, self.tell, effects=self.policies.observations)

    def tell(self) -> None:
        self.policies.observations.set(np.ones((3, 4), np.float32))


def test_so_do_policies_of_several_agents() -> None:
    with untouched():
        rx.run(Agents(), fast=True)


TOGETHER = ["A2C with a torso", "IMPALA, all options", "DQN, all options", "SAC"]


def test_trainings_in_several_threads_beside_one_that_draws_learn_what_each_learns_alone() -> None:
    alone = [trained(name) for name in TOGETHER]
    filters = list(warnings.filters)
    with others_drawing(), ThreadPoolExecutor(len(TOGETHER)) as pool:
        together = list(pool.map(trained, TOGETHER))
    assert [each.weights.tobytes() for each in together] == [each.weights.tobytes() for each in alone]
    assert [each.digest for each in together] == [each.digest for each in alone]
    assert list(warnings.filters) == filters


@pytest.mark.parametrize("name", ["PPO", "QLearning", "TD3", "APPO"])
def test_training_beside_a_thread_that_draws_learns_what_it_learns_alone(name: str) -> None:
    alone = trained(name)
    with others_drawing():
        beside = trained(name, workers=2, backend="thread", mode="sync")
    assert beside.weights.tobytes() == alone.weights.tobytes()


def test_worker_processes_do_not_ask_for_the_state_of_shared_generators() -> None:
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        found.append(trained("IMPALA, all options", workers=2, backend="process").digest)
    assert found[0] == found[1]


# ---- algorithms of others ----


class Forgetful(A2CLearning):
    """Drops some of its gradients."""

    def learn(self, batch: Any) -> Any:
        self.net.log_std.data = self.net.log_std.data + 0.0 * torch.randn(1)
        self.noise = float(nn.functional.dropout(torch.ones(1000)).mean())
        figures = yield from super().learn(batch)
        return {**figures, "losses/noise": self.noise}


class Lent(Forgetful):
    draws = True


@dataclass(frozen=True, kw_only=True)
class Mine(rl.A2C):
    """Makes modules as anywhere, and does not seed anything."""

    kind: Any = Forgetful

    def learning(self, observation_space: Any, action_space: Any, seed: int, device: str = "cpu") -> Any:
        return self.kind(self, observation_space, action_space, seed, device)


def test_an_algorithm_that_draws_from_the_shared_generator_as_it_learns_is_refused() -> None:
    with pytest.raises(
        ReactionError, match=r"main\.learners\[0\]: Forgetful of A2C draws by torch's randn\(\) from .*draws = True"
    ):
        rl.train(Mine(**SMALL), "CartPole-v1", total_steps=32)


@pytest.mark.parametrize("learners", [1, 2])
def test_one_that_says_so_is_lent_a_generator_and_goes_on_with_it(learners: int, tmp_path: Path) -> None:
    algorithm, env = Mine(**SMALL, kind=Lent), "CartPole-v1"
    options: dict[str, Any] = {"env": env, "learners": learners, "backend": "inline"}
    with untouched():
        full = rl.train(algorithm, total_steps=48, **options)
    with others_drawing():
        rl.train(algorithm, total_steps=16, out=tmp_path / "run", **options)
        again = rl.train(algorithm, total_steps=48, resume=tmp_path / "run", **options)
    assert [row["losses/noise"] for row in again.journal] == [row["losses/noise"] for row in full.journal]
    assert len({row["losses/noise"] for row in full.journal}) > 1


# ---- the mode itself ----


def test_what_torch_draws_is_what_a_seed_of_its_own_generator_leads_to() -> None:
    def draws() -> list[Any]:
        ones = torch.ones(5)
        lstm = nn.LSTM(4, 3, 2, dropout=0.5)
        return [
            *lstm.parameters(), lstm(torch.ones(2, 1, 4))[0], torch.randn(3), torch.rand(3), torch.randperm(5),
            torch.randint(9, (3,)), torch.randint(2, 9, (3,)), torch.randn_like(ones), torch.rand_like(ones),
            torch.bernoulli(ones / 2), torch.multinomial(ones, 3), torch.normal(0.0, ones), torch.poisson(ones),
            nn.functional.rrelu(-ones, training=True), nn.functional.gumbel_softmax(ones),
            torch.distributions.Gamma(2.0, 1.0).sample((3,)),
        ]  # fmt: skip

    before = torch.get_rng_state()
    torch.manual_seed(5)
    wanted = draws()
    torch.set_rng_state(before)
    with untouched(), Seeded(5):
        found = draws()
    assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))


def test_a_generator_that_is_given_is_the_one_that_draws() -> None:
    with Seeded(1) as seeded:
        found = torch.rand(2, generator=torch.Generator().manual_seed(4))
        torch.empty(3, device="meta").normal_()
        ones = torch.ones(1, 1, 2, 2)
        nn.functional.scaled_dot_product_attention(ones, ones, ones)
    assert seeded.drawn is None
    assert torch.equal(found, torch.rand(2, generator=torch.Generator().manual_seed(4)))
