"""rl.VectorEnv does what Gymnasium's own vector environments do."""

import itertools
import os
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import NormalizeObservation, RecordEpisodeStatistics

import reactors as rx
from reactors import rl
from tests.rl.vector.lines import Line, Word, actions_for, both, equal, lines

# ---- the same as SyncVectorEnv ----


class Rewriting(Line):
    """Says where it is in a list that it writes over."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = [0]

    def reset(self, **options: Any) -> Any:
        observation, _ = super().reset(**options)
        self.seen[0] = 0
        return observation, {"seen": self.seen}

    def step(self, action: Any) -> Any:
        *told, _ = super().step(action)
        self.seen[0] = self.at
        return *told, {"seen": self.seen}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_infos_are_as_they_were_said_though_environments_write_over_them(mode: AutoresetMode, workers: int) -> None:
    envs = rl.VectorEnv([Rewriting] * 2, autoreset_mode=mode, workers=workers)
    said = [envs.reset(seed=1)[1], *(envs.step(np.zeros(2, int))[-1] for _ in range(5))]
    envs.close()
    same = mode is AutoresetMode.SAME_STEP
    assert [infos["seen"].tolist() for infos in said] == [
        [[n]] * 2 for n in ((0, 1, 2, 3, 0, 1) if same else (0, 1, 2, 3, 4, 0))
    ]
    assert not same or said[4]["final_info"]["seen"].tolist() == [[4]] * 2


class Saying(Line):
    """Says by itself what vector environments say of ends."""

    def __init__(self, said: dict[str, Any]) -> None:
        super().__init__()
        self.said = said

    def step(self, action: Any) -> Any:
        *told, info = super().step(action)
        return *told, info if self.at > 2 else self.said


@pytest.mark.parametrize(
    "said",
    [
        {"final_obs": np.ones(1), "lives": 2},
        {"final_obs": np.ones(1), "final_info": {}},
        {"final_obs": np.ones(1), "final_info": 0},
        {"final_obs": np.ones(1)},
        {"final_info": {}},
        {"final_info": {}, "lives": 2},
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_environments_may_say_final_things_by_themselves(said: dict[str, Any], workers: int) -> None:
    makers = [partial(Saying, said), Line]
    with both(makers, autoreset_mode=AutoresetMode.SAME_STEP, workers=workers) as (ours, theirs):
        assert equal(ours.reset(seed=3), theirs.reset(seed=3))
        for actions in actions_for(theirs, 8):
            assert equal(ours.step(actions), theirs.step(actions))


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
def test_what_breaks_in_a_reset_is_made_again_too(mode: AutoresetMode) -> None:
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
