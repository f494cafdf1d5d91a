"""`rl.check_algorithm` looks at every group, and `rl.train` at the policy of each before anything runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reactors import rl
from reactors.errors import ArgumentError
from reactors.rl.algorithms.agents.idqn import IDQNLearning, TeamEpsilonGreedy
from tests.rl.agents.comers import Comers

pytestmark = pytest.mark.usefixtures("bare_runs")
SMALL: dict[str, Any] = {"num_envs": 2, "horizon": 8, "hidden": (8,)}
GROUPS: dict[str, Any] = {"groups": {"a": ("a_*",), "b": ("b_*",)}}


def mixed() -> Any:
    return Comers(4, kinds=2, masked=True)


@pytest.mark.parametrize(
    "algorithm",
    [
        rl.MAPPO(**SMALL, **GROUPS, epochs=2), rl.IDQN(**SMALL, **GROUPS, batch_size=8),
        rl.QMIX(**SMALL, **GROUPS, batch_size=8, prioritized=True),
    ],
    ids=lambda each: each.name,
)  # fmt: skip
def test_algorithms_for_many_agents_keep_the_contract(algorithm: Any) -> None:
    report = rl.check_algorithm(algorithm, mixed, rounds=4)
    assert len(report.rules) == 3
    assert [note.partition(":")[0] for note in report.notes] == ["runs that go on were not compared"]


def test_runs_that_go_on_are_compared_where_environments_tell_their_state() -> None:
    report = rl.check_algorithm(rl.VDN(**SMALL, batch_size=8), "mpe2:simple_spread_v3", rounds=4)
    assert len(report.rules) == 4
    assert not report.notes


def test_a_policy_that_forgets_an_agent_is_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TeamEpsilonGreedy, "act", lambda _, seen, rng, steps: (np.zeros(len(seen) - 1, np.int64), {}))
    with pytest.raises(ArgumentError, match=r"TeamEpsilonGreedy.act gave actions of shape \(3,\) for 4 observations"):
        rl.train(rl.IDQN(**SMALL, **GROUPS, learning_starts=8), mixed, total_steps=32, actors=1)


def test_draws_that_others_share_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = IDQNLearning.learn

    def learn(self: Any, batch: Any) -> Any:
        np.random.rand()  # noqa: NPY002 - what is to be found
        return (yield from plain(self, batch))

    monkeypatch.setattr(IDQNLearning, "learn", learn)
    with pytest.raises(AssertionError, match=r"IDQNLearning.learn\(\) of IDQN draws from NumPy's np.random"):
        rl.check_algorithm(rl.IDQN(**SMALL, **GROUPS), mixed)


def test_a_group_that_learns_nothing_is_named() -> None:
    report = rl.check_algorithm(rl.IDQN(**SMALL, **GROUPS, learning_rate=1e-30), mixed, rounds=4)
    assert [note.partition(":")[0] for note in report.notes[:-1]] == ["group 'a'", "group 'b'"]
