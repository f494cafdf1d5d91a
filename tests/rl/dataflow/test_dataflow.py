"""What goes where in a program of training: flags of ends, options of the buffer, seeds, delays and first episodes."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import reactors as rx
from reactors import rl
from reactors.errors import ArgumentError
from reactors.rl.algorithms.off_policy import memory_of
from reactors.rl.contract.rows import experience_dtype
from reactors.rl.dataflow.acting import Acting
from reactors.rl.dataflow.program import Training
from reactors.rl.dataflow.rollout import Rollout
from reactors.rl.envs.sources import maker, spaces_of
from reactors.rl.monitoring.evaluator import Evaluator, play
from reactors.rl.options import Options
from reactors.rl.rounds import ROUND, STOP
from reactors.testing import trace

SMALL = rl.PPO(num_envs=2, horizon=4, epochs=1, hidden=(4,))
LITTLE = rl.DQN(num_envs=2, horizon=2, hidden=(4,), capacity=64, batch_size=4, learning_starts=4)


class Ending(gym.Env[Any, Any]):
    """Episodes end by `way` after two steps, and the first of an environment is worth 10, all others 1."""

    observation_space, action_space = gym.spaces.Box(-9, 9, (1,), np.float32), gym.spaces.Discrete(2)

    def __init__(self, way: str = "terminated") -> None:
        self.way, self.episodes = way, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed, options=options)
        self.episodes, self.at = self.episodes + 1, 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.at += 1
        reward, over = 5.0 if self.episodes == 1 else 0.5, self.at == 2
        return (
            np.full(1, self.at, np.float32),
            reward,
            over and self.way == "terminated",
            over and self.way != "terminated",
            {},
        )


def test_ends_of_both_kinds_arrive_as_what_they_are() -> None:
    makers = [lambda: Ending("terminated"), lambda: Ending("truncated")]
    spaces = Ending.observation_space, Ending.action_space
    rollout = Rollout(SMALL, makers, 0, *spaces)
    rows: Any = np.zeros(rollout.shape, experience_dtype(SMALL, *spaces))
    rollout.open(1, "main")
    rollout.begin(rows)
    for t in range(4):
        rollout.step(t, np.zeros(2, np.int64), {})
    rollout.finish(0)
    rollout.close()
    assert rows["terminated"].T.tolist() == [[False, True, False, True], [False] * 4]
    assert rows["truncated"].T.tolist() == [[False] * 4, [False, True, False, True]]


def test_an_evaluation_counts_the_first_episode_of_each_environment() -> None:
    class Slow(Ending):
        """The second environment needs more steps than the first has for several episodes."""

        made = 0

        def __init__(self) -> None:
            super().__init__()
            Slow.made += 1
            self.length = 2 if Slow.made == 1 else 9

        def step(self, action: Any) -> Any:
            obs, reward, *_ = super().step(action)
            return np.minimum(obs, 9), reward, self.at == self.length, False, {}

    policy = SMALL.policy(Slow.observation_space, Slow.action_space)
    policy.load(np.zeros(policy.size, np.float32))
    assert play(policy, Slow, Slow.observation_space, Slow.action_space, 2, 0).returns == (10.0, 45.0)


def test_the_best_weights_are_the_first_of_the_highest_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    means = iter([3.0, 7.0, 7.0, 5.0])
    monkeypatch.setattr("reactors.rl.monitoring.evaluator.play", lambda *_: rl.Evaluation([next(means)]))

    class Weights(rx.Reactor):
        tick = rx.Timer(0, ROUND)
        out = rx.Output(shape=("size",), dtype=np.float32)

        def __init__(self, size: int) -> None:
            self.size = size

        @rx.reaction(tick, effects=out)
        def send(self) -> None:
            self.out.set(np.full(self.size, self.tag.time // ROUND, np.float32))

    class Main(rx.Reactor):
        def __init__(self) -> None:
            spaces = Ending.observation_space, Ending.action_space
            size = SMALL.policy(*spaces).size
            self.weights = Weights(size)
            self.evaluator = Evaluator(SMALL, Ending, *spaces, size, episodes=1)
            rx.connect(self.weights.out, self.evaluator.weights)

    main = Main()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rx.ReactorWarning)  # nothing reads what it finds
        rx.run(main, fast=True, timeout=3 * ROUND)
    assert main.evaluator.highest == 7
    assert main.evaluator.best is not None
    assert set(main.evaluator.best.tolist()) == {1.0}


def test_the_buffer_has_the_algorithms_options() -> None:
    kind = rl.DQN(num_envs=2, capacity=64, n_step=3, gamma=0.5, prioritized=True, alpha=0.7, beta=0.3)
    buffer = memory_of(kind, Ending.observation_space, Ending.action_space)
    config = buffer.config
    assert (config.n_step, config.gamma, config.prioritized, config.alpha, config.beta) == (3, 0.5, True, 0.7, 0.3)
    buffer.close()


def training(seed: int, **options: Any) -> Training:
    make = maker(Ending, {}, "here")
    made = Training(LITTLE, make, *spaces_of(make, "here"), Options(actors=1, seed=seed), **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rx.ReactorWarning)  # what nothing reads
        rx.run(made, fast=True, seed=seed, timeout=5 * ROUND + STOP, keepalive=False)
    return made


def test_what_is_drawn_follows_from_the_seed_of_the_run() -> None:
    states = []
    for seed in (1, 1, 2):
        with training(seed).experience.buffer as buffer:
            states.append(buffer.rng.bit_generator.state)
    assert states[0] == states[1] != states[2]


@pytest.mark.parametrize("lag", [1, 3])
def test_actors_play_with_what_was_learned_so_many_rounds_before(lag: int, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[tuple[int, bytes]] = []

    def load(self: Acting, weights: Any, number: int) -> None:
        played.append((number, weights.tobytes()))

    monkeypatch.setattr(Acting, "load", load)
    make = maker(Ending, {}, "here")
    made = Training(SMALL, make, *spaces_of(make, "here"), Options(actors=1, mode="pipelined", lag=lag, seed=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rx.ReactorWarning)  # what nothing reads
        steps = trace(made, fast=True, seed=1, timeout=5 * ROUND + STOP, keepalive=False)
    learned = [
        (step.tag.time // ROUND, step.written["main.learners[0].weights"].tobytes())
        for step in steps
        if "main.learners[0].weights" in step.written
    ]
    assert played == [(number + lag, weights) for number, weights in learned if number + lag <= 5]
    assert len({weights for _, weights in played}) == len(played) > 1


HALVES: dict[str, Any] = {"actors": 3, "inference": "central", "double_buffer": True}


@pytest.mark.parametrize(
    ("options", "start", "multiple"),
    [
        ({"actors": 2}, "3 environments for 2 actors; let", "actors"),
        (HALVES, "3 environments for 3 actors, in two halves each; let", "twice their number"),
    ],
)
def test_environments_that_cannot_be_shared_equally_are_refused(
    options: dict[str, Any], start: str, multiple: str
) -> None:
    with pytest.raises(ArgumentError) as caught:
        rl.train(rl.PPO(num_envs=3, horizon=4, hidden=(4,)), "CartPole-v1", total_steps=12, **options)
    assert str(caught.value) == (
        f"{start} num_envs of PPO be a multiple of {multiple}, or choose another number of them: actors="
    )


@pytest.mark.parametrize("lag", [1, 2, 3])
def test_weights_are_as_old_as_the_lag_says(lag: int) -> None:
    done = rl.train(SMALL, "CartPole-v1", total_steps=8 * 8, seed=1, mode="pipelined", lag=lag)
    ages = [row["charts/weight_age"] for row in done.journal]
    assert ages[lag:] == [lag] * (len(ages) - lag)
