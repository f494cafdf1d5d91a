"""What is an algorithm for many agents, to the dataflow that trains it?

One like others, whose observation space is a `Team`: agents with the same spaces, that share a network. A policy acts
for all of them that are there, row by row; what is learned from are joint transitions (`Team.experience`). A program
has a learner for each team, and here is what makes one policy of theirs.
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
from reactors.rl.envs.spaces import is_frames, reader
from reactors.rl.replay.sequences import MEMORY, STATE

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from numpy.typing import NDArray

    from reactors.rl.envs.spaces import Space

    Memories = NDArray[np.float32]  # (environments, agents, width); those of episodes that begin are zeros

Groups: TypeAlias = Mapping[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class MultiAgent(Algorithm):
    """Hyperparameters of algorithms for many agents."""

    central: ClassVar[bool] = False
    """Whether it learns from the state of the environment, or from what all see together where that has none."""
    together: ClassVar[bool] = False
    """Of one that learns by replay: whether it learns from what a group does together, or from each agent's steps."""

    groups: Groups = None
    """Agents by the names of their groups, each a tuple of names or patterns: {"good": ("agent_*",)}. A group has a
    learner. By default all agents are one, named "agents"."""
    share: Literal["group"] | None = "group"
    """"group": one network for all agents of a group. None: each agent is a group, with a network and a learner of its
    own. Sharing is usual (Gupta et al., 2017)."""
    agent_ids: bool = True
    """Let a network that several share see which of them it acts for, one-hot behind a vector. As Yu et al., 2022."""

    def __post_init__(self) -> None:
        """Also refuse groups that are none."""
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
                    'patterns, as in "good": ("agent_*",)'
                )

    def check(self, observation_space: Any, action_space: Any) -> None:
        """Refuse groups and spaces that cannot be; of a `Cast` those of all teams, of a `Team` its own."""
        if isinstance(observation_space, Team):
            self.check_team(observation_space, action_space)
            return
        if self.central and observation_space.state is None and any(map(is_frames, observation_space.observations)):
            raise ParameterError(
                f"{self.name} sees the state of the environment, which has no state(), so that it would be the frames "
                "of all agents, joined; give the environment one, or take an algorithm without, such as rl.IPPO"
            )
        for team in self.teams(observation_space):
            self.check_team(team, actions_of(observation_space, team))

    def check_team(self, team: Team, action_space: Space) -> None:
        """Refuse spaces of a team that it cannot take; by default as of a single agent, but for Discrete observations.

        Networks see those one-hot.
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
        """The groups that have a network each."""
        return cast.teams(self.groups, apart=self.share is None, central=self.central, path=self.name)

    def remembered(self, action_space: Space) -> dict[str, Any]:
        """As of a single agent, but for the name of what a policy remembers of an episode."""
        found = super().remembered(action_space)
        return {MEMORY if name == STATE else name: kind for name, kind in found.items()}

    def policy(self, observation_space: Any, action_space: Any) -> Policy:
        """Of a `Team`, what acts for it; of a `Cast`, what acts for all."""
        if isinstance(observation_space, Cast):
            teams = self.teams(observation_space)
            return Company(observation_space, teams, [self.policy(t, actions_of(observation_space, t)) for t in teams])
        return self.team_policy(observation_space, action_space)

    def team_policy(self, team: Team, action_space: Space) -> Policy:
        """What acts for a team: its observations are records, as `Team.seen` has them."""
        raise NotImplementedError


def actions_of(cast: Cast, team: Team) -> Space:
    """The action space of each agent of a team."""
    return cast.actions[team.members[0]]


class Company(Policy):
    """The policies of all teams, with the weights of one behind those of the other.

    `greedy_of` takes and gives what a step of the environment has, by agent; what one sees is with its mask, or None.
    Who plays keeps `memories`, as `fresh` makes them, if a policy is recurrent.
    """

    def __init__(self, cast: Cast, teams: Sequence[Team], policies: Sequence[Policy]) -> None:
        self.cast, self.teams, self.policies = cast, tuple(teams), tuple(policies)
        self.size = sum(policy.size for policy in policies)

    def load(self, weights: NDArray[np.float32]) -> None:
        """Take on the weights of all."""
        at = 0
        for policy in self.policies:
            policy.load(weights[at : at + policy.size])
            at += policy.size

    def act(
        self, observations: Any, rng: np.random.Generator, steps: int
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """Teams act one by one."""
        raise NotImplementedError("teams act one by one")

    def greedy(self, observations: Any) -> Any:
        """As `greedy_of`."""
        return self.greedy_of(observations)

    def fresh(self, n: int) -> list[Memories | None]:
        """What agents of each team remember in n episodes that begin; None of a team that remembers nothing."""
        return [memories_of(policy, team, n) for team, policy in zip(self.teams, self.policies, strict=True)]

    def greedy_of(
        self, observations: Sequence[Mapping[Any, Any]], memories: Sequence[Memories | None] | None = None
    ) -> list[dict[Any, Any]]:
        """The best actions in several environments, each with (observation, mask) of those that are there, by agent."""
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
    """Let `choose` give the actions of those of a team that are there, and put them into `found`, as `greedy_of`."""
    seen, where = team_rows(cast, team, observations)
    if len(seen):
        taken = reader(actions_of(cast, team)) or copy
        for (env, agent), action in zip(where, choose(seen), strict=True):
            found[env][agent] = taken(action)


def sides_of(teams: Sequence[Team]) -> list[tuple[int, list[int]]]:
    """Who may play against all others: each team, or of one team that is all there is each of its agents.

    A team, and who of the cast is on this side.
    """
    if len(teams) == 1:
        return [(0, [member]) for member in teams[0].members]
    return [(i, list(team.members)) for i, team in enumerate(teams)]


def memories_of(policy: Policy, team: Team, n: int) -> Memories | None:
    """What agents of a team remember in n episodes that begin: float32 (n, agents, width), if they remember."""
    if not isinstance(policy, RecurrentPolicy):
        return None
    agents = len(team.members)
    return policy.fresh(n * agents).reshape(n, agents, policy.width)


def by_memory(memories: Memories | None, choose: Callable[..., Any], seen: NDArray[Any]) -> Any:
    """What `choose` makes of records, and of the states of those who have `seen` them, which go on in `memories`."""
    if memories is None:
        return choose(seen)
    where = seen["env"], seen["agent"]
    states = memories[where]
    found = choose(seen, states)
    memories[where] = states
    return found


def forget_those(memories: Memories | None, cast: Cast, team: Team, env: int, agents: Container[Any] | None) -> None:
    """What these agents of a team remember in an environment; by default all do."""
    if memories is not None:
        memories[env, [agents is None or cast.agents[i] in agents for i in team.members]] = 0


class PlayingTogether:
    """Greedy actions in n environments; what agents remember there is kept here, if they do.

    An agent begins with nothing where the episode does, and where it comes again after its end.
    """

    def __init__(self, company: Company, n: int) -> None:
        self.company, self.memories = company, company.fresh(n)

    def __call__(self, observations: Sequence[Mapping[Any, Any]]) -> list[dict[Any, Any]]:
        """As `Company.greedy_of`."""
        return self.company.greedy_of(observations, self.memories)

    def ended(self, env: int, agents: Container[Any] | None = None) -> None:
        """Forget the episodes of these agents in an environment; by default of all."""
        for team, mine in zip(self.company.teams, self.memories, strict=True):
            forget_those(mine, self.company.cast, team, env, agents)


def team_rows(
    cast: Cast, team: Team, observations: Sequence[Mapping[Any, Any]]
) -> tuple[NDArray[Any], list[tuple[int, Any]]]:
    """Of several environments, those of a team that are there: records to act on, and (environment, agent) of each."""
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
            row["mask"] = True if mask is None else np.asarray(mask, bool)
    return rows, [(env, agent) for env, _, agent in where]
