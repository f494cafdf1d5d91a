"""What the journal of every policy gradient says of how it learns."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from reactors import rl
from reactors.rl.algorithms.policy_gradient import Seen, explained_variance, vitals

ALWAYS = {
    "losses/grad_norm", "losses/approx_kl", "losses/explained_variance", "losses/entropy", "policy/spread",
    "values/mean", "values/spread", "advantages/spread",
}  # fmt: skip
FRAMES = gym.spaces.Box(0, 255, (1, 42, 42), np.uint8)
ALGORITHMS = (rl.A2C, rl.PPO, rl.IMPALA, rl.APPO)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("env", ["CartPole-v1", "Pendulum-v1"])
def test_every_row_of_a_policy_gradient_has_them(algorithm: Any, env: str) -> None:
    done = rl.train(algorithm(num_envs=4, horizon=8, hidden=(8,)), env, total_steps=64, seed=1)
    assert len(done.journal) == 2
    for row in done.journal:
        assert row.keys() >= ALWAYS
        assert row["losses/grad_norm"] > 0
        assert "torso/dead" not in row


@pytest.mark.parametrize("algorithm", [rl.A2C, rl.PPO, rl.IPPO])
def test_the_scale_of_advantages_is_theirs_before_they_are_normalised(algorithm: Any) -> None:
    kind: Any = {} if algorithm is rl.IPPO else {"normalise": True}
    env = "mpe2:simple_spread_v3" if algorithm is rl.IPPO else "CartPole-v1"
    done = rl.train(algorithm(num_envs=4, horizon=16, hidden=(8,), **kind), env, total_steps=64, seed=1)
    assert abs(done.journal[-1]["advantages/spread"] - 1) > 0.01


def learning(space: gym.Space[Any], actions: gym.Space[Any], **chosen: Any) -> Any:
    return rl.A2C(**chosen).learning(space, actions, 0)


def seen(net: Any, features: torch.Tensor, **others: torch.Tensor) -> Seen:
    zeros = torch.zeros(len(features))
    known = dict.fromkeys(("log_prob", "before", "values", "returns", "advantages"), zeros)
    return Seen(features=features, **{**known, **others})


def test_the_share_of_a_torsos_features_that_no_observation_wakes() -> None:
    found: Any = learning(FRAMES, gym.spaces.Discrete(3), torso="nature")
    features = torch.ones(4, 512)
    features[:, :128] = 0
    features[0, 0] = 1  # one observation is enough
    found.flat.clear()
    told = vitals(found.net, found.flat, seen(found.net, features))
    assert float(told["torso/dead"]) == 127 / 512


def test_the_norm_of_gradients_is_that_from_before_they_are_scaled_down() -> None:
    found: Any = learning(gym.spaces.Box(-1, 1, (3,)), gym.spaces.Discrete(2), hidden=(4,))
    found.flat.weights.grad.fill_(2.0)
    norm = 2 * len(found.flat.weights) ** 0.5
    assert float(found.flat.grad_norm) == pytest.approx(norm)
    found.flat.clip(0.5)
    assert float(torch.linalg.vector_norm(found.flat.weights.grad)) == pytest.approx(0.5, rel=1e-3)
    assert float(found.flat.grad_norm) == pytest.approx(norm)
    found.flat.clear()
    assert float(found.flat.grad_norm) == 0


def test_the_spread_of_a_policy_is_that_of_its_logits_or_of_its_actions() -> None:
    found: Any = learning(gym.spaces.Box(-1, 1, (3,)), gym.spaces.Discrete(3), hidden=(4,))
    with torch.no_grad():
        found.net.actor[-1].weight.zero_()
        found.net.actor[-1].bias.copy_(torch.tensor([1.0, -0.5, 0.25]))
    told = vitals(found.net, found.flat, seen(found.net, torch.zeros(2, 3)))
    assert float(told["policy/spread"]) == 1.5
    found = learning(gym.spaces.Box(-1, 1, (3,)), gym.spaces.Box(-1, 1, (2,)), hidden=(4,))
    with torch.no_grad():
        found.net.log_std.copy_(torch.tensor([0.5, 1.5]).log())
    told = vitals(found.net, found.flat, seen(found.net, torch.zeros(2, 3)))
    assert float(told["policy/spread"]) == pytest.approx(1.0)


def test_moved_policies_and_values_by_hand() -> None:
    found: Any = learning(gym.spaces.Box(-1, 1, (3,)), gym.spaces.Discrete(2), hidden=(4,))
    given = {
        "log_prob": torch.tensor([0.6, 0.2]).log(), "before": torch.tensor([0.3, 0.2]).log(),
        "values": torch.tensor([1.0, 3.0]), "returns": torch.tensor([0.0, 4.0]),
        "advantages": torch.tensor([-1.0, 1.0]),
    }  # fmt: skip
    told = {
        name: float(x) for name, x in vitals(found.net, found.flat, seen(found.net, torch.zeros(2, 3), **given)).items()
    }
    assert told["losses/approx_kl"] == pytest.approx((2 - 1 - np.log(2)) / 2)
    assert told["values/mean"] == 2
    assert told["values/spread"] == pytest.approx(2**0.5)
    assert told["advantages/spread"] == pytest.approx(2**0.5)
    assert told["losses/explained_variance"] == 0.75


def test_returns_that_are_all_the_same_have_no_variance_to_explain() -> None:
    assert torch.isnan(explained_variance(torch.ones(3), torch.arange(3.0)))
    assert torch.isnan(explained_variance(torch.ones(1), torch.ones(1)))
