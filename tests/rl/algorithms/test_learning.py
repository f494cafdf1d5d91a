"""A short proof that algorithms learn; `make learn` has the long one."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest

from reactors import rl
from tests.catch import SETTINGS, Catch
from tests.recall import SETTINGS as RECALLING

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Graphs are cycles, and replay memory goes with them."""
    yield
    gc.collect()


def test_a_ball_is_caught_that_is_seen_in_frames() -> None:
    """Within 10,000 to 20,000 steps; the other algorithms with a torso are in docs/learning."""
    done = rl.train(rl.A2C(**SETTINGS["A2C"]), Catch, total_steps=25_000, seed=0)
    assert done.evaluate(50) > 0.9


def test_a_table_finds_the_way_over_the_lake() -> None:
    done = rl.train(
        rl.QLearning(learning_rate=0.5, gamma=0.95), "FrozenLake-v1", total_steps=12_000, seed=1,
        env_kwargs={"is_slippery": False},
    )  # fmt: skip
    assert done.evaluate(3) == 1.0


@pytest.mark.parametrize("mode", ["sync", "pipelined"])
def test_an_actor_and_its_critic_balance_the_pole_for_a_while(mode: Any) -> None:
    sooner = rl.A2C.preset("CartPole-v1", value_scale=1.0)  # if less steady in the long run
    done = rl.train(sooner, "CartPole-v1", total_steps=8_000, seed=3, mode=mode)
    assert done.evaluate(10) > 100


@pytest.mark.parametrize("name", RECALLING)
def test_a_cue_that_is_gone_is_recalled_by_those_alone_that_remember(name: str) -> None:
    algorithm, env, steps = RECALLING[name]
    remembers, forgets = (
        rl.train(algorithm(recurrent=recurrent), env, total_steps=steps, seed=2) for recurrent in (16, False)
    )
    assert remembers.evaluate(100) > 0.9
    assert forgets.evaluate(100) < 0.2
