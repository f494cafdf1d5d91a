"""What becomes of a group's experience?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.lowlevel import offered
from reactors.rl.algorithms.off_policy import OffPolicy
from reactors.rl.dataflow.agents.experience import TeamExperience
from reactors.rl.encoding.state import Encoded
from reactors.rl.learning.learner import Learner, ReplayLearner, RolloutLearner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors.rl.checkpoints.stateful import Stateful
    from reactors.rl.contract.agents import MultiAgent
    from reactors.rl.envs.agents.cast import Team
    from reactors.rl.envs.spaces import Space


class AgentGroup(rx.Reactor):
    """Agents that share a network: their learner and, where they learn from it, their replay.

    `segments` has the joint transitions that each actor played, `weights` what acts for the group then. `saves` and
    `states` have a channel for each of `lasting`, which a checkpoint holds.
    """

    saves = rx.Input(bool, width="width")
    states = rx.Output(Encoded, width="width")
    weights = rx.Output(shape="size", dtype=np.float32)
    figures = rx.Output(dict)
    offered(saves)

    def __init__(
        self, algorithm: MultiAgent, team: Team, action_space: Space, actors: int, arguments: Mapping[str, Any]
    ) -> None:
        self.team, self.size = team, arguments["size"]
        dtype = team.experience(action_space, algorithm.remembered(action_space))
        num_envs = algorithm.num_envs // actors
        self.segments = rx.Input(shape=(algorithm.horizon, num_envs), dtype=dtype, width=actors)
        named: dict[str, Any] = {**arguments, "observation_space": team, "action_space": action_space}
        self.learner: Learner
        if isinstance(algorithm, OffPolicy):
            self.experience = TeamExperience(algorithm, team, action_space, actors)  # type: ignore[arg-type]
            self.learner = ReplayLearner(algorithm, batches=self.experience.batches, **named)
            rx.connect(self.segments, self.experience.segments)
            rx.connect(self.experience.batches, self.learner.batches)
            if algorithm.prioritized:
                rx.connect(self.learner.errors, self.experience.errors, after=0)
        else:
            self.learner = RolloutLearner(algorithm, actors=actors, num_envs=num_envs, **named)
            rx.connect(self.segments, self.learner.segments)
        rx.connect(self.learner.weights, self.weights)
        rx.connect(self.learner.figures, self.figures)
        self.width = len(self.lasting)
        rx.connect(self.saves, [each.save for each in self.lasting.values()])
        rx.connect([each.state for each in self.lasting.values()], self.states)

    @property
    def lasting(self) -> dict[str, Stateful]:
        """Who is saved by a checkpoint, by its path in the program."""
        found: dict[str, Stateful] = {f"groups[{self.team.name}].learner": self.learner}
        if hasattr(self, "experience"):
            found[f"groups[{self.team.name}].experience"] = self.experience
        return found


class Joined(rx.Reactor):
    """The weights of all groups, one behind the other, as who acts for all agents takes them.

    All of them come at the same tag.
    """

    weights = rx.Output(shape="size", dtype=np.float32)

    def __init__(self, sizes: list[int]) -> None:
        self.sizes, self.size = sizes, sum(sizes)
        for i, size in enumerate(sizes):
            setattr(self, f"part_{i}", rx.Input(shape=(size,), dtype=np.float32))
        self.parts = [getattr(self, f"part_{i}") for i in range(len(sizes))]
        self.add_reaction(self.parts, self.join, effects=self.weights)

    def join(self) -> None:
        """One vector of all."""
        loan, at = self.weights.loan(), 0
        for part, size in zip(self.parts, self.sizes, strict=True):
            loan[at : at + size] = part.value
            at += size
        self.weights.set(loan)
