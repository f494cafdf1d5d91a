"""Environments that tell their state go on elsewhere as if nothing had been; others say why they cannot."""

from __future__ import annotations

from collections import Counter, defaultdict
from enum import Enum
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from reactors.errors import ArgumentError
from reactors.rl.encoding.generators import legacy_state, legacy_with_state
from reactors.rl.encoding.state import StateError, decode, encode
from reactors.rl.envs.env_state import HiddenStateError, restore, state_of

TELLING = ["CartPole-v1", "Pendulum-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "FrozenLake-v1",
           "Taxi-v4", "CliffWalking-v1", "Blackjack-v1"]  # fmt: skip


def played(env: gym.Env[Any, Any], steps: int, rng: np.random.Generator) -> list[Any]:
    """What comes of so many actions, through ends of episodes."""
    found = []
    for _ in range(steps):
        space: Any = env.action_space
        action = (
            int(rng.integers(space.n)) if isinstance(space, gym.spaces.Discrete) else rng.uniform(-1, 1, space.shape)
        )
        obs, reward, terminated, truncated, _ = env.step(action)
        found.append((np.asarray(obs).tolist(), float(reward), terminated, truncated))
        if terminated or truncated:
            found.append(np.asarray(env.reset()[0]).tolist())
    return found


@pytest.mark.parametrize("name", TELLING)
def test_an_environment_goes_on_elsewhere(name: str) -> None:
    def made() -> gym.Env[Any, Any]:
        env: Any = gym.make(name)
        if name == "CartPole-v1":
            env = gym.wrappers.RecordEpisodeStatistics(gym.wrappers.FrameStackObservation(env, 2))
        if name == "Pendulum-v1":
            env = gym.wrappers.NormalizeReward(gym.wrappers.NormalizeObservation(env))
        return env

    env, other = made(), made()
    env.reset(seed=5)
    played(env, 30, np.random.default_rng(0))
    through = decode(*encode(state_of(env)))  # as a file would have it
    other.reset(seed=6)
    restore(other, through)
    assert played(env, 60, np.random.default_rng(1)) == played(other, 60, np.random.default_rng(1))


class Telling(gym.Wrapper[Any, Any, Any, Any]):
    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.engine = object()
        self.position = 0

    def state_dict(self) -> dict[str, Any]:
        return {"position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.position = state["position"]


def test_an_environment_that_offers_its_state_is_asked() -> None:
    env, other = Telling(gym.make("CartPole-v1")), Telling(gym.make("CartPole-v1"))
    env.reset(seed=1)
    env.position = 7
    other.reset(seed=2)
    restore(other, state_of(env))
    assert other.position == 7


class Bare(gym.Env[Any, Any]):
    observation_space = gym.spaces.Discrete(2)
    action_space = gym.spaces.Discrete(2)


class Thing:
    def __init__(self, x: int) -> None:
        self.x = x


class Phase(Enum):
    SLOW = 1
    FAST = 2


class Phases(Bare):
    """What comes next is a method, and a member of an enumeration."""

    def __init__(self) -> None:
        self.now, self.next, self.found = Phase.SLOW, self.slow, 0

    def slow(self) -> None:
        self.now, self.next, self.found = Phase.FAST, self.fast, 1

    def fast(self) -> None:
        self.found += 10 if self.now is Phase.FAST else 100

    def play(self) -> None:
        self.next()


class Counts(Bare):
    """Dicts of other kinds, one of which is made later on."""

    def __init__(self) -> None:
        self.seen: Any = defaultdict(list)

    def play(self) -> None:
        self.seen[len(self.seen)].append(1)
        self.found = vars(self).setdefault("numbers", Counter())
        self.found[3] += self.found[4] + 1


class Two(Bare):
    """One object in two places, and later two."""

    def __init__(self) -> None:
        self.things = [Thing(0), Thing(100)]
        self.current = self.things[0]

    def play(self) -> None:
        self.current = self.things[1]
        self.current.x += 1
        self.found = [thing.x for thing in self.things]


class Growing(Bare):
    """Objects that are made while it is played."""

    def __init__(self) -> None:
        self.things: list[Thing] = []
        self.first: Thing | None = None

    def play(self) -> None:
        self.things.append(Thing(len(self.things)))
        self.first = self.first or self.things[0]
        self.first.x += 1
        self.found = [thing.x for thing in self.things]


class Losing(Bare):
    def __init__(self) -> None:
        self.found, self.unopened = 0, True

    def play(self) -> None:
        self.found += 1
        if hasattr(self, "unopened"):
            del self.unopened
            self.found += 100


@pytest.mark.parametrize("kind", [Phases, Counts, Two, Growing, Losing])
def test_what_lies_elsewhere_or_is_of_another_kind_than_at_first_goes_on(kind: Any) -> None:
    env, other = kind(), kind()
    env.play()
    restore(other, decode(*encode(state_of(env))))
    for _ in range(3):
        env.play()
        other.play()
    assert other.found == env.found
    assert [type(value) for value in vars(other).values()] == [type(vars(env)[name]) for name in vars(other)]
    assert [member.name for member in Phase] == ["SLOW", "FAST"]


def test_what_would_not_go_on_as_it_is_is_hidden() -> None:
    env = Bare()
    board = np.zeros((3, 3))
    vars(env).update(board=board, other=np.ones(9).reshape(3, 3))
    state_of(env)
    vars(env).update(row=board[1])
    with pytest.raises(HiddenStateError, match=r"Bare\.row is a view of an array that is saved, too"):
        state_of(env)
    vars(env).update(row=np.ma.array([1.0]))
    with pytest.raises(HiddenStateError, match=r"Bare\.row is a MaskedArray"):
        state_of(env)


@pytest.mark.parametrize("one", [partial(max, 2), len, Thing], ids=["partial", "function", "class"])
def test_a_function_that_is_another_one_is_refused(one: Any) -> None:
    env, other, same = Bare(), Bare(), Bare()
    vars(env)["rule"], vars(other)["rule"], vars(same)["rule"] = one, partial(max, 1), one
    state = decode(*encode(state_of(env)))
    restore(same, state)
    with pytest.raises(HiddenStateError, match=r"the state has .* where the environment has a partial"):
        restore(other, state)


def test_what_is_hidden_is_named() -> None:
    env = gym.make("CartPole-v1")
    vars(env.unwrapped)["engine"] = object()
    with pytest.raises(HiddenStateError, match=r"CartPoleEnv\.engine is a object"):
        state_of(env)


def test_a_state_of_other_wrappers_is_refused() -> None:
    env = gym.make("CartPole-v1")
    env.reset(seed=1)
    with pytest.raises(HiddenStateError, match=r"the state is of TimeLimit of .*, and the environment is CartPoleEnv"):
        restore(env.unwrapped, state_of(env))


def test_generators_that_were_one_are_one_again() -> None:
    env, other = gym.make("CartPole-v1"), gym.make("CartPole-v1")
    for each in (env, other):
        each.reset(seed=1)
        vars(each.unwrapped)["noise"] = each.unwrapped.np_random
    restore(other, state_of(env))
    inner: Any = other.unwrapped
    assert inner.noise is inner.np_random


def test_generators_of_the_old_kind_go_on_and_are_one_again() -> None:
    """They keep every second normal number."""
    env, other = gym.make("CartPole-v1"), gym.make("CartPole-v1")
    one: Any = env.unwrapped
    one.noise = one.wind = np.random.RandomState(3)
    one.noise.standard_normal()
    two: Any = other.unwrapped
    two.noise, two.wind = np.random.RandomState(4), np.random.RandomState(5)
    restore(other, decode(*encode(state_of(env))))
    assert two.noise is two.wind
    assert two.noise.standard_normal(3).tolist() == one.noise.standard_normal(3).tolist()


def test_a_state_that_no_generator_has_is_refused() -> None:
    state = legacy_state(np.random.RandomState(1))
    for wrong in ({"has_gauss": 2}, {"gauss": "x"}, {"bit_generator": "PCG64"}, {"state": {}}):
        with pytest.raises(ArgumentError, match="a state of random numbers"):
            legacy_with_state({**state, **wrong})


@pytest.mark.parametrize("value", [
    None, True, 3, 2**100, 0.1, float("inf"), "text", (1, (2.5,)), [1, [2]], {1: "a", "b": 2}, {"$odd": 1},
    np.float32(0.1), {},
])  # fmt: skip
def test_a_state_comes_back(value: Any) -> None:
    found = decode(*encode(value))
    assert found == value
    assert type(found) is type(value)


def test_arrays_tensors_and_generators_come_back() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    state = {"x": np.zeros((0, 3), "f4"), "letters": np.array([b"S", b"F"]), "t": torch.arange(3),
             "n": torch.tensor(1.5), "b": torch.ones(2, dtype=torch.bfloat16), "rng": rng}  # fmt: skip
    found = decode(*encode(state, "main"))
    assert found["x"].shape == (0, 3)
    assert found["letters"].tolist() == [b"S", b"F"]
    assert torch.equal(found["t"], state["t"])
    assert float(found["n"]) == 1.5
    assert found["b"].dtype is torch.bfloat16
    assert found["rng"].random() == rng.random()


def test_what_cannot_be_saved_is_named() -> None:
    with pytest.raises(StateError, match=r"main\.a\[1\] is a object, which no checkpoint can hold"):
        encode({"a": [1, object()]}, "main")
