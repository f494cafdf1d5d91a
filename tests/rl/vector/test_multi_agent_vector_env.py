"""rl.MultiAgentVectorEnv is a plain loop over PettingZoo's environments, on any number of workers."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded

import reactors as rx
from reactors import rl
from reactors.rl.envs.simulation import seed_of
from tests.rl.agents.comers import Comers
from tests.rl.agents.rewriting import Rewriting

if TYPE_CHECKING:
    from collections.abc import Iterator


class Telling(Comers):
    """Comers that have a state, and that say something."""

    def state(self) -> Any:
        return np.array([[self.at, len(self.agents)]], np.int64)

    def told(self) -> Any:
        observations, infos = super().told()
        for agent in self.agents[:1]:
            infos[agent]["at"] = self.at
        return observations, infos

    def step(self, actions: Any) -> Any:
        observations, rewards, terminated, truncated, infos = super().step(actions)
        for agent, dead in terminated.items():
            if dead:
                infos[agent] = {"died": self.at}
        return observations, rewards, terminated, truncated, infos


def chosen(masks: dict[str, Any], t: int) -> dict[str, Any]:
    """One of the actions that are allowed, of each agent in each environment."""
    return {
        agent: np.array([np.flatnonzero(row)[(t + e) % row.sum()] for e, row in enumerate(mask)])
        for agent, mask in masks.items()
    }


def plainly(makers: list[Any], seed: int, steps: int) -> Iterator[dict[str, Any]]:
    """What happens in each step, by PettingZoo's own interface, one environment after the other."""
    envs = [make() for make in makers]
    agents = envs[0].possible_agents
    told = [env.reset(seed=seed + e) for e, env in enumerate(envs)]
    yield {"told": told, "present": [[agent in env.agents for agent in agents] for env in envs]}
    for t in range(steps):
        found: dict[str, Any] = {
            name: np.zeros((len(envs), len(agents)), kind)
            for name, kind in (("rewards", float), ("terminated", bool), ("truncated", bool), ("present", bool))
        }
        found |= {"ended": [], "led_to": [], "state": [], "next_state": [], "final_info": {}}
        for e, env in enumerate(envs):
            actions = {}
            for agent in env.agents:
                mask = told[e][1][agent]["action_mask"].astype(bool)
                actions[agent] = np.flatnonzero(mask)[(t + e) % mask.sum()]
            observations, rewards, terminated, truncated, infos = env.step(actions)
            for agent in actions:
                i = agents.index(agent)
                found["rewards"][e, i] = rewards[agent]
                found["terminated"][e, i], found["truncated"][e, i] = terminated[agent], truncated[agent]
                if agent not in env.agents and infos.get(agent):
                    found["final_info"].setdefault(e, {})[agent] = infos[agent]
            found["led_to"].append({agent: observations[agent] for agent in actions})
            found["next_state"].append(env.state().ravel())
            found["ended"].append(not env.agents)
            told[e] = env.reset() if not env.agents else (observations, infos)
            found["state"].append(env.state().ravel())
            found["present"][e] = [agent in env.agents for agent in agents]
        yield {**found, "told": [*told]}


def same_observations(block: dict[str, Any], told: list[dict[str, Any]], who: Any) -> None:
    for agent, values in block.items():
        for e, row in enumerate(values):
            np.testing.assert_array_equal(row, told[e][agent] if who(e, agent) else np.zeros_like(row))


def by_agent(agents: Any, block: Any) -> dict[str, Any]:
    """Values as a dict of arrays by agent, also those of agents that are alike."""
    return block if isinstance(block, dict) else {agent: block[:, i] for i, agent in enumerate(agents)}


@pytest.mark.parametrize(("workers", "kinds"), [(1, 1), (1, 2), (2, 2), (3, 2)])
def test_agents_die_and_come_as_in_a_plain_loop(workers: int, kinds: int) -> None:
    makers = [partial(Telling, 4, 5 + i, masked=True, kinds=kinds) for i in range(4)]
    envs = rl.MultiAgentVectorEnv(makers, workers=workers, oversubscribe=True, with_state=True)
    first, *steps = plainly(makers, 7, 25)
    observations, infos = envs.reset(seed=7)
    place = {agent: i for i, agent in enumerate(envs.agents)}
    np.testing.assert_array_equal(infos["present"], first["present"])
    ends = 0
    for t, expected in enumerate(steps):
        masks = by_agent(envs.agents, infos["action_mask"])
        observations, rewards, terminated, truncated, infos = envs.step(chosen(masks, t))
        observations, after = (by_agent(envs.agents, x) for x in (observations, infos["next_observations"]))
        for name, values in (("rewards", rewards), ("terminated", terminated), ("truncated", truncated)):
            np.testing.assert_array_equal(values, expected[name])
        for name in ("present", "ended", "state", "next_state"):
            np.testing.assert_array_equal(infos[name], expected[name])
        there, led_to = infos["present"], expected["led_to"]
        same_observations(observations, [told for told, _ in expected["told"]], lambda e, a: there[e, place[a]])  # noqa: B023
        same_observations(after, led_to, lambda e, agent: agent in led_to[e])  # noqa: B023
        assert infos["final_info"] == expected["final_info"]
        assert infos["info"] == {
            e: {agent: {"at": info["at"]} for agent, info in told[1].items() if "at" in info}
            for e, told in enumerate(expected["told"])
        }
        assert [episode.env for episode in infos["episodes"]] == [*np.flatnonzero(infos["ended"])]
        np.testing.assert_array_equal(envs.state(), infos["state"])
        ends += int(infos["ended"].sum())
    assert ends > 8
    assert infos["restarted"] == {}
    envs.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_game_of_turns_is_as_in_a_plain_loop(workers: int) -> None:
    envs = rl.MultiAgentVectorEnv("classic/tictactoe_v3", num_envs=3, workers=workers)
    _, infos = envs.reset(seed=1)
    plain: list[Any] = [pettingzoo.make("aec", "classic/tictactoe_v3") for _ in range(3)]
    for e, env in enumerate(plain):
        env.reset(seed=1 + e)
    ends = 0
    for t in range(30):
        free = [np.flatnonzero(mask.all(0)) for mask in infos["action_mask"]]
        choice = [int(fields[(3 * t + e) % len(fields)]) for e, fields in enumerate(free)]
        observations, rewards, terminated, truncated, infos = envs.step(np.array([[x, x] for x in choice]))
        for e, env in enumerate(plain):
            env.step(choice[e])
            for i, agent in enumerate(envs.agents):
                assert rewards[e, i] == env.rewards[agent]
                assert terminated[e, i] == env.terminations[agent]
                np.testing.assert_array_equal(infos["next_observations"][e, i], env.observe(agent)["observation"])
            over = all(env.terminations.values())
            assert infos["ended"][e] == over
            ends += over
            if over:
                env.reset()
            turn = envs.agents.index(env.agent_selection)
            assert infos["present"][e].tolist() == [i == turn for i in range(2)]
            seen = env.observe(env.agent_selection)
            np.testing.assert_array_equal(observations[e, turn], seen["observation"])
            np.testing.assert_array_equal(observations[e, 1 - turn], np.zeros_like(seen["observation"]))
            np.testing.assert_array_equal(infos["action_mask"][e, turn], seen["action_mask"])
            assert infos["action_mask"][e, 1 - turn].all()
        assert not truncated.any()
    assert ends > 5
    envs.close()


def everything(workers: int, **options: Any) -> list[Any]:
    envs = rl.MultiAgentVectorEnv(
        "mpe2:simple_tag_v3", num_envs=4, workers=workers, oversubscribe=True, max_cycles=6, with_state=True, **options
    )
    rng, found = np.random.default_rng(0), [envs.reset(seed=[3, 1, 4, 1])]
    found += [envs.step(rng.integers(5, size=(4, 4))) for _ in range(15)]  # type: ignore[misc]
    envs.close()
    return found


def test_it_is_the_same_on_any_number_of_workers_bit_for_bit() -> None:
    one = everything(1)
    for others in ({"workers": 2}, {"workers": 4}, {"workers": 1, "isolate": True}):
        np.testing.assert_equal(everything(**others), one)  # type: ignore[arg-type]


def test_arrays_are_the_callers_own() -> None:
    envs = rl.MultiAgentVectorEnv("mpe2:simple_spread_v3", num_envs=2, workers=2)
    first, infos = envs.reset(seed=1)
    kept, there = first.copy(), infos["present"]
    actions = np.ones((2, 3), np.int32)
    second, *_ = envs.step(actions)
    actions[:] = 99
    np.testing.assert_array_equal(first, kept)
    assert second.flags.c_contiguous
    assert second.flags.writeable
    assert there.base is None
    envs.close()


class Backwards(Comers):
    """Comers that list themselves the other way round."""

    def show(self) -> None:
        super().show()
        self.agents.reverse()


class Reusing(Backwards):
    """They write all that they see into one array, for good, which all environments share."""

    told_in = np.zeros((3, 3), np.float32)

    def seen(self, agent: str) -> Any:
        row = self.told_in[self.possible_agents.index(agent)]
        row[:] = super().seen(agent)
        return row


def test_what_environments_write_over_is_kept_at_the_place_of_its_agent() -> None:
    given = []
    for make in (Backwards, Reusing):
        envs = rl.MultiAgentVectorEnv(make, num_envs=3, workers=1)
        steps = [envs.reset(seed=2), *(envs.step(np.full((3, 3), t % 3))[::4] for t in range(12))]
        given.append([observations for observations, _ in steps])
        for observations, infos in steps:
            np.testing.assert_array_equal(observations[..., 1], [0, 1, 2] * infos["present"])
        envs.close()
    np.testing.assert_array_equal(*given)


@pytest.mark.parametrize("workers", [1, 2])
def test_what_environments_write_over_in_tuples_and_infos_stays_as_it_was_told(workers: int) -> None:
    envs = rl.MultiAgentVectorEnv(Rewriting, num_envs=2, workers=workers)
    envs.reset(seed=1)
    said = [envs.step(np.zeros((2, 1), int))[-1] for _ in range(4)]
    envs.close()
    assert [infos["next_observations"][0].ravel().tolist() for infos in said] == [[n] * 2 for n in (1, 2, 3, 1)]
    told, last = ([infos[name] for infos in said] for name in ("info", "final_info"))
    assert told == [{e: {"a": {"at": np.array([n])}} for e in range(2)} for n in (1, 2, 0, 1)]
    assert last == [{}, {}, {e: {"a": {"at": np.array([3])}} for e in range(2)}, {}]


class Parts(pettingzoo.ParallelEnv[Any, Any, Any]):
    """Two agents that see and do things of several parts, and are told back what they did."""

    metadata: dict[str, Any] = {"name": "parts"}  # noqa: RUF012 - as PettingZoo has it
    possible_agents = ["a", "b"]  # noqa: RUF012 - likewise
    spaces = gym.spaces.Dict({"at": gym.spaces.Box(-9, 9, (2,), np.float32), "hand": gym.spaces.Discrete(3, start=1)})

    def observation_space(self, agent: Any) -> Any:
        return self.spaces

    def action_space(self, agent: Any) -> Any:
        return self.spaces

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.agents = ["a", "b"]
        seen: Any = {"at": np.zeros(2, np.float32), "hand": 1}
        return dict.fromkeys(self.agents, seen), {"a": {}, "b": {}}

    def step(self, actions: Any) -> Any:
        assert all(action in self.spaces for action in actions.values())
        nothing = dict.fromkeys(actions, False)
        return actions, dict.fromkeys(actions, 0.0), nothing, nothing, {"a": {}, "b": {}}


def test_spaces_of_several_parts_are_dicts_of_arrays() -> None:
    envs = rl.MultiAgentVectorEnv(Parts, num_envs=2, workers=1)
    observations, _ = envs.reset()
    assert observations["at"].shape == (2, 2, 2)
    given = {"at": np.array([[1, 2], [3, 4]], np.float32), "hand": np.array([1, 3])}
    observations, *_ = envs.step({"a": given, "b": given})
    np.testing.assert_array_equal(observations["at"][:, 1], given["at"])
    assert observations["hand"].tolist() == [[1, 1], [3, 3]]
    envs.close()


# ---- what is refused ----


def test_each_kind_of_environment_names_the_class_for_it() -> None:
    with pytest.raises(rx.ParameterError, match=r"'mpe2:simple_spread_v3' has many agents, .* rl.MultiAgentVectorEnv"):
        rl.VectorEnv("mpe2:simple_spread_v3", num_envs=2)
    with pytest.raises(rx.ParameterError, match=r"the Comers that its function makes .* rl\.MultiAgentVectorEnv"):
        rl.VectorEnv(Comers, num_envs=2)  # type: ignore[arg-type]
    with pytest.raises(rx.ParameterError, match=r"'CartPole-v1' has a single agent, .* rl\.VectorEnv steps"):
        rl.MultiAgentVectorEnv("CartPole-v1", num_envs=2)
    with pytest.raises(rx.ParameterError, match=r"has a single agent, .* rl\.VectorEnv steps"):
        rl.MultiAgentVectorEnv(lambda: gym.make("CartPole-v1"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"num_envs": 0}, "num_envs of rl.MultiAgentVectorEnv is 0"),
        ({"workers": 0}, "workers of rl.MultiAgentVectorEnv is 0"),
        ({"on_error": "wait"}, "on_error of rl.MultiAgentVectorEnv is 'wait'"),
        ({"with_state": True}, r"has no state\(\); join the observations"),
    ],
)
def test_what_cannot_be_is_refused(given: Any, said: str) -> None:
    with pytest.raises(rx.ReactorError, match=said):
        rl.MultiAgentVectorEnv(Comers, **{"num_envs": 2, **given})


def test_environments_with_other_agents_are_refused() -> None:
    with pytest.raises(rx.ParameterError, match="environment 1 has other agents, or spaces of theirs"):
        rl.MultiAgentVectorEnv([Comers, partial(Comers, 2)], workers=1)
    with pytest.raises(rx.ParameterError, match="environment 1 has other agents, or spaces of theirs"):
        rl.MultiAgentVectorEnv([partial(Comers, kinds=2, n=1), partial(Parts)], workers=1)


def test_actions_that_are_none_are_refused_and_nothing_is_stepped() -> None:
    envs = rl.MultiAgentVectorEnv("mpe2:simple_spread_v3", num_envs=2, workers=1)
    with pytest.raises(ResetNeeded, match="call reset first"):
        envs.step(np.zeros((2, 3), int))
    before, _ = envs.reset(seed=1)
    none = np.zeros(2, int)
    for actions, said in (
        (np.zeros((3, 3), int), r"actions are of shape \(2, 3, ...\), .*is of shape \(3, 3\)"),
        (np.zeros((2, 3)), "actions of 'agent_0' are of int64, and step was given float64; convert them"),
        (np.zeros((2, 3, 1), int), r"actions of 'agent_0' are of shape \(2,\), and step was given \(2, 1\)"),
        ({"agent_0": none, "agent_1": none}, "no actions of 'agent_2', who is there in environment 0"),
        ({"agent_7": none}, "has no agent 'agent_7'; there are 'agent_0'"),
        (None, r"actions are of shape \(2, 3, ...\)"),
    ):
        with pytest.raises(rx.ArgumentError, match=said):
            envs.step(actions)
    assert envs.state().shape == (2, 54)
    np.testing.assert_array_equal(envs.reset(seed=1)[0], before)
    with pytest.raises(rx.ArgumentError, match="reset of environments cannot be called by name"):
        envs.call("reset")
    assert envs.call("unwrapped")[0] is not None
    envs.close()
    envs.close()
    with pytest.raises(ClosedEnvironmentError, match=r"after a call to `close\(\)`"):
        envs.reset()


# ---- environments that break ----


class Counting(Comers):
    """Comers that see a number, of two, which is a third one in their second step."""

    def observation_space(self, agent: str) -> Any:
        return gym.spaces.Discrete(2)

    def seen(self, agent: str) -> Any:
        return np.array(self.at)


def test_numbers_have_bounds_also_as_arrays() -> None:
    envs = rl.MultiAgentVectorEnv(Counting, num_envs=2, workers=1)
    envs.reset(seed=1)
    observations, *_, infos = envs.step(np.zeros((2, 3), int))
    np.testing.assert_array_equal(observations, infos["present"])
    with pytest.raises(rl.SimulationError, match=r"the observation of agent 'a_\d' is 2, which is not in 0 to 1"):
        envs.step(np.zeros((2, 3), int))


class Breaking(Comers):
    """Does something wrong at its third step, if it was seeded with 8."""

    def __init__(self, wrong: str = "raises") -> None:
        super().__init__(3, 9)
        self.wrong, self.seed, self.closed = wrong, 0, False

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.seed = self.seed if seed is None else seed
        if self.wrong == "reset" and seed == 8:
            raise KeyError("no start")
        return super().reset(seed)

    def step(self, actions: Any) -> Any:
        answer = super().step(actions)
        if self.seed != 8 or self.at != 3:
            return answer
        if self.wrong == "raises":
            raise ZeroDivisionError("bumped")
        if self.wrong == "dies":
            os._exit(3)
        if self.wrong == "sees":
            return {agent: np.zeros(7) for agent in answer[0]}, *answer[1:]
        if self.wrong == "mute":
            return *answer[:4], None
        self.agents.append("stranger")
        return {**answer[0], "stranger": np.zeros(3)}, *answer[1:]


class BreakingAloud(Breaking, Telling):
    """The same, and says something."""


def three_steps(envs: rl.MultiAgentVectorEnv) -> Any:
    envs.reset(seed=6)
    return [envs.step(np.zeros((4, 3), int)) for _ in range(3)][-1]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("raises", r"environment 2 \(seed 8, episode 0, step 3\) failed in step: ZeroDivisionError: bumped; fix it"),
        ("reset", r"environment 2 \(seed 8, episode 0, step 0\) "),
        (
            "sees",
            r"environment 2 \(seed 8, episode 0, step 3\) answered step wrongly: the observation of agent '._.' is an",
        ),
        ("comes", "agent 'stranger' is there, whom possible_agents does not list"),
    ],
)
def test_an_environment_that_breaks_is_named_with_its_seed(wrong: str, said: str, workers: int) -> None:
    envs = rl.MultiAgentVectorEnv(partial(Breaking, wrong), num_envs=4, workers=workers)
    with pytest.raises(rl.SimulationError, match=said) as caught:
        three_steps(envs)
    assert (caught.value.index, caught.value.seed) == (2, 8)
    with pytest.raises(ClosedEnvironmentError, match="which has ended with an error; make another one"):
        envs.reset()
    envs.close()


def test_infos_that_are_none_say_nothing() -> None:
    envs = rl.MultiAgentVectorEnv(partial(Breaking, "mute"), num_envs=4, workers=1)
    assert three_steps(envs)[-1]["info"] == {}
    envs.close()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("wrong", "said"), [("raises", "ZeroDivisionError: bumped"), ("sees", "of shape (7,)")])
def test_an_environment_that_breaks_is_made_again_and_its_agents_truncated(wrong: str, said: str, workers: int) -> None:
    envs = rl.MultiAgentVectorEnv(partial(Breaking, wrong), num_envs=4, workers=workers, on_error="restart")
    envs.reset(seed=6)
    envs.step(np.zeros((4, 3), int))
    before, _, _, _, infos = envs.step(np.zeros((4, 3), int))
    there = infos["present"][2]
    _, rewards, terminated, truncated, infos = envs.step(np.zeros((4, 3), int))
    np.testing.assert_array_equal(truncated[2], there)
    assert not terminated[2].any()
    assert not rewards[2].any()
    np.testing.assert_array_equal(infos["next_observations"][2], before[2])
    assert infos["ended"].tolist() == [False, False, True, False]
    assert infos["episodes"][0].failed
    assert said in infos["restarted"][2]
    assert envs.restarts == 1
    assert envs.call("seed") == (6, 7, seed_of(8, 1), 9)
    envs.close()


def test_a_process_that_dies_is_reported_or_all_are_made_again() -> None:
    envs = rl.MultiAgentVectorEnv(partial(Breaking, "dies"), num_envs=4, workers=2)
    with pytest.raises(rx.WorkerDied, match=r"rl.MultiAgentVectorEnv: .* in environment 2 \(seed 8\), ended with"):
        three_steps(envs)
    envs.close()
    envs = rl.MultiAgentVectorEnv(partial(BreakingAloud, "dies"), num_envs=4, workers=2, on_error="restart")
    _, rewards, terminated, truncated, infos = three_steps(envs)
    assert truncated.any(1).all()
    assert not terminated.any()
    assert not rewards.any()
    assert infos["ended"].all()
    assert sorted(infos["restarted"]) == [0, 1, 2, 3]
    assert infos["episodes"] == []  # how they went was known in the process alone
    assert {e: [*told.values()] for e, told in infos["info"].items()} == {e: [{"at": 0}] for e in range(4)}
    assert envs.restarts == 4
    envs.step(np.zeros((4, 3), int))
    envs.close()


def test_in_a_reaction_its_own_worker_steps_all() -> None:
    class Main(rx.Reactor):
        @rx.reaction(rx.startup)
        def play(self) -> None:
            self.found = everything(2)

    main = Main()
    rx.run(main, fast=True)
    np.testing.assert_equal(main.found, everything(1))
