"""Q-learning with a table: Watkins, 1989; Sutton and Barto, "Reinforcement Learning", section 6.5."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import numpy as np

from reactors.rl.bounded import Count, Rate, Share
from reactors.rl.contract.algorithm import Algorithm, Learning, Policy

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch
    from numpy.typing import NDArray

    from reactors.rl.envs.spaces import Space
    from reactors.rl.networks.layers import Descent


@dataclass(frozen=True, kw_only=True)
class QLearning(Algorithm):
    """Hyperparameters.

    >>> QLearning(learning_rate=0.5).learning_rate
    0.5
    """

    name: ClassVar[str] = "QLearning"
    on_policy: ClassVar[bool] = True
    continuous: ClassVar[bool] = False
    tabular: ClassVar[bool] = True

    num_envs: int = 4
    """Chosen on FrozenLake-v1."""
    horizon: int = 16
    """Chosen on FrozenLake-v1."""
    learning_rate: Rate = 0.1
    """How far a value moves towards its target. Usual."""
    exploration_fraction: Share = 0.5
    """Of the run, in which epsilon falls from 1 to `exploration_final`. Chosen on FrozenLake-v1."""
    exploration_final: Share = 0.05
    """Epsilon from there on. Usual."""
    total_steps: Count = field(default=100_000, init=False)
    """Over which exploration is scheduled; `rl.train` sets it."""

    def policy(self, observation_space: Space, action_space: Space) -> TablePolicy:
        """Make a policy for an actor."""
        return TablePolicy(self, observation_space, action_space)

    def learning(self, observation_space: Space, action_space: Space, seed: int, device: str = "cpu") -> TableLearning:
        """Make the learner's table, always on the CPU; nothing is random."""
        del seed, device
        return TableLearning(self, observation_space, action_space)


def _extent(space: Space) -> tuple[int, int]:
    assert isinstance(space, gym.spaces.Discrete)
    return int(space.n), int(space.start)


def epsilon(steps: int, over: float, final: float, initial: float = 1.0) -> float:
    """The probability of a random action after `steps` of all actors: from `initial` to `final` over `over` steps."""
    return initial + min(1.0, steps / max(1.0, over)) * (final - initial)


class TablePolicy(Policy):
    """The best action, or with probability epsilon a random one; ties are broken at random."""

    def __init__(self, config: QLearning, observation_space: Space, action_space: Space) -> None:
        self.config = config
        (self.states, self.first), (self.n, self.start) = _extent(observation_space), _extent(action_space)
        self.size = self.states * self.n

    def load(self, weights: NDArray[np.float32]) -> None:
        """Take a new table."""
        self.table = weights.reshape(self.states, self.n).copy()

    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """The best actions, or with probability epsilon random ones."""
        rows = self.table[observations - self.first]
        config = self.config
        share = epsilon(steps, config.exploration_fraction * config.total_steps, config.exploration_final)
        lots = rng.random(rows.shape)
        best = rows == rows.max(1, keepdims=True)
        best |= (rng.random(len(rows)) < share)[:, None]
        return np.where(best, lots, -1).argmax(1) + self.start, {}

    def greedy(self, observations: NDArray[Any]) -> NDArray[Any]:
        """The action with the highest value for each state."""
        best: NDArray[Any] = self.table[observations - self.first].argmax(1) + self.start
        return best


class TableLearning(Learning):
    """At each step, Q(s, a) moves towards r + gamma max Q(s', .) (equation 6.8)."""

    def __init__(self, config: QLearning, observation_space: Space, action_space: Space) -> None:
        self.config = config
        (states, self.first), (n, self.start) = _extent(observation_space), _extent(action_space)
        self.table = np.zeros((states, n), np.float32)

    def weights(self) -> NDArray[np.float32]:
        """The table of values, one row for each state."""
        return self.table.reshape(-1).copy()

    def learn(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """All steps of a round, in the order in which they were made, and by environment within a step."""
        table, config = self.table, self.config
        states = (batch["obs"].flatten() - self.first).tolist()
        actions = (batch["action"].flatten() - self.start).tolist()
        following = (batch["next_obs"].flatten() - self.first).tolist()
        ends, rewards = batch["terminated"].flatten().tolist(), batch["reward"].flatten().tolist()
        total = 0.0
        yield from self.flats  # there are no gradients
        for state, action, reward, after, end in zip(states, actions, rewards, following, ends, strict=True):
            goal = reward if end else reward + config.gamma * float(table[after].max())
            error = goal - float(table[state, action])
            table[state, action] += config.learning_rate * error
            total += abs(error)
        return {"losses/td_error": total / len(states), "losses/q_values": float(table.max(1).mean())}

    def state_dict(self) -> dict[str, Any]:
        """The table, which is the whole state."""
        return {"table": self.table.copy()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a `state_dict`."""
        self.table[:] = state["table"]
