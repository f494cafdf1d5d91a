"""What did the agents get in greedy episodes?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from reactors.rl.monitoring.aligned import aligned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reactors.rl.envs.agents.cast import Team
    from reactors.rl.episode import Episode


class Evaluation(float):
    """The mean return of greedy episodes, a float; with many agents also of each agent and group.

    >>> found = Evaluation([0.0, 0.0], agents={"a": Evaluation([1.0, 3.0]), "b": Evaluation([-1.0, -3.0])})
    >>> found, found.agents["a"], found.agents["a"].returns
    (0.0, 2.0, (1.0, 3.0))

    Attributes:
        returns: the return of each episode, in order; the sum over all agents.
        agents: the evaluation of each agent, by name; empty with a single agent.
        groups: of each group, the sum over its agents; likewise.
    """

    returns: tuple[float, ...]
    agents: dict[str, Evaluation]
    groups: dict[str, Evaluation]

    def __new__(
        cls,
        returns: Sequence[float],
        *,
        agents: Mapping[str, Evaluation] | None = None,
        groups: Mapping[str, Evaluation] | None = None,
    ) -> Self:
        """Of the returns, and what their parts come to."""
        made = super().__new__(cls, np.mean(returns))
        made.returns, made.agents, made.groups = tuple(returns), dict(agents or {}), dict(groups or {})
        return made

    def __getnewargs__(self) -> tuple[tuple[float, ...]]:  # type: ignore[override]  # a float's is a float
        """For copies, which get the rest as attributes."""
        return (self.returns,)

    @classmethod
    def of(cls, episodes: Sequence[Episode], teams: Sequence[Team] = ()) -> Evaluation:
        """That of these episodes; `teams` are the groups of many agents."""
        by_agent = [*zip(*(episode.returns for episode in episodes), strict=True)]
        names = {i: name for team in teams for i, name in zip(team.members, team.agents, strict=True)}
        return cls(
            [episode.total for episode in episodes],
            agents={names[i]: cls(by_agent[i]) for i in sorted(names)},
            groups={
                team.name: cls([sum(each) for each in zip(*(by_agent[i] for i in team.members), strict=True)])
                for team in teams
            },
        )

    @property
    def parts(self) -> dict[str, Evaluation]:
        """Those of the groups, or of the agents if all are one group."""
        return self.groups if len(self.groups) > 1 else self.agents

    def of_one(self, name: str | None) -> Evaluation:
        """That of a group or an agent; of all together without a name."""
        return self if name is None else {**self.agents, **self.groups}[name]

    def figures(self) -> dict[str, float]:
        """Mean, minimum and maximum, by name."""
        return {"mean": float(self), "min": min(self.returns), "max": max(self.returns)}

    def table(self) -> str:
        """Those of all agents together and of the `parts`, a line each."""
        rows: list[tuple[str, ...]] = [("", "mean", "minimum", "maximum")]
        for name, each in {"all together": self, **self.parts}.items():
            rows.append((name, *(f"{x:.2f}" for x in each.figures().values())))
        return aligned(rows, words=1)
