"""rl.VectorEnv does what Gymnasium's own vector environments do, and says more when something goes wrong."""

import copy
import gc
import itertools
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import AlreadyPendingCallError, ClosedEnvironmentError, NoAsyncCallError
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import NormalizeObservation, RecordEpisodeStatistics

import reactors as rx
from reactors import rl
from reactors_runtime.processes import workers


class Word(gym.Space[str]):
    """A space that Gymnasium does not know."""

    def __init__(self) -> None:
        super().__init__(None, None)

    def __repr__(self) -> str:
        return "Word()"

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        return "word"

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Word)

    __hash__ = None  # type: ignore[assignment]


class Line(gym.Env[Any, Any]):
    """Walks for as many steps as it was told, and says a lot on the way."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    gravity = 9.8

    def __init__(
        self,
        length: int = 4,
        observation_space: gym.Space[Any] | None = None,
        action_space: gym.Space[Any] | None = None,
        render_mode: str | None = None,
        wrong: Any = None,
        reuses: bool = False,
    ) -> None:
        self.length, self.render_mode, self.wrong, self.reuses = length, render_mode, wrong, reuses
        self.observation_space = copy.deepcopy(observation_space or Box(-1000, 1000, (2,), np.float32))
        self.action_space = action_space or Discrete(3)
        self.buffer = np.zeros(2, np.float32)
        self.at, self.closed = 0, False

    def look(self) -> Any:
        if isinstance(self.observation_space, Word):
            return f"at {self.at}"
        if not isinstance(self.observation_space, Box) or self.observation_space.shape != (2,):
            return self.observation_space.sample()
        self.buffer[:] = self.at, self.np_random.integers(100)
        return self.buffer if self.reuses else self.buffer.copy()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self.at = (options or {}).get("start", 0)
        if self.wrong == "reset" and seed == 8:
            raise KeyError("no start")
        return self.look(), {"began": self.at} if options else {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at += 1
        if self.wrong == self.at:
            raise ZeroDivisionError(f"bumped at {self.at}")
        if self.wrong == ("wrong", self.at):
            return np.zeros(7), 0.0, False, False, {}
        if self.wrong == ("dies", self.at):
            os._exit(3)
        if self.wrong == ("sleeps", self.at):
            time.sleep(0.4)
        info = {"at": self.at, "place": np.array([self.at, 1.5]), "name": str(self.at), "deep": {"er": {"x": self.at}}}
        over = self.at >= self.length
        return self.look(), float(self.at), over and self.length % 2 == 0, over, info if self.at % 2 else {}

    def render(self) -> Any:
        return np.full((2, 2, 3), self.at, np.uint8)

    def add(self, x: int, y: int = 0) -> int:
        return self.at + x + y

    def close(self) -> None:
        self.closed = True


LENGTHS = (2, 3, 5, 4, 7)


def lines(**settings: Any) -> list[Callable[[], Line]]:
    return [partial(Line, length, **settings) for length in LENGTHS]


def equal(a: Any, b: Any) -> bool:
    """Of one type, dtype and shape, and of equal values, all the way down; objects' fields by their values."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, np.ndarray) and a.dtype == object:
        return (
            a.shape == b.shape and b.dtype == object and all(equal(*pair) for pair in zip(a.flat, b.flat, strict=True))
        )
    return bool(data_equivalence(a, b, exact=True))


@contextmanager
def both(makers: list[Any], **settings: Any) -> Iterator[tuple[rl.VectorEnv, SyncVectorEnv]]:
    workers = settings.pop("workers", 1)
    ours, theirs = (
        rl.VectorEnv(makers, workers=workers, oversubscribe=True, **settings),
        SyncVectorEnv(makers, **settings),
    )
    try:
        yield ours, theirs
    finally:
        ours.close()
        theirs.close()


def actions_for(envs: Any, steps: int) -> list[Any]:
    envs.action_space.seed(5)
    return [envs.action_space.sample() for _ in range(steps)]


# ---- the same as SyncVectorEnv ----


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_every_step_is_the_same(mode: AutoresetMode, workers: int) -> None:
    with both(lines(), autoreset_mode=mode, workers=workers) as (ours, theirs):
        assert ours.metadata == theirs.metadata
        assert equal(ours.reset(seed=3), theirs.reset(seed=3))
        for actions in actions_for(theirs, 25):
            got = ours.step(actions)
            assert equal(got, theirs.step(actions))
            over = got[2] | got[3]
            if mode is AutoresetMode.DISABLED and over.any():
                assert equal(
                    ours.reset(options={"reset_mask": over, "start": 1}),
                    theirs.reset(options={"reset_mask": over, "start": 1}),
                )


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "Blackjack-v1", "Taxi-v4"])
def test_environments_of_gymnasium_are_the_same(env_id: str, workers: int) -> None:
    make = partial(gym.make, env_id)
    with both([make] * 3, autoreset_mode="SameStep", workers=workers) as (ours, theirs):
        assert equal(ours.reset(seed=1), theirs.reset(seed=1))
        for actions in actions_for(theirs, 60):
            assert equal(ours.step(actions), theirs.step(actions))


SPACES: list[gym.Space[Any]] = [
    Box(0, 255, (3, 2), np.uint8),
    Box(-1, 1, (), np.float64),
    Box(-1, 1, (3,), np.float16),
    Discrete(5, start=-2),
    MultiDiscrete([3, 4]),
    MultiBinary((2, 3)),
    Tuple([Discrete(3), Box(0, 1, (2,))]),
    Dict(a=Discrete(2), b=Dict(c=Box(0, 1, (2,)), d=Tuple([MultiBinary(3)]))),
    Text(5),
    Tuple([Text(3), Discrete(4)]),
    Word(),
]


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_every_space_is_observed_and_acted_in(space: gym.Space[Any], mode: AutoresetMode) -> None:
    with both(lines(observation_space=space, action_space=space), autoreset_mode=mode) as (ours, theirs):
        assert ours.observation_space == theirs.observation_space
        assert ours.action_space == theirs.action_space
        assert equal(ours.reset(seed=3), theirs.reset(seed=3))
        for actions in actions_for(theirs, 8):
            assert equal(ours.step(actions), theirs.step(actions))


def test_spaces_of_all_kinds_cross_processes() -> None:
    space = Dict(word=Text(4), deep=Tuple([Discrete(3), Box(0, 1, (2,))]))
    fixed = space["deep"]
    for observed, acted in ((space, fixed), (fixed, space), (Word(), Word())):
        makers = lines(observation_space=observed, action_space=acted)
        with both(makers, workers=2, autoreset_mode="SameStep") as (ours, theirs):
            assert equal(ours.reset(seed=3), theirs.reset(seed=3))
            for actions in actions_for(theirs, 6):
                assert equal(ours.step(actions), theirs.step(actions))


def test_lists_and_other_dtypes_are_actions_too() -> None:
    with both(lines()) as (ours, theirs):
        assert equal(ours.reset(seed=0), theirs.reset(seed=0))
        for actions in ([0, 1, 2, 0, 1], (0, 1, 2, 0, 1), np.zeros(5, np.int32)):
            assert equal(ours.step(actions), theirs.step(actions))


@pytest.mark.parametrize("seed", [None, 7, np.int64(7), [7, 7, None, 1, 2], (1, 2, 3, 4, 5)])
def test_seeds(seed: Any) -> None:
    with both(lines(), workers=2) as (ours, theirs):
        theirs_seed: Any = list(range(7, 12)) if isinstance(seed, np.integer) else seed
        first, second = ours.reset(seed=seed), theirs.reset(seed=theirs_seed)  # pyright: ignore[reportArgumentType]
        if seed is not None and None not in np.atleast_1d(np.array(seed, object)).tolist():
            assert equal(first, second)
            assert ours.np_random_seed == theirs.np_random_seed
            draws = [[int(each.integers(1000)) for each in envs.np_random] for envs in (ours, theirs)]
            assert draws[0] == draws[1]
        assert len(set(ours.np_random_seed)) >= 2


def test_seeds_have_to_be_as_many_as_environments() -> None:
    with (
        both(lines()) as (ours, _),
        pytest.raises(rx.ArgumentError, match=r"seed of rl.VectorEnv is \[1, 2\]; .* or 5 of them in a list"),
    ):
        ours.reset(seed=[1, 2])


def test_options_reach_every_environment_and_are_not_changed() -> None:
    with both(lines(), workers=2, autoreset_mode=AutoresetMode.DISABLED) as (ours, theirs):
        assert equal(ours.reset(seed=1, options={"start": 1}), theirs.reset(seed=1, options={"start": 1}))
        options = {"start": 2, "reset_mask": np.array([True, False, False, True, False])}
        assert equal(ours.reset(options=options), theirs.reset(options={**options}))
        assert "reset_mask" in options
        ours.step([0] * 5)


@pytest.mark.parametrize(
    ("mask", "error"),
    [
        ([True] * 5, TypeError),
        (np.ones(5), TypeError),
        (np.ones(4, bool), ValueError),
        (np.ones((1, 5), bool), ValueError),
        (np.zeros(5, bool), ValueError),
    ],
)
def test_wrong_masks_are_refused(mask: Any, error: type[Exception]) -> None:
    with both(lines(), autoreset_mode=AutoresetMode.DISABLED) as (ours, _):
        ours.reset()
        with pytest.raises(error, match="reset_mask"):
            ours.reset(options={"reset_mask": mask})


def test_observations_are_copies_or_are_not() -> None:
    for copied in (True, False):
        envs = rl.VectorEnv(lines(), workers=2, copy=copied)
        first, _ = envs.reset(seed=0)
        kept = first.copy()
        second, *_ = envs.step([0] * 5)
        assert (first is not second and np.array_equal(first, kept)) is copied
        assert np.shares_memory(first, second) is not copied
        first[:] = 0  # writable all the same
        envs.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_step_gave_stays_as_it_was(workers: int) -> None:
    envs = rl.VectorEnv(lines(), workers=workers, oversubscribe=True)
    envs.reset(seed=0)
    given = [envs.step([0] * 5)[:4] for _ in range(4)]
    assert [rewards.tolist() for _, rewards, _, _ in given] == [[1] * 5, [2] * 5, [0, 3, 3, 3, 3], [1, 0, 4, 4, 4]]
    assert [obs[:, 0].tolist() for obs, *_ in given] == [[1] * 5, [2] * 5, [0, 3, 3, 3, 3], [1, 0, 4, 4, 4]]
    assert [truncated.nonzero()[0].tolist() for *_, truncated in given] == [[], [0], [1], [3]]
    assert [terminated.nonzero()[0].tolist() for _, _, terminated, _ in given] == [[], [0], [], [3]]
    envs.close()


def test_terminal_observations_survive_environments_that_reuse_their_buffer() -> None:
    with both(lines(reuses=True), autoreset_mode=AutoresetMode.SAME_STEP) as (ours, _):
        ours.reset(seed=0)
        ours.step([0] * 5)
        *_, infos = ours.step([0] * 5)
        assert infos["_final_obs"].tolist() == [True, False, False, False, False]
        assert infos["final_obs"][0][0] == 2
        assert infos["final_info"] == {}


# ---- spaces that differ ----


def differing(spaces: list[gym.Space[Any]]) -> list[Any]:
    return [partial(Line, observation_space=space) for space in spaces]


def test_observation_spaces_may_differ_if_that_is_said() -> None:
    makers = differing([Box(-i, i, (3,)) for i in (1, 2, 3)])
    with both(makers, observation_mode="different", workers=2) as (ours, theirs):
        assert ours.observation_space == theirs.observation_space
        assert equal(ours.reset(seed=1), theirs.reset(seed=1))
    pair = (Box(-3, 3, (3, 3)), Box(-3, 3, (3,)))
    with both(makers, observation_mode=pair) as (ours, theirs):
        assert (ours.observation_space, ours.single_observation_space) == pair
        assert equal(ours.reset(seed=1), theirs.reset(seed=1))


def test_observation_spaces_that_may_not_differ() -> None:
    with pytest.raises(RuntimeError, match="environment 1 has another one"):
        rl.VectorEnv(differing([Box(0, i, (3,)) for i in (1, 2, 3)]), workers=2)
    with pytest.raises(ValueError, match="shape"):
        rl.VectorEnv(differing([Box(0, 1, (i,)) for i in (1, 2, 3)]), observation_mode="different", workers=1)
    pair = (Box(0, 1, (3, 2)), Box(0, 1, (2,)))
    with pytest.raises(RuntimeError, match="of one shape and dtype"):
        rl.VectorEnv(differing([Box(0, 1, (3,))] * 3), observation_mode=pair, workers=1)
    with pytest.raises(RuntimeError, match="action"):
        rl.VectorEnv([Line, partial(Line, action_space=Discrete(7))], workers=1)
    with pytest.raises(ValueError, match="observation_mode"):
        rl.VectorEnv(lines(), observation_mode="any")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"no gymnasium\.Space"):
        rl.VectorEnv(lines(), observation_mode=(1, 2))  # type: ignore[arg-type]


# ---- what environments are asked ----


@pytest.mark.parametrize("workers", [1, 3])
def test_methods_and_attributes(workers: int) -> None:
    with both(lines(render_mode="rgb_array"), workers=workers) as (ours, theirs):
        for envs in (ours, theirs):
            envs.reset(seed=1)
            envs.step([0] * 5)
        assert ours.render_mode == "rgb_array"
        assert equal(ours.render(), theirs.render())
        assert ours.call("add", 3, y=4) == (8,) * 5
        assert ours.get_attr("gravity") == ours.call("gravity") == (9.8,) * 5
        for values in ([1.0, 2.0, 3.0, 4.0, 5.0], 1.62, "moon"):
            ours.set_attr("gravity", values)
            theirs.set_attr("gravity", values)
            assert ours.get_attr("gravity") == theirs.get_attr("gravity")
        with pytest.raises(ValueError, match="length equal"):
            ours.set_attr("gravity", [1, 2])
        with pytest.raises(AttributeError, match="mass"):
            ours.get_attr("mass")
        for name in ("reset", "step", "close"):
            with pytest.raises(ValueError, match=name):
                ours.call(name)
        assert equal(ours.step([0] * 5), theirs.step([0] * 5))  # it goes on


def test_an_id_and_a_number_make_environments_too() -> None:
    envs = rl.VectorEnv("CartPole-v1", num_envs=3, workers=1, max_episode_steps=2, autoreset_mode="Disabled")
    envs.reset(seed=0)
    envs.step([0, 0, 0])
    assert envs.step([1, 1, 1])[3].all()
    envs.close()


@pytest.mark.parametrize(
    "wrong",
    [
        {"workers": 0},
        {"workers": 1.5},
        {"shared_memory": 4},
        {"worker": print},
        {"on_error": "hide"},
    ],
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(rx.ArgumentError, match=next(iter(wrong))):
        rl.VectorEnv(lines(), **wrong)


@pytest.mark.parametrize("most", [0, -1, "2", 1.5])
def test_a_wrong_bound_of_concurrency_is_refused_as_async_vector_env_does(most: Any) -> None:
    for cls in (gym.vector.AsyncVectorEnv, rl.VectorEnv):
        with pytest.raises(ValueError, match="max_concurrency"):
            cls(lines(), max_concurrency=most)


def test_max_concurrency_bounds_the_workers() -> None:
    envs = rl.VectorEnv(lines(), workers=3, max_concurrency=1)
    assert envs.workers == 1
    envs.close()


@pytest.mark.parametrize("actions", [np.zeros(4, int), [0] * 6, []])
def test_too_few_or_too_many_actions_are_refused_and_nothing_is_pending(actions: Any) -> None:
    with both(lines(), workers=2) as (ours, theirs):
        assert equal(ours.reset(seed=0), theirs.reset(seed=0))
        with pytest.raises(ValueError, match=f"{len(actions)} actions for 5 environments"):
            ours.step(actions)
        with pytest.raises(ValueError, match=f"{len(actions)} actions for 5 environments"):
            ours.step_async(actions)
        assert equal(ours.step([0] * 5), theirs.step([0] * 5))


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
    told = "".join(traceback_of(caught.value))
    assert 'raise ZeroDivisionError(f"bumped at {self.at}")' in told
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
def test_environments_whose_process_dies_or_hangs_are_made_anew(mode: AutoresetMode, how: str, tmp_path: Path) -> None:
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


# ---- in company ----


def test_wrappers_of_gymnasium_fit_around_it() -> None:
    ours: Any = RecordEpisodeStatistics(NormalizeObservation(rl.VectorEnv(lines(), workers=2)))
    theirs: Any = RecordEpisodeStatistics(NormalizeObservation(SyncVectorEnv(lines())))
    for envs in (ours, theirs):
        envs.reset(seed=1)
    for actions in actions_for(theirs, 12):
        first, second = ours.step(actions), theirs.step(actions)
        for infos in (first[4], second[4]):
            infos.get("episode", {}).pop("t", None)  # seconds
        assert equal(first, second)
    ours.close()
    theirs.close()


def test_a_script_needs_no_guard(tmp_path: Any) -> None:
    import subprocess
    import sys

    script = tmp_path / "script.py"
    script.write_text(
        "import gymnasium as gym\nfrom reactors import rl\n"
        "class Mine(gym.Wrapper):\n    pass\n"
        "envs = rl.VectorEnv([lambda: Mine(gym.make('CartPole-v1'))] * 4, workers=2)\n"
        "envs.reset(seed=0)\nprint(envs.step([0, 1, 0, 1])[1].sum())\nenvs.close()\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.strip(), done.stderr) == ("4.0", "")


def test_more_workers_than_cores_have_to_be_asked_for() -> None:
    cores = len(os.sched_getaffinity(0))
    for oversubscribe, expected in ((False, cores), (True, cores + 1)):
        envs = rl.VectorEnv("CartPole-v1", num_envs=cores + 1, workers=cores + 1, oversubscribe=oversubscribe)
        assert envs.workers == expected
        envs.close()


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_what_breaks_in_a_reset_is_made_anew_too(mode: AutoresetMode) -> None:
    resets = itertools.count()

    class Fickle(Line):
        def reset(self, **options: Any) -> Any:
            if next(resets) == 1:
                raise OSError("not now")
            return super().reset(**options)

    envs = rl.VectorEnv([Fickle], workers=1, autoreset_mode=mode, on_error="restart")
    envs.reset(seed=3)
    for _ in range(6):
        terminated, truncated = envs.step([0])[2:4]
        if mode is AutoresetMode.DISABLED and (terminated | truncated).any():
            envs.reset(options={"reset_mask": terminated | truncated})
    assert envs.restarts == 1
    envs.close()


def test_whose_episode_is_over_is_the_callers_fault_also_with_restarts() -> None:
    envs = rl.VectorEnv([partial(Line, 1)], workers=1, autoreset_mode="Disabled", on_error="restart")
    envs.reset(seed=0)
    envs.step([0])
    with pytest.raises(rl.SimulationError, match="reset_mask"):
        envs.step([0])


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


def test_a_step_before_the_first_reset_is_refused() -> None:
    envs = rl.VectorEnv("CartPole-v1", num_envs=2, workers=1)
    with pytest.raises(rl.SimulationError, match="ResetNeeded"):
        envs.step([0, 1])
