"""What does a central critic see before a step, and after it?

The state that the environment gives, or, if it has none, the observations of all agents together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from reactors.rl.envs.agents.cast import width
from reactors.rl.envs.agents.masks import unmasked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from reactors.rl.envs.agents.cast import Cast
    from reactors.rl.envs.parallel_simulation import Outcome, ParallelSimulation


class States:
    """The states of environments in a round, asked before and after each step.

    What was seen after a step is what is seen before the next one, if all agents go on.
    """

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self.known: dict[int, NDArray[Any]] = {}
        self.joined = None if cast.state is not None else JoinedObservations(cast)

    def begin(self) -> None:
        """A round, before which environments may have been set to other states."""
        self.known.clear()

    def before(self, e: int, simulation: ParallelSimulation) -> NDArray[Any]:
        """That of environment e now."""
        if (known := self.known.pop(e, None)) is not None:
            return known
        return self.cast.whole(simulation.state) if self.joined is None else self.joined(simulation.everything())

    def after(self, e: int, simulation: ParallelSimulation, told: Mapping[Any, Outcome]) -> NDArray[Any]:
        """What the step of environment e led to, which `told` its agents so."""
        if self.joined is None:
            found = self.cast.whole(simulation.next_state)
        elif simulation.steady:
            found = self.joined(simulation.observations)
        elif simulation.episode is not None:  # what they saw last
            found = self.joined({agent: outcome.observation for agent, outcome in told.items()})
        else:  # what they see who are there, and what those would go on from who are truncated
            last = {agent: outcome.observation for agent, outcome in told.items() if outcome.truncated}
            found = self.joined({**simulation.everything(), **last})
        if simulation.steady:
            self.known[e] = found
        return found


class JoinedObservations:
    """Puts the observations of all agents together, with zeros for those who are absent: float32 (n,).

    >>> from reactors.rl.envs.agents.cast import Cast
    >>> cast = Cast(("a", "b"), (gym.spaces.Discrete(3), gym.spaces.Box(0, 9, (2,))), (gym.spaces.Discrete(2),) * 2)
    >>> joined = JoinedObservations(cast)
    >>> joined({"a": 1, "b": np.array([5, 6], np.float32)}), joined({"a": 2})
    (array([0., 1., 0., 5., 6.], dtype=float32), array([0., 0., 1., 0., 0.], dtype=float32))
    """

    def __init__(self, cast: Cast) -> None:
        self.parts: list[tuple[Any, slice, int | None]] = []
        self.width = 0
        for agent, space in zip(cast.agents, cast.observations, strict=True):
            place = slice(self.width, self.width + width(space))
            self.parts.append((agent, place, int(space.start) if isinstance(space, gym.spaces.Discrete) else None))
            self.width = place.stop

    def __call__(self, observations: Mapping[Any, Any]) -> NDArray[np.float32]:
        """Of those agents."""
        whole = np.zeros(self.width, np.float32)
        for agent, place, start in self.parts:
            if agent not in observations:
                continue
            seen = observations[agent]
            if seen.__class__ is not np.ndarray:
                seen, _ = unmasked(seen, {})
            if start is None:
                whole[place] = np.asarray(seen).ravel()
            else:
                whole[place][int(seen) - start] = 1
        return whole
