"""Calls of what is public say in words of this package which arguments there are, and so do attributes."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import reactors as rx
from reactors import rl
from reactors.errors import ArgumentError
from reactors.rl.runs.settings import algorithms

FIELDS = {"a": ((), "f4"), "b": ((2,), "f4")}
FLAT = gym.spaces.Discrete(2)
GIVEN_BACK = {  # by calls of others, or a base of the user's own class
    "Algorithm", "Batch", "BufferStatistics", "CheckedAlgorithm", "Episode", "Evaluation", "Learning", "PastPolicy",
    "Policy", "RecurrentPolicy", "Server", "Score", "Scores", "Trained", "TrainedPolicy", "Tuned",
}  # fmt: skip


def said(call: Any) -> str:
    with pytest.raises(ArgumentError) as caught:
        call()
    return str(caught.value)


def misspelt(thing: Any) -> str:
    return said(lambda: thing(qqq=1))


def test_all_that_is_public_refuses_a_name_that_it_does_not_have() -> None:
    from reactors.rl import sb3

    things: dict[str, Any] = {f"rl.{name}": getattr(rl, name) for name in rl.__all__ if name not in GIVEN_BACK}
    things |= {f"rl.record.{name}": getattr(rl.record, name) for name in rl.record.__all__}
    del things["rl.record.Means"], things["rl.record.Recorded"]  # given back, likewise
    things["rl.sb3.VecEnv"] = sb3.VecEnv
    checked = []
    for name, thing in things.items():
        if not callable(thing) or (inspect.isclass(thing) and issubclass(thing, Exception)):
            continue
        checked.append(name)
        kind = name.removeprefix("rl.")
        if kind.lower() in algorithms():
            assert misspelt(thing).startswith(f"{kind} has no hyperparameter 'qqq'; there are ")
        else:
            words = misspelt(thing)
            passed_on = words.startswith((f"{name} is called without env", "rl.Replay is called without capacity, "))
            assert passed_on or words.startswith(f"{name} has no argument 'qqq'; there ")
    assert len(checked) > 25


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: rl.ReplayBuffer(10, FIELDS, priortized=True),  # type: ignore[call-arg]
            "rl.ReplayBuffer has no argument 'priortized'; did you mean 'prioritized'?",
        ),
        (
            lambda: rl.ReplayBuffer.of(FLAT, FLAT, 10, priortized=True),
            "rl.ReplayBuffer has no argument 'priortized'; did you mean 'prioritized'?",
        ),
        (
            lambda: rl.ReplayBuffer(fields=FIELDS, buffer_size=10),  # type: ignore[call-arg]
            "rl.ReplayBuffer has no argument 'buffer_size': it is capacity here",
        ),
        (
            lambda: rl.ReplayBuffer(10),  # type: ignore[call-arg]
            "rl.ReplayBuffer is called without fields; write rl.ReplayBuffer(capacity, fields)",
        ),
        (
            lambda: rl.ReplayBuffer(10, FIELDS, True),  # type: ignore[call-arg]
            (
                "rl.ReplayBuffer takes capacity and fields by position, and is given 3 arguments so; name the others: "
                "prioritized=, alpha=, beta=, eps=, stratified=, weights=, fanout=, num_envs=, n_step=, gamma=, "
                "frame_stack=, seed=, small="
            ),
        ),
        (
            lambda: rl.ReplayBuffer(10, FIELDS, capacity=10),  # type: ignore[misc]
            "rl.ReplayBuffer is given capacity twice, by position and by name; leave one out",
        ),
        (
            lambda: rl.transition_dtype(FLAT, FLAT, FLAT),  # type: ignore[call-arg]
            (
                "rl.transition_dtype takes observation_space and action_space by position, and is given 3 arguments "
                "so; there are no others"
            ),
        ),
        (lambda: rl.Replay(10, FIELDS), "rl.Replay is called without batch_size; write rl.Replay("),  # type: ignore[call-arg]
        (lambda: rl.atari("Pong", framskip=2), "rl.atari has no argument 'framskip'; did you mean 'frame_skip'?"),  # type: ignore[call-arg]
        (lambda: rl.space_dtype(spcae=FLAT), "rl.space_dtype has no argument 'spcae'; did you mean 'space'?"),  # type: ignore[call-arg]
        (
            lambda: rl.train(rl.PPO(), "CartPole-v1", sed=3),  # type: ignore[call-arg]
            "rl.train has no argument 'sed'; did you mean 'seed'?",
        ),
        (
            lambda: rl.train(algorithm=rl.PPO(), env="CartPole-v1", horizon=3),  # type: ignore[call-arg]
            "rl.train has no argument 'horizon': write rl.PPO(horizon=...)",
        ),
        (
            lambda: rl.record.video("CartPole-v1", "videos", evry=3),
            "rl.record.video has no argument 'evry'; did you mean 'every'?",
        ),
        (
            lambda: rl.BatchedEnv("CartPole-v1", n_envs=2),
            "BatchedEnv is given a single environment; give num_envs, not n_envs",
        ),
    ],
)
def test_words(call: Any, words: str) -> None:
    found = said(call)
    assert found == words or (words.endswith("(") and found.startswith(words))


@pytest.mark.parametrize(
    ("call", "start", "end"),
    [
        (lambda: rl.Env("CartPole-v1", num_env=2), "Env has no argument 'num_env', ", "; did you mean 'num_envs'?"),
        (lambda: rl.Env("CartPole-v1", n_envs=2), "Env has no argument 'n_envs', ", ": it is num_envs here"),
        (
            lambda: rl.BatchedEnv("CartPole-v1", num_envs=2, on_eror="raise"),
            "BatchedEnv has no argument 'on_eror', ",
            "; did you mean 'on_error'?",
        ),
        (
            lambda: rl.sb3.VecEnv("CartPole-v1", n_envs=2),  # type: ignore[call-arg]
            "rl.sb3.VecEnv has no argument 'n_envs', ",
            ": it is num_envs here",
        ),
        (
            lambda: rl.sb3.VecEnv("CartPole-v1", num_envs=2, wrkers=1),  # type: ignore[call-arg]
            "rl.sb3.VecEnv has no argument 'wrkers', ",
            "; did you mean 'workers'?",
        ),
        (
            lambda: rl.MultiAgentEnv("classic/rps_v2", sed=2),
            "MultiAgentEnv has no argument 'sed', ",
            "; did you mean 'seed'?",
        ),
        (
            lambda: rl.MultiAgentVectorEnv("classic/rps_v2", wrkers=1),
            "rl.MultiAgentVectorEnv has no argument 'wrkers', ",
            "; did you mean 'workers'?",
        ),
    ],
)
def test_what_went_to_an_environment_that_has_it_not(call: Any, start: str, end: str) -> None:
    found = said(call)
    assert found.startswith(f"{start}so it went to the environment, which has none either (")
    assert found.endswith(end)


def test_a_class_of_ones_own_speaks_of_the_one_that_has_the_arguments() -> None:
    class Mine(rl.ReplayBuffer):
        pass

    class Other(rl.ReplayBuffer):
        def __init__(self, size: int) -> None:
            super().__init__(size, FIELDS)

    assert said(lambda: Mine(10, FIELDS, sed=0)).startswith("rl.ReplayBuffer has no argument 'sed'; ")  # type: ignore[call-arg]
    assert Other(10).capacity == 10
    with pytest.raises(TypeError, match=r"Other\.__init__\(\) got an unexpected keyword argument 'sed'"):
        Other(10, sed=0)  # type: ignore[call-arg]


def test_a_type_error_from_within_comes_out_as_it_is() -> None:
    with pytest.raises(TypeError, match="len") as caught:
        rl.Policies(3, shape=(2,))  # type: ignore[arg-type]
    assert type(caught.value) is TypeError


def test_what_is_public_keeps_its_name_and_signature() -> None:
    assert pickle.loads(pickle.dumps(rl.train)) is rl.train
    assert [*inspect.signature(rl.ReplayBuffer).parameters][:2] == ["capacity", "fields"]
    assert [*inspect.signature(rl.load).parameters][:1] == ["folder"]

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.first, self.second = rx.Mode(initial=True), rx.Mode()
            self.env = rl.Env("CartPole-v1", mode=self.second)

    assert Main().env._mode is not None


@pytest.mark.usefixtures("hints_at_rest")
def test_attributes() -> None:
    buffer = rl.ReplayBuffer(10, FIELDS)
    with pytest.raises(AttributeError, match=r"^a replay buffer has no 'smaple'; did you mean 'sample'\?$"):
        buffer.smaple(2)  # type: ignore[attr-defined]
    for name, words in (
        ("n_steps", "'PPO' object has no attribute 'n_steps': it is horizon here"),
        ("horizn", "'PPO' object has no attribute 'horizn'; did you mean 'horizon'?"),
        ("learning", None),
        ("qqq", "'PPO' object has no attribute 'qqq'"),
    ):
        if words is None:
            assert callable(getattr(rl.PPO(), name))
            continue
        with pytest.raises(AttributeError) as caught:
            getattr(rl.PPO(), name)
        assert str(caught.value) == words


def test_an_attribute_of_an_algorithm_in_a_reaction() -> None:
    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.algorithm = rl.PPO()

        @rx.reaction(rx.startup)
        def look(self) -> None:
            print(np.zeros(self.algorithm.n_steps))  # type: ignore[attr-defined]

    with pytest.raises(rx.ReactionError, match="has no attribute 'n_steps': it is horizon here"):
        rx.run(Main(), fast=True)
