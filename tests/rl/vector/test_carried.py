"""What functions that make environments carry along is each environment's own, or is refused by name."""

from __future__ import annotations

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
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from gymnasium.wrappers import TimeLimit

import reactors as rx
from reactors import rl
from reactors.rl.envs.owned import own

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
from tests.rl.vector.echo import Count


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
