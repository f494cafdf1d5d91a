"""Every algorithm finds the optimum of a task so small that the optimum can be written down."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from reactors import rl

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Graphs are cycles, and replay memory goes with them."""
    yield
    gc.collect()


class Bandit(gym.Env[Any, Any]):
    """An episode is one pull of an arm; the third is the best."""

    observation_space = gym.spaces.Box(0, 1, (1,))
    action_space = gym.spaces.Discrete(4)
    arms = np.array([0.2, 0.8, 1.0, -1.0])

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed, options=options)
        return np.ones(1, np.float32), {}

    def step(self, action: Any) -> Any:
        return np.ones(1, np.float32), float(self.arms[action]), True, False, {}


class Chain(gym.Env[Any, Any]):
    """Five states. Going on from the last one ends with 1; turning back ends anywhere, with 0.3.

    Episodes begin anywhere and are cut off after three steps: who takes that for their end turns back.
    """

    action_space = gym.spaces.Discrete(2)
    observation_space: gym.Space[Any] = gym.spaces.Box(0, 1, (5,))
    gamma, turning = 0.9, 0.3
    going = gamma ** np.arange(4, -1, -1)

    def seen(self) -> Any:
        return np.eye(5, dtype=np.float32)[self.state]

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed, options=options)
        self.state, self.steps = int(self.np_random.integers(5)), 0
        return self.seen(), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        if action == 0 or self.state == 4:
            return self.seen(), self.turning if action == 0 else 1.0, True, False, {}
        self.state += 1
        return self.seen(), 0.0, False, self.steps == 3, {}


class Numbered(Chain):
    """The same, for tables."""

    observation_space = gym.spaces.Discrete(5)

    def seen(self) -> Any:
        return self.state


class Target(gym.Env[Any, Any]):
    """An episode is one throw at what is seen, and costs the square of the miss."""

    observation_space = gym.spaces.Box(-1, 1, (1,))
    action_space = gym.spaces.Box(-2, 3, (1,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed, options=options)
        self.target = self.np_random.uniform(-1, 1, 1).astype(np.float32)
        return self.target, {}

    def step(self, action: Any) -> Any:
        return self.target, -float(np.square(action - self.target).sum()), True, False, {}


GRADIENTS: dict[str, tuple[Any, int]] = {
    "A2C": (rl.A2C(num_envs=16, hidden=(16,), learning_rate=0.01, value_scale=1.0, gamma=Chain.gamma), 4_000),
    "PPO": (rl.PPO(horizon=16, epochs=4, batch_size=64, hidden=(16,), learning_rate=0.01, gamma=Chain.gamma), 4_000),
    "IMPALA": (rl.IMPALA(horizon=8, hidden=(16,), learning_rate=0.01, value_scale=1.0, gamma=Chain.gamma), 8_000),
    "APPO": (
        rl.APPO(horizon=8, hidden=(16,), learning_rate=0.01, value_scale=1.0, gamma=Chain.gamma, passes=4, ring=1),
        4_000,
    ),
}
REPLAY: dict[str, Any] = {
    "num_envs": 8, "horizon": 4, "hidden": (32,), "learning_starts": 256, "gamma": Chain.gamma,
}  # fmt: skip
ACTING: dict[str, Any] = {**REPLAY, "batch_size": 64, "learning_rate": 3e-3, "tau": 0.02, "updates_per_step": 0.5}
ACTORS: dict[str, tuple[Any, int]] = {
    "DDPG": (rl.DDPG(**ACTING), 1_500), "TD3": (rl.TD3(**ACTING), 1_500), "SAC": (rl.SAC(**ACTING), 1_500),
}  # fmt: skip


def learned(algorithm: Any, env: Any, steps: int) -> Any:
    """Its policy after so many steps."""
    done = rl.train(algorithm, env, total_steps=steps, seed=1)
    policy = algorithm.policy(*done.spaces)
    policy.load(done.weights)
    return policy


def chosen(policy: Any, observations: Any, times: int) -> Any:
    """Actions, (observations, times), long after the last that was random on purpose."""
    actions, _ = policy.act(observations.repeat(times, 0), np.random.default_rng(0), 10**9)
    return actions.reshape(len(observations), times)


@pytest.mark.parametrize("name", GRADIENTS)
def test_a_policy_finds_the_best_arm(name: str) -> None:
    policy = learned(GRADIENTS[name][0], Bandit, GRADIENTS[name][1])
    assert (chosen(policy, np.ones((1, 1), np.float32), 500) == 2).mean() > 0.8


@pytest.mark.parametrize("name", GRADIENTS)
def test_a_policy_goes_on_to_the_end_of_the_chain(name: str) -> None:
    policy = learned(GRADIENTS[name][0], Chain, GRADIENTS[name][1])
    assert (chosen(policy, np.eye(5, dtype=np.float32), 200).mean(1) > 0.8).all()


@pytest.mark.parametrize("options", [{}, {"prioritized": True, "dueling": True, "n_step": 3}], ids=str)
def test_dqn_knows_what_going_on_and_turning_back_are_worth(options: Any) -> None:
    """At last it neither explores nor remembers that it has: returns of several steps are those of its own policy."""
    algorithm = rl.DQN(
        **REPLAY, **options, batch_size=32, learning_rate=5e-3, updates_per_step=0.25, target_every=10,
        exploration_fraction=0.5, exploration_final=0.0, capacity=256,
    )  # fmt: skip
    done = rl.train(algorithm, Chain, total_steps=2_000, seed=1)
    learning = algorithm.learning(*done.spaces, 0)
    learning.flat.weights.data.copy_(torch.from_numpy(done.weights))
    with torch.no_grad():
        values = learning.net(torch.eye(5)).numpy()
    np.testing.assert_allclose(values[:, 0], Chain.turning, atol=0.1)
    np.testing.assert_allclose(values[:, 1], Chain.going, atol=0.02)


def test_a_table_knows_what_going_on_and_turning_back_are_worth() -> None:
    done = rl.train(rl.QLearning(gamma=Chain.gamma, learning_rate=0.5), Numbered, total_steps=4_000, seed=1)
    values = done.weights.reshape(5, 2)
    np.testing.assert_allclose(values[:, 0], Chain.turning, atol=1e-3)
    np.testing.assert_allclose(values[:, 1], Chain.going, atol=1e-3)


SEEN = np.linspace(-1, 1, 9, dtype=np.float32)[:, None]


@pytest.mark.parametrize("name", ACTORS)
def test_an_actor_hits_the_target(name: str) -> None:
    policy = learned(ACTORS[name][0], Target, ACTORS[name][1])
    assert np.sqrt(np.square(policy.greedy(SEEN) - SEEN).mean()) < 0.3


def test_sac_spreads_as_wide_as_its_temperature_says() -> None:
    """The best of all policies is exp(reward / temperature), here a normal distribution around the target."""
    policy = learned(rl.SAC(**ACTING, temperature=0.1), Target, 2_500)
    assert chosen(policy, SEEN, 200).std(1).mean() == pytest.approx(np.sqrt(0.1 / 2), rel=0.25)
