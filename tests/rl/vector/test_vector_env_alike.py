"""Does an environment get what Gymnasium's own vector environments would give it, wherever it lies?"""

from __future__ import annotations

import copy
import itertools
import re
import subprocess
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
import torch
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from gymnasium.wrappers import TimeLimit

import reactors as rx
from reactors import rl
from reactors.rl import sb3
from reactors.rl.envs.owned import own

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

N = 3


def described(value: Any) -> str:
    """Type, dtype, shape and bits, all the way down."""
    if isinstance(value, dict):
        return f"{type(value).__name__}({', '.join(f'{key}: {described(part)}' for key, part in value.items())})"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}({', '.join(map(described, value))})"
    if isinstance(value, np.ndarray | np.generic):
        return f"{type(value).__name__} {value.dtype}{value.shape} {value.tobytes().hex()}"
    return f"{type(value).__name__} {value!r}"


class Echo(gym.Env[Any, Any]):
    """Says what it was given, and spoils it."""

    observation_space = Box(0, 1, (1,), np.float32)

    def __init__(self, action_space: Any) -> None:
        self.action_space = action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        info = {"got": described(action)}
        for part in action.values() if isinstance(action, dict) else [action]:
            if isinstance(part, np.ndarray):
                part[...] = 0
        return np.zeros(1, np.float32), 0.0, False, False, info


BOTH = Dict(at=Box(-1, 1, (2,), np.float32), door=Discrete(3))
PAIR = Tuple([Box(-1, 1, (2,), np.float64), MultiBinary(2)])
GIVEN: list[tuple[Any, Any]] = [
    *((Box(-5, 5, (2,), dtype), np.arange(6.0).reshape(3, 2)) for dtype in (np.float16, np.float32, np.float64)),
    (Box(-5, 5, (2,), np.float32), np.arange(6, dtype=np.float32).reshape(3, 2)),
    (Box(-5, 5, (2,), np.float32), np.asfortranarray(np.arange(6, dtype=np.float32).reshape(3, 2))),
    (Box(-5, 5, (2,), np.float32), np.arange(6).reshape(3, 2)),
    (Box(-5, 5, (2,), np.float32), [[1, 2], [3.5, 4], [5, 6]]),
    (Box(-5, 5, (2,), np.float32), [np.ones(2), (1, 2), None]),
    (Box(-5, 5, (), np.float32), np.array([0.1, 0.2, 0.3])),
    (Box(0, 255, (2,), np.uint8), np.arange(6, dtype=np.uint8).reshape(3, 2)),
    (Box(-5, 5, (2,), np.int32), np.arange(6.0).reshape(3, 2)),
    *((Discrete(5), np.array([1, 2, 3], dtype)) for dtype in (np.int64, np.int32, np.uint8, np.float32, np.float64)),
    (Discrete(5), np.array([True, False, True])),
    (Discrete(5), [1, 2, 3]),
    (Discrete(5), (np.int32(1), 2.0, True)),
    (Discrete(5), np.array([[1], [2], [3]])),
    (Discrete(5), ["left", None, 1]),
    (MultiDiscrete([3, 4]), np.array([[1, 2], [0, 3], [2, 1]])),
    (MultiDiscrete([3, 4]), np.array([[1, 2], [0, 3], [2, 1]], np.uint8)),
    (MultiDiscrete([3, 4]), [[1, 2], (0, 3), np.array([2, 1])]),
    (MultiBinary(2), np.array([[1, 0], [0, 1], [1, 1]], np.int8)),
    (MultiBinary(2), np.array([[1, 0], [0, 1], [1, 1]], bool)),
    (BOTH, {"at": np.ones((3, 2), np.float32), "door": np.array([0, 1, 2])}),
    (BOTH, {"at": np.ones((3, 2)), "door": [0, 1, 2]}),
    (PAIR, (np.ones((3, 2)), np.ones((3, 2), np.int8))),
    (PAIR, (np.ones((3, 2), np.float32), [[1, 0], [0, 1], [1, 1]])),
    (Text(5), ("a", "bc", "")),
]


def told(envs: Any, actions: Any) -> tuple[list[str], list[str]]:
    """What each environment of a vector environment says that it was given by both ways to step."""
    envs.reset(seed=0)
    first = envs.step(actions)[4]["got"].tolist()
    envs.step_async(actions)
    again = envs.step_wait()[4]["got"].tolist()
    envs.close()
    return first, again


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("case", range(len(GIVEN)))
def test_actions_arrive_as_they_are(case: int, workers: int) -> None:
    space, actions = GIVEN[case]
    makers, before = [partial(Echo, space)] * N, described(actions)
    sync: Any = SyncVectorEnv(makers)
    sync.reset(seed=0)
    theirs = sync.step(copy.deepcopy(actions))[4]["got"].tolist()
    sync.close()
    ours = told(rl.VectorEnv(makers, workers=workers, oversubscribe=True), actions)
    assert ours == (theirs, theirs)
    assert described(actions) == before, "what environments do to their actions stays with them"


@pytest.mark.parametrize("case", [1, 6, 15, 19, 24])
def test_actions_arrive_as_async_vector_env_sends_them(case: int) -> None:
    space, actions = GIVEN[case]
    makers = [partial(Echo, space)] * N
    assert told(rl.VectorEnv(makers, workers=2, oversubscribe=True), actions) == told(
        AsyncVectorEnv(makers, shared_memory=False), actions
    )


def test_actions_of_an_array_library_arrive_as_they_are() -> None:
    got, _ = told(rl.VectorEnv([partial(Echo, Discrete(5))] * N, workers=2), torch.tensor([1, 2, 3]))
    assert got == ["Tensor tensor(1)", "Tensor tensor(2)", "Tensor tensor(3)"]


def test_actions_sent_one_by_one_arrive_as_they_are() -> None:
    envs = rl.VectorEnv([partial(Echo, Box(-5, 5, (2,), np.float32))] * N, workers=2, asynchronous=True)
    envs.reset(seed=0)
    envs.send(np.ones((2, 2)), [0, 2])
    infos = envs.recv()[4]
    assert infos["got"].tolist()[:2] == [described(np.ones(2))] * 2
    envs.close()


@pytest.mark.parametrize("case", [0, 1, 3, 19, 25, 26, 27])
def test_actions_are_those_of_the_call_though_the_caller_changes_them(case: int) -> None:
    space, actions = GIVEN[case]
    expected, _ = told(rl.VectorEnv([partial(Echo, space)] * N, workers=1), actions)
    for workers in (1, 2):
        envs, given = rl.VectorEnv([partial(Echo, space)] * N, workers=workers), copy.deepcopy(actions)
        envs.reset(seed=0)
        envs.step_async(given)
        for part in given.values() if isinstance(given, dict) else [given]:
            part[:] = [part[0]] * N
        assert envs.step_wait()[4]["got"].tolist() == expected
        envs.close()


@pytest.mark.parametrize(
    ("space", "actions"),
    [
        (Box(-5, 5, (2,), np.float32), np.arange(6).reshape(3, 2).astype(">f4")),
        (Box(-5, 5, (2,), np.float32), [np.ones(2, ">f8")] * 3),
        (BOTH, {"at": np.ones((3, 2), ">f4"), "door": np.array([0, 1, 2], ">i8")}),
        (PAIR, (np.ones((3, 2), ">f8"), np.ones((3, 2), ">i2"))),
    ],
)
def test_actions_of_a_foreign_byte_order_arrive_as_async_vector_env_sends_them(space: Any, actions: Any) -> None:
    makers = [partial(Echo, space)] * N
    theirs = told(AsyncVectorEnv(makers, shared_memory=False), actions)
    for workers in (1, 2):
        assert told(rl.VectorEnv(makers, workers=workers, oversubscribe=True), actions) == theirs


@pytest.mark.parametrize("action", [0, 1.5, None, np.int64(3), np.array(2)])
def test_what_is_no_row_of_actions_is_refused_as_gymnasium_does(action: Any) -> None:
    makers = [partial(Echo, Discrete(5))] * N
    for envs in (SyncVectorEnv(makers), rl.VectorEnv(makers, workers=2)):
        envs.reset(seed=0)
        with pytest.raises(TypeError):
            envs.step(action)
        envs.step([0] * N)
        envs.close()


# ---- what functions carry ----


class Count(gym.Env[Any, Any]):
    """Counts its steps; its space, a generator of its own, and a buffer come from outside."""

    action_space = Discrete(2)

    def __init__(self, space: Any = None, buffer: Any = None, counter: Any = None) -> None:
        self.observation_space = space or Box(0, 1000, (1,), np.float32)
        self.buffer = np.zeros(1, np.float32) if buffer is None else buffer
        self.counter, self.closed, self.steps = counter or itertools.count(), False, 0

    def look(self) -> Any:
        self.buffer += 1
        return self.buffer + np.float32(next(self.counter)) + self.observation_space.sample().round()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return self.look(), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        return self.look(), float(self.steps), False, False, {}

    def close(self) -> None:
        self.closed = True


def carrying_an_environment() -> Callable[[], Any]:
    env = Count(Box(0, 1000, (1,), np.float32, seed=3))
    return lambda: env


def carrying_a_wrapped_environment() -> Callable[[], Any]:
    env = Count(Box(0, 1000, (1,), np.float32, seed=3))
    return lambda: TimeLimit(env, 50)


def carrying_a_space() -> Callable[[], Any]:
    return partial(Count, Box(0, 1000, (1,), np.float32, seed=3))


def carrying_a_buffer() -> Callable[[], Any]:
    return partial(Count, Box(0, 1000, (1,), np.float32, seed=3), np.zeros(1, np.float32))


def carrying_a_counter() -> Callable[[], Any]:
    counter = itertools.count()
    return lambda: Count(Box(0, 1000, (1,), np.float32, seed=3), counter=counter)


CARRYING = [
    carrying_an_environment, carrying_a_wrapped_environment, carrying_a_space, carrying_a_buffer, carrying_a_counter,
]  # fmt: skip


def played(envs: Any) -> list[Any]:
    seen = [envs.reset(seed=1)[0].tolist()]
    for _ in range(3):
        seen += [part.tolist() for part in envs.step([0, 1, 0, 1])[:2]]
    envs.close()
    return seen


@pytest.mark.parametrize("carrying", CARRYING)
def test_what_functions_carry_is_each_environments_own(carrying: Callable[[], Callable[[], Any]]) -> None:
    expected = played(AsyncVectorEnv([carrying()] * 4, shared_memory=False))
    for workers in (1, 2, 3, 4):
        assert played(rl.VectorEnv([carrying()] * 4, workers=workers, oversubscribe=True)) == expected
    assert played(rl.VectorEnv([carrying()] * 4, workers=2, isolate=True)) == expected


@pytest.mark.parametrize("make_envs", [partial(rl.VectorEnv, workers=1), rl.Env])
def test_a_look_at_the_spaces_leaves_an_environment_that_is_carried_as_it_is(make_envs: Any) -> None:
    env = Count()
    envs = make_envs([lambda: env])
    assert not env.closed
    if isinstance(envs, rl.VectorEnv):
        envs.close()
    assert (env.steps, env.closed) == (0, False)


class Silent(gym.Env[Any, Any]):
    """Observes nothing."""

    observation_space, action_space = Box(0, 1, (1,), np.float32), Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def counts(self) -> float:
        raise NotImplementedError

    def step(self, action: Any) -> Any:
        return np.zeros(1, np.float32), self.counts(), False, False, {}


def closing_over_a_dictionary() -> Callable[[], Any]:
    counter = {"n": 0}

    class Local(Silent):
        def counts(self) -> float:
            counter["n"] += 1
            return counter["n"]

    return Local


def closing_over_a_number_in_a_base() -> Callable[[], Any]:
    n = 0

    class Base(Silent):
        def counts(self) -> float:
            nonlocal n
            n += 1
            return n

    class Local(Base):
        def counts(self) -> float:
            return super().counts()

    return lambda: TimeLimit(Local(), 50)


def with_attributes_of_the_class() -> Callable[[], Any]:
    class Local(Silent):
        seen: list[int] = []  # noqa: RUF012
        n = 0

        def counts(self) -> float:
            self.seen.append(1)
            Local.n += 1
            return len(self.seen) + Local.n

    return Local


def closing_over_a_class_that_closes_over_a_list() -> Callable[[], Any]:
    seen: list[int] = []

    class Simulator:
        def advance(self) -> None:
            seen.append(1)

    class Local(Silent):
        def counts(self) -> float:
            Simulator().advance()
            return len(seen)

    return Local


def made_by_a_class_that_is_no_environment() -> Callable[[], Any]:
    seen: list[int] = []

    class Simulator:
        @property
        def steps(self) -> int:
            seen.append(1)
            return len(seen)

    return partial(Counting, Simulator)


class Counting(Silent):
    def __init__(self, make: Any) -> None:
        self.simulator = make()

    def counts(self) -> float:
        return self.simulator.steps  # type: ignore[no-any-return]


CLASSES = [
    closing_over_a_dictionary, closing_over_a_number_in_a_base, with_attributes_of_the_class,
    closing_over_a_class_that_closes_over_a_list, made_by_a_class_that_is_no_environment,
]  # fmt: skip


@pytest.mark.parametrize("local", CLASSES)
def test_what_local_classes_carry_is_each_environments_own(local: Callable[[], Callable[[], Any]]) -> None:
    expected = played(AsyncVectorEnv([local()] * 4, shared_memory=False))
    for workers in (1, 2, 4):
        assert played(rl.VectorEnv([local()] * 4, workers=workers, oversubscribe=True)) == expected


SCRIPT = """
import gymnasium as gym, numpy as np
from gymnasium.vector import AsyncVectorEnv
from reactors import rl

SEEN = []

class Spot(gym.Space):
    def __init__(self): super().__init__((1,), np.float32)
    def sample(self, mask=None, probability=None): return np.zeros(1, np.float32)
    def contains(self, x): return True
    def __eq__(self, other): return isinstance(other, Spot)

class Tripped(Exception): pass

class Local(gym.Env):
    observation_space, action_space = gym.spaces.Box(0, 1, (1,), np.float32), Spot()
    n = 0
    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}
    def step(self, action):
        Local.n += 1
        SEEN.append(Local.n)
        if Local.n == 3: raise Tripped
        return np.zeros(1, np.float32), float(Local.n + len(SEEN)), False, False, {}

makers = [Local] * 4
if __name__ == "__main__":
    for envs in (AsyncVectorEnv(makers, shared_memory=False),
                 *(rl.VectorEnv(makers, workers=w, oversubscribe=True) for w in (1, 2, 4))):
        envs.reset()
        rewards = [envs.step([np.zeros(1)] * 4)[1].tolist() for _ in range(2)]
        if isinstance(envs, rl.VectorEnv):
            try: envs.step([np.zeros(1)] * 4)
            except rl.SimulationError as error: assert isinstance(error.__cause__, Tripped), error.__cause__
        print(rewards)
        envs.close()
"""


def test_a_scripts_classes_are_each_environments_own_but_its_exceptions_and_spaces_are_the_callers(
    tmp_path: Path,
) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[[2.0, 2.0, 2.0, 2.0], [4.0, 4.0, 4.0, 4.0]]"] * 4


@pytest.mark.parametrize("thing", [(i for i in range(3)), threading.Lock()], ids=["generator", "lock"])
def test_what_cannot_be_copied_is_refused_in_the_same_words_on_any_number_of_workers(thing: Any) -> None:
    def make() -> Any:
        return Count(counter=thing)

    words = set()
    for workers, isolate in ((1, False), (2, False), (1, True)):
        with pytest.raises(rl.SimulationError) as caught:
            rl.VectorEnv([Count, make, make], oversubscribe=True, workers=workers, isolate=isolate)
        assert caught.value.index == 1
        words.add(str(caught.value))
    fact = f"cannot have a copy of what its function carries ({told_of(caught.value)})"
    remedy = "and environments share nothing; let the function make all of it at each call"
    assert words == {f"rl.VectorEnv: environment 1 {fact}, {remedy}"}


def told_of(error: BaseException) -> str:
    return f"{type(error.__cause__).__name__}: {error.__cause__}"


def test_one_environment_alone_may_carry_what_cannot_be_copied() -> None:
    things = iter(i for i in range(9))
    envs = rl.VectorEnv([lambda: Count(counter=things)])
    envs.reset(seed=1)
    envs.close()
    assert next(things) == 1


SHARED = Count()


def shared() -> Count:
    return SHARED


def test_an_environment_of_two_rows_is_refused_by_name() -> None:
    with pytest.raises(rl.SimulationError, match=r"environment 1 is the same Count as environment 0 of rl.VectorEnv"):
        rl.VectorEnv([shared] * 4, workers=1)
    with pytest.raises(rl.SimulationError, match=r"environment [13] is the same Count as environment [02] of"):
        rl.VectorEnv([shared] * 4, workers=2)
    for _ in range(2):  # what was refused has let go of it
        rl.VectorEnv([shared], workers=1).close()


def test_an_environment_in_two_wrappers_is_refused_by_name() -> None:
    with pytest.raises(rl.SimulationError, match=r"environment 1 is the same Count as environment 0"):
        rl.VectorEnv([lambda: TimeLimit(shared(), 5)] * 2, workers=1)


def test_classes_of_modules_are_not_copied() -> None:
    assert type(own(partial(Count))()) is Count


def test_classes_that_carry_nothing_are_not_copied() -> None:
    class FallError(Exception):
        pass

    def fall() -> None:
        raise FallError

    with pytest.raises(FallError):
        own(fall)()


VECTOR = SyncVectorEnv([Count] * 2)
GAME = pettingzoo.make("parallel", "classic/rps_v2")


def vectors() -> SyncVectorEnv:
    return VECTOR


def games() -> Any:
    return GAME


class Bank(rx.Reactor):
    def __init__(self, kind: Any, make: Any) -> None:
        self.envs = rx.bank(2, kind, make)


@pytest.mark.filterwarnings("ignore::reactors.ReactorWarning")
@pytest.mark.parametrize(
    ("main", "words"),
    [
        (partial(Bank, rl.Env, shared), r"environment 0 is the same Count as environment 0 of main.envs\[0\],"),
        (partial(rl.Env, shared, num_envs=2), "environment 1 is the same Count as environment 0 of main,"),
        (
            partial(Bank, rl.BatchedEnv, vectors),
            r"the same SyncVectorEnv as the vector environment of main.envs",
        ),
        (partial(Bank, rl.MultiAgentEnv, games), r"is the same \w+ as that of main.envs\[0\],"),
    ],
)
def test_an_environment_of_two_reactors_is_refused_by_name(main: Any, words: str) -> None:
    with pytest.raises(rx.ReactionError) as caught:
        rx.run(main(), fast=True, timeout="1 us")
    assert re.search(words, str(caught.value.__cause__))


# ---- before the first reset ----


def test_a_step_before_the_first_reset_is_for_the_environment_to_refuse() -> None:
    for workers in (1, 2):
        envs = rl.VectorEnv([Count] * 4, workers=workers)
        assert envs.step([0] * 4)[1].tolist() == [1.0] * 4
        envs.close()
        envs = rl.VectorEnv("CartPole-v1", num_envs=2, workers=workers)
        with pytest.raises(rl.SimulationError) as caught:
            envs.step([0, 0])
        assert isinstance(caught.value.__cause__, ResetNeeded)


# ---- seeds ----


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("wrong", [[], [1, 2], "abc", "", 1.5, [1, "b", 3], [1, 2, -3], -7, np.array(4)])
def test_seeds_that_are_none_are_refused_and_the_environments_go_on(wrong: Any, workers: int) -> None:
    envs = rl.VectorEnv("CartPole-v1", num_envs=3, workers=workers, oversubscribe=True)
    before = envs.reset(seed=1)[0]
    for reset in (envs.reset, envs.reset_async):
        with pytest.raises(rx.ArgumentError, match=r"seed of rl.VectorEnv is .*; give a whole number, 0 or more, or 3"):
            reset(seed=wrong)
    assert (envs.reset(seed=1)[0] == before).all()
    envs.close()


def test_seeds_may_be_an_array() -> None:
    for envs in (rl.VectorEnv("CartPole-v1", num_envs=3, workers=1), rl.VectorEnv("CartPole-v1", num_envs=3)):
        expected = envs.reset(seed=[3, 1, 2])[0]
        seeds: Any = np.array([3, 1, 2])
        assert (envs.reset(seed=seeds)[0] == expected).all()
        envs.close()


# ---- as AsyncVectorEnv is called ----


def test_the_order_of_arguments_is_that_of_async_vector_env() -> None:
    makers = [Count] * 2
    arguments = False, False, None, True, None, "different", gym.vector.AutoresetMode.SAME_STEP, 1
    ours, theirs = rl.VectorEnv(makers, *arguments), AsyncVectorEnv(makers, *arguments)
    assert ours.metadata == theirs.metadata
    assert (ours.copy, ours.observation_mode, ours.workers) == (False, "different", 1)
    assert equal_steps(ours, theirs)
    assert equal_steps(rl.VectorEnv(env_fns=makers, workers=1), AsyncVectorEnv(env_fns=makers, shared_memory=False))


def equal_steps(ours: Any, theirs: Any) -> bool:
    seen = []
    for envs in (ours, theirs):
        envs.reset(seed=1)
        seen.append([part.tolist() for part in envs.step([1, 0])[1:4]])
        envs.close()
    return bool(seen[0] == seen[1])


def test_gymnasium_makes_one_where_its_own_is_exchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gym.vector, "AsyncVectorEnv", rl.VectorEnv)
    envs = gym.make_vec("CartPole-v1", 3, "async", wrappers=[TimeLimitOf(5)], vector_kwargs={"copy": False})
    assert isinstance(envs.unwrapped, rl.VectorEnv)
    assert envs.spec is not None
    assert envs.spec.id == "CartPole-v1"
    envs.reset(seed=1)
    assert [envs.step([0, 1, 0])[3].all() for _ in range(5)] == [False] * 4 + [True]
    envs.close()


class TimeLimitOf:
    def __init__(self, steps: int) -> None:
        self.steps = steps

    def __call__(self, env: Any) -> Any:
        return TimeLimit(env, self.steps)


# ---- Stable-Baselines3 ----


@pytest.mark.parametrize("space", [BOTH, PAIR, Discrete(5), Box(-1, 1, (2,), np.float32)], ids=str)
def test_stable_baselines_actions_are_one_for_each(space: Any) -> None:
    space.seed(3)
    actions = [space.sample() for _ in range(N)]
    envs = sb3.VecEnv([partial(Echo, space)] * N, workers=2)
    envs.reset()
    assert [info["got"] for info in envs.step(actions)[3]] == [described(action) for action in actions]
    envs.close()


def test_stable_baselines_indices_may_count_from_the_end() -> None:
    envs = sb3.VecEnv([Count] * 4, workers=2)
    envs.reset()
    envs.set_attr("steps", 7, indices=-1)
    assert envs.get_attr("steps") == [0, 0, 0, 7]
    assert envs.get_attr("steps", [-1, 0, -4]) == [7, 0, 0]
    for wrong in (4, -5):
        with pytest.raises(IndexError, match=rf"has 4 environments, numbered from 0, and none with index {wrong}$"):
            envs.get_attr("steps", wrong)
    envs.close()


def test_stable_baselines_finds_a_local_wrapper() -> None:
    class Outer(gym.Wrapper[Any, Any, Any, Any]):
        pass

    class Other(Outer):
        pass

    envs = sb3.VecEnv([lambda: Outer(Count()), lambda: Other(Count())] * 2, workers=2)
    assert envs.env_is_wrapped(Outer) == [True] * 4
    assert envs.env_is_wrapped(Other) == [False, True] * 2
    assert envs.env_is_wrapped(TimeLimit) == [False] * 4
    envs.close()
