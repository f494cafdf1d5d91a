"""What do rows of environments store in C, and what do they leave to Python?"""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from reactors import rl
from reactors.rl._rows import walk
from reactors.rl.envs.simulation import Simulation

FLOAT32 = np.dtype(np.float32)
ANOTHER = pickle.loads(pickle.dumps(FLOAT32))  # equal, and another object
OBSERVED = np.arange(3, dtype=FLOAT32)


def walked(answer: Any, block: Any, over: tuple[bool, bool] = (False, False)) -> tuple[Any, Any]:
    """What is left to Python of two environments that both answer this, and what the first one's total is."""
    totals, numbers, flags = np.zeros(2), np.zeros(2), np.ones((2, 2), bool)
    ended: list[int] = []
    at = memoryview(bytearray(4)).cast("I")
    left = walk([lambda _: answer] * 2, [0] * 2, 0, block, numbers, totals, flags[0], flags[1], ended, at)
    assert flags[:, 0].tolist() == [*over]
    assert ended == [0, 1] * any(over)
    return left, totals[0]


@pytest.mark.parametrize(
    "block",
    [
        np.zeros((2, 3), FLOAT32),
        np.zeros((2, 3), ANOTHER),
        np.zeros((2, 6), FLOAT32).reshape(2, 2, 3)[:, 0],
        np.zeros(2, np.dtype([("obs", FLOAT32, (3,)), ("more", np.int8)]))["obs"],
        np.zeros((3, 3), FLOAT32),
    ],
    ids=["plain", "unpickled", "apart", "records", "longer"],
)
@pytest.mark.parametrize("observed", [OBSERVED, OBSERVED.astype(ANOTHER), OBSERVED[None, :][0]])
def test_the_common_answer_is_stored(block: Any, observed: Any) -> None:
    for reward in (1.5, 2, np.float32(0.5), np.float64(3.0), np.int64(4), True):
        block[:] = 0
        assert walked((observed, reward, False, np.False_, {}), block) == (None, float(reward))
        assert (block[:2] == OBSERVED).all()


@pytest.mark.parametrize("over", [(True, False), (False, True), (True, True), (np.True_, np.False_)])
def test_ends_are_stored_and_noted(over: Any) -> None:
    block = np.zeros((2, 3), FLOAT32)
    assert walked((OBSERVED, 1.0, *over, {}), block, over) == (None, 1.0)
    assert (block == OBSERVED).all()


@pytest.mark.parametrize(
    "answer",
    [
        (OBSERVED, 1.0, 1, False, {}),
        (OBSERVED, 1.0, False, np.ones(2), {}),
        (OBSERVED, 1.0, True, False, {"lives": 3}),
        (OBSERVED, 1.0, False, False, {"lives": 3}),
        (OBSERVED, float("nan"), False, False, {}),
        (OBSERVED, "1", False, False, {}),
        (OBSERVED, np.ones(1), False, False, {}),
        (OBSERVED[:2], 1.0, False, False, {}),
        (OBSERVED[None], 1.0, False, False, {}),
        (OBSERVED[::-1], 1.0, False, False, {}),
        (OBSERVED.astype(np.float64), 1.0, False, False, {}),
        (OBSERVED.astype(">f4"), 1.0, False, False, {}),
        (OBSERVED.tolist(), 1.0, False, False, {}),
        (OBSERVED, 1.0, False, False),
        [OBSERVED, 1.0, False, False, {}],
        None,
    ],
)
def test_any_other_goes_back(answer: Any) -> None:
    block = np.zeros((2, 3), FLOAT32)
    left, total = walked(answer, block)
    assert left[0] == 0
    assert left[1] is answer
    assert total == 0
    assert not block.any()


@pytest.mark.parametrize(
    "block",
    [
        None,
        np.zeros((2, 6), FLOAT32)[:, ::2],
        np.zeros((2, 3), ">f4"),
        np.zeros((2, 3), "M8[s]"),
        np.zeros((2, 3), object),
        np.zeros((2, 0), FLOAT32),
    ],
)
def test_where_rows_are_no_plain_memory_all_go_back(block: Any) -> None:
    shape, dtype = ((3,), FLOAT32) if block is None else (block.shape[1:], block.dtype)
    answer = np.zeros(shape, dtype), 1.0, False, False, {}
    assert walked(answer, block)[0] == (0, answer)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_what_has_no_room_is_refused(number: int) -> None:
    places: list[Any] = [np.zeros((2, 3), FLOAT32), np.zeros(2), np.zeros(2), np.zeros(2, bool), np.zeros(2, bool)]
    for wrong in (places[number - 1][:1], [1, 2], np.zeros(())):
        block, rewards, totals, terminated, truncated = [*places[: number - 1], wrong, *places[number:]]
        at = memoryview(bytearray(4)).cast("I")
        with pytest.raises(ValueError, match="has no room for 2"):
            walk([print] * 2, [0, 0], 0, block, rewards, totals, terminated, truncated, [], at)


class Counting(gym.Env[Any, Any]):
    """Counts the answers that its process left to Python."""

    observation_space = gym.spaces.Box(-1, 1, (3,), np.float32)
    action_space = gym.spaces.Discrete(2)
    left = 0

    def __init__(self) -> None:
        before = Simulation._take

        def count(*given: Any) -> None:
            self.left += 1
            before(*given)

        Simulation._take = count  # type: ignore[method-assign]

    def reset(self, **_: Any) -> Any:
        return OBSERVED / 10, {}

    def step(self, action: Any) -> Any:
        return OBSERVED / 10, 1.0, False, False, {}


def test_worker_processes_store_in_c_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Simulation, "_take", Simulation._take)  # to be put back
    envs = rl.VectorEnv(Counting, num_envs=2, workers=2, isolate=True)
    envs.reset()
    for _ in range(3):
        envs.step(np.zeros(2, np.int64))
    assert envs.get_attr("left") == (0, 0)
    envs.close()
