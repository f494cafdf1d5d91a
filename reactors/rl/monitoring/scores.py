"""How well do groups play against opponents?"""

from __future__ import annotations

import statistics
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reactors.rl.contract.agents import (
    PlayingTogether,
    act_for,
    actions_of,
    by_memory,
    forget_those,
    memories_of,
    sides_of,
)
from reactors.rl.envs.simulation import seed_of
from reactors.rl.monitoring.aligned import aligned
from reactors.rl.monitoring.together import played

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from reactors.rl.contract.agents import Company, Memories
    from reactors.rl.envs.agents.cast import Cast, Team


class Choosing(NamedTuple):
    """How an opponent chooses actions for a team of its own, which need not be one of those that it plays against."""

    cast: Cast
    team: Team
    choose: Callable[..., NDArray[Any]]
    """Gets a generator, records of the present agents, as in `Team.seen`, and their states, if they are recurrent."""
    fresh: Callable[[int], Memories | None] = lambda _: None
    """The initial states of the agents for a number of episodes."""


class Score(NamedTuple):
    """The result of episodes of a group, which plays greedily, against an opponent, which plays as in training.

    An episode is won if the group's agents got more than all others, on average. Agents of named groups or with
    different spaces may have different tasks, whose returns say nothing about each other: then `won`, `drawn` and
    `lost` are None.
    """

    group: str
    opponent: str
    episodes: int
    won: int | None
    drawn: int | None
    lost: int | None
    mean_return: float  # of an agent of the group
    others_return: float  # of another agent


class Scores(list[Score]):
    """A `Score` for each group and opponent; it prints as a table.

    >>> print(Scores([Score("agents", "random", 10, 7, 1, 2, 0.5, -0.5)]))
    group   opponent  won  drawn  lost  return/agent  others/agent
    agents  random      7      1     2          0.50         -0.50
    """

    def __str__(self) -> str:
        """The table."""
        rows: list[tuple[str, ...]] = [("group", "opponent", "won", "drawn", "lost", "return/agent", "others/agent")]
        for each in self:
            counts = ("-" if x is None else str(x) for x in (each.won, each.drawn, each.lost))
            rows.append((each.group, each.opponent, *counts, f"{each.mean_return:.2f}", f"{each.others_return:.2f}"))
        return aligned(rows, words=2)


class Opposed:
    """Chooses greedily for the agents in `mine`, a set for each of n environments, and for others as an opponent does.

    As `PlayingTogether` it is called with what all see, and told whose episodes are over.
    """

    def __init__(
        self, company: Company, choosing: Sequence[Choosing], mine: Sequence[Container[Any]], seed: int
    ) -> None:
        self.choosing, self.mine, self.rng = choosing, mine, np.random.default_rng(seed)
        self.playing, self.memories = PlayingTogether(company, len(mine)), [x.fresh(len(mine)) for x in choosing]

    def __call__(self, seen: Sequence[Mapping[Any, Any]]) -> list[dict[Any, Any]]:
        """The actions of all who see something, by environment and agent."""
        own = [{a: x for a, x in each.items() if a in self.mine[i]} for i, each in enumerate(seen)]
        others = [{a: x for a, x in each.items() if a not in self.mine[i]} for i, each in enumerate(seen)]
        actions = self.playing(own)
        for each, known in zip(self.choosing, self.memories, strict=True):
            act_for(each.cast, each.team, others, partial(by_memory, known, partial(each.choose, self.rng)), actions)
        return actions

    def ended(self, env: int, agents: Container[Any] | None = None) -> None:
        """Reset the states of these agents in an environment; by default of all agents."""
        self.playing.ended(env, agents)
        for each, known in zip(self.choosing, self.memories, strict=True):
            forget_those(known, each.cast, each.team, env, agents)


class Match(NamedTuple):
    """Which side of a company plays against which opponent."""

    side: str
    mine: frozenset[Any]
    opponent: str
    choosing: Sequence[Choosing]


class Matches:
    """Each side of a company, a group or, of a single group, an agent, against all of these opponents, then the next.

    A match is `matches[episode]`, and `matches(episode)` plays it, as `watch_together` asks.
    """

    def __init__(self, company: Company, opponents: Mapping[str, Sequence[Choosing]], seed: int) -> None:
        self.company, self.seed = company, seed
        agents, alone = company.cast.agents, len(company.teams) == 1
        self.all = [
            Match(
                str(agents[members[0]]) if alone else company.teams[team].name, frozenset(agents[i] for i in members),
                name, choosing,
            )
            for team, members in sides_of(company.teams)
            for name, choosing in opponents.items()
        ]  # fmt: skip

    def __len__(self) -> int:
        """How many different ones there are."""
        return len(self.all)

    def __getitem__(self, episode: int) -> Match:
        """The match of an episode."""
        return self.all[episode % len(self.all)]

    def __call__(self, episode: int) -> Opposed:
        """Who plays in an episode."""
        match = self[episode]
        return Opposed(self.company, match.choosing, [match.mine], seed_of(self.seed, episode, 1))  # not the game's


def scores(
    company: Company, opponents: Mapping[str, Sequence[Choosing]], make: Callable[[], Any], episodes: int, seed: int
) -> Scores:
    """How well each group of the company plays against these opponents, each with all of its own teams."""
    sides: dict[str, list[list[int]]] = {}
    for team, members in sides_of(company.teams):
        sides.setdefault(company.teams[team].name, []).append(members)
    return Scores(
        _score(group, name, company.alike, _games(company, choosing, make, sides[group], episodes, seed))
        for group in sides
        for name, choosing in opponents.items()
    )


def _games(
    company: Company, choosing: Sequence[Choosing], make: Callable[[], Any], sides: Sequence[list[int]], episodes: int,
    seed: int,
) -> list[tuple[float, float]]:  # fmt: skip
    """Mean returns of a group's own agents and of the others in each episode; its sides take turns."""
    cast = company.cast
    mine = [{cast.agents[i] for i in sides[episode % len(sides)]} for episode in range(episodes)]
    playing, found = Opposed(company, choosing, mine, seed), []
    for i, episode in enumerate(played(cast, make, episodes, seed, playing)):
        returns = [*zip(cast.agents, episode.returns, strict=True)]
        own, others = ([x for agent, x in returns if (agent in mine[i]) is of_mine] for of_mine in (True, False))
        found.append((statistics.fmean(own), statistics.fmean(others)))
    return found


def _score(group: str, opponent: str, alike: bool, games: Sequence[tuple[float, float]]) -> Score:
    results: tuple[int | None, int | None, int | None] = None, None, None
    if alike:
        won, lost = sum(a > b for a, b in games), sum(a < b for a, b in games)
        results = won, len(games) - won - lost, lost
    means = [statistics.fmean(each) for each in zip(*games, strict=True)]
    return Score(group, opponent, len(games), *results, *means)


def by_chance(cast: Cast, teams: Iterable[Team]) -> list[Choosing]:
    """Random allowed actions, all with the same probability."""
    return [Choosing(cast, team, _any_action(actions_of(cast, team))) for team in teams]


def _any_action(space: Any) -> Callable[..., NDArray[Any]]:
    def choose(rng: np.random.Generator, rows: NDArray[Any]) -> NDArray[Any]:
        if "mask" in (rows.dtype.names or ()):
            found: NDArray[Any] = np.array([rng.choice(np.flatnonzero(mask)) for mask in rows["mask"]])
            return found + getattr(space, "start", 0)
        space.seed(int(rng.integers(1 << 31)))
        return np.array([space.sample() for _ in rows])

    return choose


def by_policies(company: Company, steps: int) -> list[Choosing]:
    """These policies, as they act in training after this many environment steps."""

    def acting(policy: Any) -> Callable[..., NDArray[Any]]:
        return lambda rng, rows, *states: policy.act(rows, rng, steps, *states)[0]

    return [
        Choosing(company.cast, team, acting(policy), partial(memories_of, policy, team))
        for team, policy in zip(company.teams, company.policies, strict=True)
    ]
