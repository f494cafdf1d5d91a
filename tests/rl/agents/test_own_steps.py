"""Own steps are those that one who knows a single agent, or a single group, would write down."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from reactors import rl
from reactors.errors import ParameterError
from reactors.rl.dataflow.agents.experience import TeamExperience
from reactors.rl.envs.agents.cast import Team
from reactors.rl.replay.own_steps import OwnSteps
from tests.rl.agents.comers import Comers
from tests.rl.agents.test_losses import played

JOINT = np.dtype(
    [
        ("obs", "f4", (3, 2)), ("action", "i8", (3,)), ("next_obs", "f4", (3, 2)), ("rewards", "f4", (3,)),
        *((name, "?", (3,)) for name in ("acted", "next_acted", "terminations", "truncations")), ("reward", "f4"),
        ("terminated", "?"), ("truncated", "?"),
    ],
    align=True,
)  # fmt: skip


def invented(rng: np.random.Generator, steps: int, environments: int) -> Any:
    """Rows whose agents wait, act next to others, and end at random."""
    rows = np.zeros((steps, environments), JOINT)
    for name in ("obs", "next_obs", "rewards", "reward"):
        rows[name] = rng.normal(size=rows[name].shape)
    rows["action"] = rng.integers(9, size=rows["action"].shape)
    rows["acted"] = rng.random(rows["acted"].shape) < 0.5
    for t in range(steps - 1):
        rows["next_acted"][t] = rows["acted"][t + 1]
    for name, share in (("terminations", 0.1), ("truncations", 0.1)):
        rows[name] = rng.random(rows[name].shape) < share
    rows["truncations"] &= ~rows["terminations"]
    rows["terminated"] = rng.random((steps, environments)) < 0.1
    rows["truncated"] = (rng.random((steps, environments)) < 0.1) & ~rows["terminated"]
    return rows


def of_one(rows: Any, e: int, i: int) -> list[dict[str, Any]]:
    """What agent i did in environment e, step by step."""
    found: list[dict[str, Any]] = []
    step: dict[str, Any] | None = None
    for row in rows[:, e]:
        if row["acted"][i]:
            step = {"obs": row["obs"][i], "action": row["action"][i], "reward": np.float32(0), "agent": i}
        if step is None:
            continue
        step["reward"] += row["rewards"][i]
        if row["next_acted"][i] or row["terminations"][i] or row["truncations"][i]:
            ends = {"terminated": row["terminations"][i], "truncated": row["truncations"][i]}
            known = row["next_acted"][i] or row["terminations"][i]
            found.append({**step, **ends, "next_obs": row["next_obs"][i] if known else step["obs"]})
            step = None
    return found


def of_all(rows: Any, e: int) -> list[dict[str, Any]]:
    """What all did in environment e: where none acts, what is given is of the step before."""
    found: list[dict[str, Any]] = []
    step: dict[str, Any] | None = None
    dead: Any = False
    for row in rows[:, e]:
        if row["acted"].any():
            step = {**{name: row[name] for name in ("obs", "action", "acted")}, "reward": np.float32(0)}
        if step is None:
            continue
        step["reward"] += row["reward"]
        dead = row["terminations"] if row["acted"].any() else dead | row["terminations"]
        if row["next_acted"].any() or row["terminated"] or row["truncated"]:
            last = {name: row[name] for name in ("next_obs", "next_acted", "terminated", "truncated")}
            if row["truncated"] and not row["next_acted"].any():
                last |= {"next_obs": step["obs"], "next_acted": step["acted"] & ~dead}  # the dead do not go on
            found.append({**step, **last})
            step = None
    return found


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_steps_are_those_of_one_after_the_other(seed: int, apart: bool) -> None:
    rows = invented(np.random.default_rng(seed), 23, 4)
    cut = OwnSteps(JOINT, 4, apart=apart)
    parts = []
    for some in np.split(rows, [5, 6, 15]):  # rounds, between which steps wait, and a checkpoint
        parts.append(cut.add(some))
        state = cut.state_dict()
        cut = OwnSteps(JOINT, 4, apart=apart)
        cut.load_state_dict(state)
    kept, streams = (np.concatenate(each) for each in zip(*parts, strict=True))
    assert 0 < len(kept) < rows["acted"].sum()
    for stream in range(12 if apart else 4):
        mine = kept[streams == stream]
        wanted = of_one(rows, stream // 3, stream % 3) if apart else of_all(rows, stream)
        assert len(mine) == len(wanted)
        for found, step in zip(mine, wanted, strict=True):
            for name, value in step.items():
                np.testing.assert_array_equal(found[name], value)


def test_who_died_does_not_go_on_where_the_others_are_broken_off_while_they_wait() -> None:
    rows = np.zeros((2, 1), JOINT)
    rows["acted"][0], rows["terminations"][0, :, 0], rows["truncated"][1] = True, True, True
    kept, _ = OwnSteps(JOINT, 1, apart=False).add(rows)
    assert kept["next_acted"].tolist() == [[False, True, True]]


def test_what_is_played_says_who_acts_next() -> None:
    from reactors import rl

    _, _, rows = played(rl.IPPO(num_envs=3, horizon=40, hidden=(4,)), lambda: Comers(4, masked=True), 1)
    over = (rows["terminated"] | rows["truncated"])[:-1, :, None]
    assert over.any()
    acts, broken_off = rows["acted"][1:], rows["truncations"][:-1] & rows["acted"][:-1]
    np.testing.assert_array_equal(rows["next_acted"][:-1], np.where(over, broken_off, acts))
    going = acts & ~over
    for name in ("obs", "masks"):
        np.testing.assert_array_equal(rows[f"next_{name}"][:-1][going], rows[name][1:][going])


@pytest.mark.parametrize(
    ("kind", "kept"), [(rl.IDQN, {1.0, -0.5}), (rl.ISAC, {1.0, -0.5}), (rl.VDN, {1.0}), (rl.QMIX, {1.0})]
)
def test_rewards_are_clipped_of_each_agent_or_of_the_group_that_learns_from_their_sum(
    kind: Any, kept: set[float]
) -> None:
    box = gym.spaces.Box(-1, 1, (2,), np.float32)
    actions: Any = box if kind is rl.ISAC else gym.spaces.Discrete(2)
    team: Any = Team("all", (0, 1), ("a", "b"), box, box)
    algorithm = kind(num_envs=1, horizon=1, capacity=50, batch_size=4, reward_clip=1.0)
    experience = TeamExperience(algorithm, team, actions, 1)
    rows: Any = np.zeros((1, 1), team.experience(actions, {}))
    rows["acted"], rows["next_acted"], rows["rewards"], rows["reward"] = True, True, [3, -0.5], 2.5
    experience.keep(rows)
    with experience.buffer as buffer:
        assert {*buffer.sample(64).reward.tolist()} == kept


@pytest.mark.parametrize("recurrent", [False, True])
def test_a_memory_that_cannot_hold_a_round_is_refused_before_the_run(recurrent: bool) -> None:
    """Two environments, 25 steps, three agents."""
    algorithm = rl.IDQN(
        num_envs=2,
        horizon=25,
        batch_size=1,
        learning_starts=50,
        sequence=4,
        burn_in=1,
        recurrent=recurrent,
        capacity=140,
    )
    with pytest.raises(
        ParameterError, match=r"is 140 of agents' own steps, but a round may have .*, 2[58] of each of 6; let"
    ):
        rl.train(algorithm, "mpe2:simple_spread_v3", total_steps=50)
