"""What is kept of a group's experience?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactors.errors import ParameterError
from reactors.rl.algorithms.off_policy import buffer_of
from reactors.rl.dataflow.experience import Experience
from reactors.rl.replay.own_sequences import OwnSequences
from reactors.rl.replay.own_steps import OwnSteps

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reactors.rl.replay.buffer import ReplayBuffer


def team_memory(algorithm: Any, joint: np.dtype[Any]) -> tuple[ReplayBuffer, OwnSteps | OwnSequences]:
    """The replay buffer that an algorithm asks for, and what cuts joint transitions into what it keeps.

    `ParameterError` if a round may have more than the buffer keeps.
    """
    cut = OwnSteps(joint, algorithm.num_envs, apart=not algorithm.together)
    streams, period = cut.rows.size, 1 if algorithm.stretch is None else algorithm.stretch[1]
    buffer = buffer_of(algorithm, cut.dtype, streams)
    most = -(-algorithm.horizon // period) * period  # of each stream, in whole sequences if there are any
    needed = streams * most
    if buffer.capacity * period < needed:
        whose = "a group's" if algorithm.together else "agents'"
        raise ParameterError(
            f"capacity of {algorithm.name} is {algorithm.capacity} of {whose} own steps, but a round may have "
            f"{needed}, {most} of each of {streams}; let it be {needed} or more"
        )
    return buffer, cut if algorithm.stretch is None else OwnSequences(cut, *algorithm.stretch)


class TeamExperience(Experience):
    """As `Experience`, of own steps: of each agent, or of the group, as the algorithm's `together` says.

    An update is due for so many steps of environments, however many agents there are.
    """

    cut: OwnSteps | OwnSequences

    @property
    def often(self) -> str:
        """How often one has to act before there is something to learn from."""
        stretch = self.algorithm.stretch
        return "twice" if stretch is None else f"{stretch[0]} times, as a sequence with its burn-in is long"

    def memory(self, dtype: Any) -> tuple[ReplayBuffer, OwnSteps | OwnSequences]:
        """As `team_memory` has it."""
        return team_memory(self.algorithm, dtype)

    def keep(self, rows: NDArray[Any]) -> None:
        """Joint transitions (steps, environments) of a round."""
        kept, streams = self.cut.add(rows)
        if len(kept):
            self.buffer.add(self.clipped(kept), envs=streams)
        steps = self.added + rows.size
        if steps >= self.algorithm.enough and not len(self.buffer):
            raise ParameterError(
                f"{self.path}: after {steps} steps of the environments there is nothing that the group can learn from, "
                f"for its agents have not acted {self.often}; let learning_starts of {self.algorithm.name} be greater"
            )
