"""Environments that raise, die, hang or cannot be made: what rl.VectorEnv says, and how it goes on."""

import multiprocessing
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError
from gymnasium.vector import AutoresetMode

import reactors as rx
from reactors import rl
from reactors_runtime.processes import workers
from tests.rl.vector.lines import Line, lines

# ---- what goes wrong ----


def test_an_environment_that_cannot_be_made(tmp_path: Path) -> None:
    licence = tmp_path / "licence"
    licence.touch()

    def make() -> Line:
        try:
            licence.unlink()  # the first is made for the spaces alone
        except OSError as error:
            raise OSError("no licence") from error
        return Line()

    with pytest.raises(rl.SimulationError, match=r"environment 0 \(seed None\) cannot be made: OSError: no licence"):
        rl.VectorEnv([make] * 2, workers=1)
    with pytest.raises(OSError, match="no licence"):
        rl.VectorEnv([make] * 2, workers=1)


def places(wrong: Any) -> list[Any]:
    return [Line, Line, partial(Line, wrong=wrong), Line]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_environment_that_raises_in_reset(workers: int) -> None:
    envs = rl.VectorEnv(places("reset"), workers=workers, oversubscribe=True)
    with pytest.raises(
        rl.SimulationError, match=r"environment 2 \(seed 8, .*\) raised in reset: KeyError: 'no start'"
    ) as caught:
        envs.reset(seed=6)
    assert (caught.value.index, caught.value.seed) == (2, 8)
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(ClosedEnvironmentError):
        envs.reset()
    envs.close()


def test_an_error_names_the_seed_of_the_last_reset_that_had_one() -> None:
    envs = rl.VectorEnv([partial(Line, 9), partial(Line, wrong=("dies", 1))], workers=2, isolate=True)
    envs.reset(seed=6)
    envs.reset()
    with pytest.raises(rx.WorkerDied, match=r"environment 1 \(seed 7\)"):
        envs.step([0, 0])


@pytest.mark.parametrize("workers", [1, 2])
def test_an_environment_that_raises_in_step(workers: int) -> None:
    envs = rl.VectorEnv(places(2), workers=workers, oversubscribe=True)
    envs.reset(seed=6)
    envs.step([0] * 4)
    with pytest.raises(
        rl.SimulationError, match=r"environment 2 \(seed 8, episode 0, step 2\) raised in step: ZeroDivisionError"
    ) as caught:
        envs.step([0] * 4)
    assert str(caught.value.__cause__) == "bumped at 2"
    words = "".join(traceback_of(caught.value))
    assert 'raise ZeroDivisionError(f"bumped at {self.at}")' in words
    envs.close()


def traceback_of(error: BaseException) -> list[str]:
    import traceback

    return traceback.format_exception(error)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_environment_that_observes_what_it_must_not(workers: int) -> None:
    envs = rl.VectorEnv(places(("wrong", 1)), workers=workers, oversubscribe=True)
    envs.reset(seed=6)
    with pytest.raises(rl.SimulationError, match=r"environment 2 \(seed 8, .*\) answered step wrongly: .*\(7,\)"):
        envs.step([0] * 4)


def test_an_environment_that_is_stepped_beyond_its_end() -> None:
    envs = rl.VectorEnv(lines(), workers=1, autoreset_mode=AutoresetMode.DISABLED)
    envs.reset(seed=0)
    envs.step([0] * 5)
    envs.step([0] * 5)
    with pytest.raises(rl.SimulationError, match=r"environment 0 .*reset_mask"):
        envs.step([0] * 5)
    envs.close()


def test_a_process_that_dies() -> None:
    envs = rl.VectorEnv(places(("dies", 1)), workers=2)
    envs.reset(seed=6)
    with pytest.raises(rx.WorkerDied) as caught:
        envs.step([0] * 4)
    assert "the process of environments 2 to 3, in environment 2 (seed 8), ended with exit status 3" in str(
        caught.value
    )
    with pytest.raises(ClosedEnvironmentError):
        envs.step([0] * 4)


class Hanging(gym.Env[Any, Any]):
    observation_space = gym.spaces.Box(0, 1, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        time.sleep(1000)


class Still(Hanging):
    def step(self, action: Any) -> Any:
        return np.zeros(1, np.float32), 0.0, False, False, {}


@pytest.mark.parametrize("isolate", [False, True])
def test_processes_that_do_not_start(isolate: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    workers.close_server()
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(rx.WorkerStartError, match="/bin/false"):
        rl.VectorEnv([Line] * 4, workers=2, isolate=isolate, oversubscribe=True)


def test_a_process_that_hangs_is_named_and_killed() -> None:
    envs = rl.VectorEnv([Still, Still, Still, Hanging], workers=2)
    envs.reset(seed=6)
    envs.step_async([0] * 4)
    with pytest.raises(multiprocessing.TimeoutError, match=r"environments 2 to 3, in environment 3 \(seed 9\)"):
        envs.step_wait(timeout=0.2)
    envs.close(terminate=True)


class Doomed(Line):
    """Dies, or hangs, at its second step, the first time; `file` knows of it."""

    def __init__(self, file: Path, how: str) -> None:
        super().__init__(9)
        self.file, self.how = file, how

    def step(self, action: Any) -> Any:
        if self.at == 1 and not self.file.exists():
            self.file.touch()
            if self.how == "dies":
                os._exit(3)
            time.sleep(1000)
        return super().step(action)


@pytest.mark.parametrize("how", ["dies", "dies, halves", "hangs"])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_environments_whose_process_dies_or_hangs_are_made_again(mode: AutoresetMode, how: str, tmp_path: Path) -> None:
    doomed = partial(Doomed, tmp_path / "once", how.partition(",")[0])
    made = [partial(Line, 9), partial(Line, 9), doomed]
    envs = rl.VectorEnv(made, workers=2, autoreset_mode=mode, on_error="restart")

    def step() -> Any:
        if how == "dies":
            return envs.step([0] * 3)
        envs.step_async([0] * 3)
        return envs.step_wait(timeout=2.0)

    envs.reset(seed=6)
    assert [row[0] for row in step()[0]] == [1, 1, 1]
    obs, rewards, terminated, truncated, infos = step()
    assert truncated.all()
    assert not terminated.any()
    assert not rewards.any()
    assert infos["_restarted"].all()
    assert "environment 2 (seed 8)" in infos["restarted"][0]
    assert envs.restarts == 3
    if mode is AutoresetMode.SAME_STEP:
        assert [row[0] for row in obs] == [0, 0, 0]
        assert [row[0] for row in infos["final_obs"]] == [1, 1, 1]
    else:
        assert [row[0] for row in obs] == [1, 1, 1]
        if mode is AutoresetMode.DISABLED:
            obs, _ = envs.reset(options={"reset_mask": truncated})
        else:
            obs, rewards, terminated, truncated, infos = step()
            assert not (terminated | truncated).any()
        assert [row[0] for row in obs] == [0, 0, 0]
    assert [[row[0] for row in step()[0]] for _ in range(3)] == [[1] * 3, [2] * 3, [3] * 3]
    envs.close()
    assert envs.restarts == 3


class Unpicklable(Exception):  # noqa: N818
    def __init__(self, one: int, two: int) -> None:
        super().__init__("both")


@pytest.mark.parametrize(("cause", "comes"), [(ValueError("x"), True), (Unpicklable(1, 2), False), (None, False)])
def test_causes_travel_if_they_can(cause: Exception | None, comes: bool) -> None:
    import pickle

    error = rl.SimulationError("environment 1 failed", 1, 5)
    error.__cause__ = cause
    back = pickle.loads(pickle.dumps(error))
    assert (str(back), back.index, back.seed) == (str(error), 1, 5)
    assert (type(back.__cause__) is type(cause) and cause is not None) is comes


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_restarting_goes_on_and_says_so(mode: AutoresetMode, workers: int) -> None:
    envs = rl.VectorEnv(places(2), workers=workers, oversubscribe=True, autoreset_mode=mode, on_error="restart")
    envs.reset(seed=6)
    envs.step([0] * 4)
    obs, rewards, terminated, truncated, infos = envs.step([0] * 4)
    assert truncated.tolist() == [False, False, True, False]
    assert (rewards[2], terminated[2]) == (0.0, False)
    assert "environment 2 (seed 8, episode 0, step 2) raised in step" in infos["restarted"][2]
    assert infos["_restarted"].tolist() == [False, False, True, False]
    assert envs.restarts == 1
    if mode is AutoresetMode.SAME_STEP:
        assert infos["final_obs"][2][0] == 1  # the last that was seen
        assert obs[2][0] == 0
    else:
        assert obs[2][0] == 1
        if mode is AutoresetMode.DISABLED:
            envs.reset(options={"reset_mask": truncated})
        else:
            assert envs.step([0] * 4)[0][2][0] == 0
    envs.close()
    assert envs.restarts == 1


@pytest.mark.parametrize("workers", [1, 2])
def test_whose_episode_is_over_is_the_callers_fault_also_with_restarts_and_can_be_reset(workers: int) -> None:
    makers = [partial(Line, 1), partial(Line, 9), partial(Line, 1), partial(Line, 9)]
    envs = rl.VectorEnv(makers, workers=workers, autoreset_mode="Disabled", on_error="restart")
    envs.reset(seed=0)
    observed, _, _, over, _ = envs.step([0] * 4)
    assert over.tolist() == [True, False, True, False]
    with pytest.raises(rl.SimulationError, match=r"environment 0 .*reset_mask"):
        envs.step([0] * 4)
    envs.step_async([0] * 4)
    with pytest.raises(rl.SimulationError, match=r"environment 0 .*reset_mask"):
        envs.step_wait()
    again, _ = envs.reset(options={"reset_mask": over})
    assert again[0, 0] == 0
    assert again[1].tolist() == observed[1].tolist()  # one after it was not stepped
    assert envs.step([0] * 4)[3].tolist() == over.tolist()
    assert envs.restarts == 0
    envs.close()


@pytest.mark.parametrize("reward", [2, np.float32(2), np.int64(2), np.array(2.0), True + 1.0])
def test_rewards_of_any_number_type(reward: Any) -> None:
    class Pays(Line):
        def step(self, action: Any) -> Any:
            obs, _, *rest = super().step(action)
            return obs, reward, *rest

    envs = rl.VectorEnv([Pays] * 2, workers=1)
    envs.reset(seed=0)
    for _ in range(2):  # with an info, and without
        rewards = envs.step([0, 0])[1]
        assert rewards.dtype == np.float64
        assert rewards.tolist() == [2.0, 2.0]
    envs.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_step_before_the_first_reset_is_refused_and_the_environments_go_on(workers: int) -> None:
    envs = rl.VectorEnv("CartPole-v1", num_envs=2, workers=workers)
    with pytest.raises(rl.SimulationError, match="ResetNeeded"):
        envs.step([0, 1])
    first = envs.reset(seed=1)[0]
    envs.step([0, 1])
    assert (envs.reset(seed=1)[0] == first).all()
    envs.close()
