"""What is stored of each step for an algorithm to learn from?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.rl.envs.agents.cast import Team
from reactors.rl.replay.transition import transition_dtype

if TYPE_CHECKING:
    import gymnasium as gym

    from reactors.rl.contract.algorithm import Algorithm


def experience_dtype(
    algorithm: Algorithm, observation_space: gym.Space[Any] | Team, action_space: gym.Space[Any]
) -> Any:
    """A transition with what the algorithm's policy remembers of each choice; for a `Team`, a joint transition."""
    if isinstance(observation_space, Team):
        return observation_space.experience(action_space, algorithm.remembered(action_space))
    plain = transition_dtype(observation_space, action_space)
    fields: list[Any] = [(name, plain[name]) for name in plain.names or ()]
    return np.dtype([*fields, *algorithm.remembered(action_space).items()], align=True)
