"""Every algorithm gives the same weights for a seed, on any workers; and continues from its state."""

from __future__ import annotations

import copy
import dataclasses
import gc
import math
import re
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from reactors import rl
from reactors.errors import ArgumentError, ParameterError
from reactors.rl.algorithms.continuous import ActionBox, Critics
from reactors.rl.networks.layers import alone

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Graphs are cycles, and replay memory goes with them."""
    yield
    gc.collect()


SMALL: dict[str, Any] = {"num_envs": 2, "horizon": 4, "hidden": (8,)}
REPLAY: dict[str, Any] = {**SMALL, "learning_starts": 8, "batch_size": 4, "capacity": 100}
FRAGMENTS: dict[str, Any] = {**SMALL, "fragments": 1, "ring": 2, "passes": 2}


class Frames(gym.Env[Any, Any]):
    """84x84 frames of noise, whose first pixel says which action is rewarded."""

    observation_space = gym.spaces.Box(0, 255, (1, 84, 84), np.uint8)
    action_space = gym.spaces.Discrete(2, start=3)

    def frame(self) -> Any:
        self.frame_ = self.np_random.integers(0, 256, (1, 84, 84), np.uint8)
        return self.frame_

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed, options=options)
        return self.frame(), {}

    def step(self, action: int) -> Any:
        assert action in {3, 4}
        reward = 5.0 * (self.frame_[0, 0, 0] % 2 == action - 3)
        return self.frame(), reward, bool(self.np_random.random() < 0.1), bool(self.np_random.random() < 0.1), {}


CASES: dict[str, tuple[Any, Any]] = {
    "A2C": (rl.A2C(**SMALL), "CartPole-v1"),
    "A2C, continuous": (rl.A2C(**SMALL), "Pendulum-v1"),
    "A2C of PAAC": (rl.A2C.paac(num_envs=2), Frames),
    "PPO": (rl.PPO(**SMALL, epochs=2, batch_size=3), "CartPole-v1"),
    "PPO, frames": (rl.PPO(**SMALL, epochs=1, torso="nips", reward_clip=1.0), Frames),
    "IMPALA": (rl.IMPALA(**SMALL, fragments=1), "CartPole-v1"),
    "IMPALA, all options": (rl.IMPALA(**FRAGMENTS, replay_slots=3, replay_proportion=0.7, latent=3), "CartPole-v1"),
    "APPO": (rl.APPO(**FRAGMENTS, target_every=3), "CartPole-v1"),
    "APPO, continuous": (rl.APPO(**FRAGMENTS, replay_slots=2, replay_proportion=0.5), "Pendulum-v1"),
    "DQN": (rl.DQN(**REPLAY), "CartPole-v1"),
    "DQN, all options": (rl.DQN(**REPLAY, dueling=True, n_step=3, prioritized=True), "CartPole-v1"),
    "DDPG": (rl.DDPG(**REPLAY), "Pendulum-v1"),
    "TD3": (rl.TD3(**REPLAY, prioritized=True), "Pendulum-v1"),
    "SAC": (rl.SAC(**REPLAY), "Pendulum-v1"),
    "SAC, all options": (rl.SAC(**REPLAY, prioritized=True, n_step=2), "Pendulum-v1"),
    "QLearning": (rl.QLearning(num_envs=2), "FrozenLake-v1"),
}


def trained(name: str, **options: Any) -> rl.Trained:
    algorithm, env = CASES[name]
    return rl.train(algorithm, env, total_steps=6 * algorithm.num_envs * algorithm.horizon, seed=7, **options)


@pytest.mark.parametrize(("mode", "workers"), [("sync", 2), ("pipelined", 4)])
@pytest.mark.parametrize("name", CASES)
def test_final_weights_are_the_same_for_one_worker_and_several_threads(name: str, mode: Any, workers: int) -> None:
    one = trained(name, mode=mode, workers=1)
    two = trained(name, mode=mode, workers=workers, backend="thread")
    assert one.weights.tobytes() == two.weights.tobytes()
    assert (one.digest, one.result.digest) == (two.digest, two.result.digest)
    algorithm, env = CASES[name]
    untrained = algorithm.learning(*one.spaces, 7).weights()
    assert env == "FrozenLake-v1" or not np.array_equal(one.weights, untrained)


PROCESSES = ["A2C", "PPO", "IMPALA", "APPO", "DQN, all options", "DDPG", "TD3", "SAC", "QLearning"]


@pytest.mark.parametrize(
    ("name", "mode"),
    [*((name, "pipelined") for name in PROCESSES), *((name, "sync") for name in ("A2C", "IMPALA", "DDPG", "SAC"))],
)
def test_final_weights_are_the_same_for_one_worker_and_two_processes(name: str, mode: Any) -> None:
    one = trained(name, mode=mode, workers=1)
    two = trained(name, mode=mode, workers=2, backend="process")
    assert one.weights.tobytes() == two.weights.tobytes()
    assert (one.digest, one.result.digest) == (two.digest, two.result.digest)


def test_other_seeds_give_other_weights() -> None:
    algorithm = rl.A2C(**SMALL)
    some = [rl.train(algorithm, "CartPole-v1", total_steps=16, seed=seed).weights for seed in (1, 2)]
    assert not np.array_equal(some[0], some[1])


def experience(algorithm: Any, spaces: Any, seed: int) -> dict[str, torch.Tensor]:
    """A batch as the learner would get it."""
    rng = np.random.default_rng(seed)
    n = (algorithm.horizon, algorithm.num_envs) if algorithm.on_policy else (algorithm.batch_size,)

    def elements(space: Any) -> Any:
        space.seed(seed)
        return np.stack([space.sample() for _ in range(int(np.prod(n)))]).reshape(*n, *space.shape)

    batch: dict[str, Any] = {
        "obs": elements(spaces[0]), "next_obs": elements(spaces[0]), "action": elements(spaces[1]),
        "reward": rng.normal(size=n).astype(np.float32), "terminated": rng.random(n) < 0.2,
        "truncated": rng.random(n) < 0.2, "log_prob": -rng.random(n, np.float32), "weights": rng.random(n, np.float32),
    }  # fmt: skip
    batch["draw"] = batch["action"]
    return {name: torch.from_numpy(each) for name, each in batch.items()}


@pytest.mark.parametrize("name", CASES)
def test_learning_continues_from_its_state_as_if_it_had_not_stopped(name: str) -> None:
    algorithm, env = CASES[name]
    made: Any = env() if callable(env) else gym.make(env)
    spaces = made.observation_space, made.action_space
    learning, other = algorithm.learning(*spaces, 1), algorithm.learning(*spaces, 2)
    batches = [experience(algorithm, spaces, seed) for seed in range(6)]
    for batch in batches[:3]:
        alone(learning.learn(batch))
    other.load_state_dict(copy.deepcopy(learning.state_dict()))
    for batch in batches[3:]:
        alone(learning.learn(batch))
    before = other.weights()
    for batch in batches[3:]:
        alone(other.learn(batch))
    assert learning.weights().tobytes() == other.weights().tobytes()
    assert env == "FrozenLake-v1" or before.tobytes() != other.weights().tobytes()


@pytest.mark.parametrize("name", CASES)
def test_policies_act_as_their_networks_say(name: str) -> None:
    algorithm, env = CASES[name]
    made: Any = env() if callable(env) else gym.make(env)
    spaces = made.observation_space, made.action_space
    policy, learning = algorithm.policy(*spaces), algorithm.learning(*spaces, 3)
    weights = learning.weights()
    assert weights.dtype == np.float32
    assert weights.shape == (policy.size,)
    policy.load(weights)
    obs = np.stack([spaces[0].sample() for _ in range(5)])
    for steps in (0, 10**9):
        actions, remembered = policy.act(obs, np.random.default_rng(0), steps)
        assert all(spaces[1].contains(action) for action in actions.astype(spaces[1].dtype))
        assert set(remembered) == set(algorithm.remembered(spaces[1]))
    assert all(spaces[1].contains(action) for action in policy.greedy(obs).astype(spaces[1].dtype))
    if "log_prob" in remembered:
        chosen = torch.from_numpy(remembered.get("draw", actions))
        log_prob = learning.net.judge(learning.net.features(torch.from_numpy(obs)), chosen)[0]
        np.testing.assert_allclose(log_prob.detach().numpy(), remembered["log_prob"], atol=1e-5)


@pytest.mark.parametrize("kind", [rl.DQN, rl.QLearning])
def test_exploration_falls_from_everything_to_its_final_share(kind: Any) -> None:
    algorithm = kind(exploration_fraction=0.5, exploration_final=0.2).scheduled(1000)
    seen = gym.spaces.Box(-1, 1, (1,)) if kind is rl.DQN else gym.spaces.Discrete(1)
    policy = algorithm.policy(seen, gym.spaces.Discrete(4, start=3))
    policy.load(np.arange(policy.size, dtype=np.float32))  # the last action is the best
    obs = np.zeros((20_000, *seen.shape), np.float32 if kind is rl.DQN else np.int64)  # type: ignore[misc]
    assert (policy.greedy(obs) == 6).all()
    for steps, share in ((0, 1.0), (250, 0.6), (500, 0.2), (900, 0.2)):
        actions, _ = policy.act(obs, np.random.default_rng(0), steps)
        others = np.bincount(actions - 3, minlength=4)[:3] / len(obs)
        np.testing.assert_allclose(others, share / 4, atol=0.015)


@pytest.mark.parametrize("dueling", [False, True])
def test_a_greedy_action_is_that_of_the_greatest_value(dueling: bool) -> None:
    seen, actions, kind = gym.spaces.Box(-1, 1, (3,)), gym.spaces.Discrete(4, start=2), rl.DQN(dueling=dueling)
    policy, learning = kind.policy(seen, actions), kind.learning(seen, actions, 0)
    policy.load(learning.weights())
    obs = np.random.default_rng(0).normal(size=(100, 3)).astype(np.float32)
    best = learning.net(torch.from_numpy(obs)).argmax(1).numpy() + 2
    assert len({*best.tolist()}) > 1
    np.testing.assert_array_equal(policy.greedy(obs), best)


def test_actions_are_drawn_as_often_as_they_are_probable() -> None:
    seen, choices = gym.spaces.Box(-1, 1, (2,)), gym.spaces.Discrete(3, start=5)
    policy = rl.PPO().policy(seen, choices)
    learning: Any = rl.PPO().learning(seen, choices, 0)
    with torch.no_grad():
        learning.net.actor[-1].bias.copy_(torch.tensor([0.5, 0.2, 0.3]).log())
    policy.load(learning.weights())
    actions, remembered = policy.act(np.zeros((20_000, 2), np.float32), np.random.default_rng(0), 0)
    for action, probability in zip((5, 6, 7), (0.5, 0.2, 0.3), strict=True):
        assert np.mean(actions == action) == pytest.approx(probability, abs=0.015)
        np.testing.assert_allclose(np.exp(remembered["log_prob"][actions == action]), probability, rtol=1e-5)


def test_continuous_actions_are_drawn_with_the_spread_that_was_learned() -> None:
    seen, actions = gym.spaces.Box(-1, 1, (2,)), gym.spaces.Box(-9, 9, (2,))
    policy, learning = rl.PPO().policy(seen, actions), rl.PPO().learning(seen, actions, 0)
    with torch.no_grad():
        learning.net.log_std.copy_(torch.tensor([0.1, 2.0]).log())
    policy.load(learning.weights())
    drawn, _ = policy.act(np.zeros((20_000, 2), np.float32), np.random.default_rng(0), 0)
    assert drawn.std(0) == pytest.approx([0.1, 2.0], rel=0.03)


WIDE = gym.spaces.Box(np.array([-2, 1], np.float32), np.array([6, 5], np.float32))  # around 2 and 3; halves 4 and 2
ZEROS = gym.spaces.Box(-1, 1, (2,))


@pytest.mark.parametrize("kind", [rl.DDPG, rl.TD3])
def test_exploration_is_noise_of_the_spread_that_is_said_around_the_actors_action(kind: Any) -> None:
    policy = kind(noise=0.1, learning_starts=8).policy(ZEROS, WIDE)
    policy.load(np.zeros(policy.size, np.float32))
    drawn, _ = policy.act(np.zeros((20_000, 2), np.float32), np.random.default_rng(0), 8)
    assert drawn.mean(0) == pytest.approx([2, 3], abs=0.02)
    assert drawn.std(0) == pytest.approx([0.1 * 4, 0.1 * 2], rel=0.03)
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.03


@pytest.mark.parametrize("kind", [rl.DDPG, rl.TD3])
def test_the_best_actions_are_the_actors_own(kind: Any) -> None:
    policy = kind(noise=0.1).policy(ZEROS, WIDE)
    policy.load(np.zeros(policy.size, np.float32))
    np.testing.assert_array_equal(policy.greedy(np.zeros((3, 2), np.float32)), [[2, 3]] * 3)


def test_actions_of_sac_are_squashed_draws_of_the_spread_that_was_learned() -> None:
    kind = rl.SAC(learning_starts=8)
    policy = kind.policy(ZEROS, WIDE)
    learning: Any = kind.learning(ZEROS, WIDE, 0)
    with torch.no_grad():
        learning.actor[-1].bias.copy_(torch.tensor([0.5, -0.5, math.log(0.1), math.log(0.4)]))
        learning.actor[-1].weight.zero_()
    policy.load(learning.weights())
    drawn, _ = policy.act(np.zeros((20_000, 2), np.float32), np.random.default_rng(0), 8)
    inner = np.arctanh((drawn - [2, 3]) / [4, 2])
    assert inner.mean(0) == pytest.approx([0.5, -0.5], abs=0.01)
    assert inner.std(0) == pytest.approx([0.1, 0.4], rel=0.03)
    assert abs(np.corrcoef(inner.T)[0, 1]) < 0.03


@pytest.mark.parametrize("kind", [rl.DDPG, rl.TD3, rl.SAC])
def test_actions_are_drawn_from_all_of_the_space_until_learning_starts(kind: Any) -> None:
    policy = kind(learning_starts=8).policy(ZEROS, WIDE)
    policy.load(np.zeros(policy.size, np.float32))
    drawn, _ = policy.act(np.zeros((20_000, 2), np.float32), np.random.default_rng(0), 7)
    np.testing.assert_allclose(
        np.quantile((drawn - [2, 3]) / [4, 2], [0.1, 0.5, 0.9], axis=0).T, [[-0.8, 0, 0.8]] * 2, atol=0.03
    )


TAKEN: list[Any] = []


class Blind(gym.Env[Any, Any]):
    """Nothing is ever seen, and all actions are kept."""

    observation_space, action_space = ZEROS, WIDE

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed, options=options)
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        TAKEN.append(action.copy())
        return np.zeros(2, np.float32), 0.0, False, False, {}


STILL: dict[str, Any] = {"num_envs": 4, "horizon": 256, "hidden": (8,), "learning_rate": 1e-12}
SELDOM: dict[str, Any] = {**STILL, "learning_starts": 1024, "batch_size": 4, "updates_per_step": 1e-3}


def taken(algorithm: Any, inference: Any) -> Any:
    """All actions of a run whose weights do not move, in order."""
    TAKEN.clear()
    rl.train(algorithm, Blind, total_steps=4096, seed=3, actors=1, workers=1, inference=inference)
    assert len(TAKEN) == 4096
    return np.array(TAKEN)


@pytest.mark.parametrize("inference", ["actors", "central"])
@pytest.mark.parametrize(
    "algorithm", [rl.DDPG(**SELDOM, noise=0.05), rl.TD3(**SELDOM, noise=0.05), rl.SAC(**SELDOM)], ids=lambda a: a.name
)
def test_training_explores_as_far_as_the_policy_says(algorithm: Any, inference: Any) -> None:
    inner = (taken(algorithm, inference)[1024:] - [2, 3]) / [4, 2]  # after the random actions
    with torch.no_grad():
        outputs = algorithm.learning(ZEROS, WIDE, 3).actor(torch.zeros(1, 2))[0].numpy()
    spread: Any = [0.05, 0.05]
    if algorithm.name == "SAC":
        inner, spread = np.arctanh(inner), np.exp(outputs[2:])
    assert inner.mean(0) == pytest.approx(outputs[:2], abs=0.06)
    assert inner.std(0) == pytest.approx(spread, rel=0.06)


@pytest.mark.parametrize("inference", ["actors", "central"])
@pytest.mark.parametrize("kind", [rl.A2C, rl.PPO, rl.IMPALA, rl.APPO])
def test_training_draws_actions_with_a_deviation_of_one_at_first(kind: Any, inference: Any) -> None:
    found = taken(kind(**STILL), inference)[:, 0]  # of which the bounds are far enough from 0
    np.testing.assert_allclose(np.quantile(found, [0.16, 0.5, 0.84]), [-1, 0, 1], atol=0.1)


def test_critics_begin_as_linear_layers_do() -> None:
    torch.manual_seed(0)
    critics = Critics(2, 100, (400,))
    for kernel, bias, bound in zip(critics.kernels, critics.biases, (0.1, 0.05), strict=True):
        assert bound * 0.98 < float(kernel.detach().abs().max()) <= bound
        assert float(kernel.detach().std()) == pytest.approx(bound / math.sqrt(3), rel=0.06)  # evenly distributed
        assert float(bias.detach().abs().max()) <= bound
    assert float(critics.biases[0].detach().abs().max()) > 0.098


def test_continuous_actions_are_clipped_to_bounds_and_remembered_as_drawn() -> None:
    narrow = gym.spaces.Box(-0.01, 0.01, (1,))
    algorithm, seen = rl.PPO(), gym.spaces.Box(-1, 1, (2,))
    policy = algorithm.policy(seen, narrow)
    policy.load(algorithm.learning(seen, narrow, 0).weights())
    actions, remembered = policy.act(np.zeros((50, 2), np.float32), np.random.default_rng(0), 0)
    assert float(np.abs(actions).max()) <= 0.011
    assert float(np.abs(remembered["draw"]).max()) > 0.5


@pytest.mark.parametrize(
    ("algorithm", "env", "what"),
    [
        (rl.SAC(), "CartPole-v1", "SAC takes continuous actions"),
        (rl.DQN(), "Pendulum-v1", "DQN takes discrete actions"),
        (rl.QLearning(), "CartPole-v1", "QLearning keeps a table of all observations"),
        (rl.PPO(), "FrozenLake-v1", "PPO takes observations of a Box"),
        (rl.PPO(torso="nips"), "CartPole-v1", "takes frames"),
        (rl.PPO(torso="nope"), "CartPole-v1", "there is no torso 'nope'"),
        (rl.PPO(torso=lambda _: torch.nn.Identity()), "CartPole-v1", "how many features"),
    ],
)
def test_spaces_and_torsos_that_cannot_be_are_refused(algorithm: Any, env: str, what: str) -> None:
    with pytest.raises(ParameterError, match=what):
        rl.train(algorithm, env, total_steps=1)


def test_unbounded_actions_are_refused_where_they_are_squashed() -> None:
    with pytest.raises(ParameterError, match="actions with bounds"):
        rl.SAC().check(gym.spaces.Box(-1, 1, (2,)), gym.spaces.Box(-np.inf, np.inf, (1,)))


@pytest.mark.parametrize(
    ("algorithm", "kinds"),
    [(rl.SAC(), "a Box with one axis"), (rl.PPO(), "a Discrete or of a Box with one axis")],
    ids=["SAC", "PPO"],
)
@pytest.mark.parametrize("shape", [(), (2, 2)], ids=str)
def test_actions_that_are_no_vector_are_refused_with_what_to_do(algorithm: Any, kinds: str, shape: Any) -> None:
    actions = gym.spaces.Box(-1, 1, shape)
    with pytest.raises(ParameterError) as caught:
        algorithm.check(ZEROS, actions)
    assert str(caught.value) == (
        f"{algorithm.name} takes actions of {kinds}, and the environment's are {actions}; flatten them with "
        "gymnasium.wrappers.TransformAction"
    )


def test_discrete_actions_of_several_parts_are_refused() -> None:
    with pytest.raises(ParameterError) as caught:
        rl.DQN().check(ZEROS, gym.spaces.MultiDiscrete([2, 3]))
    assert str(caught.value) == (
        "DQN takes actions of a Discrete, and the environment's are MultiDiscrete([2 3]); make them from such actions "
        "by gymnasium.wrappers.TransformAction"
    )


class Wide(torch.nn.Module):
    """A module of a user's."""

    features = 12

    def __init__(self, observation_space: Any) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(observation_space.shape[0], 12)

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(self.layer(obs))


@pytest.mark.parametrize("kind", [rl.PPO, rl.DQN])
def test_any_module_can_be_the_torso(kind: Any) -> None:
    small = REPLAY if kind is rl.DQN else SMALL
    done = rl.train(kind(**small, torso=Wide), "CartPole-v1", total_steps=64)
    assert done.weights.size >= 4 * 12 + 12 + 12 * 2 + 2


@pytest.mark.parametrize(("ratio", "updates", "rounds"), [(0.3, 10, 38), (0.01, 1, 12), (0.5, 16, 40), (1.03, 33, 39)])
def test_the_ratio_of_updates_to_steps_is_kept_over_all_rounds(ratio: float, updates: int, rounds: int) -> None:
    """40 rounds of 32 steps, all with enough experience."""
    algorithm = rl.DQN(
        num_envs=4, horizon=8, hidden=(8,), batch_size=8, capacity=500, learning_starts=32, updates_per_step=ratio
    )
    done = rl.train(algorithm, "CartPole-v1", total_steps=40 * 32)
    assert algorithm.updates == updates
    assert sum("losses/td_loss" in row for row in done.journal) == rounds == int(ratio * 40 * 32 / updates)
    del done
    gc.collect()


def test_in_free_mode_weights_reach_the_actors() -> None:
    """Alone on one worker no actor can be late, so free is what sync is."""
    few = rl.PPO(num_envs=4, horizon=16, epochs=2)
    free, sync = (rl.train(few, "CartPole-v1", total_steps=512, mode=mode, seed=3) for mode in ("free", "sync"))
    assert free.weights.tobytes() == sync.weights.tobytes()
    together = rl.train(few, "CartPole-v1", total_steps=64 * 64, mode="free", workers=2, seed=3)
    assert together.journal[-1]["charts/weight_age"] < 64  # rounds: what learners' inputs hold is less than a run
    del free, together
    gc.collect()


def test_what_is_no_algorithm_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"as in rl.train\(rl.PPO\(\), ...\)"):
        rl.train(rl.PPO, "CartPole-v1")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="there is no such folder"):
        rl.train(rl.PPO(), "CartPole-v1", journal="nowhere/j.csv")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mode": "free", "lag": 3}, 'lag of rl.train is 3, but mode="free" has none'),
        ({"eval_episodes": 3}, "eval_episodes of rl.train is 3, but nothing is evaluated; write eval_every, too"),
        ({"journal": "j.csv", "out": "run"}, "journal of rl.train is 'j.csv', but the journal of a run with a folder"),
        ({"journal": "j.csv", "resume": "run"}, "journal of rl.train is 'j.csv', but the journal of a run with a fold"),
    ],
)
def test_options_that_would_do_nothing_are_refused(options: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(said)):
        rl.train(rl.PPO(), "CartPole-v1", **options)


def two_kinds_of_states(steps: int) -> dict[str, torch.Tensor]:
    """Two environments where each step is the last one, and two that go on for ever; every reward is 1."""
    obs = torch.tensor([-1.0, -1.0, 1.0, 1.0])[None, :, None].expand(steps, 4, 4)
    shape = steps, 4
    return {
        "obs": obs, "next_obs": obs, "action": torch.zeros(shape, dtype=torch.int64), "reward": torch.ones(shape),
        "terminated": torch.tensor([True, True, False, False]).expand(shape),
        "truncated": torch.zeros(shape, dtype=torch.bool), "log_prob": torch.full(shape, math.log(0.5)),
    }  # fmt: skip


def values_after(algorithm: rl.IMPALA | rl.A2C, updates: int) -> list[float]:
    """Of the two kinds."""
    spaces = gym.spaces.Box(-1, 1, (4,)), gym.spaces.Discrete(2)
    learning = algorithm.learning(*spaces, 1)
    for _ in range(updates):
        alone(learning.learn(two_kinds_of_states(algorithm.horizon)))
    with torch.no_grad():
        found: list[float] = learning.net.values(torch.tensor([[-1.0] * 4, [1.0] * 4])).tolist()
    return found


def test_a_critic_with_a_scale_is_soon_where_values_are_large() -> None:
    options: dict[str, Any] = {"num_envs": 4, "anneal": False}
    for kind in (rl.IMPALA, rl.A2C):
        bad, good = values_after(kind(**options, value_scale=100.0), 150)
        assert abs(bad - 1) < 10
        assert good > 60
        assert values_after(kind(**options, value_scale=1.0), 150)[1] < 40


def test_a_scale_leaves_values_of_an_untrained_critic_as_they_are_and_those_of_torsos() -> None:
    some, others = (values_after(rl.IMPALA(value_scale=scale), 0) for scale in (1.0, 100.0))
    assert some == pytest.approx(others, rel=1e-4)
    assert rl.IMPALA(latent=3).network(gym.spaces.Box(-1, 1, (4,)), gym.spaces.Discrete(2)).scale == 1


@pytest.mark.parametrize("algorithm", [rl.DQN(**REPLAY), rl.A2C(**SMALL)], ids=["DQN", "A2C"])
@pytest.mark.parametrize("anneal", [True, False])
def test_learning_rates_fall_to_nothing_over_the_run_or_stay(algorithm: Any, anneal: bool) -> None:
    algorithm = dataclasses.replace(algorithm, anneal=anneal)
    journal = rl.train(algorithm, "CartPole-v1", total_steps=160).journal
    rates = [row["charts/learning_rate"] for row in journal if "charts/learning_rate" in row]
    left = [rate / algorithm.learning_rate for rate in rates]
    assert left == sorted(left, reverse=True)
    assert len({*left}) == (len(left) if anneal else 1)
    assert left[-1] < 0.1 if anneal else left[-1] == 1


@pytest.mark.parametrize("mode", ["sync", "pipelined"])
@pytest.mark.parametrize(
    ("ratio", "starts", "steps"), [(0.3, 100, 1600), (0.3, 100, 1000), (1.03, 0, 640), (0.01, 40, 960)]
)
def test_a_learning_rate_ends_with_the_last_update(mode: Any, ratio: float, starts: int, steps: int) -> None:
    """Where the ratio asks for no whole number of updates a round, the last of them are never made."""
    algorithm = rl.DQN(
        num_envs=4, horizon=8, hidden=(8,), batch_size=8, learning_starts=starts, updates_per_step=ratio, anneal=True
    )
    done = rl.train(algorithm, "CartPole-v1", total_steps=steps, mode=mode)
    rates = [row["charts/learning_rate"] for row in done.journal if "charts/learning_rate" in row]
    updates = len(rates) * algorithm.updates
    assert updates > 0
    left = 1 - np.arange(algorithm.updates, updates + 1, algorithm.updates) / updates + 1 / updates
    np.testing.assert_allclose(rates, algorithm.learning_rate * left, rtol=1e-9)


class Boxes(gym.Env[Any, Any]):
    """Actions of any dtype, with a part of them that can only be one number."""

    observation_space = gym.spaces.Box(-1, 1, (2,))

    def __init__(self, dtype: Any = np.float32) -> None:
        self.action_space = gym.spaces.Box(np.array([0, 3], dtype), np.array([4, 3], dtype), dtype=dtype)
        self.seen: list[Any] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed, options=options)
        return self.observation_space.sample() * 0, {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action), (action, action.dtype)
        return self.np_random.uniform(-1, 1, 2).astype(np.float32), float(action[0]), False, False, {}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int8, np.uint8])
@pytest.mark.parametrize("kind", [rl.SAC, rl.TD3, rl.DDPG, rl.PPO])
def test_actions_of_any_dtype_are_learned(kind: Any, dtype: Any) -> None:
    given = SMALL if kind is rl.PPO else REPLAY
    done = rl.train(kind(**given), Boxes, env_kwargs={"dtype": dtype}, total_steps=64, seed=1)
    assert np.isfinite(done.weights).all()
    assert done.journal[-1].keys() & {"losses/qf_loss", "losses/value_loss"}
    action = done(np.zeros(2, np.float32))
    assert action.dtype == dtype
    assert action[1] == 3


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_the_cube_of_actions_is_the_box_and_back(dtype: Any) -> None:
    box = Boxes(dtype).action_space
    bounds = ActionBox(box)
    cube = np.array([[-1, 0.7], [1, -0.2], [0.5, 0]], np.float32)
    taken = bounds.outwards(cube)
    assert taken.tolist() == [[0, 3], [4, 3], [3, 3]]
    found = bounds.inwards(torch.from_numpy(taken))
    assert found.dtype == torch.float32
    assert found.tolist() == [[-1, 0], [1, 0], [0.5, 0]]


@pytest.mark.parametrize(("kind", "given"), [(rl.PPO, {"batch_size": 1}), (rl.A2C, {"horizon": 1, "num_envs": 1})])
def test_a_minibatch_of_one_is_learned_from_with_normalised_advantages(kind: Any, given: dict[str, Any]) -> None:
    algorithm = kind(**{**SMALL, "normalise": True, **given})
    done = rl.train(algorithm, "CartPole-v1", total_steps=16, actors=1)
    assert np.isfinite(done.weights).all()
    assert not np.array_equal(done.weights, algorithm.learning(*done.spaces, 0).weights())


class Frozen(torch.nn.Module):
    """The features of a pretrained network."""

    features = 3

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 3).requires_grad_(False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


@pytest.mark.parametrize("kind", [rl.SAC, rl.TD3, rl.DDPG])
def test_what_a_torso_has_frozen_is_not_learned_by_critics_either(kind: Any) -> None:
    algorithm = kind(num_envs=1, horizon=1, batch_size=8, hidden=(4,), torso=lambda _: Frozen())
    spaces = gym.spaces.Box(-1, 1, (2,)), gym.spaces.Box(-1, 1, (1,))
    learning, dice = algorithm.learning(*spaces, 0), np.random.default_rng(0)
    before = {name: each.clone() for name, each in learning.critics.named_parameters() if "layer" in name}
    for _ in range(4):
        rows = {
            "obs": (8, 2), "action": (8, 1), "reward": (8,), "next_obs": (8, 2), "discount": (8,), "weights": (8,),
        }  # fmt: skip
        batch = {name: torch.from_numpy(dice.random(shape, np.float32)) for name, shape in rows.items()}
        alone(learning.learn(batch | {"terminated": torch.zeros(8, dtype=torch.bool)}))
    after = dict(learning.critics.named_parameters())
    assert before
    for name, each in before.items():
        assert torch.equal(each, after[name])
        assert not after[name].requires_grad


@pytest.mark.parametrize("kind", [rl.PPO, rl.DQN])
def test_frames_of_bools_are_normalised_as_others_are(kind: Any) -> None:
    algorithm = kind(num_envs=2, normalise_observations=True)
    frames: Any = np.bool_
    spaces: Any = gym.spaces.Box(0, 1, (10, 10, 4), frames), gym.spaces.Discrete(3)
    policy = algorithm.policy(*spaces)
    seen = np.random.default_rng(0).random((2, 10, 10, 4)) < 0.5
    assert policy.greedy(seen).shape == (2,)
