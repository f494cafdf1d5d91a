"""Actions arrive in an environment as Gymnasium's own vector environments would give them."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from reactors import rl
from tests.rl.vector.echo import BOTH, GIVEN, PAIR, Echo, N, described


def received(envs: Any, actions: Any) -> tuple[list[str], list[str]]:
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
    ours = received(rl.VectorEnv(makers, workers=workers, oversubscribe=True), actions)
    assert ours == (theirs, theirs)
    assert described(actions) == before, "what environments do to their actions stays with them"


@pytest.mark.parametrize("case", [1, 6, 15, 19, 24])
def test_actions_arrive_as_async_vector_env_sends_them(case: int) -> None:
    space, actions = GIVEN[case]
    makers = [partial(Echo, space)] * N
    assert received(rl.VectorEnv(makers, workers=2, oversubscribe=True), actions) == received(
        AsyncVectorEnv(makers, shared_memory=False), actions
    )


def test_actions_of_an_array_library_arrive_as_they_are() -> None:
    got, _ = received(rl.VectorEnv([partial(Echo, Discrete(5))] * N, workers=2), torch.tensor([1, 2, 3]))
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
    expected, _ = received(rl.VectorEnv([partial(Echo, space)] * N, workers=1), actions)
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
    theirs = received(AsyncVectorEnv(makers, shared_memory=False), actions)
    for workers in (1, 2):
        assert received(rl.VectorEnv(makers, workers=workers, oversubscribe=True), actions) == theirs


@pytest.mark.parametrize("action", [0, 1.5, None, np.int64(3), np.array(2)])
def test_what_is_no_row_of_actions_is_refused_as_gymnasium_does(action: Any) -> None:
    makers = [partial(Echo, Discrete(5))] * N
    for envs in (SyncVectorEnv(makers), rl.VectorEnv(makers, workers=2)):
        envs.reset(seed=0)
        with pytest.raises(TypeError):
            envs.step(action)
        envs.step([0] * N)
        envs.close()
