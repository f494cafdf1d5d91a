"""Action masks that come late, of some agents, sometimes, or that are none."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest

from reactors import rl
from reactors.errors import ParameterError, ReactionError, ValueMismatchError
from reactors.rl.dataflow.agents.acting import TeamActing
from reactors.rl.dataflow.agents.rollout import AgentsRollout
from reactors.rl.envs.agents.masks import seen_by
from reactors.rl.envs.agents.sources import cast_of
from reactors.rl.envs.agents.turns import simulation_of

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL: dict[str, Any] = {"num_envs": 2, "horizon": 8, "hidden": (8,), "batch_size": 8}
ALGORITHMS = [rl.IPPO(**SMALL, epochs=1), rl.IDQN(**SMALL, learning_starts=8)]
BOX, THREE = gym.spaces.Box(-9, 9, (2,), np.float32), gym.spaces.Discrete(3)
WITH_MASK = gym.spaces.Dict(observation=BOX, action_mask=gym.spaces.MultiBinary(3))
FIRST = [1, 0, 0]


class Masking(pettingzoo.ParallelEnv[Any, Any, Any]):
    """Agents a and b see the step, for four steps; `mask(agent, step)` is what infos say, None that they say nothing.

    With `seen`, observations of agent a have the mask.
    """

    metadata: dict[str, Any] = {"name": "masking"}  # noqa: RUF012 - as PettingZoo has it

    def __init__(self, mask: Callable[[str, int], Any], actions: Any = THREE, seen: Any = None) -> None:
        self.mask, self.actions, self.seen = mask, actions, seen
        self.possible_agents = ["a", "b"]
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> Any:
        return self.seen if self.seen is not None and agent == "a" else BOX

    def action_space(self, agent: str) -> Any:
        return self.actions

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.at, self.agents = 0, ["a", "b"]
        return self.told()

    def told(self) -> Any:
        self.masks = {agent: mask for agent in "ab" if (mask := self.mask(agent, self.at)) is not None}
        observations: dict[str, Any] = {agent: np.full(2, self.at, np.float32) for agent in "ab"}
        infos: dict[str, Any] = {agent: {"action_mask": mask} for agent, mask in self.masks.items()}
        if self.seen is not None and "a" in infos:
            observations["a"] = {"observation": observations["a"], **infos.pop("a")}
        return observations, infos

    def step(self, actions: Any) -> Any:
        assert all(np.ravel(mask)[actions[agent]] for agent, mask in self.masks.items())
        self.at += 1
        observations, infos = self.told()
        if self.at == 4:
            self.agents = []
        told = [dict.fromkeys("ab", each) for each in (1.0, False, self.at == 4)]
        return observations, *told, infos


def late(_: str, at: int) -> Any:
    return FIRST if at >= 2 else None


def of_some(agent: str, _: int) -> Any:
    return FIRST if agent == "a" else None


def sometimes(_: str, at: int) -> Any:
    return FIRST if at % 2 == 0 else None


def nothing(_: str, at: int) -> Any:
    return [at < 2, False, False]


def nothing_at_the_end(_: str, at: int) -> Any:
    return [at < 4, 0, 0]


def narrow(_: str, at: int) -> Any:
    return [1] * (3 if at < 2 else 1)


def always(given: Any, *_: Any) -> Any:
    return given


def trained(algorithm: Any, make: Any, workers: int = 1, **options: Any) -> Any:
    return rl.train(
        algorithm, make, total_steps=64, seed=1, workers=workers, backend="thread" if workers == 1 else "process",
        **options,
    )  # fmt: skip


def played(algorithm: Any, make: Any) -> Any:
    """The rows of a first round."""
    cast = cast_of(make, "main")
    rollout = AgentsRollout(algorithm, make, 2, 0, cast)
    rollout.open(0, "main")
    (team,) = algorithm.teams(cast)
    acting = TeamActing(algorithm, cast, [np.zeros(algorithm.policy(team, THREE).size, np.float32)])
    acting.open(np.random.default_rng(0), 2)
    rows = np.zeros(rollout.shape, rollout.dtypes[0])
    rollout.play(acting, [rows], 0)
    rollout.close()
    return rows


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda each: each.name)
@pytest.mark.parametrize(
    "make",
    [
        partial(Masking, of_some), partial(Masking, sometimes), partial(Masking, nothing_at_the_end),
        partial(Masking, of_some, seen=WITH_MASK),
    ],
    ids=["some", "sometimes", "nothing_at_the_end", "seen"],
)  # fmt: skip
def test_who_has_no_mask_may_do_all(algorithm: Any, make: Any) -> None:
    runs = [trained(algorithm, make, workers, eval_every=4) for workers in (1, 2)]
    assert runs[0].digest == runs[1].digest
    assert np.isfinite(runs[0].weights).all()


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda each: each.name)
@pytest.mark.parametrize("last", [FIRST, [0, 0, 0]])
def test_a_mask_of_the_end_does_not_hold_for_the_beginning(algorithm: Any, last: Any) -> None:
    make = partial(Masking, lambda agent, at: (None, FIRST, FIRST, FIRST, last)[at] if agent == "b" else [1, 1, 1])
    rows = played(algorithm, make)
    began = rows["obs"][..., 1, 0] == 0
    assert rows["masks"][:, :, 1][began].all()
    assert not rows["masks"][:, :, 1][~began][:, 1:].any()


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda each: each.name)
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("mask", "said"),
    [
        (
            late,
            r"agent 'a' has an action_mask, and no agent had one when .* first reset.*; let infos of reset have one",
        ),
        (nothing, r"the action_mask of agent 'a' allows nothing, and it has to act; let it allow an action"),
        (narrow, r"the action_mask of agent 'a' is of shape \(1,\) .*; make it of shape \(3,\)"),
    ],
    ids=["late", "nothing", "narrow"],
)
def test_masks_that_are_none_end_the_run(algorithm: Any, workers: int, mask: Any, said: str) -> None:
    with pytest.raises(ReactionError, match=rf"main.actors\[\d\]: environment \d \(seed \d+, .*\): {said}"):
        trained(algorithm, partial(Masking, mask), workers)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (partial(Masking, partial(always, [1])), r"of shape \(1,\) and dtype int64; make it of shape \(3,\)"),
        (
            partial(Masking, partial(always, [0.0, -np.inf, 0.0])),
            r"of shape \(3,\) and dtype float64 and values \[0.0, -inf, 0.0\]; make it",
        ),
        (
            partial(Masking, partial(always, [5, -1, 0])),
            r"of shape \(3,\) and dtype int64 and values \[5, -1, 0\]; make it",
        ),
        (
            partial(Masking, partial(always, ["y", "", ""])),
            r"of shape \(3,\) and dtype <U1 and values \['y', '', ''\]; make it",
        ),
        (partial(Masking, partial(always, [1, 1]), actions=BOX), "for actions that are Box.*; leave it out"),
        (partial(Masking, of_some, seen=BOX), "in its observation, whose space is Box.*; let that be a Dict of"),
    ],
    ids=["shape", "values", "numbers", "dtype", "continuous", "undeclared"],
)
def test_masks_that_are_none_at_reset_are_refused_before_anything_runs(make: Any, said: str) -> None:
    for algorithm in ALGORITHMS:
        with pytest.raises(ParameterError, match=f"rl.train: the action_mask of agent 'a' is {said}"):
            trained(algorithm, make)


@pytest.mark.parametrize("mask", [late, nothing, narrow])
def test_those_that_only_act_refuse_them_too(mask: Any) -> None:
    make = partial(Masking, mask)
    cast, simulation = cast_of(make, "main"), simulation_of(make, turns=False, seed=1)
    simulation.reset()
    for _ in range(2):
        seen = seen_by(simulation, cast)
        simulation.step(dict.fromkeys(seen, 0))
    with pytest.raises(rl.SimulationError, match="agent 'a'"):
        seen_by(simulation, cast)


@pytest.mark.parametrize("mask", [nothing, narrow])
def test_rows_of_environments_refuse_them_too(mask: Any) -> None:
    envs = rl.MultiAgentVectorEnv(partial(Masking, mask), num_envs=1)
    envs.reset(seed=1)
    envs.step(np.zeros((1, 2), np.int64))
    with pytest.raises(rl.SimulationError, match=r"environment 0 .*: the action_mask of agent 'a'"):
        envs.step(np.zeros((1, 2), np.int64))
    envs.close()


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda each: each.name)
def test_a_policy_that_was_trained_without_masks_refuses_one(algorithm: Any) -> None:
    done = trained(algorithm, partial(Masking, lambda agent, step: None))
    masked = {"observation": np.zeros(2), "action_mask": FIRST}
    with pytest.raises(ValueMismatchError, match=r"agent 'a' .* an action_mask, but the policy was trained without"):
        done({"a": masked})


class Leaving(Masking):
    """Agent b is truncated after two steps, alone."""

    def step(self, actions: Any) -> Any:
        there = self.agents
        observations, rewards, terminated, truncated, infos = super().step(actions)
        truncated["b"] = self.at in (2, 4)
        self.agents = [agent for agent in self.agents if agent == "a" or self.at < 2]
        self.masks = {agent: self.masks[agent] for agent in self.agents}
        return *(
            {agent: each[agent] for agent in there} for each in (observations, rewards, terminated, truncated)
        ), infos


@pytest.mark.parametrize("make", [Masking, Leaving])
def test_masks_of_what_follows_a_truncation_are_those_of_infos(make: Any) -> None:
    def make_one() -> Any:
        return make(lambda agent, at: [1, at % 2, agent == "b"])

    rows = played(rl.IDQN(**SMALL), make_one)
    *_, agents = where = rows["truncations"].nonzero()
    assert {*agents.tolist()} == {0, 1}
    np.testing.assert_array_equal(rows["next_masks"][where], [[True, False, j == 1] for j in agents])  # at even steps
