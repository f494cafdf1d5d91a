"""Who is in which group, and what is said where that cannot be."""

from __future__ import annotations

import pytest

from reactors import rl
from reactors.errors import ArgumentError, ParameterError
from reactors.rl.envs.agents.sources import agents_maker, cast_of
from tests.rl.agents.comers import Comers

MIXED = cast_of(lambda: Comers(4, kinds=2), "main")


def test_groups_go_by_patterns_of_names() -> None:
    tag = cast_of(agents_maker("mpe2:simple_tag_v3", {}, "main"), "main")
    teams = rl.IPPO(groups={"good": ("agent_*",), "adversary": ("adversary_*",)}).teams(tag)
    assert [(team.name, team.agents) for team in teams] == [
        ("good", ("agent_0",)), ("adversary", ("adversary_0", "adversary_1", "adversary_2"))
    ]  # fmt: skip
    assert [team.name for team in rl.IPPO(share=None).teams(MIXED)] == ["a_0", "b_1", "a_2", "b_3"]


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        (None, r"group 'agents' of IPPO: observations of 'b_1' are Box\(.*and of 'a_0' Box.*write groups="),
        ({"all": ("a_*", "b_*")}, "group 'all' of IPPO: observations of 'b_1'"),
        ({"a": ("a_*",)}, "'b_1', 'b_3' are in no group of IPPO; add a group, or a pattern"),
        ({"a": ("a_*",), "b": ("*",)}, "agent 'a_0' is in two groups of IPPO, 'a' and 'b'"),
        ({"a": ("a_7",), "b": ("b_*",)}, "group 'a' of IPPO is 'a_7', which is the name of no agent"),
    ],
)
def test_what_is_no_group_is_refused(groups: object, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        rl.IPPO(groups=groups).teams(MIXED)  # type: ignore[arg-type]


@pytest.mark.parametrize("groups", [{}, ["a"], {"a": "a_*"}, {"a": ()}, {"a/b": ("a",)}, {"a": (1,)}])
def test_what_says_no_groups_is_refused(groups: object) -> None:
    with pytest.raises(ArgumentError, match="groups of IPPO"):
        rl.IPPO(groups=groups)  # type: ignore[arg-type]


def test_a_single_agent_is_refused() -> None:
    import gymnasium as gym

    with pytest.raises(ParameterError, match=r"has a single agent, and many are wanted; take rl.PPO"):
        rl.train(rl.IPPO(), lambda: gym.make("CartPole-v1"), total_steps=8)


def test_agents_that_are_not_known_before_are_refused_by_name() -> None:
    examples = pytest.importorskip("pettingzoo.test.example_envs")
    made = examples.generated_agents_parallel_v0.parallel_env  # whose agents are made up as it goes
    with pytest.raises(ParameterError, match=r"MultiAgentEnv: .* without possible_agents, and each agent has ports"):
        rl.MultiAgentEnv(made)
    with pytest.raises(ParameterError, match=r"rl\.train: .* without possible_agents, so that no one knows"):
        rl.train(rl.IPPO(num_envs=2, horizon=8, epochs=1), made, total_steps=16)


def test_own_networks_for_all_and_groups_are_refused_together() -> None:
    """Either would make the other do nothing."""
    with pytest.raises(ArgumentError, match=r"groups of IPPO is .*, and share is None, by which .*; leave out one of"):
        rl.IPPO(share=None, groups={"a": ("a_*",), "b": ("b_*",)})
    groups = {"a": ("a_*",), "b_1": ("b_1",), "b_3": ("b_3",)}  # some share, others do not
    assert [team.agents for team in rl.IPPO(groups=groups).teams(MIXED)] == [("a_0", "a_2"), ("b_1",), ("b_3",)]
