"""What rl.VectorEnv says of wrong calls, of environments that break, and where nothing nests."""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import AlreadyPendingCallError, ClosedEnvironmentError, NoAsyncCallError

import reactors as rx
from reactors import rl, stepwise
from tests.terminal import typed

if TYPE_CHECKING:
    from collections.abc import Callable


class Three(gym.Env[Any, Any]):
    """Episodes of three steps; fails where a test wants it: in its n-th reset, or in a step."""

    observation_space, action_space = gym.spaces.Box(-9, 9, (2,), np.float32), gym.spaces.Discrete(2)

    def __init__(self, *wrong: Any) -> None:
        self.wrong, self.resets = wrong, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.resets, self.at = self.resets + 1, 0
        if self.wrong == ("reset", self.resets):
            raise KeyError("no start")
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        self.at += 1
        if self.wrong == ("dies", self.at):
            os._exit(3)
        if self.wrong == ("killed", self.at):
            os.kill(os.getpid(), signal.SIGKILL)
        reward = np.nan if self.wrong == ("nan", self.at) else [1.0, 2.0][action]
        return self.np_random.normal(size=2).astype(np.float32), reward, self.at == 3, False, {}


def pair(*wrong: Any, **settings: Any) -> rl.VectorEnv:
    return rl.VectorEnv([Three, partial(Three, *wrong)], **{"workers": 1, **settings})


def played(envs: rl.VectorEnv, steps: int = 9, reset: bool = True) -> Any:
    found = [envs.reset(seed=3)[0]] if reset else []
    found += [part for _ in range(steps) for part in envs.step([0, 1])[:4]]
    return [part.tolist() for part in found]


# ---- environments that break ----


@pytest.mark.parametrize("where", [{}, {"workers": 2}, {"workers": 2, "isolate": True}])
def test_what_a_reset_raises_is_the_cause_once_wherever_the_reset_is(where: Any) -> None:
    for mode in ("NextStep", "SameStep"):
        envs = pair("reset", 2, autoreset_mode=mode, **where)
        with pytest.raises(rl.SimulationError) as caught:
            played(envs)
        assert str(caught.value) == (
            "rl.VectorEnv: environment 1 (seed 4, episode 1, step 0) raised in reset: KeyError: 'no start'; fix it, or "
            'restart it with on_error="restart"'
        )
        assert type(caught.value.__cause__) is KeyError
        assert caught.value.__cause__.__cause__ is None
        with pytest.raises(ClosedEnvironmentError) as closed:
            envs.step([0, 1])
        assert str(closed.value) == (
            "Trying to operate on `VectorEnv`, which has ended with an error; make another one. It was: "
            f"SimulationError: {caught.value}"
        )
    envs = pair("reset", 1, **where)
    with pytest.raises(rl.SimulationError, match=r"environment 1 \(seed 4, .* raised in reset: KeyError") as first:
        envs.reset(seed=3)
    assert type(first.value.__cause__) is KeyError


def test_one_that_fails_again_just_after_it_was_restarted_ends_all() -> None:
    class Never(Three):
        def reset(self, **given: Any) -> Any:
            raise OSError("gone")

    envs = rl.VectorEnv(Never, num_envs=1, workers=1, on_error="restart")
    with pytest.raises(rl.SimulationError, match=r"raised in reset, just after it was restarted: OSError: gone$"):
        envs.reset()


def test_an_action_that_is_none_is_named_where_an_environment_raises() -> None:
    for where in ({}, {"workers": 2}):
        envs = pair(**where)
        envs.reset(seed=3)
        with pytest.raises(rl.SimulationError) as caught:
            envs.step([0, 5])
        assert str(caught.value) == (
            "rl.VectorEnv: environment 1 (seed 4, episode 0, step 1) raised in step: IndexError: list index out of "
            "range; its action was 5, which its action space Discrete(2) does not contain: give it one that is in there"
        )


def test_a_reward_of_nan_comes_out_as_gymnasium_gives_it() -> None:
    envs = pair("nan", 1)
    envs.reset(seed=3)
    assert np.isnan(envs.step([0, 0])[1]).tolist() == [False, True]
    envs.close()


def test_a_process_that_dies_is_reported_in_terms_of_environments() -> None:
    for how, ended in (
        (
            "dies",
            r"ended with exit status 3: an environment ended it \(os\._exit, sys\.exit in native code\), and has to",
        ),
        ("killed", r"was killed by SIGKILL: if no one killed it, the system was out of memory \(see dmesg\), so take"),
    ):
        envs = pair(how, 2, workers=2)
        envs.reset(seed=3)
        envs.step([0, 0])
        words = (
            rf'^rl\.VectorEnv: the process of environment 1, in environment 1 \(seed 4\), {ended} .*on_error="restart"$'
        )
        with pytest.raises(rx.WorkerDied, match=words) as caught:
            envs.step([0, 0])
        assert caught.value.status == {"dies": 3, "killed": -9}[how]
        for word in ("main", "rows", "rx.stop", "worker 1", "tag"):
            assert word not in str(caught.value)
        with pytest.raises(
            ClosedEnvironmentError, match=r"which has ended with an error; .* It was: WorkerDied: rl.Vec"
        ):
            envs.step([0, 0])


HANGING = """
import sys, time
import gymnasium as gym
from reactors import rl, stepwise
from reactors.rl.vector import lockstep_run

lockstep_run.STUCK_AFTER_S = 0.3
stepwise.PATIENCE_S = 0.2

class Hangs(gym.Wrapper):
    def step(self, action):
        time.sleep(1000)

make = lambda: gym.make("CartPole-v1")
envs = rl.VectorEnv([make, lambda: Hangs(make())], workers=2, oversubscribe=True)
envs.reset(seed=3)
try:
    envs.step([0, 0])
except KeyboardInterrupt:
    print("interrupted", flush=True)
try:
    envs.step([0, 0])
except gym.error.ClosedEnvironmentError as error:
    print(error)
"""


def test_on_a_terminal_an_environment_that_does_not_answer_is_named_once() -> None:
    line = "rl.VectorEnv: no answer for 0.3 s from environment 1, in environment 1 (seed 4); Ctrl-C stops it"
    shown = typed(HANGING, moves=[(line, "\x03")])
    assert shown.count("no answer for") == shown.count("interrupted\n") == 1
    assert "which has ended with an error; make another one. It was: KeyboardInterrupt\n" in shown


class Hanging(Three):
    def step(self, action: Any) -> Any:
        time.sleep(1000)


def test_ctrl_c_between_two_looks_at_an_environment_that_hangs_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def press(line: str) -> None:
        raise KeyboardInterrupt(line)

    monkeypatch.setattr("reactors.rl.vector.lockstep_run.STUCK_AFTER_S", 0.1)
    monkeypatch.setattr(stepwise, "PATIENCE_S", 0.1)
    monkeypatch.setattr("reactors.rl.vector.lockstep_run.say", press)
    envs = rl.VectorEnv([Three, Hanging], workers=2, oversubscribe=True)
    envs._run._terminal = True
    envs.reset(seed=3)
    with pytest.raises(KeyboardInterrupt):
        envs.step([0, 0])
    assert envs._run._run.over
    with pytest.raises(ClosedEnvironmentError, match="It was: KeyboardInterrupt"):
        envs.step([0, 0])


# ---- wrong calls ----


def test_actions_that_are_no_batch() -> None:
    envs = pair()
    envs.reset(seed=3)
    for wrong, kind in ((None, "NoneType"), (3, "int"), ("ab", "str")):
        with pytest.raises(rx.ArgumentError) as caught:
            envs.step(wrong)
        assert str(caught.value) == (
            "rl.VectorEnv takes an action of Discrete(2) for each of 2 environments, as in action_space.sample(), and "
            f"was given {wrong!r}, of type {kind}"
        )
    envs.step([0, 0])  # nothing is pending
    envs.close()


def test_calls_out_of_order_say_which_one_comes_first() -> None:
    envs = pair()
    envs.reset_async(seed=3)
    pending = "while waiting for a pending call to `reset` to complete; call `reset_wait` first.$"
    for name, call in (("step", lambda: envs.step([0, 0])), ("reset_async", envs.reset)):
        with pytest.raises(AlreadyPendingCallError, match=rf"^Calling `{name}` {pending}"):
            call()
    with pytest.raises(NoAsyncCallError, match=r"`step_async`. What is pending is `reset`: call `reset_wait`.$"):
        envs.step_wait()
    envs.reset_wait()
    with pytest.raises(NoAsyncCallError, match=r"^Calling `step_wait` without any prior call to `step_async`.$"):
        envs.step_wait()
    envs.step_async([0, 0])
    with pytest.raises(AlreadyPendingCallError, match=r"pending call to `step` to complete; call `step_wait` first"):
        envs.reset()
    envs.step_wait()
    with pytest.raises(rx.ArgumentError, match=r"options of rl.VectorEnv.reset is 3; write a dict, or leave it out"):
        envs.reset(options=3)  # type: ignore[arg-type]
    with pytest.raises(rx.ArgumentError, match=r"seed of rl.VectorEnv is 'a'; give a whole number, 0 or more, or 2 of"):
        envs.reset(seed="a")  # type: ignore[arg-type]
    envs.close()
    envs.close()
    with pytest.raises(
        ClosedEnvironmentError, match=r"^Trying to operate on `VectorEnv`, after a call to `close\(\)`.$"
    ):
        envs.step([0, 0])


@pytest.mark.parametrize(
    ("source", "settings", "error", "words"),
    [
        (
            "CartPole-v1",
            {"n_envs": 2},
            rx.ArgumentError,
            r"rl.VectorEnv has no argument 'n_envs', so it went to the environment, .*: it is num_envs here$",
        ),
        (
            Three,
            {"num_env": 2},
            rx.ArgumentError,
            r"rl.VectorEnv has no argument 'num_env', .*; did you mean 'num_envs'\?$",
        ),
        (
            partial(Three),
            {"gravity": 2},
            rx.ArgumentError,
            "rl.VectorEnv has no argument 'gravity', .*; there are env_fns, ",
        ),
        (Three, {"num_envs": 0}, rx.ArgumentError, "num_envs of rl.VectorEnv is 0; write a whole number, 1 or more$"),
        (
            Three,
            {"num_envs": "2"},
            rx.ArgumentError,
            "num_envs of rl.VectorEnv is '2'; write a whole number, 1 or more$",
        ),
        (
            Three,
            {"num_envs": 2, "autoreset_mode": "same"},
            ValueError,
            'autoreset_mode of rl.VectorEnv is \'same\'; write "NextStep", "SameStep" or "Disabled"$',
        ),
    ],
)
def test_arguments_that_are_none(source: Any, settings: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        rl.VectorEnv(source, **settings)


def test_an_open_file_that_a_function_carries_is_refused_and_not_copied_as_its_text() -> None:
    with Path(__file__).open() as file:

        def make() -> Any:
            assert file.name
            return Three()

        with pytest.raises(rl.SimulationError) as caught:
            rl.VectorEnv([make, make], workers=1)
    assert str(caught.value) == (
        "rl.VectorEnv: environment 0 cannot have a copy of what its function carries (TypeError: an open file belongs "
        "to one process), and environments share nothing; let the function make all of it at each call"
    )


# ---- in a reaction ----


class Within(rx.Reactor):
    """Calls a function in a reaction, and keeps what it gives."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function, self.found = function, None

    @rx.reaction(rx.startup)
    def begin(self) -> None:
        self.found = self.function()


def within(function: Callable[[], Any], **way: Any) -> Any:
    main = Within(function)
    rx.run(main, fast=True, **way)
    return main.found


WAYS: list[dict[str, Any]] = [{}, {"backend": "thread"}, {"backend": "process"}]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_environments_are_stepped_by_the_worker_of_a_reaction_and_do_the_same(way: Any) -> None:
    def play(**settings: Any) -> Any:
        envs = rl.VectorEnv(Three, num_envs=2, **{"workers": 2, **settings})
        found = played(envs, 3)
        envs.step_async([0, 1])
        found.append(envs.step_wait()[0].tolist())
        found += [envs.get_attr("resets"), *played(envs, 2, reset=False)]
        workers = envs.workers
        envs.close()
        return found, workers

    outside, workers = play()
    assert workers == 2
    assert within(play, **way) == (outside, 1)

    def one_by_one() -> Any:
        envs = rl.VectorEnv(Three, num_envs=2, workers=2, asynchronous=True)
        envs.reset(seed=3)
        envs.send([0, 1])
        found = envs.recv(2)
        envs.close()
        return found[0][np.argsort(found[4]["env_id"])].tolist()

    assert within(one_by_one, **way) == one_by_one()


def test_an_environment_that_fails_in_a_reaction_is_the_cause_of_its_error() -> None:
    with pytest.raises(
        rx.ReactionError, match=r"main.begin at 0 s raised SimulationError: rl.VectorEnv: environment 1 "
    ) as up:
        within(lambda: played(pair("reset", 2)))
    assert type(up.value.__cause__.__cause__) is KeyError  # type: ignore[union-attr]


def test_a_reaction_goes_on_as_one_after_it_has_stepped_environments() -> None:
    def nested() -> None:
        played(envs := pair())
        envs.close()
        Three3 = type("Late", (rx.Reactor,), {})  # noqa: N806
        Three3()

    with pytest.raises(rx.ReactionError, match=r"a Late is made at .* inside of a reaction, where nothing nests"):
        within(nested)


def test_nothing_else_nests_in_a_reaction() -> None:
    other = Within(int)
    nests = (
        "inside of a reaction, or of a thread that one started: nothing nests there, so no program runs in another "
        "one; call it before or after that, or make its reactors part of it"
    )
    for name, call in (
        ("rx.run", lambda: rx.run(other)),
        ("rl.train", lambda: rl.train(rl.PPO(), "CartPole-v1")),
    ):
        with pytest.raises(rx.ReactionError, match=rf"StructureError: {name} {nests}"):
            within(call)
    with pytest.raises(
        rx.ReactionError, match=r"rl.VectorEnv\(isolate=True\) inside of a reaction: nothing nests .*; lea"
    ):
        within(lambda: pair(isolate=True))
