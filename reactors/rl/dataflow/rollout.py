"""Where does a round of experience come from, wherever the actions are chosen?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.rl.checkpoints.simulated import restore_simulation, simulation_form, simulation_state
from reactors.rl.contract.rows import experience_dtype
from reactors.rl.envs.simulation import Simulation, seed_of
from reactors.rl.errors import NotFiniteError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import gymnasium as gym
    from numpy.typing import NDArray

    from reactors.rl.contract.algorithm import Algorithm
    from reactors.rl.dataflow.acting import Acting
    from reactors.rl.envs.simulation import OnError
    from reactors.rl.episode import Episode


class Rollout:
    """Environments, numbered from `first_env`, that are played into the rows of a round, (horizon, environments).

    With two `parts` the environments with even numbers are stepped by themselves, and those with odd numbers. Raises
    `NotFiniteError` for observations and rewards that are not finite.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        makers: Sequence[Callable[[], Any]],
        first_env: int,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        parts: int = 1,
        on_error: OnError = "raise",
    ) -> None:
        self.makers, self.first_env, self.parts = makers, first_env, parts
        self.on_error: OnError = on_error
        self.spaces = observation_space, action_space
        self.dtype = experience_dtype(algorithm, *self.spaces)
        self.shape = algorithm.horizon, len(makers)
        self.checked = [name for name in ("next_obs", "reward") if self.dtype[name].base.kind == "f"]
        self.simulations: list[Simulation] = []
        self.rows: Any = None
        self.fields: list[dict[str, Any]] = []  # of the rows, for each part
        self.episodes: list[Episode] = []

    def open(self, seed: int, path: str) -> None:
        """Make the environments, and begin their episodes."""
        self.path, self.begun = path, np.zeros(self.shape[1], np.bool_)
        seeds = [seed_of(seed, self.first_env + i) for i in range(len(self.makers))]
        self.simulations = [
            Simulation(
                self.makers[part :: self.parts],
                *self.spaces,
                seeds[part :: self.parts],
                path=path,
                on_error=self.on_error,
                nan_rewards=self.on_error == "raise",  # `finish` refuses these, as it does infinite ones
            )
            for part in range(self.parts)
        ]
        self.rewards = np.zeros(len(self.makers) // self.parts)
        for simulation in self.simulations:
            simulation.reset_all()

    def state_dict(self) -> dict[str, Any]:
        """Of the environments, between two rounds."""
        return {"simulations": [simulation_state(each) for each in self.simulations]}

    def form(self) -> dict[str, Any]:
        """What a state has to be like, but for environments, which look for themselves."""
        return {"simulations": [simulation_form(each) for each in self.simulations]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` gave; `unrestored` says why an environment could not.

        `begun` says which of them have begun new episodes, whatever the reason: bool (environments,).
        """
        self.unrestored = ""
        for part, each in enumerate(zip(self.simulations, state["simulations"], strict=True)):
            self.begun[part :: self.parts], why = restore_simulation(*each)
            self.unrestored = self.unrestored or why

    def broken_off(self, state: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Of what `state_dict` gave: which environments did not tell their state, bool (environments,)."""
        found = np.zeros(self.shape[1], np.bool_)
        for part, each in enumerate(state["simulations"]):
            found[part :: self.parts] = [env is None for env in each["envs"]]
        return found

    def observations(self, part: int = 0) -> NDArray[Any]:
        """What to act on next in the environments of this part."""
        found: NDArray[Any] = self.simulations[part].observations
        return found

    def begin(self, rows: Any) -> None:
        """Begin a round, whose experience goes into `rows`."""
        self.rows, self.episodes = rows, []
        self.fields = [{name: rows[name][:, i :: self.parts] for name in rows.dtype.names} for i in range(self.parts)]

    def play(self, acting: Acting, rows: Any, number: int) -> tuple[Episode, ...]:
        """The whole of round `number`, by one policy; the episodes that ended in it."""
        self.begin(rows)
        for t in range(len(rows)):
            self.step(t, *acting.act(self.observations(), number))
            if acting.remembers:
                acting.forget(rows["terminated"][t] | rows["truncated"][t])
        return self.finish(number)

    def step(self, t: int, actions: Any, remembered: Mapping[str, Any], part: int = 0) -> None:
        """Step t of a round, with the actions, and what the policy remembers of them."""
        rows, simulation = {name: field[t] for name, field in self.fields[part].items()}, self.simulations[part]
        for name, value in remembered.items():
            rows[name][...] = value
        simulation.record(rows, actions, self.rewards)
        self.episodes += simulation.episodes

    def finish(self, number: int) -> tuple[Episode, ...]:
        """End round `number`, and let go of its rows; the episodes that ended in it."""
        for name in self.checked:
            if not np.isfinite(self.rows[name]).all():
                self._refuse(name, number)
        if "next_obs" in self.checked:
            self._check_resets(number)
        self.rows, self.fields = None, []
        return tuple(self.episodes)

    def _check_resets(self, number: int) -> None:
        """What was seen first in an episode was no step's next observation."""
        first = np.ones(self.shape, np.bool_)
        first[1:] = self.rows["terminated"][:-1] | self.rows["truncated"][:-1]
        if not np.isfinite(self.rows["obs"][first]).all():
            found = ~np.isfinite(self.rows["obs"]).reshape(*self.shape, -1).all(2) & first
            t, i = np.argwhere(found)[0]
            raise NotFiniteError(
                f"{self.path}: reset() of environment {self.first_env + i} (seed {self._seed(i)}) gave the observation "
                f"{self.rows['obs'][t, i]} before its step {number * self.shape[0] + int(t) + 1}; fix the environment"
            )

    def _seed(self, i: int) -> Any:
        return self.simulations[i % self.parts].seeds[i // self.parts]

    def _refuse(self, name: str, number: int) -> None:
        """Say where a number is that is none."""
        t, i, *_ = np.argwhere(~np.isfinite(self.rows[name]))[0]
        what = "observation" if name == "next_obs" else "reward"
        raise NotFiniteError(
            f"{self.path}: the {what} of environment {self.first_env + i} (seed {self._seed(i)}) is "
            f"{self.rows[name][t, i]} at its step {number * self.shape[0] + int(t) + 1} in all, after the action "
            f"{self.rows['action'][t, i]}; fix the environment, or keep its actions in bounds"
        )

    @property
    def failure(self) -> str:
        """What was wrong with the first environment, in their order, that had to be made again."""
        return next((each.first_failure for each in self.simulations if each.first_failure), "")

    def close(self) -> None:
        """Close the environments; a second time nothing happens."""
        simulations, self.simulations = self.simulations, []
        for each in simulations:
            each.close()
