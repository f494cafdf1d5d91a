"""An environment that does not tell its state begins a new episode: nothing of its last one is joined to that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest
from pettingzoo import AECEnv

from reactors import rl
from reactors.rl.algorithms.agents.held_steps import HeldSteps
from reactors.rl.algorithms.agents.ippo import IPPOLearning
from reactors.rl.checkpoints.agents import agents_state, restore_agents
from reactors.rl.envs.agents.turns import simulation_of
from reactors.rl.learning.learner import Learner
from reactors.rl.networks.normalising import RewardScale
from reactors.rl.replay.buffer import ReplayBuffer

if TYPE_CHECKING:
    from pathlib import Path

    from reactors.rl.options import Mode

pytestmark = pytest.mark.usefixtures("fonts")  # which PettingZoo brings in

SPACE = gym.spaces.Box(-1e6, 1e6, (2,), np.float32)
EPISODES = [0]


class Endless(gym.Env[Any, Any]):
    """One episode, in which (number of the episode of all, step) is seen. A generator holds what cannot be saved."""

    observation_space, action_space = SPACE, gym.spaces.Discrete(2)

    def __init__(self) -> None:
        self.hidden = (x for x in ())

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        EPISODES[0] += 1
        self.episode, self.t = EPISODES[0], 0
        return np.array([self.episode, 0], np.float32), {}

    def step(self, action: Any) -> Any:
        self.t += 1
        return np.array([self.episode, self.t], np.float32), 1.0, False, False, {}


class Changing(Endless):
    """Likewise; it tells its state, in which an environment that has just been made has something else."""

    def __init__(self) -> None:
        self.kind: type | None = None

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.kind = float if EPISODES[0] % 2 else int
        return super().reset(seed=seed)

    def step(self, action: Any) -> Any:
        self.kind = str
        return super().step(action)


class Turns(AECEnv[Any, Any, Any]):
    """Likewise, of two agents in turn."""

    metadata = {"name": "turns", "is_parallelizable": False}  # noqa: RUF012 - of an environment
    render_mode = None

    def __init__(self) -> None:
        super().__init__()
        self.possible_agents, self.hidden = ["a", "b"], (x for x in ())

    def observation_space(self, agent: Any) -> Any:
        return SPACE

    def action_space(self, agent: Any) -> Any:
        return gym.spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        EPISODES[0] += 1
        self.episode, self.t = EPISODES[0], 0
        self.agents, self.agent_selection = ["a", "b"], "a"
        self.rewards, self._cumulative_rewards = (dict.fromkeys("ab", 0.0) for _ in range(2))
        self.terminations, self.truncations = (dict.fromkeys("ab", False) for _ in range(2))
        self.infos: Any = {agent: {} for agent in "ab"}

    def observe(self, agent: Any) -> Any:
        return np.array([self.episode, self.t], np.float32)

    def step(self, action: Any) -> None:
        self.t += 1
        self.rewards = {"a": 1.0, "b": 1.0}
        self.agent_selection = "b" if self.agent_selection == "a" else "a"


def joined(buffer: ReplayBuffer) -> list[Any]:
    """The numbers of two episodes wherever one becomes the other without an end, in rows or sequences."""
    names = "obs", "next_obs", "terminated", "truncated"
    seen, led_to, terminated, truncated = (np.array(buffer.fields[name]) for name in names)  # unused ones are 0
    ended = terminated | truncated
    seen, led_to = (each[..., 0] if each.ndim == ended.ndim + 1 else each[..., 0].max(-1) for each in (seen, led_to))
    if ended.ndim == 2:  # sequences
        seen, led_to, ended = seen[:, :-1], seen[:, 1:], ended[:, :-1]
    wrong = (seen != led_to) & ~ended
    return list(zip(seen[wrong].tolist(), led_to[wrong].tolist(), strict=True))


def resumed(algorithm: Any, env: Any, folder: Path, **options: Any) -> Any:
    """A training that was stopped in the middle, and has gone on."""
    rl.train(algorithm, env, total_steps=240, until=108, seed=1, out=folder, **options)
    EPISODES[0] += 100
    return rl.train(algorithm, env, total_steps=240, seed=1, resume=folder, **options)


SMALL = {"num_envs": 2, "horizon": 6, "hidden": (4,)}
KEPT = {**SMALL, "learning_starts": 24, "batch_size": 8, "capacity": 1_000}
SEQUENCES = {"recurrent": 4, "sequence": 4, "burn_in": 0}


def before(monkeypatch: pytest.MonkeyPatch, kind: type[Any], method: str, look: Any) -> None:
    """Have `look` called with what a method is called with, before that."""
    call = getattr(kind, method)

    def looked(*arguments: Any, **named: Any) -> Any:
        look(*arguments)
        return call(*arguments, **named)

    monkeypatch.setattr(kind, method, looked)


@pytest.mark.parametrize(
    ("algorithm", "env", "mode"),
    [
        (rl.DQN(n_step=3, **KEPT), Endless, "sync"),
        (rl.DQN(n_step=3, **KEPT), Endless, "free"),
        (rl.DQN(**SEQUENCES, **KEPT), Endless, "sync"),
        (rl.DQN(**SEQUENCES, **KEPT), Endless, "free"),
        (rl.IDQN(**KEPT), Turns, "sync"),
        (rl.IDQN(n_step=3, **KEPT), Turns, "sync"),
        (rl.IDQN(**SEQUENCES, **KEPT), Turns, "sync"),
        (rl.VDN(n_step=3, **KEPT), Turns, "sync"),
    ],
)
def test_steps_that_wait_are_not_joined_to_the_new_episode(
    algorithm: Any, env: Any, mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[int] = []
    wrong: list[Any] = []

    def look(buffer: ReplayBuffer, *_: Any) -> None:
        if "obs" in buffer.fields:  # weights have a buffer, too, in free mode
            lengths.append(len(buffer))
            wrong.extend(joined(buffer))

    before(monkeypatch, ReplayBuffer, "add", look)
    assert "they began new episodes" in resumed(algorithm, env, tmp_path / "run", mode=mode).notes[-1]
    assert max(lengths) > 20
    assert wrong == []


@pytest.mark.parametrize("env", [Endless, Changing])
@pytest.mark.parametrize("options", [{}, {"inference": "central"}, {"inference": "central", "double_buffer": True}])
def test_a_recurrent_policy_remembers_nothing_of_the_broken_episode(
    env: Any, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[bool] = []

    def look(_: Learner, batch: Any) -> None:
        first = batch["obs"][..., 1] == 0
        begun.extend((batch["state"][first] == 0).all(1).tolist())

    before(monkeypatch, Learner, "learned", look)
    algorithm = rl.PPO(num_envs=4, horizon=6, recurrent=4, sequence=6, batch_size=12, epochs=1)
    resumed(algorithm, env, tmp_path / "run", actors=2, **options)
    assert begun == [True] * 8  # of four environments, when they began and when they went on


def test_returns_that_scale_rewards_begin_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sums: list[list[float]] = []
    before(monkeypatch, RewardScale, "__call__", lambda scale, *_: sums.append(scale.sums.tolist()))
    resumed(rl.PPO(normalise_rewards=True, batch_size=12, epochs=1, **SMALL), Endless, tmp_path / "run")
    assert [not any(each) for each in sums] == [i in (0, 9) for i in range(20)]


def test_rewards_are_clipped_before_they_are_scaled(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    before(monkeypatch, RewardScale, "__call__", lambda _, rewards, *__: seen.append(float(rewards.max())))
    algorithm = rl.PPO(normalise_rewards=True, reward_clip=0.5, batch_size=12, epochs=1, **SMALL)
    rl.train(algorithm, Endless, total_steps=24)
    assert seen == [0.5, 0.5]


def test_held_steps_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    before(monkeypatch, IPPOLearning, "learn", lambda learning, _: held.append(int(learning.held.there.sum())))
    resumed(rl.IPPO(epochs=1, batch_size=12, **SMALL), Turns, tmp_path / "run")
    assert held == [0, *[2] * 8, 0, *[2] * 10]


def test_the_new_episode_of_many_agents_has_its_own_number_and_the_seed_it_was_reset_with() -> None:
    seeds: list[int | None] = []

    class Seen(Turns):
        def reset(self, seed: int | None = None, options: Any = None) -> None:
            seeds.append(seed)
            super().reset(seed)

    first, second = (simulation_of(Seen, turns=True, seed=7) for _ in range(2))
    for simulation in (first, second):
        simulation.reset()
    first.step({"a": 0})
    assert restore_agents(second, agents_state(first)) == (False, "")
    assert second.seed == seeds[-1] not in (None, 7)
    assert second._number == 1


def test_only_what_is_held_of_broken_episodes_is_given_up() -> None:
    joint = np.dtype([("acted", "?", (2,)), ("rewards", "f4", (2,)), ("reward", "f4")], align=True)
    held = HeldSteps(3, joint, 1, [])
    held.there[:] = [[True, False], [True, True], [False, True]]
    held.rows = np.zeros(4, held.rows.dtype)
    held.rows["reward"] = [1, 2, 3, 4]
    held.break_off(np.array([False, True, False]))
    assert held.there.tolist() == [[True, False], [False, False], [False, True]]
    assert held.rows["reward"].tolist() == [1, 4]
