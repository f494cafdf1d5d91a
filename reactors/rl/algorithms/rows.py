"""What is kept of each step for an algorithm to learn from?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.rl.replay.buffer import ReplayBuffer
from reactors.rl.replay.transition import transition_dtype

if TYPE_CHECKING:
    import gymnasium as gym

    from reactors.rl.algorithms.algorithm import Algorithm
    from reactors.rl.algorithms.off_policy import OffPolicy


def experience_dtype(algorithm: Algorithm, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> Any:
    """A transition, and what the algorithm's policy remembers of each."""
    plain = transition_dtype(observation_space, action_space)
    fields: list[Any] = [(name, plain[name]) for name in plain.names or ()]
    return np.dtype([*fields, *algorithm.remembered(action_space).items()], align=True)


def memory_of(algorithm: OffPolicy, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> ReplayBuffer:
    """The replay buffer that an algorithm asks for."""
    by_priority: Any = {"alpha": algorithm.alpha, "beta": algorithm.beta} if algorithm.prioritized else {}
    return ReplayBuffer(
        algorithm.capacity, experience_dtype(algorithm, observation_space, action_space),
        prioritized=algorithm.prioritized, **by_priority, n_step=algorithm.n_step,
        gamma=algorithm.gamma, num_envs=algorithm.num_envs,
    )  # fmt: skip
