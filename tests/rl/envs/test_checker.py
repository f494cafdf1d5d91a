"""A checker is as good as what it finds: every rule is broken here once."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import reactors as rx
from reactors import rl
from reactors.testing import check_env


class Walk(rx.Reactor):
    """A simulator of one's own: a random walk that ends beyond 3. `fault` breaks a rule."""

    action = rx.Input(dtype="i8")
    observation = rx.Output(shape=(1,), dtype="f4")
    next_observation = rx.Output(shape=(1,), dtype="f4")
    reward = rx.Output(dtype="f8")
    terminated = rx.Output(dtype=bool)
    truncated = rx.Output(dtype=bool)
    later = rx.LogicalAction(min_delay="500 ns")

    def __init__(self, fault: str = "") -> None:
        self.observation_space = spaces.Box(-9, 9, (1,), np.float32)
        self.action_space = spaces.Discrete(2)
        self.fault, self.done = fault, 0

    @rx.reaction(rx.startup, effects=(observation, reward))
    def begin(self) -> None:
        self.at = np.zeros(1, np.float32)
        if self.fault != "silent":
            self.observation.set(self.at)
        if self.fault == "early":
            self.reward.set(0.0)

    @rx.reaction(action, effects=(observation, next_observation, reward, terminated, truncated, later))
    def step(self) -> None:
        self.done += 1
        if self.fault == "deaf" and self.done == 5:
            return
        noise = np.random.default_rng().normal() if self.fault == "random" else self.rng.normal()
        self.at += 0.1 * noise + (2 * int(self.action.value) - 1)
        if self.fault == "outside" and self.done == 5:
            self.at[:] = 10
        over = self.fault != "endless" and bool(abs(self.at[0]) > 3)
        self.at[:] = np.clip(self.at, -9, 9) if self.fault != "outside" else self.at
        if self.fault != "overwritten":
            self.next_observation.set(self.at)
        if over:
            self.at[:] = 0
        if self.fault == "overwritten":
            self.next_observation.set(self.at)
        if self.fault == "stale" and self.done == 3:
            self.next_observation.set(np.ones(1, np.float32))
        self.observation.set(self.at)
        if self.fault != "unpaid":
            self.reward.set(1.0)
        self.terminated.set(over)
        self.truncated.set(False)
        if self.fault == "chatty":
            self.later.schedule()

    @rx.reaction(later, effects=observation)
    def say_more(self) -> None:
        self.observation.set(self.at)


def test_a_simulator_of_ones_own_passes() -> None:
    check_env(Walk, steps=100)


def test_environments_of_the_package_pass() -> None:
    check_env(lambda: rl.Env("CartPole-v1"), steps=100)
    check_env(lambda: rl.Env("Blackjack-v1", num_envs=3), steps=30)
    check_env(lambda: rl.Env("Taxi-v4", num_envs=2, max_episode_steps=20), steps=50)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("silent", "sets no observation at startup"),
        ("early", "sets reward at startup, when nothing was done yet"),
        ("deaf", "has no answer to action 5"),
        ("random", "of another with the same seed"),
        (
            "outside",
            r"gives after action 5 the (next_)?observation array\(\[10\.\], dtype=float32\), which is not in Box",
        ),
        ("endless", "ends no episode in 100 random actions"),
        ("overwritten", r"with which an episode ended, .*copy it before the reset"),
        ("stale", "gives after action 3 the next_observation .* though no episode ended"),
        ("unpaid", "does not set reward at the tag of action 1"),
        ("chatty", r"sets ports at 1\.5 us, when no action came"),
    ],
)
def test_every_broken_rule_is_reported(fault: str, message: str) -> None:
    with pytest.raises(AssertionError, match=f"Walk .*{message}"):
        check_env(lambda: Walk(fault), steps=100)


class Narrow(Walk):
    def __init__(self) -> None:
        super().__init__()
        self.observation_space = spaces.Box(-9, 9, (2,), np.float32)


class Spaceless(Walk):
    def __init__(self) -> None:
        super().__init__()
        del self.action_space


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Narrow, r"observation .* carries arrays of shape \(1,\) and dtype float32, and has to carry .* \(2,\)"),
        (Spaceless, "Spaceless has no action_space; set self.action_space"),
        (dict, "is no reactor"),
        (lambda: gym.make("CartPole-v1"), "is an environment, and this checks reactors; check it with gymnasium"),
        (Walk(), "give a function that makes the reactor"),
        (lambda: rl.MultiAgentEnv("classic/rps_v2"), "has no observation_space"),
    ],
)
def test_wrong_ports_are_reported(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_env(make)
