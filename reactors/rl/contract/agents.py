"""What does the dataflow need of an algorithm for many agents?

It is an algorithm whose observation space is a `Team`: agents with the same spaces that share a network. A policy acts
for all agents of the team that are present, one row each. It learns from joint transitions (`Team.experience`). A
program has one learner for each team; `Company` joins their policies to one.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import gymnasium as gym
import numpy as np

from reactors.errors import ArgumentError, ParameterError
from reactors.rl.contract.algorithm import Algorithm, Policy
from reactors.rl.contract.recurrent import RecurrentPolicy
from reactors.rl.envs.agents.cast import Cast, Team, width
from reactors.rl.envs.agents.observed import ObservedByAgents
from reactors.rl.envs.spaces import array_type, is_frames, reader
from reactors.rl.replay.sequences import MEMORY, STATE

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from numpy.typing import NDArray

    from reactors.rl.envs.spaces import Space

    Memories = NDArray[np.float32]  # (environments, agents, width); zeros where an episode begins

Groups: TypeAlias = Mapping[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class MultiAgent(Algorithm):
    """Hyperparameters of algorithms for many agents."""

    central: ClassVar[bool] = False
    """Whether it learns from the state of the environment, or without one from the joint observations of all agents."""
    together: ClassVar[bool] = False
    """If it learns by replay: whether it learns from the joint steps of a group, or from each agent's own steps."""

    groups: Groups = None
    """Agents by the names of their groups, each a tuple of names or patterns: {"good": ("agent_*",)}. A group has a
    learner. By default all agents are one, named "agents"."""
    share: Literal["group"] | None = "group"
    """"group": one network for all agents of a group. None: each agent is a group, with a network and a learner of its
    own; not beside `groups`. Sharing is usual (Gupta et al., 2017)."""
    agent_ids: bool = True
    """Let a network that several share see which of them it acts for, one-hot behind a vector. As Yu et al., 2022."""

    def __post_init__(self) -> None:
        """Also refuse invalid groups."""
        super().__post_init__()
        said = f"groups of {type(self).__name__}"
        given: Any = self.groups
        if given is None:
            return
        if not isinstance(given, Mapping) or not given:
            raise ArgumentError(f'{said} is {given!r}; write a dict, as in {{"good": ("agent_*",)}}')
        for name, patterns in given.items():
            listed = isinstance(patterns, list | tuple) and all(isinstance(each, str) for each in patterns)
            if not isinstance(name, str) or not name or "/" in name or not listed or not patterns:
                raise ArgumentError(
                    f"{said} has {name!r}: {patterns!r}; let it be a name without '/', and a tuple of names or "
                    'patterns, as in "good": ("agent_*",), or on the command line "good": ["agent_*"]'
                )
        if self.share is None:
            raise ArgumentError(
                f"{said} is {given!r}, and share is None, by which each agent is a group of its own; leave out one of "
                "the two, or write a group for each agent that is to have a network of its own"
            )

    def check(self, observation_space: Any, action_space: Any) -> None:
        """Refuse invalid groups and spaces: of all teams for a `Cast`, of the team itself for a `Team`."""
        if isinstance(observation_space, Team):
            self.check_team(observation_space, action_space)
            return
        if self.central and observation_space.state is None and any(map(is_frames, observation_space.observations)):
            raise ParameterError(
                f"{self.name} needs the state of the environment, which has no state(); the observations of all agents "
                "cannot take its place, because they are frames. Give the environment a state(), or take an algorithm "
                "that needs none, such as rl.IPPO"
            )
        for team in self.teams(observation_space):
            self.check_team(team, actions_of(observation_space, team))

    def check_team(self, team: Team, action_space: Space) -> None:
        """Refuse spaces of a team that it cannot take; by default as for a single agent.

        Discrete observations are allowed, too: networks see them one-hot.
        """
        seen = team.observation_space
        if isinstance(seen, gym.spaces.Discrete):
            seen = gym.spaces.Box(0, 1, (width(seen),), np.float32)
        elif not isinstance(seen, gym.spaces.Box):
            raise ParameterError(
                f"group {team.name!r}: {self.name} takes observations of a Box or a Discrete space, and those of "
                f"{team.agents[0]!r} are {seen}; make vectors of them with a wrapper"
            )
        try:
            super().check(seen, action_space)
        except ParameterError as error:
            raise ParameterError(f"group {team.name!r}: {error}") from None

    def teams(self, cast: Cast) -> tuple[Team, ...]:
        """The groups, each of which has its own network."""
        own = "share" not in self.without
        return cast.teams(self.groups, apart=self.share is None, own=own, central=self.central, path=self.name)

    def alike(self, cast: Cast) -> bool:
        """Whether all agents may have the same task, so that their returns can be compared.

        Agents with different spaces have different tasks, and who names groups says that theirs differ.
        """
        kinds = [*zip(cast.observations, cast.actions, strict=True)]
        return self.groups is None and all(each == kinds[0] for each in kinds)

    def remembered(self, action_space: Space) -> dict[str, Any]:
        """As for a single agent, except for the name of the recurrent state."""
        found = super().remembered(action_space)
        return {MEMORY if name == STATE else name: kind for name, kind in found.items()}

    def policy(self, observation_space: Any, action_space: Any) -> Policy:
        """The policy for a `Team`, or for all agents of a `Cast`."""
        if isinstance(observation_space, Cast):
            teams = self.teams(observation_space)
            policies = [self.policy(team, actions_of(observation_space, team)) for team in teams]
            return Company(observation_space, teams, policies, alike=self.alike(observation_space))
        return self.team_policy(observation_space, action_space)

    def team_policy(self, team: Team, action_space: Space) -> Policy:
        """The policy for a team: its observations are records, as described by `Team.seen`."""
        raise NotImplementedError


def actions_of(cast: Cast, team: Team) -> Space:
    """The action space of each agent of a team."""
    return cast.actions[team.members[0]]


class Company(Policy):
    """The policies of all teams as one policy; its weights are theirs, concatenated.

    `greedy_of` takes and returns dicts by agent, as a step of the environment does; each observation comes with its
    action mask, or None. If a policy is recurrent, the caller keeps the `memories`, as `fresh` makes them. `alike` is
    that of `MultiAgent`.
    """

    def __init__(self, cast: Cast, teams: Sequence[Team], policies: Sequence[Policy], *, alike: bool) -> None:
        self.cast, self.teams, self.policies, self.alike = cast, tuple(teams), tuple(policies), alike
        self.size = sum(policy.size for policy in policies)

    def load(self, weights: NDArray[np.float32]) -> None:
        """Take new weights for all policies."""
        at = 0
        for policy in self.policies:
            policy.load(weights[at : at + policy.size])
            at += policy.size

    def act(
        self, observations: Any, rng: np.random.Generator, steps: int
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """Not available: teams act one by one."""
        raise NotImplementedError("teams act one by one")

    def greedy(self, observations: Any) -> Any:
        """The greedy actions for batches of observations (n, ...) by agent; a dict of actions (n, ...) by agent.

        A batch may be a dict with an `action_mask` (n, actions), and each agent may have another n. Raises as
        `ObservedByAgents.batches`, and `ArgumentError` if a policy is recurrent.
        """
        if any(isinstance(policy, RecurrentPolicy) for policy in self.policies):
            raise ArgumentError(
                "policy.greedy of recurrent agents has no states of episodes; call what rl.train or rl.load returned "
                "with one observation of each agent, or serve it by rl.serve with sessions"
            )
        seen = ObservedByAgents(self.cast).batches(observations, "policy.greedy")
        rows: list[dict[Any, Any]] = [{} for _ in range(max(map(len, seen.values()), default=0))]
        for agent, batch in seen.items():
            for row, each in zip(rows, batch, strict=False):
                row[agent] = each
        found, actions = self.greedy_of(rows), {}
        for agent, batch in seen.items():
            where: Any = array_type(self.cast.actions[self.cast.agents.index(agent)])
            chosen = [row[agent] for row in found[: len(batch)]]
            actions[agent] = np.array(chosen, where.dtype).reshape(-1, *where.shape)
        return actions

    def fresh(self, n: int) -> list[Memories | None]:
        """The initial recurrent states of each team for n episodes; None for a team whose policy is not recurrent."""
        return [memories_of(policy, team, n) for team, policy in zip(self.teams, self.policies, strict=True)]

    def greedy_of(
        self, observations: Sequence[Mapping[Any, Any]], memories: Sequence[Memories | None] | None = None
    ) -> list[dict[Any, Any]]:
        """The greedy actions in several environments, each a dict of (observation, mask) by present agent."""
        found: list[dict[Any, Any]] = [{} for _ in observations]
        known = self.fresh(len(observations)) if memories is None else memories
        for team, policy, mine in zip(self.teams, self.policies, known, strict=True):
            act_for(self.cast, team, observations, partial(by_memory, mine, policy.greedy), found)
        return [{agent: actions[agent] for agent in seen} for actions, seen in zip(found, observations, strict=True)]


def act_for(
    cast: Cast,
    team: Team,
    observations: Sequence[Mapping[Any, Any]],
    choose: Callable[[NDArray[Any]], NDArray[Any]],
    found: Sequence[dict[Any, Any]],
) -> None:
    """Choose the actions of a team's present agents with `choose`, and put them into `found`, as in `greedy_of`."""
    seen, where = team_rows(cast, team, observations)
    if len(seen):
        taken = reader(actions_of(cast, team)) or copy
        for (env, agent), action in zip(where, choose(seen), strict=True):
            found[env][agent] = taken(action)


def sides_of(teams: Sequence[Team]) -> list[tuple[int, list[int]]]:
    """The sides that can play against all others: each team, or each agent if there is only one team.

    For each side: the index of its team, and its agents' places in the cast.
    """
    if len(teams) == 1:
        return [(0, [member]) for member in teams[0].members]
    return [(i, list(team.members)) for i, team in enumerate(teams)]


def memories_of(policy: Policy, team: Team, n: int) -> Memories | None:
    """The initial states of a team's agents in n episodes: float32 (n, agents, width); None if not recurrent."""
    if not isinstance(policy, RecurrentPolicy):
        return None
    agents = len(team.members)
    return policy.fresh(n * agents).reshape(n, agents, policy.width)


def by_memory(memories: Memories | None, choose: Callable[..., Any], seen: NDArray[Any]) -> Any:
    """Call `choose` with the records `seen` and, if recurrent, with their states from `memories`, which it updates."""
    if memories is None:
        return choose(seen)
    where = seen["env"], seen["agent"]
    states = memories[where]
    found = choose(seen, states)
    memories[where] = states
    return found


def forget_those(memories: Memories | None, cast: Cast, team: Team, env: int, agents: Container[Any] | None) -> None:
    """Reset the memories of these agents of a team in an environment; by default of all agents."""
    if memories is not None:
        memories[env, [agents is None or cast.agents[i] in agents for i in team.members]] = 0


class PlayingTogether:
    """Greedy actions in n environments; keeps the recurrent states of the agents, if there are any.

    An agent's state is reset when its episode begins, and when it comes back after its end.
    """

    def __init__(self, company: Company, n: int) -> None:
        self.company, self.memories = company, company.fresh(n)

    def __call__(self, observations: Sequence[Mapping[Any, Any]]) -> list[dict[Any, Any]]:
        """The same as `Company.greedy_of`."""
        return self.company.greedy_of(observations, self.memories)

    def ended(self, env: int, agents: Container[Any] | None = None) -> None:
        """Reset the states of these agents in an environment; by default of all agents."""
        for team, mine in zip(self.company.teams, self.memories, strict=True):
            forget_those(mine, self.company.cast, team, env, agents)


def team_rows(
    cast: Cast, team: Team, observations: Sequence[Mapping[Any, Any]]
) -> tuple[NDArray[Any], list[tuple[int, Any]]]:
    """A team's present agents in several environments: records to act on, and (environment, agent) of each."""
    where = [
        (env, j, cast.agents[i])
        for env, seen in enumerate(observations)
        for j, i in enumerate(team.members)
        if cast.agents[i] in seen
    ]
    rows = np.zeros(len(where), team.seen(actions_of(cast, team)))
    for row, (env, j, agent) in zip(rows, where, strict=True):
        observation, mask = observations[env][agent]
        row["obs"], row["agent"], row["env"] = observation, j, env
        if team.masked:
            row["mask"] = True if mask is None else mask
    return rows, [(env, agent) for env, _, agent in where]
