"""What is the code of an observation made of, and what does the decoder have to make of it?"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import nn

from reactors import rl
from reactors.errors import ParameterError
from reactors.rl.networks.layers import NipsTorso, alone
from tests.rl.networks.test_torsos import Columns

ACTIONS = gym.spaces.Discrete(2)


def frames(side: int) -> gym.spaces.Box:
    return gym.spaces.Box(0, 255, (1, side, side), np.uint8)


def encoder(space: gym.Space[Any], **options: Any) -> Any:
    return rl.IMPALA(latent=3, **options).network(space, ACTIONS).torso


@pytest.mark.parametrize("kind", ["nature", "minatar", Columns])
def test_the_code_is_made_of_what_the_torso_gives(kind: Any) -> None:
    space = frames(42)
    algorithm = rl.IMPALA(latent=3, torso=kind)
    made, given = encoder(space, torso=kind), rl.PPO(torso=kind).network(space, ACTIONS).torso
    assert type(made.torso) is type(given)
    obs = np.stack([space.sample() for _ in range(4)])
    seen = torch.from_numpy(obs)
    torch.testing.assert_close(made(seen), torch.tanh(made.code[0](made.torso(seen))))
    learning = algorithm.learning(space, ACTIONS, 1)
    policy = algorithm.policy(space, ACTIONS)
    policy.load(learning.weights())
    actions, remembered = policy.act(obs, np.random.default_rng(0), 0)
    log_prob, _ = learning.net.judge(learning.net.features(seen), torch.from_numpy(actions))
    np.testing.assert_allclose(log_prob.detach(), remembered["log_prob"], atol=1e-5)


def test_a_torso_that_cannot_be_is_refused_beside_an_autoencoder_too() -> None:
    def broken(space: gym.Space[Any]) -> nn.Module:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        encoder(frames(42), torso=broken)
    with pytest.raises(ParameterError, match="there is no torso 'nope'"):
        encoder(frames(42), torso="nope")


@pytest.mark.parametrize("algorithm", [rl.IMPALA, rl.APPO])
def test_the_heads_are_made_as_without_an_autoencoder(algorithm: Any) -> None:
    made = algorithm(latent=3, hidden=(8,), activation="relu", log_std=-1.0)
    net = made.network(gym.spaces.Box(-1, 1, (4,)), gym.spaces.Box(-1, 1, (2,)))
    assert net.log_std.tolist() == [-1.0, -1.0]
    assert [type(each) for each in net.actor] == [nn.Linear, nn.ReLU, nn.Linear]


def test_without_a_torso_large_frames_have_the_nips_one_and_all_else_none() -> None:
    assert type(encoder(frames(84)).torso) is NipsTorso
    assert encoder(frames(42)).torso is None
    assert encoder(gym.spaces.Box(-1, 1, (5,))).torso is None


@pytest.mark.parametrize("side", [42, 84])
def test_bytes_become_numbers_from_0_to_1_on_their_way_in_and_in_the_loss(side: int) -> None:
    space = frames(side)
    learning: Any = rl.IMPALA(latent=3).learning(space, ACTIONS, 1)
    seen = torch.from_numpy(np.stack([space.sample() for _ in range(4)]))
    torch.testing.assert_close(learning.net.torso(seen), learning.net.torso(seen.float() / 255))
    codes = learning.net.torso(seen)
    made = learning.decoder.net(codes).flatten(1)
    wanted = ((made - seen.flatten(1).float() / 255) ** 2).mean()
    torch.testing.assert_close(learning.decoder.loss(codes, seen), wanted)


@pytest.mark.parametrize(
    ("space", "kind"),
    [(frames(42), None), (frames(42), "small"), (frames(84), None), (gym.spaces.Box(-9, 9, (2, 3), np.float64), None)],
)
def test_what_is_normalised_is_what_the_decoder_has_to_make(space: gym.spaces.Box, kind: Any) -> None:
    space.seed(0)
    algorithm = rl.APPO(latent=3, torso=kind, normalise_observations=True)
    learning: Any = algorithm.learning(space, ACTIONS, 1)
    obs = np.stack([space.sample() for _ in range(4)])
    learning.observed.add(obs)
    learning.net.normalise.follow(learning.observed)
    seen = torch.from_numpy(obs)
    mean, scale = obs.mean(0, dtype=np.float64), 4 / 255
    if space.shape == (2, 3):
        scale = 1 / np.sqrt(obs.reshape(4, 6).var(0) + 1e-8).reshape(2, 3)
    wanted = torch.from_numpy((obs - mean) * scale).float()
    torch.testing.assert_close(learning.net.normalised(seen).view_as(wanted), wanted, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(learning.net.features(seen), learning.net.torso(wanted), rtol=1e-3, atol=1e-3)
    codes = learning.net.features(seen)
    made = learning.decoder.net(codes).view_as(wanted)
    loss = learning.decoder.loss(codes, learning.net.normalised(seen))
    torch.testing.assert_close(loss, ((made - wanted) ** 2).mean(), rtol=1e-3, atol=1e-3)
    policy = algorithm.policy(space, ACTIONS)
    policy.load(learning.weights())
    actions, remembered = policy.act(obs, np.random.default_rng(0), 0)
    log_prob, _ = learning.net.judge(codes, torch.from_numpy(actions))
    np.testing.assert_allclose(log_prob.detach(), remembered["log_prob"], atol=1e-5)


def test_the_decoder_learns_what_was_seen() -> None:
    space = gym.spaces.Box(-1, 1, (5,))
    learning = rl.IMPALA(latent=2, num_envs=8, fragments=8, horizon=4, learning_rate=0.02).learning(space, ACTIONS, 1)
    rng = np.random.default_rng(0)
    obs = (rng.normal(size=(4, 8, 2)) @ rng.normal(size=(2, 5)) / 4).astype(np.float32)  # two numbers tell all of it
    shape = obs.shape[:2]
    batch: dict[str, Any] = {
        "obs": obs, "next_obs": obs, "action": np.zeros(shape, np.int64), "reward": np.zeros(shape, np.float32),
        "terminated": np.ones(shape, bool), "truncated": np.zeros(shape, bool),
        "log_prob": np.full(shape, np.log(0.5), np.float32),
    }  # fmt: skip
    losses = [
        alone(learning.learn({name: torch.from_numpy(each) for name, each in batch.items()}))["losses/reconstruction"]
        for _ in range(40)
    ]
    assert losses[-1] < 0.4 * losses[0]
