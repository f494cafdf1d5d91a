"""Every algorithm gives the same weights for a seed, whoever does the work; and continues from its state."""

from __future__ import annotations

import copy
import dataclasses
import gc
import math
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from reactors import rl
from reactors.errors import ArgumentError, ParameterError
from reactors.rl.networks import alone

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
        (rl.PPO(torso="nips"), "CartPole-v1", "takes square frames"),
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
    """Alone on one worker nobody can be late, so free is what sync is."""
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
