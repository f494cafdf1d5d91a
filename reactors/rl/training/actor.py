"""Where does experience come from?"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.rl.errors import NotFiniteError
from reactors.rl.simulation import Simulation, seed_of
from reactors.rl.training.simulated import restore_simulation, simulation_state
from reactors.rl.training.stateful import Stateful
from reactors.rl.transition import transition_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import gymnasium as gym

    from reactors.rl.algorithms.algorithm import Algorithm
    from reactors.rl.replay_buffer import ReplayBuffer


def experience_dtype(algorithm: Algorithm, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> Any:
    """A transition, and what the algorithm's policy remembers of each."""
    plain = transition_dtype(observation_space, action_space)
    fields: list[Any] = [(name, plain[name]) for name in plain.names or ()]
    return np.dtype([*fields, *algorithm.remembered(action_space).items()], align=True)


class Actor(Stateful):
    """Plays a round in its environments, numbered from `first_env`: every microsecond of logical time is a round.

    `segment` has the experience, of shape (horizon, environments). It plays with the weights that it has, whatever
    their age. `figures` has the seconds that the round took, and the age of the weights in rounds. Raises
    `NotFiniteError` for observations and rewards that are not finite.
    """

    rounds = rx.Timer("first", "1 us")
    weights = rx.Input(shape="size", dtype=np.float32)
    episodes = rx.Output(tuple)
    figures = rx.Output(tuple)

    def __init__(
        self,
        algorithm: Algorithm,
        makers: Sequence[Callable[[], Any]],
        first_env: int,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        weights: Any,
        steps: int,
        lag: int,
        lately: ReplayBuffer | None = None,
    ) -> None:
        self.algorithm, self.makers, self.first_env = algorithm, makers, first_env
        self.observation_space, self.action_space = observation_space, action_space
        self.horizon, self.num_envs = algorithm.horizon, len(makers)
        self.latest, self.size = weights, len(weights)
        self.steps = steps  # of all actors in a round
        self.lately = lately  # in free mode: where the learner leaves its weights
        self.late, self.loaded = lag, lag - 1  # the first weights are from before round 0
        self.policy = algorithm.policy(observation_space, action_space)  # here: torch may draw numbers for it
        self.checked = [
            name
            for name in ("next_obs", "reward")
            if experience_dtype(algorithm, observation_space, action_space)[name].base.kind == "f"
        ]
        dtype = experience_dtype(algorithm, observation_space, action_space)
        self.segment = rx.Output(shape=(self.horizon, self.num_envs), dtype=dtype)
        self.add_reaction(rx.startup, self.open)
        self.add_reaction(self.weights, self.load)
        self.add_reaction(self.rounds, self.play, effects=(self.segment, self.episodes, self.figures))
        self.add_reaction(rx.shutdown, self.close)

    def open(self) -> None:
        """Make the environments."""
        seeds = [seed_of(self._run_seed or 0, self.first_env + i) for i in range(self.num_envs)]
        self.simulation = Simulation(
            self.makers, self.observation_space, self.action_space, seeds, path=self.path
        )  # fmt: skip
        self.simulation.reset_all()
        self.rewards = np.zeros(self.num_envs)
        restored = self.taken()
        if restored is not None:
            restore_simulation(self.simulation, restored["simulation"])
            self.rng.bit_generator.state = restored["rng"].bit_generator.state
            self.policy.load_state_dict(restored["policy"])
            self.latest, self.loaded = restored["weights"], restored["loaded"]
        self.policy.load(self.latest)

    def state_dict(self) -> dict[str, Any]:
        """Environments, random numbers, weights and what else the policy has."""
        return {
            "simulation": simulation_state(self.simulation), "rng": self.rng, "policy": self.policy.state_dict(),
            "weights": self.latest, "loaded": self.loaded,
        }  # fmt: skip

    def load(self) -> None:
        """Newer weights."""
        self.latest, self.loaded = self.weights.value.copy(), self.tag.time // 1000
        self.policy.load(self.latest)

    def look(self) -> None:
        """Newer weights, if the learner has left some."""
        assert self.lately is not None
        if not len(self.lately):
            return
        row = self.lately.sample(1)
        if (loaded := int(row["round"][0]) + self.late) != self.loaded:
            self.latest, self.loaded = row["vector"][0].copy(), loaded
            self.policy.load(self.latest)

    def play(self) -> None:
        """A round."""
        began = time.perf_counter()
        if self.lately is not None:
            self.look()
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
        for name in self.checked:
            if not np.isfinite(rows[name]).all():
                self.refuse(name, rows)
        self.segment.set(rows)
        if episodes:
            self.episodes.set(tuple(episodes))
        self.figures.set((time.perf_counter() - began, self.tag.time // 1000 - self.loaded + self.late))

    def refuse(self, name: str, rows: Any) -> None:
        """Say where a number is that is none."""
        t, i, *_ = np.argwhere(~np.isfinite(rows[name]))[0]
        what = "observation" if name == "next_obs" else "reward"
        step = self.tag.time // 1000 * self.horizon + int(t)
        raise NotFiniteError(
            f"{self.path}: the {what} of environment {self.first_env + i} (seed {self.simulation.seeds[i]}) is "
            f"{rows[name][t, i]} at its step {step}, after the action {rows['action'][t, i]}; mend the environment, or "
            "keep its actions in bounds"
        )

    def close(self) -> None:
        """Close the environments."""
        self.simulation.close()
        del self.simulation
