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
    cast, rng = company.cast, np.random.default_rng(seed)
    mine = [{cast.agents[i] for i in sides[episode % len(sides)]} for episode in range(episodes)]
    playing, memories = PlayingTogether(company, episodes), [each.fresh(episodes) for each in choosing]

    def choose(seen: list[dict[Any, Any]]) -> list[dict[Any, Any]]:
        own = [{a: x for a, x in each.items() if a in mine[i]} for i, each in enumerate(seen)]
        others = [{a: x for a, x in each.items() if a not in mine[i]} for i, each in enumerate(seen)]
        actions = playing(own)
        for each, known in zip(choosing, memories, strict=True):
            act_for(each.cast, each.team, others, partial(by_memory, known, partial(each.choose, rng)), actions)
        return actions

    def ended(i: int, gone: Container[Any] | None) -> None:
        playing.ended(i, gone)
        for each, known in zip(choosing, memories, strict=True):
            forget_those(known, each.cast, each.team, i, gone)

    found = []
    for i, episode in enumerate(played(cast, make, episodes, seed, choose, ended)):
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
