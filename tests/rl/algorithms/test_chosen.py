"""What a policy gives is an action for each observation, of the space; what it is asked for is an observation."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest

import reactors as rx
from reactors import rl
from reactors.errors import ValueMismatchError
from reactors.rl.errors import NotFiniteError
from reactors.rl.runs.trained_policy import TrainedPolicy

SMALL = {"num_envs": 4, "horizon": 4, "epochs": 1, "hidden": (4,)}


class Odd(rl.PPO):
    """PPO whose policies answer as `odd` makes of it."""

    odd: ClassVar[Any] = staticmethod(lambda actions, remembered: (actions, remembered))

    def policy(self, observation_space: Any, action_space: Any) -> Any:
        policy, odd = super().policy(observation_space, action_space), self.odd
        base: Any = type(policy)

        class Mine(base):  # type: ignore[misc]  # it is PPO's
            def act(self, *given: Any) -> Any:
                return odd(*super().act(*given))

            def greedy(self, observations: Any) -> Any:
                return odd(super().greedy(observations), None)[0]

        policy.__class__ = Mine
        return policy


WANTED = r"give an action of Discrete\(2\) for each, int64 of shape \(2,\)$"
WRONG = {
    rf"Mine\.act gave actions of shape \(1,\) for 2 observations; {WANTED}": lambda a, m: (a[:1], m),
    rf"Mine\.act gave actions of shape \(\) for 2 observations; {WANTED}": lambda a, m: (1, m),
    rf"Mine\.act gave 0\.5, which int64 does not hold, for observation 0 of 2; {WANTED}": lambda a, m: (a * 0 + 0.5, m),
    rf"Mine\.act gave NoneType for 2 observations \(object is no kind of int64\); {WANTED}": lambda a, m: (None, m),
    r"Mine\.act remembers nothing, but `remembered` of its algorithm names 'log_prob'; let both have the same$": (
        lambda a, m: (a, {})
    ),
    r"Mine\.act remembers 'log_prob' of shape \(1,\) for 2 observations; give one for each, as in \(2, \.\.\.\)$": (
        lambda a, m: (a, {"log_prob": m["log_prob"][:1]})
    ),
}


def late(odd: Any) -> Any:
    """It answers well as long as the contract of algorithms is looked at, before the run."""
    calls = itertools.count()
    return staticmethod(lambda a, m: (a, m) if next(calls) < 2 else odd(a, m))


def test_a_policy_that_gives_not_an_action_for_each_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for words, odd in WRONG.items():
        monkeypatch.setattr(Odd, "odd", late(odd))
        with pytest.raises(rx.ReactionError, match=words) as caught:
            rl.train(Odd(**SMALL), "CartPole-v1", total_steps=16)
        assert isinstance(caught.value.__cause__, ValueMismatchError)
        assert "main.actors[0].play" in str(caught.value)
    monkeypatch.setattr(Odd, "odd", late(lambda a, m: (a[:1], m)))
    with pytest.raises(rx.ReactionError, match=r"Mine\.act gave actions of shape \(1,\) for 4 observations"):
        rl.train(Odd(**SMALL), "CartPole-v1", total_steps=16, inference="central")


def test_actions_in_another_form_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = rl.train(Odd(**SMALL), "CartPole-v1", total_steps=32)
    monkeypatch.setattr(Odd, "odd", staticmethod(lambda a, m: (a.astype(np.float32).tolist(), m)))
    assert (rl.train(Odd(**SMALL), "CartPole-v1", total_steps=32).weights == plain.weights).all()


def test_greedy_actions_are_looked_at_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    done = rl.train(Odd(**SMALL), "CartPole-v1", total_steps=16)
    monkeypatch.setattr(Odd, "odd", staticmethod(lambda a, m: (a[:1], m)))
    done.policy.__class__ = type(Odd(**SMALL).policy(*done.spaces))
    with pytest.raises(ValueMismatchError, match=r"Mine\.greedy gave actions of shape \(1,\) for 3 observations; give"):
        done.evaluate(3)


def test_a_trained_policy_takes_an_observation_or_says_what_it_takes() -> None:
    done = rl.train(rl.PPO(**SMALL), "CartPole-v1", total_steps=16)
    plain = done(np.array([0.5, 0, -1, 0], np.float32))
    assert done([0.5, 0, -1, 0]) == done(np.array([0.5, 0, -1, 0])) == done((0.5, 0, -1, 0)) == plain
    takes = r"^the policy of PPO takes observations of shape \(4,\) and dtype float32, and was given"
    for wrong, words in (
        (
            np.zeros((3, 4), np.float32),
            rf"{takes} ndarray of shape \(3, 4\) and dtype float32; of a batch, policy.greedy gives",
        ),
        (
            [[0.0] * 4],
            rf"{takes} list of shape \(1, 4\) and dtype float64; of a batch, policy.greedy gives all actions$",
        ),
        (np.zeros(3), rf"{takes} ndarray of shape \(3,\) and dtype float64; convert it first$"),
        (1.0, rf"{takes} float of shape \(\) and dtype float64; convert it first$"),
        (None, rf"{takes} NoneType of shape \(\) and dtype object; convert it first$"),
        ("a", rf"{takes} str of shape \(\) and dtype <U1; convert it first$"),
        (np.zeros(4, complex), rf"{takes} ndarray of shape \(4,\) and dtype complex128; convert it first$"),
    ):
        with pytest.raises(ValueMismatchError, match=words):
            done(wrong)
    with pytest.raises(
        NotFiniteError, match="the policy of PPO was given an observation with a number that is not fin"
    ):
        done([0, 0, 0, np.nan])
    assert done.policy.greedy(np.zeros((3, 4), np.float32)).shape == (3,)


def test_with_a_torso_the_words_are_the_same() -> None:
    spaces = gym.spaces.Box(0, 255, (1, 84, 84), np.uint8), gym.spaces.Discrete(2)
    algorithm = rl.PPO()
    policy = algorithm.policy(*spaces)
    done = TrainedPolicy(algorithm, policy, np.zeros(policy.size, np.float32), lambda: None, spaces, {})
    policy.load(done.weights)
    assert done(np.zeros((1, 84, 84), int)) == done(np.zeros((1, 84, 84))) == 0
    with pytest.raises(
        ValueMismatchError, match=r"takes observations of shape \(1, 84, 84\) and dtype uint8, and was g"
    ):
        done(np.zeros((84, 84), np.uint8))
    with pytest.raises(ValueMismatchError, match="was given a number that is none of that dtype"):
        done(np.full((1, 84, 84), 256))


def test_an_evaluation_has_an_episode() -> None:
    done = rl.train(rl.PPO(**SMALL), "CartPole-v1", total_steps=16)
    for given, words in (
        ({"episodes": 0}, "episodes of evaluate is 0; write a whole number, 1 or more"),
        ({"episodes": 1.5}, "episodes of evaluate is 1.5; write a whole number, 1 or more"),
        ({"seed": "a"}, "seed of evaluate is 'a'; write a whole number, 0 or more"),
    ):
        with pytest.raises(rx.ArgumentError, match=words):
            done.evaluate(**given)  # type: ignore[arg-type]


class Nought:
    """A generator that draws 0, as others do once in some ten million times."""

    def random(self, n: int, dtype: Any) -> Any:
        return np.zeros(n, dtype)


def test_an_action_without_odds_is_never_drawn() -> None:
    policy = rl.PPO(hidden=(4,)).policy(gym.spaces.Box(-1, 1, (2,)), gym.spaces.Discrete(4))
    outputs = np.array([[-np.inf, 0, 0, -np.inf]], np.float32)
    chosen, remembered = policy.draw(outputs, Nought())  # type: ignore[attr-defined]
    assert chosen == [1]
    assert np.isfinite(remembered["log_prob"]).all()
