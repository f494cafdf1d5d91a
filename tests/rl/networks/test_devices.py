"""Batches and weights are the same on the device as they were here, and so is training for any workers."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from reactors import rl
from reactors.errors import ArgumentError
from reactors.rl.learning.learners import checked
from reactors.rl.networks.layers import Flat, mlp
from reactors.rl.networks.transfer import Upload

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_CUDA = not torch.cuda.is_available()
gpu = [pytest.mark.gpu, pytest.mark.skipif(NO_CUDA, reason="there is no CUDA device here")]
SMALL: dict[str, Any] = {"num_envs": 2, "horizon": 4, "hidden": (8,)}
REPLAY: dict[str, Any] = {**SMALL, "learning_starts": 8, "batch_size": 4, "capacity": 100, "prioritized": True}


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Graphs are cycles, and replay memory goes with them."""
    yield
    gc.collect()


def batches(n: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    return [
        {
            "obs": rng.random((512, 64), np.float32),
            "action": rng.integers(0, 9, 512),
            "terminated": rng.random(512) < 0.5,
        }
        for _ in range(n)
    ]


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=gpu)])
def test_batches_arrive_as_they_were_sent(device: str) -> None:
    upload, sent = Upload(device), batches(7)
    arrived = [upload(batch) for batch in sent]
    for batch, found in zip(sent, arrived, strict=True):
        for name, array in batch.items():
            assert found[name].device.type == device
            np.testing.assert_array_equal(found[name].cpu().numpy(), array)


def test_a_batch_on_the_cpu_is_not_copied() -> None:
    (batch,) = batches(1)
    found = Upload("cpu")(batch)
    batch["obs"][0] = 5
    assert float(found["obs"][0, 0]) == 5


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=gpu)])
def test_fetched_weights_are_those_of_that_moment(device: str) -> None:
    flat = Flat(mlp([4, 8, 2]).to(device).parameters())
    flat.weights.data.fill_(1)
    before = flat.fetch()
    flat.weights.data.fill_(2)
    assert (before == 1).all()
    assert (flat.fetch(3) == 2).all()
    assert flat.fetch(3).shape == (3,)


@pytest.mark.skipif(not NO_CUDA, reason="there is a CUDA device here")
def test_a_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"critic_device of rl.train is 'cuda:1', but torch finds no CUDA here"):
        checked("cuda:1", "critic_device")


WAYS: tuple[tuple[int, Any], ...] = ((1, "auto"), (2, "thread"))
CASES: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "PPO": (rl.PPO(**SMALL, epochs=2, batch_size=4), "CartPole-v1", {"device": "cuda"}),
    "DQN, two learners": (rl.DQN(**REPLAY), "CartPole-v1", {"device": "cuda", "learners": 2}),
    "SAC apart": (rl.SAC(**REPLAY), "Pendulum-v1", {"actor_device": "cuda", "critic_device": "cuda"}),
    "TD3 beside the CPU": (rl.TD3(**REPLAY), "Pendulum-v1", {"actor_device": "cpu", "critic_device": "cuda"}),
}


@pytest.mark.gpu
@pytest.mark.skipif(NO_CUDA, reason="there is no CUDA device here")
@pytest.mark.parametrize("name", CASES)
def test_training_on_cuda_is_the_same_on_any_workers(name: str) -> None:
    algorithm, env, options = CASES[name]
    one, two = (
        rl.train(algorithm, env, total_steps=64, seed=7, mode="pipelined", workers=workers, backend=backend, **options)
        for workers, backend in WAYS
    )
    assert np.isfinite(one.weights).all()
    assert one.digest == two.digest
    assert one.weights.tobytes() == two.weights.tobytes()
