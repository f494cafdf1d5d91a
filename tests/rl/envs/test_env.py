"""Gymnasium environments as reactors: what is on which port when, resets, spaces, errors."""

import copy
import threading
from collections.abc import Callable
from typing import Any, cast

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import reactors as rx
from reactors import rl
from reactors.rl.envs.spaces import array_type, rows, writer
from reactors.testing import assert_deterministic
from tests.messages import marked

NAMES = (
    "observation",
    "reward",
    "terminated",
    "truncated",
    "next_observation",
    "transition",
    "episode",
    "info",
    "final_info",
)


class Line(gym.Env[Any, Any]):
    """Walks along 0, 1, 2, ... to `end`, where it terminates; writes all observations into one buffer."""

    observation_space = spaces.Box(-1, 99, (2,), np.float32)
    action_space = spaces.Discrete(5, start=1)

    def __init__(self, end: int = 3, cut: int = 99, **faults: Any) -> None:
        self.end, self.cut, self.faults = end, cut, faults
        self.buffer, self.lived, self.resets, self.info = np.zeros(2, np.float32), 0, 0, dict[str, Any]()
        if "make" in faults:
            raise OSError(faults["make"])

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        if seed is not None:
            self.seeded = seed
        self.resets += 1
        if self.faults.get("reset") == self.resets:
            raise OSError("no reset")
        self.buffer[:] = 0, self.seeded % 100
        self.info.clear()
        self.info["at"] = 0
        return self.buffer, self.info

    def step(self, action: int) -> Any:
        assert self.action_space.contains(action), action  # @taken
        self.lived += 1
        if self.faults.get("step") == self.lived:
            raise OSError("fell")
        if self.faults.get("wrong") == self.lived:
            return self.faults["answer"]
        self.buffer[0] += 1
        at = int(self.buffer[0])
        self.info["at"] = at
        return self.buffer, float(action), at == self.end, at == self.cut, self.info


class Log(rx.Reactor):
    """Notes all that a reactor of environments says, and answers each observation with the next of some actions."""

    def __init__(self, env: rl.Env, actions: Callable[[int], Any], names: tuple[str, ...] = NAMES) -> None:
        self.lines: list[dict[str, Any]] = []
        self.actions, self.names = actions, names
        for name in names:
            port = getattr(env, name)
            layout = (
                {"type": port._carried().type} if port.dtype is None else {"shape": port.shape, "dtype": port.dtype}
            )
            setattr(self, name, rx.Input(**layout))
        layout = {} if env.action.dtype is None else {"shape": env.action.shape, "dtype": env.action.dtype}
        self.action = rx.Output(**layout)
        inputs = [getattr(self, name) for name in names]
        self.add_reaction(inputs, self.note, effects=self.action)

    def note(self) -> None:
        line = {}
        for name in self.names:
            value = getattr(self, name).value
            if value is not None:
                line[name] = copy.deepcopy(
                    value.tolist() if isinstance(value, np.ndarray) and not value.dtype.names else value
                )
        self.lines.append(line)
        self.action.set(self.actions(len(self.lines) - 1))


class Watched(rx.Reactor):
    def __init__(self, env: rl.Env, actions: Callable[[int], Any], names: tuple[str, ...] = NAMES) -> None:
        self.env = env
        self.log = Log(env, actions, names)
        for name in names:
            rx.connect(getattr(env, name), getattr(self.log, name))
        rx.connect(self.log.action, env.action, after="1 us")


def watched(
    env: rl.Env, steps: int, actions: Callable[[int], Any], names: tuple[str, ...] = NAMES, **options: Any
) -> list[dict[str, Any]]:
    """What came out of an environment, tag by tag."""
    main = Watched(env, actions, names)
    rx.run(main, fast=True, timeout=f"{steps} us", **options)
    return main.log.lines


def test_ports_of_a_single_environment() -> None:
    lines = watched(rl.Env(Line, seed=7), 4, lambda n: n + 1)
    assert lines[0] == {"observation": [0.0, 7.0], "info": {"at": 0}}
    first, last = lines[1], lines[3]
    assert {name: first[name] for name in NAMES if name in first and name != "transition"} == {
        "observation": [1.0, 7.0], "next_observation": [1.0, 7.0], "reward": 1.0, "terminated": False,
        "truncated": False, "info": {"at": 1},
    }  # fmt: skip
    assert last["observation"] == [0.0, 7.0]  # what to act on next
    assert last["next_observation"] == [3.0, 7.0]  # where the action led, although the environment reused its buffer
    assert (last["reward"], last["terminated"], last["truncated"]) == (3.0, True, False)
    assert last["episode"] == (rl.Episode(0, 0, 6.0, 3, 7),)
    assert (last["info"], last["final_info"]) == ({"at": 0}, {"at": 3})
    record = last["transition"]
    assert record.dtype == rl.transition_dtype(Line.observation_space, Line.action_space)
    assert record["obs"].tolist() == [2.0, 7.0]
    assert record["next_obs"].tolist() == [3.0, 7.0]
    assert (record["action"], record["reward"], record["terminated"], record["truncated"]) == (3, 3.0, True, False)
    assert lines[4]["observation"] == [1.0, 7.0]


class Rewriting(Line):
    """Says where it is in a list that it writes over."""

    def __init__(self) -> None:
        super().__init__()
        self.info["seen"] = self.seen = [0]

    def reset(self, **options: Any) -> Any:
        observation, _ = super().reset(**options)
        self.seen[0] = 0
        return observation, {"seen": self.seen}

    def step(self, action: int) -> Any:
        *told, _ = super().step(action)
        self.seen[0] += 1
        return *told, {"seen": self.seen}


def test_infos_are_as_they_were_said_though_environments_write_over_them() -> None:
    lines = watched(rl.Env(Rewriting, seed=7), 4, lambda n: 1, debug=True)
    assert [line["info"] for line in lines] == [{"seen": [n]} for n in (0, 1, 2, 0, 1)]
    assert lines[3]["final_info"] == {"seen": [3]}


@pytest.mark.filterwarnings("ignore:.*action.* no connection leads there:reactors.ReactorWarning")
def test_what_cannot_be_copied_is_in_infos_itself() -> None:
    class Locking(Line):
        lock = threading.Lock()

        def reset(self, **options: Any) -> Any:
            observation, info = super().reset(**options)
            return observation, info | {"lock": self.lock}

    kept: list[Any] = []

    class Keep(rx.Reactor):
        info = rx.Input(dict)

        @rx.reaction(info)
        def keep(self) -> None:
            kept.append(self.info.value["lock"])

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.env, self.keep = rl.Env(Locking, seed=7), Keep()
            self.env.info >> self.keep.info

    rx.run(Main(), fast=True, timeout=0)
    assert kept == [Locking.lock]


def test_every_episode_has_a_return_of_its_own() -> None:
    lines = watched(rl.Env(Line, seed=7), 9, lambda n: 1 + n // 3)
    text = [episode for line in lines for episode in line.get("episode", ())]
    assert text == [rl.Episode(0, n, 3.0 * (n + 1), 3, 7) for n in range(3)]


def test_ports_of_a_row_of_environments() -> None:
    env = rl.Env([Line, lambda: Line(end=9, cut=2)], seed=[7, 8])
    lines = watched(env, 3, lambda n: np.array([n + 1, 5]))
    assert lines[0] == {"observation": [[0.0, 7.0], [0.0, 8.0]], "info": {0: {"at": 0}, 1: {"at": 0}}}
    assert lines[2]["observation"] == [[2.0, 7.0], [0.0, 8.0]]
    assert lines[2]["next_observation"] == [[2.0, 7.0], [2.0, 8.0]]
    assert lines[2]["reward"] == [2.0, 5.0]
    assert (lines[2]["terminated"], lines[2]["truncated"]) == ([False, False], [False, True])
    assert lines[2]["episode"] == (rl.Episode(1, 0, 10.0, 2, 8),)
    assert (lines[2]["info"], lines[2]["final_info"]) == ({0: {"at": 2}, 1: {"at": 0}}, {1: {"at": 2}})
    assert lines[2]["transition"]["next_obs"].tolist() == [[2.0, 7.0], [2.0, 8.0]]
    assert lines[2]["transition"]["obs"].tolist() == [[1.0, 7.0], [1.0, 8.0]]
    assert lines[3]["episode"] == (rl.Episode(0, 0, 6.0, 3, 7),)


def test_what_nothing_reads_is_not_reported() -> None:
    env = rl.Env(Line, seed=7)
    assert watched(env, 2, lambda n: 1, ("observation",)) == [{"observation": [float(n), 7.0]} for n in range(3)]
    row = rl.Env(Line, num_envs=2, seed=7)
    lines = watched(row, 3, lambda n: np.ones(2, int), ("observation", "transition"))
    assert lines[3]["transition"]["next_obs"].tolist() == [[3.0, 7.0], [3.0, 8.0]]
    assert lines[3]["observation"] == [[0.0, 7.0], [0.0, 8.0]]


def test_it_does_what_a_plain_loop_does() -> None:
    random = np.random.default_rng(0)
    actions = random.integers(2, size=(200, 3))
    lines = watched(rl.Env("CartPole-v1", num_envs=3, seed=11), 200, lambda n: actions[n % 200])
    envs = [gym.make("CartPole-v1") for _ in range(3)]
    observations = [env.reset(seed=11 + i)[0] for i, env in enumerate(envs)]
    for n in range(200):
        for i, env in enumerate(envs):
            obs, reward, terminated, truncated, _ = env.step(actions[n][i])
            line = lines[n + 1]
            assert line["next_observation"][i] == obs.tolist()
            assert (line["reward"][i], line["terminated"][i], line["truncated"][i]) == (reward, terminated, truncated)
            record = line["transition"][i]
            assert np.array_equal(record["obs"], observations[i])
            observations[i] = env.reset()[0] if terminated or truncated else obs
            assert line["observation"][i] == observations[i].tolist()


def test_each_environment_of_a_row_has_a_seed_of_its_own() -> None:
    def seeds(run_seed: int) -> list[float]:
        return [
            obs[1]
            for obs in watched(rl.Env(Line, num_envs=4), 0, lambda n: np.ones(4, int), seed=run_seed)[0]["observation"]
        ]

    assert len(set(seeds(1))) == 4
    assert seeds(1) == seeds(1) != seeds(2)


class Echo(gym.Env[Any, Any]):
    """Shows the action that it was given, in a space that is the same for both."""

    def __init__(self, space: Any) -> None:
        self.observation_space = self.action_space = space

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.observation_space.seed(3)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action), action
        return action, 0.0, False, False, {}


SPACES = {
    "box": spaces.Box(-1, 1, (2, 3), np.float64),
    "bytes": spaces.Box(0, 255, (2,), np.uint8),
    "discrete": spaces.Discrete(3, start=-1),
    "multidiscrete": spaces.MultiDiscrete([2, 5]),
    "multibinary": spaces.MultiBinary(4),
    "tuple": spaces.Tuple([spaces.Discrete(4), spaces.Box(0, 1, (2,), np.float32)]),
    "dict": spaces.Dict(a=spaces.Dict(b=spaces.MultiBinary(2)), c=spaces.Tuple([spaces.Discrete(2)])),
    "text": spaces.Text(5),
    "sequence": spaces.Sequence(spaces.Discrete(3)),
    "graph": spaces.Graph(spaces.Box(0, 1, (1,)), None),
}


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("num_envs", [None, 2])
def test_values_of_every_space_come_and_go_unchanged(name: str, num_envs: int | None) -> None:
    space = SPACES[name]
    space.seed(5)
    given = space.sample()
    where = array_type(space)
    env = rl.Env(lambda: Echo(space), num_envs=num_envs, observation_space=space, action_space=space)

    def act(_: int) -> Any:
        if where.dtype is None:
            return given if num_envs is None else (given,) * num_envs
        block = rows(where, num_envs or 1)
        for i in range(num_envs or 1):
            writer(space)(block, i, given)
        return block if num_envs else block[0]

    lines = watched(
        env, 2, act, tuple(each for each in NAMES if each != "transition" or where.dtype is not None), debug=True
    )
    seen = lines[2]["next_observation"]
    if where.dtype is None:
        assert repr(seen if num_envs is None else seen[1]) == repr(given)
    else:
        assert repr(np.asarray(seen, where.dtype)) == repr(np.asarray(act(0)))
    assert (env.observation.dtype, env.action.dtype) == (where.dtype, where.dtype)


def test_transitions_of_spaces_without_fixed_size_are_refused() -> None:
    space = SPACES["text"]
    with pytest.raises(rx.ReactionError, match=r"main\.env\.transition .* is read, but values of Text"):
        watched(rl.Env(lambda: Echo(space)), 1, lambda n: "a")


# ---- what breaks ----


def fault(env: rl.Env, steps: int = 9, actions: Any = 1, **options: Any) -> rl.SimulationError:
    with pytest.raises(rx.ReactionError) as caught:
        watched(env, steps, lambda n: actions if env.num_envs is None else np.full(env.num_envs, actions), **options)
    error = caught.value.__cause__
    assert isinstance(error, rl.SimulationError), error
    return error


def test_an_error_in_step_names_environment_and_seed() -> None:
    error = fault(rl.Env([Line, lambda: Line(step=5)], seed=40))
    assert (error.index, error.seed) == (1, 41)
    assert str(error).startswith(
        "main.env: environment 1 (seed 41, episode 1, step 2) raised in step: OSError: fell; fix it, or restart it with"
    )
    assert isinstance(error.__cause__, OSError)
    assert error.__cause__.__traceback__ is not None


def test_an_error_in_reset_names_environment_and_seed() -> None:
    error = fault(rl.Env(lambda: Line(reset=2), seed=5))
    assert "main.env: environment 0 (seed 5, episode 1, step 0) raised in reset: OSError: no reset" in str(error)


def test_an_environment_that_cannot_be_made_on_its_worker_is_named() -> None:
    box, discrete = Line.observation_space, Line.action_space
    env = rl.Env(lambda: Line(make="no licence"), observation_space=box, action_space=discrete, seed=5)
    assert str(fault(env)) == "main.env: environment 0 (seed 5) cannot be made: OSError: no licence"


def test_an_environment_that_cannot_be_made_here_is_reported_at_once() -> None:
    with pytest.raises(
        rx.ReactorError, match=r"cannot be made here to find its spaces \(OSError: no licence\); fix it, or give"
    ):
        rl.Env(lambda: Line(make="no licence"))


GOOD = np.zeros(2, np.float32)


def test_a_reward_of_nan_is_a_wrong_answer() -> None:
    words = (
        "environment 1 (seed 41, episode 0, step 2) answered step wrongly: its reward is nan, which is no number; fix"
    )
    for info in ({}, {"at": 1}):  # what is quick, and what is not
        answer = (GOOD, float("nan"), False, False, info)
        quiet = lambda: Line(wrong=2, answer=answer)  # noqa: B023, E731
        assert words in str(fault(rl.Env([Line, quiet], seed=40)))
    env = rl.Env([Line, lambda: Line(wrong=2, answer=answer)], seed=40, on_error="restart")
    assert watched(env, 2, lambda n: np.ones(2, int))[2]["reward"] == [1.0, 0.0]
    assert env.restarts == 1


def test_an_observation_of_nan_is_a_wrong_answer_under_debug() -> None:
    nothing = np.full(2, np.nan, np.float32)
    env = lambda: rl.Env([Line, lambda: Line(wrong=2, answer=(nothing, 1.0, False, False, {}))], seed=40)  # noqa: E731
    assert np.isnan(watched(env(), 2, lambda n: np.ones(2, int))[2]["observation"][1]).all()
    words = "environment 1 (seed 41, episode 0, step 2) answered step wrongly: its observation is array([nan, nan]"
    assert words in str(fault(env(), debug=True))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((GOOD, 1.0, False, {}), "it gave 4 values instead of (observation, reward, terminated, truncated, info)"),
        (GOOD, "it gave one ndarray instead of"),
        (
            (np.zeros(3, np.float32), 1.0, False, False, {}),
            "its observation is an array of shape (3,) and dtype float32, which is not of shape (2,)",
        ),
        ((np.float32(1), 1.0, False, False, {}), "its observation is an array of shape () and dtype float32"),
        (
            (np.zeros(2, complex), 1.0, False, False, {}),
            "its observation is an array of shape (2,) and dtype complex128",
        ),
        ((None, 1.0, False, False, {}), "its observation is an array of shape ()"),
        ((GOOD, None, False, False, {}), "its reward is None, which is no number"),
        ((GOOD, np.zeros(2), False, False, {}), "its reward is array([0., 0.]), which is no number"),
        ((GOOD, 1.0, np.zeros(2, bool), False, {}), "its terminated is array([False, False]), which is no number"),
    ],
)
@pytest.mark.parametrize("num_envs", [None, 2])
def test_wrong_answers_are_reported(answer: Any, message: str, num_envs: int | None) -> None:
    error = fault(rl.Env(Line, wrong=2, answer=answer, seed=5, num_envs=num_envs))
    assert f"main.env: environment 0 (seed 5, episode 0, step 2) answered step wrongly: {message}" in str(error)


def test_observations_of_another_precision_are_taken() -> None:
    answer = ([0.5, 1], 1, 0, 0, {})
    lines = watched(rl.Env(Line, wrong=2, answer=answer, seed=5), 2, lambda n: 1)
    assert lines[2]["observation"] == [0.5, 1.0]


def test_debug_mode_checks_values_by_their_space() -> None:
    answer = (np.full(2, 100, np.float32), 1.0, False, False, {})
    make = rl.Env(Line, wrong=2, answer=answer, seed=5)
    assert len(watched(make, 2, lambda n: 1)) == 3
    error = fault(rl.Env(Line, wrong=2, answer=answer, seed=5), debug=True)
    assert "its observation is array([100., 100.], dtype=float32), which its observation space" in str(error)
    error = fault(rl.Env(Line, seed=5), actions=6, debug=True)
    assert "the action for environment 0 is 6" in str(error) or "the action for environment 0 is np.int64(6)" in str(
        error
    )


def test_an_action_out_of_its_space_is_the_environments_to_refuse() -> None:
    said = marked(fault(rl.Env(Line, num_envs=2, seed=5), actions=7))
    assert "raised in step: AssertionError (@taken): np.int64(7)" in said


def test_actions_of_the_wrong_shape_are_refused_where_they_are_set() -> None:
    with pytest.raises(rx.ReactionError, match=r"main\.log\.action .* takes arrays of shape \(2,\).*shape \(3,\)"):
        watched(rl.Env(Line, num_envs=2), 1, lambda n: np.ones(3, int))
    space = SPACES["text"]
    with pytest.raises(rx.ReactionError, match=r"main\.env: 3 actions for 2 environments"):
        watched(rl.Env(lambda: Echo(space), num_envs=2), 1, lambda n: ("a",) * 3, ("observation",))


# ---- restarting ----


def test_a_broken_environment_is_made_again_and_its_episode_truncated() -> None:
    env = rl.Env([lambda: Line(step=2), Line], seed=40, on_error="restart")
    lines = watched(env, 2, lambda n: np.ones(2, int))
    last = lines[2]
    assert last["next_observation"] == [[1.0, 40.0], [2.0, 41.0]]  # the last good one
    assert (last["reward"], last["terminated"], last["truncated"]) == ([0.0, 1.0], [False, False], [True, False])
    assert last["episode"] == (rl.Episode(0, 0, 1.0, 2, 40, failed=True),)
    assert last["observation"][0][0] == 0
    assert last["observation"][0][1] != 40.0  # another seed, so that it does not break in the same place again
    assert env.restarts == 1


def test_wrong_answers_and_resets_that_fail_are_survived_too() -> None:
    answer = (np.zeros(7), 1.0, True, False, {})
    env = rl.Env([lambda: Line(wrong=1, answer=answer), lambda: Line(reset=2)], seed=40, on_error="restart")
    lines = watched(env, 4, lambda n: np.ones(2, int))
    assert lines[1]["truncated"] == [True, False]
    assert lines[1]["transition"]["next_obs"].tolist() == [[0.0, 40.0], [0.0, 41.0]] or lines[1]["next_observation"][
        0
    ] == [0.0, 40.0]
    assert lines[3]["terminated"] == [False, True]  # whose end is a true one; only then it broke
    assert env.restarts >= 2


def test_one_that_breaks_again_at_once_ends_the_program() -> None:
    env = rl.Env(Line, reset=1, seed=5, on_error="restart")
    assert "raised in reset, just after it was restarted: OSError: no reset" in str(fault(env))


# ---- what can be given ----


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rl.Env("NoSuch-v0"), "there is no environment 'NoSuch-v0'"),
        (lambda: rl.Env(cast("str", 5)), "is given 5, of type int, for an environment"),
        (lambda: rl.Env([]), "is given no environments"),
        (lambda: rl.Env([Line], num_envs=2), "is given 1 environments and num_envs=2"),
        (lambda: rl.Env(Line, num_envs=0), "num_envs of .* is 0; write a whole number, 1 or more"),
        (lambda: rl.Env(Line, num_envs=cast("int", "2")), "num_envs"),
        (lambda: rl.Env(Line, seed=-1), "seed of Env is -1"),
        (lambda: rl.Env(Line, num_envs=2, seed=[1]), "2 of them in a list"),
        (lambda: rl.Env(Line, on_error="ignore"), "on_error of Env is 'ignore'"),  # type: ignore[arg-type]
        (lambda: rl.Env(dict), "which has no spaces"),
        (lambda: rl.Env(Line, observation_space=cast("Any", 5)), "is no Gymnasium space"),
    ],
)
def test_what_is_no_environment_is_refused_at_once(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(rx.ReactorError, match=message):
        make()


def test_a_spec_an_id_and_settings_are_taken() -> None:
    spec = gym.spec("CartPole-v1")
    assert rl.Env(spec, max_episode_steps=2).makers[0]().spec.max_episode_steps == 2
    assert rl.Env("Blackjack-v1", sab=True).observation.dtype is not None
    lines = watched(rl.Env("FrozenLake-v1", num_envs=2, is_slippery=False), 9, lambda n: np.full(2, 2))
    assert lines[3]["info"][0]["prob"] == 1.0


def test_nothing_is_made_where_the_spaces_are_known() -> None:
    env = rl.Env(Line, make="too dear", observation_space=Line.observation_space, action_space=Line.action_space)
    assert env.observation.shape == (2,)


def test_a_program_is_the_same_on_any_number_of_workers() -> None:
    def program() -> Watched:
        return Watched(rl.Env("CartPole-v1", num_envs=2), lambda n: np.array([n % 2, 1]))

    def outcome(main: Watched) -> Any:
        return [[line["observation"], line.get("reward"), line.get("episode")] for line in main.log.lines]

    assert_deterministic(program, outcome=outcome, workers=(2,), fast=True, timeout="60 us")


class Door(Line):
    closed: list[int] = []  # noqa: RUF012

    def close(self) -> None:
        self.closed.append(1)


def test_environments_are_closed() -> None:
    Door.closed.clear()
    watched(rl.Env(Door, num_envs=3, seed=1), 2, lambda n: np.ones(3, int))
    assert len(Door.closed) == 4  # one was asked for its spaces


def test_a_look_at_the_spaces_leaves_what_a_local_class_carries_as_it_is() -> None:
    closed: list[int] = []

    class Local(Line):
        def close(self) -> None:
            closed.append(1)

    watched(rl.Env(Local, num_envs=3, seed=1), 2, lambda n: np.ones(3, int))
    assert len(closed) == 3
