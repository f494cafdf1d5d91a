"""Steps, resets and calls in two halves, at each environment's pace, with timeouts (rl.VectorEnv)."""

import gc
import multiprocessing
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from gymnasium.error import AlreadyPendingCallError, ClosedEnvironmentError, NoAsyncCallError
from gymnasium.vector import AsyncVectorEnv, AutoresetMode

from reactors import rl
from tests.rl.vector.lines import LENGTHS, Line, actions_for, both, equal, lines

if TYPE_CHECKING:
    from collections.abc import Callable

# ---- halves of calls ----


def test_halves_of_calls_are_the_same_as_calls() -> None:
    with both(lines(), workers=2) as (ours, theirs):
        ours.reset_async(seed=2)
        assert equal(ours.reset_wait(), theirs.reset(seed=2))
        for actions in actions_for(theirs, 5):
            ours.step_async(actions)
            assert equal(ours.step_wait(timeout=60), theirs.step(actions))
        ours.call_async("add", 1)
        assert ours.call_wait() == theirs.call("add", 1)


@pytest.mark.parametrize("workers", [1, 2])
def test_environments_are_stepped_at_their_own_pace(workers: int) -> None:
    envs = rl.VectorEnv(lines(), workers=workers, asynchronous=True, oversubscribe=True)
    envs.reset(seed=0)
    at = dict.fromkeys((1, 3), 0)
    for _ in range(6):
        envs.send([0, 0], [3, 1])
        with pytest.raises(ValueError, match="which has not answered yet"):
            envs.send([0], [1])
        came = []
        for _ in at:
            obs, rewards, _, _, infos = envs.recv(1, timeout=20)
            [who] = infos["env_id"]
            at[who] = (at[who] + 1) % (LENGTHS[who] + 1)  # a step after the end begins again
            assert (obs[0][0], rewards.tolist()) == (at[who], [at[who]])
            came.append(int(who))
        assert sorted(came) == [1, 3]
    with pytest.raises(NoAsyncCallError):
        envs.recv()
    envs.close()


def test_calls_out_of_order_are_refused() -> None:
    envs = rl.VectorEnv(lines(), workers=2)
    for name in ("reset", "step", "call"):
        with pytest.raises(NoAsyncCallError, match=f"`{name}_wait`"):
            getattr(envs, f"{name}_wait")()
    envs.reset()
    envs.step_async([0] * 5)
    begun: list[Callable[[], Any]] = [
        envs.reset, envs.reset_async, envs.render, partial(envs.step_async, [0] * 5), partial(envs.step, [0] * 5),
        partial(envs.call_async, "add"), partial(envs.set_attr, "gravity", 1),
    ]  # fmt: skip
    for begin in begun:
        with pytest.raises(AlreadyPendingCallError, match="pending call to `step`"):
            begin()
    with pytest.raises(NoAsyncCallError):
        envs.reset_wait()
    envs.step_wait()
    envs.reset_async()
    with pytest.warns(UserWarning, match="pending call to `reset`"):
        envs.close()


@pytest.mark.parametrize("isolate", [False, True])
def test_timeouts(isolate: bool) -> None:
    makers = [Line, partial(Line, wrong=("sleeps", 2))]
    envs = rl.VectorEnv(makers, workers=1 if not isolate else 2, isolate=isolate)
    envs.reset(seed=0)
    envs.step([0, 0])
    envs.step_async([0, 0])
    with pytest.raises(multiprocessing.TimeoutError, match="`step_wait` has timed out"):
        envs.step_wait(timeout=0.05)
    with pytest.raises(NoAsyncCallError):
        envs.step_wait()
    obs, *_ = envs.step([0, 0])  # what was late is over by now, and forgotten
    assert obs[:, 0].tolist() == [3, 3]
    envs.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_closing(workers: int) -> None:
    envs = rl.VectorEnv(lines(), workers=workers, oversubscribe=True)
    envs.reset()
    envs.close()
    envs.close()
    for use in (envs.reset, envs.render, partial(envs.step, [0] * 5), partial(envs.get_attr, "x"), envs.step_wait):
        with pytest.raises(ClosedEnvironmentError):
            use()


def test_nothing_is_left_of_one_that_is_forgotten() -> None:
    envs = rl.VectorEnv(lines(), workers=2)
    envs.reset()
    del envs
    gc.collect()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_infos_have_their_keys_in_the_order_of_async_vector_env(mode: Any) -> None:
    makers: Any = [partial(Line, 2), partial(Line, 3)]
    theirs = AsyncVectorEnv(makers, shared_memory=False, autoreset_mode=AutoresetMode(mode))
    ours = rl.VectorEnv(makers, workers=1, autoreset_mode=mode)
    for envs in (ours, theirs):
        envs.reset(seed=1)
    for _ in range(8):
        first, second = (envs.step(np.zeros(2, np.int64))[4] for envs in (ours, theirs))
        assert list(first) == list(second)
        assert list(first.get("final_info", ())) == list(second.get("final_info", ()))
    ours.close()
    theirs.close()
