"""Requests of many agents: each is answered by the policy of its group, as where that is evaluated."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import reactors as rx
from reactors import rl
from reactors.errors import ArgumentError, ValueMismatchError
from reactors.rl.envs.agents.masks import seen_by
from reactors.rl.envs.agents.sources import cast_of
from reactors.rl.envs.agents.turns import simulation_of
from reactors.rl.errors import NotFiniteError
from tests.rl.agents.comers import Comers
from tests.rl.serving.test_serving import WAYS, during, settled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SMALL: dict[str, Any] = {"num_envs": 2, "horizon": 8, "epochs": 1, "hidden": (8,), "batch_size": 16}
GROUPS: dict[str, Any] = {"groups": {"a": ("a_*",), "b": ("b_*",)}}
ISAC: dict[str, Any] = {
    "num_envs": 2, "horizon": 8, "hidden": (8,), "batch_size": 16, "learning_starts": 16, "capacity": 500,
    "updates_per_step": 0.25,
}  # fmt: skip


def mixed() -> Any:
    return Comers(4, kinds=2, masked=True)


def trained(algorithm: Any = None, env: Any = mixed, **options: Any) -> Any:
    return rl.train(algorithm or rl.MAPPO(**SMALL, **GROUPS), env, total_steps=64, seed=1, **options)


def asking(source: Any, clients: Callable[[Any], object], way: dict[str, Any] = WAYS[0], **options: Any) -> Any:
    """Runs a server of this, while `clients` ask it."""
    main: Any = rx.Reactor()
    main.server = rl.serve(source, stoppable=True, **options)
    assert during(main, way, lambda: clients(main.server)) is None
    return main.server


def episode(make: Callable[[], Any]) -> list[dict[Any, Any]]:
    """What agents see, with their masks, in the steps of an episode of arbitrary actions that are allowed."""
    simulation, cast, found = simulation_of(make, seed=3), cast_of(make, "main"), []
    simulation.reset()
    while simulation.episode is None:
        seen = seen_by(simulation, cast)
        found.append(seen)
        space = simulation.env.action_space
        simulation.step(
            {agent: space(agent).sample() if mask is None else int(mask.argmax()) for agent, (_, mask) in seen.items()}
        )
    simulation.close()
    return found


def as_pettingzoo(seen: Any) -> Any:
    observation, mask = seen
    return observation if mask is None else {"observation": observation, "action_mask": mask}


@pytest.mark.parametrize("way", [WAYS[0], WAYS[-1]], ids=["one worker", "two processes"])
@pytest.mark.parametrize(
    ("algorithm", "env"),
    [
        (rl.MAPPO(**SMALL, **GROUPS), mixed),
        (rl.ISAC(**ISAC, share=None), "mpe2:simple_spread_v3"),
        (rl.IPPO(**SMALL), "classic/tictactoe_v3"),
    ],
    ids=["groups", "continuous", "turns"],
)
def test_answers_are_those_of_the_policy_bit_for_bit(algorithm: Any, env: Any, way: Any) -> None:
    done = trained(algorithm, env, env_kwargs={"continuous_actions": True} if algorithm.name == "ISAC" else {})
    steps = episode(done.make)
    found: list[Any] = []

    def ask(server: Any) -> None:
        for seen in steps:  # a step of the environment is a batch
            futures = [server.request(as_pettingzoo(each), agent=agent) for agent, each in seen.items()]
            found.append(dict(zip(seen, settled(futures), strict=True)))

    most = max(map(len, steps))
    server = asking(done, ask, way, max_batch=most, max_wait="50 ms")
    for seen, answers in zip(steps, found, strict=True):
        wanted = done({agent: as_pettingzoo(each) for agent, each in seen.items()})
        assert {agent: np.asarray(x).tobytes() for agent, x in answers.items()} == {
            agent: np.asarray(x).tobytes() for agent, x in wanted.items()
        }
    assert server.statistics().largest == most


def test_a_batch_is_one_call_of_each_group_in_it() -> None:
    done = trained()
    server = rl.serve(done, max_batch=6, max_wait="1 h", stoppable=True)
    calls: list[tuple[str, list[int]]] = []
    company: Any = server.policy
    for team, policy in zip(company.teams, company.policies, strict=True):

        def counted(rows: Any, name: str = team.name, greedy: Any = policy.greedy) -> Any:
            calls.append((name, rows["agent"].tolist()))
            return greedy(rows)

        policy.greedy = counted
    main: Any = rx.Reactor()
    main.server = server

    def ask() -> None:
        seen = {"a": np.zeros(3), "b": np.zeros(4)}
        for names in (["a_0", "b_1", "a_2", "a_0", "b_3", "a_2"], ["b_3"] * 6):
            assert len(settled([server.request(seen[name[0]], agent=name) for name in names])) == 6

    assert during(main, WAYS[0], ask) is None
    assert calls == [("a", [0, 1, 0, 1]), ("b", [0, 1]), ("b", [1] * 6)]


def test_each_agent_remembers_its_own_episode_in_each_session() -> None:
    done = trained(rl.IPPO(**SMALL, recurrent=8, sequence=8), lambda: Comers(3))
    steps = np.random.default_rng(0).normal(size=(12, 3, 3)).astype(np.float32) * 9
    names = done.spaces[0].agents
    answers: dict[str, list[Any]] = {"one": [], "two": []}

    def ask(server: Any) -> None:
        for t, step in enumerate(steps):
            for session, each in answers.items():
                rows = step if session == "one" else -step
                futures = [
                    server.request(row, agent=name, session=session, first=t == 6)
                    for name, row in zip(names, rows, strict=True)
                ]
                each.append(settled(futures))

    asking(done, ask, max_batch=3, max_wait="50 ms")
    for session, sign in (("one", 1), ("two", -1)):
        wanted = []
        for t, step in enumerate(steps):
            if t in (0, 6):
                done.reset()
            wanted.append([*done(dict(zip(names, sign * step, strict=True))).values()])
        assert answers[session] == wanted
    main = rl.serve(done)
    with pytest.raises(ArgumentError, match="answers by a policy that remembers, and session of its request is None"):
        main.request(steps[0, 0], agent=names[0])


@pytest.mark.parametrize(
    ("agent", "observation", "error", "message"),
    [
        (None, [0, 0, 0], ArgumentError, r"answers for many agents; .*agent='a_0'\); there are 'a_0', 'b_1', 'a_2'"),
        ("a_9", [0, 0, 0], ArgumentError, "has no agent 'a_9'; there are 'a_0', 'b_1', 'a_2', 'b_3'"),
        ("a_0", [0, 0, 0, 0], ValueMismatchError, r"agent 'a_0' of main.server takes observations of shape \(3,\)"),
        ("b_1", [0, 0, 0], ValueMismatchError, r"agent 'b_1' of main.server takes observations of shape \(4,\)"),
        ("a_0", [0, np.nan, 0], NotFiniteError, "agent 'a_0' of main.server was given .* not finite"),
        (
            "a_0",
            {"observation": [0, 0, 0], "action_mask": [1, 0]},
            ValueMismatchError,
            r"was given an action_mask of shape \(2,\) and dtype int64; make it of shape \(3,\)",
        ),
        (
            "a_0",
            {"observation": [0, 0, 0], "action_mask": [0, 0, 0]},
            ValueMismatchError,
            "agent 'a_0' of main.server was given an action_mask that allows no action",
        ),
    ],
)
def test_what_no_agent_sees_is_refused_to_who_asked(agent: Any, observation: Any, error: Any, message: str) -> None:
    done = trained()

    def ask(server: Any) -> None:
        with pytest.raises(error, match=message):
            server.request(observation, agent=agent)
        assert server.request([0, 0, 0], agent="a_0").result(5) in range(3)

    assert asking(done, ask).statistics().refused == 1
    if agent is not None:
        with pytest.raises(error, match=message.replace("main.server", "the policy of MAPPO")):
            done({agent: observation})


def test_of_many_agents_a_message_names_some() -> None:
    done = trained(rl.IPPO(**SMALL), lambda: Comers(12))
    server = rl.serve(done)
    with pytest.raises(ArgumentError, match=r"there are 'a_0', .*'a_7' and 4 others"):
        server.request([0, 0, 0])
    with pytest.raises(ArgumentError, match="has no agent 'a11'; did you mean 'a_11'"):
        server.request([0, 0, 0], agent="a11")
    with pytest.raises(ArgumentError, match=r"takes a dict of observations by agent, .* and was given list"):
        done([0, 0, 0])


def test_a_single_agent_has_no_name() -> None:
    done = rl.train(rl.PPO(num_envs=2, horizon=8, epochs=1, batch_size=16), "CartPole-v1", total_steps=16)
    with pytest.raises(ArgumentError, match="answers for a single agent, and was given agent='a'; leave it out"):
        rl.serve(done).request([0, 0, 0, 0], agent="a")
    with pytest.raises(ArgumentError, match=r"observation_space of rl.serve is of a single agent, and these are many"):
        rl.serve(trained().policy, observation_space=done.spaces[0])


@pytest.mark.usefixtures("bare_runs")
def test_runs_policies_and_checkpoints_are_served(tmp_path: Path) -> None:
    algorithm = rl.MAPPO(**SMALL, groups={"adversary": ("adversary_*",), "good": ("agent_*",)})
    rl.train(
        algorithm, "mpe2:simple_tag_v3", total_steps=96, seed=1, out=tmp_path / "run", checkpoint_every=3, workers=1
    )
    early, late = sorted((tmp_path / "run" / "checkpoints").iterdir())
    whole = rl.load(tmp_path / "run")
    before = rl.load(early)
    assert (before.weights != whole.weights).any()
    np.testing.assert_array_equal(rl.load(late).weights, whole.weights)
    rng = np.random.default_rng(0)
    seen = {agent: 9 * rng.normal(size=16).astype(np.float32) for agent in whole.spaces[0].agents[:3]}

    def answers(source: Any) -> Any:
        found: list[Any] = []
        asking(source, lambda server: found.extend(settled([server.request(x, agent=a) for a, x in seen.items()])))
        return dict(zip(seen, found, strict=True))

    for source, wanted in ((tmp_path / "run", whole), (whole.policy, whole), (early, before)):
        assert answers(source) == wanted(seen)


# ---- beside training ----


@pytest.mark.parametrize(("backend", "options"), [("thread", {}), ("process", {"mode": "pipelined", "workers": 2})])
def test_a_server_beside_training_gets_the_weights_of_all_groups_and_changes_none(backend: Any, options: Any) -> None:
    algorithm = rl.MAPPO(**SMALL, **GROUPS)
    server = rl.serve(algorithm, env=mixed, max_batch=2, max_wait=0)
    answers: list[int] = []

    def client() -> None:
        assert server.wait(20)
        try:
            while True:
                answers.append(server.request(np.zeros(4), agent="b_3").result(20))
        except rl.NotServingError:
            return

    thread = threading.Thread(target=client)
    thread.start()
    done = trained(algorithm, backend=backend, serve=server, **options)
    thread.join()
    assert done.digest == trained(algorithm, **options).digest
    assert server.updates == 4
    assert set(answers) <= {*range(4)}
    assert server.statistics().answered == len(answers) > 0


@pytest.mark.usefixtures("bare_runs")
def test_a_run_that_goes_on_serves_the_weights_that_it_had(tmp_path: Path) -> None:
    algorithm = rl.MAPPO(**SMALL, groups={"adversary": ("adversary_*",), "good": ("agent_*",)})
    env = "mpe2:simple_tag_v3"
    before = rl.train(algorithm, env, total_steps=32, seed=1, out=tmp_path)
    server = rl.serve(algorithm, env=env)
    loaded: list[Any] = []
    load = server.policy.load
    server.policy.load = lambda weights: (loaded.append(weights.copy()), load(weights))[1]
    done = rl.train(algorithm, env, total_steps=64, seed=1, resume=tmp_path, serve=server, backend="thread")
    np.testing.assert_array_equal(loaded[0], before.weights)
    np.testing.assert_array_equal(loaded[-1], done.weights)
    assert done.digest == rl.train(algorithm, env, total_steps=64, seed=1).digest


def test_a_server_of_other_groups_is_refused() -> None:
    turned = rl.serve(rl.MAPPO(**SMALL, groups={"b": ("b_*",), "a": ("a_*",)}), env=mixed)
    with pytest.raises(
        ArgumentError, match=r"has the groups \[\('b', .*but MAPPO learns \[\('a', \('a_0', 'a_2'\)\), .*; write"
    ):
        trained(serve=turned)


def test_a_policy_of_many_agents_takes_a_batch_of_each() -> None:
    """Its actions are those that single observations get, and masks hold; batches may differ in length."""
    done = trained()
    rng = np.random.default_rng(0)
    seen = {"b_1": rng.normal(size=(5, 4)), "a_0": rng.normal(size=(3, 3)), "a_2": np.zeros((0, 3))}
    masks = np.eye(4)[[0, 1, 2, 3, 1]]
    found = done.policy.greedy({**seen, "b_1": {"observation": seen["b_1"], "action_mask": masks}})
    assert [*found] == ["b_1", "a_0", "a_2"]
    assert found["b_1"].tolist() == [0, 1, 2, 3, 1]
    assert found["a_0"].tolist() == [done({"a_0": each})["a_0"] for each in seen["a_0"]]
    assert found["a_2"].shape == (0,)
    continuous = trained(rl.ISAC(**ISAC), "mpe2:simple_spread_v3", env_kwargs={"continuous_actions": True})
    (agent, *_), (space, *_) = continuous.spaces[0].agents, continuous.spaces[0].observations
    actions = continuous.policy.greedy({agent: np.stack([space.sample() for _ in range(4)])})[agent]
    assert actions.shape == (4, 5)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([1], r"policy\.greedy takes a dict of observations by agent"),
        ({"a_7": np.zeros((2, 3))}, r"policy\.greedy has no agent 'a_7'; there are 'a_0'"),
        ({"a_0": np.zeros(3)}, r"takes a batch of observations, of shape \(n, 3\), and was given one of shape \(3,\);"),
        ({"a_0": np.zeros((2, 4))}, r"agent 'a_0' of policy\.greedy takes observations of shape \(3,\)"),
        (
            {"a_0": {"observation": np.zeros((2, 3)), "action_mask": np.ones(3)}},
            r"shape \(2, 3\), with masks of shape \(3,\); write a row for each observation, and for its mask",
        ),
    ],
)
def test_what_is_no_batch_of_many_agents_is_refused(given: Any, said: str) -> None:
    policy = rl.MAPPO(**SMALL, **GROUPS).policy(cast_of(mixed, "main"), None)
    with pytest.raises((ArgumentError, ValueMismatchError), match=said):
        policy.greedy(given)


def test_a_batch_of_agents_that_remember_is_refused() -> None:
    policy: Any = rl.IPPO(**SMALL, **GROUPS, recurrent=4, sequence=4).policy(cast_of(mixed, "main"), None)
    with pytest.raises(ArgumentError, match=r"recurrent agents has no states of episodes; call what rl\.train"):
        policy.greedy({"a_0": np.zeros((2, 3))})
    done = trained()
    with pytest.raises(ValueMismatchError, match=r"of a batch, policy\.greedy gives all actions"):
        done({"a_0": np.zeros((2, 3))})
