"""Environments that tell their state go on elsewhere as if nothing had been; others say why they cannot."""

from __future__ import annotations

import json
import math
import random
from collections import Counter, defaultdict, deque
from enum import Enum
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from reactors.errors import ArgumentError
from reactors.rl.encoding.generators import legacy_state, legacy_with_state
from reactors.rl.encoding.state import Settled, StateError, decode, encode
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
    through = through_a_file(state_of(env))
    other.reset(seed=6)
    restore(other, through)
    assert played(env, 60, np.random.default_rng(1)) == played(other, 60, np.random.default_rng(1))


def through_a_file(state: Any) -> Any:
    tree, arrays = encode(state)
    return decode(json.loads(json.dumps(tree)), arrays)


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


class Plays(Bare):
    """What it plays is held by an attribute, which comes before what it belongs to."""

    def __init__(self, play: Any, **more: Any) -> None:
        self.draw = play
        vars(self).update(more)

    def play(self) -> Any:
        return self.draw()


def own_method() -> Plays:
    thing = Counting()
    return Plays(thing.count, thing=thing)


def own_generator() -> Plays:
    rng = np.random.default_rng(3)
    return Plays(rng.random, rng=rng)


def own_list() -> Plays:
    items = [1, 2, 3, 4, 5, 6, 7, 8]
    return Plays(items.pop, items=items)


def own_object_in_a_closure() -> Plays:
    thing = Counting()
    return Plays(lambda: 2 * thing.count(), thing=thing)


def own_constants_in_a_closure() -> Plays:
    names, scale = ["a", "b"], np.ones(2)
    return Plays(lambda: (names, scale.tolist()), names=names)


def own_list_that_grows() -> Plays:
    items: list[int] = []
    return Plays(lambda: (items.append(len(items)), sum(items)), items=items)


def own_dict_that_grows() -> Plays:
    items: dict[int, int] = {}
    return Plays(lambda: (items.update({len(items): 1}), len(items)), items=items)


class Counting:
    def __init__(self) -> None:
        self.n = 0

    def count(self) -> int:
        self.n += 1
        return self.n


@pytest.mark.parametrize(
    "made",
    [
        own_method, own_generator, own_list, own_object_in_a_closure, own_constants_in_a_closure, own_list_that_grows,
        own_dict_that_grows,
    ],
)  # fmt: skip
def test_methods_of_what_is_saved_go_on(made: Any) -> None:
    env, other = made(), made()
    for _ in range(3):
        env.play()
    restore(other, through_a_file(state_of(env)))
    assert [env.play() for _ in range(3)] == [other.play() for _ in range(3)]
    assert state_of(env)[0]["attributes"].keys() == state_of(other)[0]["attributes"].keys()


class Registered:
    def __init__(self, registry: Any) -> None:
        self.registry = registry


def test_what_refers_back_to_its_list_or_dict_still_does() -> None:
    def made() -> Any:
        env: Any = Bare()
        env.names, env.nodes = {}, []
        env.names["a"] = Registered(env.names)
        env.nodes.append(Registered(env.nodes))
        return env

    other = made()
    restore(other, through_a_file(state_of(made())))
    assert other.names["a"].registry is other.names
    assert other.nodes[0].registry is other.nodes


def test_what_is_as_it_was_is_not_written() -> None:
    """All environments of a process may share it, and some of them play already."""
    names = deque(str(i) for i in range(9))  # of which an iterator fails once it was written
    env, other = Bare(), Bare()
    vars(env)["names"] = vars(other)["names"] = names
    reading = iter(names)
    next(reading)
    restore(other, through_a_file(state_of(env)))
    assert vars(other)["names"] is names
    assert len([*reading]) == 8


def in_a_closure(thing: Any) -> Any:
    def inner() -> Any:
        return thing.count()

    return lambda: inner() + 1


@pytest.mark.parametrize(
    ("play", "what"),
    [
        (Counting().count, "Counting"),
        (random.Random(3).random, "Random"),
        (np.random.default_rng(3).random, "Generator"),
        (np.random.RandomState(3).rand, "RandomState"),
        (partial(Counting.count, Counting()), "Counting"),
        (partial(next, iter(range(9))), "range_iterator"),
        (in_a_closure(Counting()), "Counting"),
        (gym.spaces.Discrete(9, seed=1).sample, "Generator"),
    ],
    ids=lambda each: each if isinstance(each, str) else "of",
)
def test_a_state_that_only_a_function_or_method_holds_is_hidden(play: Any, what: str) -> None:
    with pytest.raises(HiddenStateError, match=rf"Plays\.draw holds a {what}, which is saved nowhere else; let it be"):
        state_of(Plays(play))


def of_a_default(items: Any) -> Plays:
    return Plays(lambda items=items: items.append(1))


def of_a_keyword_default(items: Any) -> Plays:
    return Plays(lambda *, items=items: items.append(1))


def of_an_attribute(items: Any) -> Plays:
    def draw() -> None:
        draw.count = getattr(draw, "count", 0) + len(items) + 1  # type: ignore[attr-defined]

    return Plays(draw)


def of_a_number_further_in(items: Any) -> Plays:
    n = len(items)

    def count() -> None:
        nonlocal n
        n += 1

    return Plays(lambda: [count()])


def of_a_tuple(items: Any) -> Plays:
    state = tuple(items)

    def draw() -> None:
        nonlocal state
        state = (*state, 1)

    return Plays(draw)


def closure_over(items: Any) -> Plays:
    return Plays(lambda: items.append(1))


def alone(items: Any) -> Plays:
    return Plays(partial(items.append, 1))


@pytest.mark.parametrize(
    "made",
    [
        closure_over, alone, of_a_default, of_a_keyword_default, of_an_attribute, of_a_number_further_in, of_a_tuple,
    ],
)  # fmt: skip
def test_what_only_a_function_holds_is_compared(made: Any) -> None:
    env, other, unlike = made([]), made([]), made([])
    restore(other, through_a_file(state_of(env)))
    other.play()
    env.play()
    assert state_of(other) == state_of(env)
    with pytest.raises(
        HiddenStateError, match=r"Plays\.draw of the environment holds something else than in the state"
    ):
        restore(unlike, through_a_file(state_of(env)))


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda: gym.wrappers.RescaleAction(gym.make("Pendulum-v1"), np.float32(-1), np.float32(1)),
        lambda: gym.wrappers.ClipReward(gym.wrappers.TimeAwareObservation(gym.make("CartPole-v1")), -1, 1),
        lambda: gym.wrappers.FilterObservation(gym.wrappers.TimeAwareObservation(gym.make("CartPole-v1"),
                                                                                 flatten=False), ["obs"]),
        lambda: gym.wrappers.FlattenObservation(gym.wrappers.ReshapeObservation(gym.make("CartPole-v1"), (2, 2))),
    ],
)  # fmt: skip
def test_wrappers_with_functions_go_on(wrapped: Any) -> None:
    env, other = wrapped(), wrapped()
    env.reset(seed=1)
    other.reset(seed=2)
    restore(other, through_a_file(state_of(env)))
    assert repr(state_of(other)) == repr(state_of(env))


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


def test_a_state_stays_what_it_was_while_its_owner_goes_on() -> None:
    telling = {"at": np.zeros(2), "kept": [np.zeros(3, "f4"), (np.ones(1),)], 1: np.zeros(1)}
    found = encode(telling, "main")
    telling["at"] += 1
    telling["kept"][0][:] = 5
    telling["kept"][1][0][:] = 5
    telling[1][:] = 5
    again = decode(*found)
    assert again["at"].tolist() == [0, 0]
    assert (again["kept"][0].tolist(), again["kept"][1][0].tolist(), again[1].tolist()) == ([0, 0, 0], [1], [0])


def test_what_nobody_writes_to_any_more_is_not_copied() -> None:
    rows, other = np.zeros(2), np.zeros(2)
    found = encode({"buffer": Settled({"rows": rows, "more": [rows[:1]]}), "other": other}, "main").arrays
    assert found["main.buffer.rows"] is rows
    assert np.shares_memory(found["main.buffer.more[0]"], rows)
    assert not np.shares_memory(found["main.other"], other)


@pytest.mark.parametrize("dtype", [">f4", ">i8", ">f8", ">c8", "<U3", ">U3"])
@pytest.mark.parametrize("shape", [(), (0, 2), (2, 3)])
def test_arrays_of_any_byte_order_come_back(dtype: str, shape: tuple[int, ...]) -> None:
    given = np.arange(1, 1 + math.prod(shape)).reshape(shape).astype(dtype)
    tree, arrays = encode({"x": given}, "main")
    found = decode(tree, arrays)["x"]
    assert (found.dtype, found.shape, found.tolist()) == (given.dtype, given.shape, given.tolist())
    assert all(each.dtype.isnative for each in arrays.values())  # a file has no other


def test_arrays_whose_keys_read_alike_are_two() -> None:
    state = {"by": {1: np.zeros(1), "1": np.ones(1)}, "a": {"b": np.full(1, 2.0)}, "a.b": np.full(1, 3.0)}
    state |= {"a.b'": np.full(1, 4.0)}
    tree, arrays = encode(state, "main")
    found = decode(json.loads(json.dumps(tree)), arrays)
    assert [*found["by"].values(), found["a"]["b"], found["a.b"], found["a.b'"]] == [[0], [1], [2], [3], [4]]
    assert len(arrays) == 5


def test_what_cannot_be_saved_is_named() -> None:
    with pytest.raises(StateError, match=r"main\.a\[1\] is a object, which no checkpoint can hold"):
        encode({"a": [1, object()]}, "main")
