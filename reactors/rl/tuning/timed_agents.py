"""How fast are actors alone, learners alone, and both together, where there are many agents?

As `timed` has it: an actor plays for all groups, and each group has a learner. All learners together count as one here,
on so many workers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.rl.contract.agents import MultiAgent, actions_of
from reactors.rl.dataflow.agents.acting import TeamActing
from reactors.rl.dataflow.agents.actor import AgentsActor
from reactors.rl.dataflow.agents.program import AgentsTraining
from reactors.rl.dataflow.agents.rollout import AgentsRollout
from reactors.rl.tuning.timed import Idle, Programs, Repeating, Stopwatch, fill_round, still

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from reactors.rl.envs.agents.cast import Cast, Team
    from reactors.rl.options import Options


class AgentsTogether(AgentsTraining):
    """An algorithm for many agents that is trained for some seconds, and no longer."""

    def __init__(
        self, algorithm: MultiAgent, make: Any, spaces: tuple[Cast, Any], options: Options, seconds: float,
        **others: Any,
    ) -> None:  # fmt: skip
        super().__init__(algorithm, make, *spaces, options, **others)
        self.stopwatch = Stopwatch(seconds, options)
        first, *_ = self.groups.values()
        rx.connect(first.figures, self.stopwatch.figures)


class IdleGroup(Idle):
    """A team that learns nothing."""

    def __init__(self, team: Team, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.team = team

    @property
    def lasting(self) -> dict[str, IdleGroup]:
        """Its place in the program."""
        return {f"groups[{self.team.name}]": self}


class AgentActorsAlone(AgentsTogether):
    """Plays, and no group learns anything."""

    def _group(
        self, algorithm: MultiAgent, team: Team, action_space: Any, actors: int, weights: NDArray[np.float32],
        arguments: Mapping[str, Any],
    ) -> Any:  # fmt: skip
        del algorithm, action_space, arguments
        (segment,) = [
            port for each, port in zip(self.actors[0].rollout.teams, self.actors[0].segments, strict=True)
            if each == team
        ]  # fmt: skip
        return IdleGroup(team, weights, segment, actors)


class AgentsRepeating(Repeating, AgentsActor):
    """Plays nothing: every round of all teams is the one that was recorded."""

    def fill(self, rows: Any) -> None:
        """Write the round."""
        for each, recorded in zip(rows, self.recorded, strict=True):
            each[...] = recorded


class GroupsAlone(AgentsTogether):
    """All groups learn from the same round again and again."""

    def __init__(self, algorithm: MultiAgent, *args: Any, recorded: Any, **others: Any) -> None:
        self.recorded = recorded
        super().__init__(still(algorithm), *args, **others)  # type: ignore[arg-type]

    def _actors(self, n: int, rollout: Callable[[int], Any], acting: Callable[[int], Any]) -> rx.Bank[Any]:
        return rx.bank(n, AgentsRepeating, rollout, acting, self.recorded)


def played_together(
    algorithm: MultiAgent, make: Callable[[], Any], spaces: tuple[Cast, Any], seed: int, path: str = "rl.tune"
) -> list[NDArray[Any]]:
    """A round of experience of each team, (horizon, environments), with the first weights."""
    cast = spaces[0]
    rollout = AgentsRollout(algorithm, make, algorithm.num_envs, 0, cast)
    initial = [
        algorithm.learning(team, actions_of(cast, team), seed).weights()  # type: ignore[arg-type]
        for team in rollout.teams
    ]
    acting = TeamActing(algorithm, cast, initial)
    rows = [np.zeros(rollout.shape, dtype) for dtype in rollout.dtypes]
    fill_round(rollout, acting, rows, seed, path)
    return rows


OF_MANY = Programs(played_together, AgentActorsAlone, GroupsAlone, AgentsTogether)
