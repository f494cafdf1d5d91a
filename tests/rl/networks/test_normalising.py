"""Observations and rewards by their running statistics: the numbers, and that they are part of the policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import nn

from reactors import rl
from reactors.errors import ParameterError, ReactorWarning
from reactors.rl.networks.layers import Inference, flat
from reactors.rl.networks.normalising import (
    CLIP,
    Centre,
    Normalise,
    RewardScale,
    RunningMean,
    RunningMoments,
    normaliser,
)
from tests.catch import Catch

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("bare_runs")

ALGORITHMS = (rl.A2C, rl.PPO, rl.IMPALA, rl.APPO)
SMALL: dict[str, Any] = {"num_envs": 4, "horizon": 16, "hidden": (8,)}
OF: dict[Any, dict[str, Any]] = {
    rl.PPO: {"epochs": 1, "batch_size": 16},
    rl.DQN: {"learning_starts": 16, "updates_per_step": 0.25, "capacity": 500, "batch_size": 8},
}
BOTH: dict[str, Any] = {"normalise_observations": True, "normalise_rewards": True}


def test_moments_are_those_of_all_rows_however_they_came() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(5, 3, (1000, 4)).astype(np.float32)
    for cuts in ([], [1], [1, 2, 500], range(1, 1000)):
        moments = RunningMoments(4)
        for part in np.split(rows, list(cuts)):
            moments.add(part)
        assert moments.mean == pytest.approx(rows.astype(float).mean(0), rel=1e-12)
        assert moments.variance == pytest.approx(rows.astype(float).var(0), rel=1e-10)


def test_numbers_far_from_0_keep_their_variance() -> None:
    moments = RunningMoments(1)
    for part in ([[1e9]], [[1e9 + 1]], [[1e9 + 2]]):
        moments.add(np.array(part))
    assert moments.variance == pytest.approx([2 / 3])


def test_numpy_normalises_as_torch_does() -> None:
    layer, moments = Normalise(3), RunningMoments(3)
    moments.add(np.array([[-1.0, -2.0, -10.0], [3.0, -2.0, 10.0]]))
    layer.follow(moments)
    net = nn.Sequential(layer, nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
    fast = Inference(net)
    fast.load(flat(net))
    assert fast.in_numpy
    x = np.random.default_rng(1).normal(0, 30, (50, 3)).astype(np.float32)
    assert fast(x) == pytest.approx(net(torch.from_numpy(x)).detach().numpy(), abs=1e-5)
    assert layer(torch.from_numpy(x)).abs().max() == CLIP


def test_rewards_are_divided_by_the_deviation_of_discounted_returns() -> None:
    rng = np.random.default_rng(2)
    scale, returns, sums = RewardScale(3, 0.9), list[float](), np.zeros(3)
    for _ in range(4):
        rewards, ended = rng.normal(2, 5, (6, 3)).astype(np.float32), rng.random((6, 3)) < 0.2
        for reward, over in zip(rewards, ended, strict=True):
            for i in range(3):
                sums[i] = 0.9 * sums[i] + reward[i]
                returns.append(sums[i])
                sums[i] *= not over[i]
        assert scale(rewards, ended) == pytest.approx(np.clip(rewards / np.std(returns), -CLIP, CLIP), rel=1e-5)


def test_frames_are_less_their_mean_in_quarters_of_their_range() -> None:
    rng = np.random.default_rng(3)
    frames = rng.integers(0, 256, (300, 2, 5, 4), np.uint8)
    layer = Centre((2, 5, 4), 255)
    assert layer(torch.from_numpy(frames)).numpy() == pytest.approx(frames / 255, abs=1e-6)
    mean = RunningMean((2, 5, 4))
    for part in np.split(frames, [1, 7, 200]):
        mean.add(part)
    assert (mean.mean == frames.astype(float).mean(0)).all()
    layer.follow(mean)
    assert layer(torch.from_numpy(frames)).numpy() == pytest.approx((frames - frames.mean(0)) / 255 * 4, abs=1e-5)


@pytest.mark.parametrize(
    ("low", "high", "dtype", "whole"),
    [
        (0, 255, np.uint8, 255), (0, 255, np.float32, 255), (0, 1, np.float32, 1), (0, 1, np.bool_, 1),
        (-1, 1, np.float32, 2), (-128, 127, np.int8, 255), (0, 0, np.float32, 1), (-np.inf, np.inf, np.float32, 1),
        (*(np.finfo(np.float64).max * sign for sign in (-1, 1)), np.float64, 1), (0, 2**31 - 1, np.int32, 1),
    ],
)  # fmt: skip
def test_the_range_of_frames_is_that_of_their_space(low: Any, high: Any, dtype: Any, whole: float) -> None:
    layer = normaliser(gym.spaces.Box(low, high, (5, 4, 2), dtype))
    assert isinstance(layer, Centre)
    assert layer.whole == whole
    layer.follow(layer.statistics())
    assert layer.scale.item() == pytest.approx(4 / whole)


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, rl.DQN])
def test_frames_are_centred_on_what_was_seen(algorithm: Any, tmp_path: Path) -> None:
    """The mean travels with the weights: on one worker as on two, where a run goes on, and where the policy is read."""
    made = algorithm(num_envs=2, horizon=8, normalise_observations=True, **OF.get(algorithm, {}))
    options: dict[str, Any] = {"env": Catch, "total_steps": 160, "seed": 1, "checkpoint_every": 5, "mode": "pipelined"}
    one = rl.train(made, **options, out=tmp_path / "one")
    two = rl.train(made, **options, workers=2, out=tmp_path / "two")
    assert one.digest == two.digest
    assert one.weights.tobytes() == two.weights.tobytes()
    again = rl.train(made, **options, resume=tmp_path / "one/checkpoints/000000000080", out=tmp_path / "again")
    assert (again.weights == one.weights).all()
    pixels = 4 * 42 * 42
    mean, scale = one.weights[:pixels], one.weights[pixels]
    assert scale == pytest.approx(4 / 255)
    assert 0 < mean.mean() < 10  # a ball and a paddle on black
    obs = Catch().reset(seed=4)[0][None]
    assert rl.load(tmp_path / "one", algorithm=algorithm).policy.greedy(obs) == one.policy.greedy(obs)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_statistics_are_part_of_the_policy(algorithm: Any, tmp_path: Path) -> None:
    """What acts has the mean and deviation of what was learned from, on one worker as on two, and where it is read."""
    made = algorithm(**SMALL, **BOTH)
    done = [
        rl.train(made, "Pendulum-v1", total_steps=640, seed=1, workers=workers, out=tmp_path / str(workers))
        for workers in (1, 2)
    ]
    assert done[0].digest == done[1].digest
    mean, scale = done[0].weights[:3], done[0].weights[3:6]
    plain = rl.train(algorithm(**SMALL), "Pendulum-v1", total_steps=640, seed=1)
    assert len(done[0].weights) == len(plain.weights) + 6
    assert np.abs(mean[:2]).max() < 1  # a cosine and a sine
    assert (scale[:2] > 1).all()
    assert 1 / 8 < scale[2] < 1  # of a speed from -8 to 8
    obs = np.array([[0.5, -0.5, 3.0]], np.float32)
    read = rl.load(tmp_path / "1", algorithm=algorithm)
    assert read.policy.greedy(obs) == pytest.approx(done[0].policy.greedy(obs))
    assert read.evaluate(2) == done[0].evaluate(2)


def test_a_run_goes_on_with_them(tmp_path: Path) -> None:
    made = rl.PPO(**SMALL, epochs=2, batch_size=32, **BOTH)
    options: dict[str, Any] = {"env": "Pendulum-v1", "total_steps": 640, "seed": 3, "mode": "pipelined"}
    whole = rl.train(made, **options, out=tmp_path / "whole", checkpoint_every=6)
    again = rl.train(
        made, **options, resume=tmp_path / "whole/checkpoints/000000000384", out=tmp_path / "again", workers=2
    )
    assert again.digest == whole.digest


def test_returns_in_the_journal_are_those_of_the_environment() -> None:
    plain, scaled = (
        rl.train(rl.A2C(**SMALL, normalise_rewards=each), "CartPole-v1", total_steps=64, seed=0).journal[0]
        for each in (False, True)
    )
    assert plain["charts/episodic_return"] == scaled["charts/episodic_return"]
    assert plain["losses/value_loss"] != scaled["losses/value_loss"]


def test_what_cannot_be_normalised_is_refused() -> None:
    def linear(space: gym.Space[Any]) -> nn.Module:
        raise AssertionError(space)

    with pytest.raises(ParameterError, match=r"normalise_observations of A2C is for frames.*here are vectors with one"):
        rl.train(rl.A2C(normalise_observations=True, torso=linear), "CartPole-v1", total_steps=64)
    with pytest.raises(ParameterError, match="normalise_observations of DQN goes by all of a batch, of which 2"):
        rl.train(rl.DQN(normalise_observations=True), "CartPole-v1", total_steps=256, learners=2)
    for name, value in {"normalise_rewards": True, "normalise_observations": True, "target_kl": 0.1}.items():
        with pytest.raises(ParameterError, match=f"{name} of PPO goes by all of a batch, of which 2 learners"):
            rl.train(rl.PPO(**{name: value}), "CartPole-v1", total_steps=256, learners=2)


@pytest.mark.parametrize(
    ("wrapper", "option"),
    [
        (gym.wrappers.NormalizeObservation, "normalise_observations"),
        (gym.wrappers.NormalizeReward, "normalise_rewards"),
    ],
)
def test_wrappers_with_statistics_of_their_own_are_warned_of(wrapper: Any, option: str) -> None:
    def make() -> Any:
        return gym.wrappers.TimeLimit(wrapper(gym.make("CartPole-v1")), 50)

    algorithm = rl.PPO(num_envs=2, horizon=8, epochs=1, batch_size=8)
    said = rf"^rl.train: its environments are in a {wrapper.__name__}, .* {option}=True"
    with pytest.warns(ReactorWarning, match=said):
        rl.train(algorithm, make, total_steps=16)
