"""What did each agent, and each group of them, get in the last episodes?"""

from __future__ import annotations

import math
import statistics
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reactors.rl.episode import Episode


WINDOW = 20  # episodes
SPEED = {"updates", "frames", "time/learn"}
"""Figures that say how fast a learner is, not what it has learned."""
SHARED = ("losses/", "charts/")
"""Figures with a mean over groups. Others describe the networks of a group: their mean says nothing."""


class AgentReturns:
    """Mean returns of the last twenty episodes: of each agent, by name, and of groups, whose agents are `members`.

    Of an agent only those count in which it was played by what learns: in others its return is nan.

    >>> from reactors.rl.episode import Episode
    >>> seen = AgentReturns(["a", "b", "c"], {"good": (0, 1), "bad": (2,)})
    >>> seen.add(Episode(0, 0, 1.0, 5, None, returns=(1.0, 3.0, -3.0)))
    >>> seen.figures()["agents/b/episodic_return"], seen.figures()["groups/good/episodic_return"]
    (3.0, 4.0)
    """

    def __init__(self, agents: Sequence[str], members: Mapping[str, Sequence[int]]) -> None:
        self.agents, self.members = list(agents), {name: list(each) for name, each in members.items()}
        self.last: list[deque[float]] = [deque(maxlen=WINDOW) for _ in self.agents]

    def add(self, episode: Episode) -> None:
        """One that has ended."""
        for last, value in zip(self.last, episode.returns, strict=True):
            if not math.isnan(value):
                last.append(value)

    def figures(self) -> dict[str, float]:
        """The means, once an episode has ended; of groups, if there are several."""
        means = {i: statistics.fmean(each) for i, each in enumerate(self.last) if each}
        found = {f"agents/{self.agents[i]}/episodic_return": mean for i, mean in means.items()}
        if len(self.members) > 1:
            for name, members in self.members.items():
                if means.keys() >= {*members}:
                    found[f"groups/{name}/episodic_return"] = sum(means[i] for i in members)
        return found

    def by_group(self, i: int, figures: Mapping[str, float]) -> dict[str, float]:
        """The figures of learner i: of one of several groups under its name, and its `SHARED` ones also without it."""
        if not 1 < len(self.members) > i:
            return dict(figures)
        name = [*self.members][i]
        shared = {key: x for key, x in figures.items() if key.startswith(SHARED) or key in SPEED}
        return shared | {f"groups/{name}/{key}": x for key, x in figures.items() if key not in SPEED}

    def reached(self, name: str) -> float | None:
        """The mean return of a group or an agent, once twenty episodes have ended."""
        last = [self.last[i] for i in self.members.get(name) or (self.agents.index(name),)]
        return sum(map(statistics.fmean, last)) if all(len(each) == WINDOW for each in last) else None

    def state_dict(self) -> dict[str, Any]:
        """The returns of the last episodes."""
        return {"last": [[*each] for each in self.last]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` gave."""
        for last, values in zip(self.last, state["last"], strict=True):
            last.extend(map(float, values))
