"""Vector environments as one reactor: the same on all ports, however they reset themselves."""

from functools import partial
from itertools import pairwise
from typing import Any, cast

import ale_py.vector_env
import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

import reactors as rx
from reactors import rl

K = 3
NAMES = (
    "observation",
    "reward",
    "terminated",
    "truncated",
    "next_observation",
    "transition",
    "valid",
    "episode",
    "info",
)


class Log(rx.Reactor):
    """Notes what comes out, and answers with the rows of a table of actions."""

    def __init__(self, env: rl.Env, actions: Any, names: tuple[str, ...]) -> None:
        self.actions, self.names, self.lines = actions, names, list[dict[str, Any]]()
        for name in names:
            port = getattr(env, name)
            layout = (
                {"type": port._carried().type} if port.dtype is None else {"shape": port.shape, "dtype": port.dtype}
            )
            setattr(self, name, rx.Input(**layout))
        acts: dict[str, Any] = {"shape": env.action.shape, "dtype": env.action.dtype}
        self.action = rx.Output(**acts)
        self.add_reaction([getattr(self, name) for name in names], self.note, effects=self.action)

    def note(self) -> None:
        values = {name: getattr(self, name).value for name in self.names}
        self.lines.append({
            name: value.copy() if isinstance(value, np.ndarray) else value
            for name, value in values.items()
            if value is not None
        })  # fmt: skip
        self.action.set(self.actions[(len(self.lines) - 1) % len(self.actions)])


class Main(rx.Reactor):
    def __init__(self, env: rl.Env, actions: Any, names: tuple[str, ...]) -> None:
        self.env, self.log = env, Log(env, actions, names)
        for name in names:
            rx.connect(getattr(env, name), getattr(self.log, name))
        rx.connect(self.log.action, env.action, after="1 us")


def watched(
    env: rl.Env, actions: Any, steps: int, names: tuple[str, ...] = NAMES, **options: Any
) -> list[dict[str, Any]]:
    main = Main(env, actions, names)
    rx.run(main, fast=True, timeout=f"{steps} us", **options)
    return main.log.lines


ACTIONS = np.random.default_rng(0).integers(2, size=(300, K))


def sync(mode: AutoresetMode, copy: bool = True) -> Any:
    return gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1")] * K, autoreset_mode=mode, copy=copy)


def expected(steps: int) -> list[dict[str, Any]]:
    """What a plain loop over single environments gives."""
    envs = [gym.make("CartPole-v1") for _ in range(K)]
    observations = [env.reset(seed=5 + i)[0] for i, env in enumerate(envs)]
    lines = []
    for n in range(steps):
        line: dict[str, Any] = {name: [] for name in NAMES[:5]}
        for i, env in enumerate(envs):
            obs, reward, terminated, truncated, _ = env.step(ACTIONS[n][i])
            line["next_observation"].append(obs)
            line["reward"].append(reward)
            line["terminated"].append(terminated)
            line["truncated"].append(truncated)
            observations[i] = env.reset()[0] if terminated or truncated else obs
            line["observation"].append(observations[i])
        lines.append({name: np.array(values) for name, values in line.items()})
    return lines


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED])
@pytest.mark.parametrize("copy", [True, False])  # False: it reuses its buffers
def test_same_step_and_disabled_mean_what_rl_env_means(mode: AutoresetMode, copy: bool) -> None:
    lines = watched(rl.BatchedEnv(lambda: sync(mode, copy), seed=5), ACTIONS, 200)
    wanted = expected(200)
    single = rl.Env("CartPole-v1", num_envs=K, seed=5)
    twin = watched(single, ACTIONS, 200, tuple(name for name in NAMES if name not in {"valid", "info"}))
    assert sum(line["terminated"].sum() for line in wanted) > 10
    for line, want, other in zip(lines[1:], wanted, twin[1:], strict=True):
        for name in NAMES[:5]:
            assert np.array_equal(line[name], want[name]), name
        assert line["valid"].all()
        assert np.array_equal(line["transition"], other["transition"])
        assert [e[:4] for e in line.get("episode", ())] == [e[:4] for e in other.get("episode", ())]


def test_next_step_tells_which_steps_count() -> None:
    lines = watched(rl.BatchedEnv(lambda: sync(AutoresetMode.NEXT_STEP), seed=5), ACTIONS, 200)
    over = np.zeros(K, bool)
    ended = 0
    totals, lengths = np.zeros(K), np.zeros(K)
    for before, line in pairwise(lines):
        assert np.array_equal(line["valid"], ~over)
        assert np.array_equal(line["transition"]["obs"], before["observation"])
        assert np.array_equal(line["transition"]["next_obs"], line["observation"])
        assert not line["reward"][over].any()
        assert not line["terminated"][over].any()
        totals[over], lengths[over] = 0, -1
        totals += line["reward"]
        lengths += 1
        over = line["terminated"] | line["truncated"]
        assert [(e.env, e.total, e.length) for e in line.get("episode", ())] == [
            (i, totals[i], lengths[i]) for i in over.nonzero()[0]
        ]
        ended += over.sum()
    assert ended > 10


def test_vectorised_environments_are_made_by_id() -> None:
    env = rl.BatchedEnv("CartPole-v1", num_envs=16, max_episode_steps=5)
    assert (env.observation.shape, env.action.shape, env.valid.shape) == ((16, 4), (16,), (16,))
    lines = watched(env, np.ones((1, 16), int), 12)
    assert lines[5]["truncated"].all()
    assert not lines[6]["valid"].any()
    assert {e.length for e in lines[5]["episode"]} == {5}
    assert {(e.length, e.number) for e in lines[11]["episode"]} == {(5, 1)}


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_ales_vector_environment(mode: AutoresetMode) -> None:
    def make() -> Any:
        return ale_py.vector_env.AtariVectorEnv(
            "pong", num_envs=2, num_threads=1, max_num_frames_per_episode=120, autoreset_mode=mode
        )

    env = rl.BatchedEnv(make, seed=5)
    assert (env.observation.shape, env.observation.dtype) == ((2, 4, 84, 84), np.uint8)
    lines = watched(env, np.full((1, 2), 2), 40, ("observation", "next_observation", "truncated", "valid", "episode"))
    episodes = [e for line in lines for e in line.get("episode", ())]
    assert len(episodes) >= 2
    for n, line in enumerate(lines[1:], 1):
        over = line["truncated"]
        if mode is AutoresetMode.NEXT_STEP:
            assert np.array_equal(line["next_observation"], line["observation"])
            assert np.array_equal(line["valid"], np.ones(2, bool) if n == 1 else ~lines[n - 1]["truncated"])
        else:
            same = (line["next_observation"] == line["observation"]).all((1, 2, 3))
            assert np.array_equal(same, ~over)  # the first frame of an episode is not the last of another


class Pool(gym.vector.VectorEnv[Any, Any, Any]):
    """A stand-in for EnvPool: single spaces, float32 rewards, infos as arrays, the seed given when it is made."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 - as Gymnasium has it
    single_observation_space = observation_space = spaces.Box(-9, 9, (2,), np.float32)
    single_action_space = action_space = spaces.Discrete(2)

    def __init__(self, num_envs: int = 2, seed: int = 42, **faults: Any) -> None:
        self.num_envs, self.seed, self.faults, self.t = num_envs, seed, faults, 0

    def reset(self, **given: Any) -> Any:
        assert not given
        self.t = 0
        return np.full((self.num_envs, 2), self.seed % 7, np.float32), {"env_id": np.arange(self.num_envs)}

    def step(self, actions: Any) -> Any:
        self.t += 1
        if self.faults.get("step") == self.t:
            raise OSError("pool is dry")
        if "answer" in self.faults:
            return self.faults["answer"]
        no = np.zeros(self.num_envs, bool)
        observations = np.full((self.num_envs, 2), self.t, np.float32)
        return (
            observations,
            np.ones(self.num_envs, np.float32),
            no,
            no,
            {"elapsed_step": np.full(self.num_envs, self.t)},
        )


def test_a_pool_is_given_its_seed_when_it_is_made() -> None:
    lines = watched(rl.BatchedEnv(Pool, num_envs=4, seed=12), np.ones((1, 4), int), 2)
    assert lines[0]["observation"][0, 0] == 12 % 7
    assert lines[0]["info"]["env_id"].tolist() == [0, 1, 2, 3]
    assert lines[2]["reward"].tolist() == [1.0] * 4
    assert lines[2]["info"]["elapsed_step"].tolist() == [2] * 4


class Rewriting(Pool):
    """Says the steps in an array that it writes over."""

    def reset(self, **given: Any) -> Any:
        observations, _ = super().reset(**given)
        self.steps = np.zeros(self.num_envs, int)
        return observations, {"steps": self.steps}

    def step(self, actions: Any) -> Any:
        *told, _ = super().step(actions)
        self.steps += 1
        return *told, {"steps": self.steps}


def test_infos_are_as_they_were_said_though_the_environment_writes_over_them() -> None:
    lines = watched(rl.BatchedEnv(Rewriting), np.ones((1, 2), int), 3, debug=True)
    assert [line["info"]["steps"].tolist() for line in lines] == [[n, n] for n in range(4)]


class Counting(gym.Env[Any, Any]):
    """An episode of so many steps; it says what it has seen, and how it began."""

    observation_space = spaces.Box(-99, 99, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, last: int) -> None:
        self.last = last

    def said(self) -> dict[str, Any]:
        return {"t": float(self.t), "at": np.full(2, self.t), "word": f"{self.t}", "more": {"t": self.t}}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(1, np.float32), {**self.said(), "begun": True}

    def step(self, action: Any) -> Any:
        self.t += 1
        return np.full(1, self.t, np.float32), 1.0, self.t >= self.last, False, self.said()


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED])
def test_infos_of_those_that_go_on_stay_and_those_of_the_end_are_final(mode: AutoresetMode) -> None:
    def made() -> Any:
        return gym.vector.SyncVectorEnv([partial(Counting, n) for n in (2, 5)], autoreset_mode=mode)

    *_, before, at_end = [line["info"] for line in watched(rl.BatchedEnv(made), np.ones((1, 2), int), 2)]
    assert "final_info" not in before
    assert (at_end["t"].tolist(), at_end["_t"].tolist()) == ([0, 2], [True, True])
    assert at_end["at"].tolist() == [[0, 0], [2, 2]]
    assert at_end["word"].tolist() == ["0", "2"]
    assert (at_end["more"]["t"].tolist(), at_end["more"]["_t"].tolist()) == ([0, 2], [True, True])
    assert (at_end["begun"].tolist(), at_end["_begun"].tolist()) == ([True, False], [True, False])
    final = at_end["final_info"]
    assert at_end["_final_info"].tolist() == final["_t"].tolist() == final["more"]["_t"].tolist() == [True, False]
    assert (final["t"][0], final["at"][0].tolist(), final["word"][0], final["more"]["t"][0]) == (2, [2, 2], "2", 2)


class Boxes(Pool):
    single_observation_space = spaces.Dict(at=spaces.Box(0, 9, (2,), np.float32), n=spaces.Discrete(9))
    single_action_space = spaces.Tuple([spaces.Discrete(2), spaces.Box(0, 1, (1,), np.float32)])

    def observed(self, n: int) -> Any:
        return {"at": np.full((self.num_envs, 2), n, np.float32), "n": np.full(self.num_envs, n)}

    def reset(self, **given: Any) -> Any:
        return self.observed(0), {}

    def step(self, actions: Any) -> Any:
        assert isinstance(actions, tuple)
        assert (actions[0].shape, actions[1].shape) == ((self.num_envs,), (self.num_envs, 1))
        _, *rest = super().step(actions)
        return self.observed(self.t), *rest


def test_compound_spaces_are_records() -> None:
    env = rl.BatchedEnv(Boxes)
    lines = watched(env, np.zeros((1, 2), env.action.dtype), 2)
    assert lines[2]["observation"]["n"].tolist() == [2, 2]
    assert lines[2]["next_observation"]["at"].tolist() == [[2, 2], [2, 2]]
    assert lines[2]["transition"]["obs"]["n"].tolist() == [1, 1]


# ---- what breaks ----


class Mute(Pool):
    metadata = {}  # noqa: RUF012 - as Gymnasium has it


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rl.BatchedEnv("CartPole-v1"), "give num_envs, too"),
        (lambda: rl.BatchedEnv("NoSuch-v0", num_envs=2), "there is no environment 'NoSuch-v0'"),
        (lambda: rl.BatchedEnv(cast("str", 5)), "is given 5, of type int, for a vector environment"),
        (lambda: rl.BatchedEnv(lambda: gym.make("CartPole-v1")), "which is no vector environment"),
        (lambda: rl.BatchedEnv(lambda: 1 / 0), "cannot be made here to find its spaces"),
    ],
)
def test_what_is_no_vector_environment_is_refused(make: Any, message: str) -> None:
    with pytest.raises(rx.ReactorError, match=message):
        make()


def fault(env: rl.BatchedEnv, names: tuple[str, ...] = ("observation",)) -> Any:
    with pytest.raises(rx.ReactionError) as caught:
        watched(env, np.ones((1, env.num_envs or 1), int), 3, names)
    assert isinstance(caught.value.__cause__, rx.ReactorError)
    return caught.value.__cause__


def test_how_it_resets_itself_is_not_guessed() -> None:
    assert 'has no metadata["autoreset_mode"]' in str(fault(rl.BatchedEnv(Mute)))
    assert len(watched(rl.BatchedEnv(Mute, autoreset_mode="NextStep"), np.ones((1, 2), int), 2)) == 3
    never: Any = "never"
    assert "'never' is not a valid AutoresetMode" in str(fault(rl.BatchedEnv(Mute, autoreset_mode=never)))
    assert "says autoreset_mode 'NextStep', and is given 'SameStep'" in str(
        fault(rl.BatchedEnv(Pool, autoreset_mode="SameStep"))
    )


def test_transitions_want_to_be_read_with_valid() -> None:
    assert "not every row is a transition; read valid" in str(fault(rl.BatchedEnv(Pool), ("observation", "transition")))


NO = np.zeros(2, bool)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            (np.zeros((2, 3), np.float32), np.zeros(2), NO, NO, {}),
            "observations of shape (2, 3) and dtype float32, which are",
        ),
        ((np.zeros((2, 2), np.float32), np.zeros(3), NO, NO, {}), "rewards of shape (3,), which is not (2,)"),
        ((np.zeros((2, 2), np.float32), np.zeros(2), NO, {}), "it gave 4 values instead of 5"),
    ],
)
def test_wrong_answers_are_reported(answer: Any, message: str) -> None:
    error = fault(rl.BatchedEnv(Pool, answer=answer, seed=9))
    assert str(error).startswith("main.env: its vector environment (seed 9, step 1) answered step wrongly:")
    assert message in str(error)


def test_a_reward_of_nan_is_a_wrong_answer_of_one_environment() -> None:
    answer = (np.zeros((2, 2), np.float32), np.array([-np.inf, np.nan], np.float32), NO, NO, {})
    assert str(fault(rl.BatchedEnv(Pool, answer=answer, seed=9))).startswith(
        "main.env: environment 1 (seed 10, step 1) of its vector environment answered step wrongly: its reward is nan, "
        "which is no number"
    )


def test_an_error_has_its_cause() -> None:
    error = fault(rl.BatchedEnv(Pool, step=2, seed=9))
    assert "main.env: its vector environment (seed 9, step 2) raised in step: OSError: pool is dry" in str(error)
    assert isinstance(error.__cause__, OSError)


class Fragile(gym.Wrapper[Any, Any, Any, Any]):
    """Raises in its second step when it was seeded with 10."""

    def __init__(self) -> None:
        super().__init__(gym.make("CartPole-v1"))
        self.steps, self.seed = 0, None

    def reset(self, **options: Any) -> Any:
        self.seed = options.get("seed")
        return super().reset(**options)

    def step(self, action: Any) -> Any:
        self.steps += 1
        if self.seed == 10 and self.steps == 2:
            raise OSError("out of fuel")
        return super().step(action)


def several() -> Any:
    return gym.vector.SyncVectorEnv([Fragile] * 2)


def one() -> Any:
    return gym.vector.SyncVectorEnv([Fragile])


@pytest.mark.parametrize(("make", "seed"), [(several, 9), (one, 10)])
def test_an_error_names_index_and_seed_where_they_can_be_known(make: Any, seed: int) -> None:
    error = fault(rl.BatchedEnv(make, seed=seed))
    index = 10 - seed
    assert (error.index, error.seed) == (index, 10)
    assert f"main.env: environment {index} (seed 10, step 2) of its vector environment raised in step" in str(error)
    assert "OSError: out of fuel" in str(error)


def test_what_the_space_does_not_contain_is_reported_with_its_index() -> None:
    far = np.array([[0, 0], [0, 99]], np.float32), np.zeros(2), NO, NO, {}
    env = rl.BatchedEnv(Pool, answer=far, seed=9)
    with pytest.raises(rx.ReactionError) as caught:
        watched(env, np.ones((1, 2), int), 3, ("observation",), debug=True)
    error: Any = caught.value.__cause__
    assert (error.index, error.seed) == (1, 10)
    assert "for environment 1, which Box" in str(error)


def test_a_broken_vector_environment_is_made_again() -> None:
    env = rl.BatchedEnv(Pool, step=3, seed=9, on_error="restart")
    lines = watched(env, np.ones((1, 2), int), 4)
    assert lines[3]["truncated"].all()
    assert (lines[3]["next_observation"] == 2).all()
    assert [(e.length, e.failed) for e in lines[3]["episode"]] == [(3, True)] * 2
    assert (lines[4]["observation"] == 1).all()
    assert env.restarts == 1
