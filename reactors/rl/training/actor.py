"""Where does experience come from?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.rl.algorithms.algorithm import INITIALISING
from reactors.rl.simulation import Simulation, seed_of
from reactors.rl.transition import transition_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import gymnasium as gym

    from reactors.rl.algorithms.algorithm import Algorithm


def experience_dtype(algorithm: Algorithm, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> Any:
    """A transition, and what the algorithm's policy remembers of each."""
    plain = transition_dtype(observation_space, action_space)
    fields: list[Any] = [(name, plain[name]) for name in plain.names or ()]
    return np.dtype([*fields, *algorithm.remembered(action_space).items()], align=True)


class Actor(rx.Reactor):
    """Plays a round in its environments, numbered from `first`: every microsecond of logical time is a round.

    `segment` has the experience, of shape (horizon, environments). It plays with the weights that it has, whatever
    their age.
    """

    rounds = rx.Timer(0, "1 us")
    weights = rx.Input(shape="size", dtype=np.float32)
    episodes = rx.Output(tuple)

    def __init__(
        self,
        algorithm: Algorithm,
        makers: Sequence[Callable[[], Any]],
        first: int,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        weights: Any,
        steps: int,
    ) -> None:
        self.algorithm, self.makers, self.first = algorithm, makers, first
        self.observation_space, self.action_space = observation_space, action_space
        self.horizon, self.num_envs = algorithm.horizon, len(makers)
        self.latest, self.size = weights, len(weights)
        self.steps = steps  # of all actors in a round
        dtype = experience_dtype(algorithm, observation_space, action_space)
        self.segment = rx.Output(shape=(self.horizon, self.num_envs), dtype=dtype)
        self.add_reaction(rx.startup, self.open)
        self.add_reaction(self.weights, self.load)
        self.add_reaction(self.rounds, self.play, effects=(self.segment, self.episodes))
        self.add_reaction(rx.shutdown, self.close)

    def open(self) -> None:
        """Make the environments."""
        seeds = [seed_of(self._run_seed or 0, self.first + i) for i in range(self.num_envs)]
        self.simulation = Simulation(
            self.makers, self.observation_space, self.action_space, seeds, path=self.path
        )  # fmt: skip
        self.simulation.reset_all()
        with INITIALISING:
            self.policy = self.algorithm.policy(self.observation_space, self.action_space)
        self.policy.load(self.latest)
        self.rewards = np.zeros(self.num_envs)

    def load(self) -> None:
        """Newer weights."""
        self.policy.load(self.weights.value)

    def play(self) -> None:
        """A round."""
        rows, sim, policy, rng = self.segment.loan(), self.simulation, self.policy, self.rng
        obs, actions, rewards, following = rows["obs"], rows["action"], rows["reward"], rows["next_obs"]
        terminated, truncated = rows["terminated"], rows["truncated"]
        steps = self.tag.time // 1000 * self.steps
        episodes: list[Any] = []
        for t in range(self.horizon):
            obs[t] = sim.observations
            actions[t], remembered = policy.act(sim.observations, rng, steps)
            for name, value in remembered.items():
                rows[name][t] = value
            sim.advance(actions[t], following[t], self.rewards, terminated[t], truncated[t])
            rewards[t] = self.rewards
            episodes += sim.episodes
        self.segment.set(rows)
        if episodes:
            self.episodes.set(tuple(episodes))

    def close(self) -> None:
        """Close the environments."""
        self.simulation.close()
        del self.simulation
