"""A group of environments of a vector environment on one worker: stepped, reset and called as in Gymnasium.

It follows the rules of `gymnasium.vector` for sub-environments: the three autoreset modes, what goes into infos, what
may be called by name. A `Group` knows nothing about reactors; `lockstep.Rows` is the reactor around it.
"""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces.utils import is_space_dtype_shape_equiv
from gymnasium.vector import AutoresetMode

from reactors.rl.envs.owned import own
from reactors.rl.envs.simulation import ResetError, Simulation
from reactors.rl.envs.snapshots import snapshot
from reactors.rl.envs.spaces import array_type, reader, rows
from reactors.rl.errors import SimulationError
from reactors.rl.vector.share import Infos, RefusedError, Share

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reactors.rl.envs.simulation import OnError
    from reactors.rl.envs.spaces import Space
    from reactors.rl.vector.whereabouts import Whereabouts

RESERVED = ("reset", "step", "close")  # not to be called behind the vector environment's back


class Group(Share):
    """A share of single-agent environments."""

    def __init__(
        self,
        makers: Sequence[Callable[[], Any]],
        first: int,
        room: int,
        spaces: tuple[Space, Space],
        mode: AutoresetMode,
        where: Whereabouts,
        *,
        on_error: OnError,
    ) -> None:
        super().__init__(makers, first, room, where, on_error=on_error)
        self.mode = mode
        self.observation_space, self.action_space = spaces
        self.simulation: Any = None

    def make(self) -> None:
        """Make all environments of the group, on the worker that steps them."""
        n = len(self.makers)
        self.simulation = sim = Simulation(
            [own(make) for make in self.makers],
            self.observation_space,
            self.action_space,
            [None] * n,
            on_error=self.on_error,
            path="rl.VectorEnv",
            nan_rewards=True,  # as in Gymnasium's vector environments
            first=self.first,
            at=self.where.at[self.number : self.number + 1],
        )
        where = array_type(self.observation_space)
        # The observations as they are now: a masked reset leaves most of them.
        sim.observations = rows(where, self.room if where.dtype is not None else n)
        self.read = reader(self.observation_space)
        self.alone: tuple[Any, Any, Any] = np.zeros(n), np.zeros(n, bool), np.zeros(n, bool)

    def step(
        self, actions: Any, observations: Any, rewards: Any, terminated: Any, truncated: Any, finals: Callable[[], Any]
    ) -> Infos:
        """Step all environments and write the results into rows; returns the infos. Raises `RefusedError`.

        If an episode has ended in SAME_STEP mode with no other info than its last observation, that observation is in
        its row of the block that `finals` returns.
        """
        sim = self.simulation
        self.block = observations
        try:
            sim.step(actions, observations, rewards, terminated, truncated)
        except SimulationError as error:
            if isinstance(error.__cause__, ResetNeeded):
                self.refused(error, observations)
            raise
        sim.observations = observations
        return self.end_episodes(observations, finals) if sim.ended or sim.infos else []

    def refused(self, error: SimulationError, observations: Any) -> NoReturn:
        """Raise `RefusedError`: the caller has to reset an environment first; all continue from where they are."""
        sim, i = self.simulation, error.index - self.first
        observations[i : len(self.makers)] = sim.observations[i : len(self.makers)]
        sim.observations = observations
        self.end_episodes(observations)
        raise RefusedError(error)

    def step_one(self, i: int, action: Any) -> tuple[int, Any, float, bool, bool, Infos]:
        """Step one environment: its index, its observation as the only row, reward, terminated, truncated, infos."""
        sim = self.simulation
        self.block = sim.observations = sim.observations.copy()  # the block was lent for one step of all environments
        sim.step_one(i, action, self.block, *self.alone)
        infos = self.end_episodes(self.block)
        reward, terminated, truncated = (each[i].item() for each in self.alone)
        return self.first + i, self.block[i : i + 1], reward, terminated, truncated, infos

    def end_episodes(self, observations: Any, finals: Callable[[], Any] | None = None) -> Infos:
        """End the episodes that are over, as the autoreset mode says; returns the infos, in order."""
        sim = self.simulation
        infos = snapshot(sim.infos)  # resets may write into them, and steps to come
        for i in sim.ended:
            info = infos.get(i, {})
            if i in sim.broken:
                info = infos[i] = {"restarted": sim.broken[i]}
                sim.last[i] = self.seen(observations, i)
                sim.rebuild(i)
            if self.mode is AutoresetMode.SAME_STEP:
                plain = i not in sim.last
                last = observations[i] if plain else sim.last.pop(i)
                last = last.copy() if isinstance(last, np.ndarray) else deepcopy(last)  # the reset may write over it
                sim.infos = {}
                sim.reset(i, into=observations)
                if plain and finals is not None and not sim.infos:
                    finals()[i] = last
                    continue
                infos[i] = {"final_info": info, "final_obs": last, **snapshot(sim.infos.get(i, {}))}
                if "restarted" in info:
                    infos[i]["restarted"] = info["restarted"]
            else:
                sim.calls[i] = partial(self.begin if self.mode is AutoresetMode.NEXT_STEP else self.refuse, i)
        sim.at[0] = 0
        return [(self.first + i, infos[i]) for i in sorted(infos)]

    def seen(self, observations: Any, i: int) -> Any:
        """An observation from its row, in the environment's own form; the row may be reused."""
        if isinstance(observations, list):
            return observations[i]
        row = observations[i].copy()
        return row if self.read is None else self.read(row)

    def begin(self, i: int, _action: Any) -> tuple[Any, float, bool, bool, Any]:
        """Called instead of a step: begins the next episode."""
        sim = self.simulation
        before, sim.infos = sim.infos, {}
        try:
            sim.reset(i, into=self.block)
        except SimulationError as error:
            raise ResetError(error) from error
        sim.calls[i] = sim.envs[i].step
        info, sim.infos = sim.infos.get(i, {}), before
        return self.seen(self.block, i), 0.0, False, False, info

    def refuse(self, _i: int, _action: Any) -> NoReturn:
        """Called instead of a step that is not allowed."""
        raise ResetNeeded(
            'its episode is over; reset it before, with options={"reset_mask": terminated | truncated}, or choose '
            "another autoreset_mode"
        )

    # ---- orders ----

    def reset(self, seeds: list[int | None], options: Any, mask: list[bool] | None) -> tuple[Any, Infos]:
        """Reset all environments, or those in the mask; returns observations and infos."""
        sim = self.simulation
        sim.observations, sim.infos = sim.observations.copy(), {}
        for i, seed in enumerate(seeds[self.own]):
            if mask is None or mask[self.first + i]:
                sim.reset(i, seed=seed, options=options)
                sim.calls[i] = sim.envs[i].step
        sim.at[0] = 0
        return sim.observations, [(self.first + i, snapshot(info)) for i, info in sim.infos.items()]

    def finish(self) -> None:
        """Mark all episodes as over, although they have just begun: the caller has yet to see the last ones end."""
        for i in range(len(self.makers)):
            self.simulation.calls[i] = partial(
                self.begin if self.mode is AutoresetMode.NEXT_STEP else self.refuse, i
            )  # fmt: skip

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The results of a method, or the values of an attribute."""
        if name in RESERVED:
            raise ValueError(f"`{name}` of the sub-environments cannot be called by name; use {name}() itself")
        found = [env.get_wrapper_attr(name) for env in self.simulation.envs]
        return [each(*args, **kwargs) if callable(each) else each for each in found]

    def assign(self, name: str, values: list[Any]) -> None:
        """Set an attribute of each environment."""
        for i, env in enumerate(self.simulation.envs):
            env.set_wrapper_attr(name, values[self.first + i])

    def each(self, which: list[int], function: Callable[..., Any], args: tuple[Any, ...]) -> list[tuple[int, Any]]:
        """The results of a function of some of the environments, computed where they are."""
        return [
            (i, function(self.simulation.envs[i - self.first], *args))
            for i in which
            if i in range(self.own.start, self.own.stop)
        ]

    def compare(self, alike: bool) -> list[tuple[bool, bool]]:
        """Whether the environments' spaces equal the shared ones, or at least have the same shape and dtype."""
        observation_space, action_space = self.observation_space, self.action_space
        return [
            (
                env.observation_space == observation_space
                if alike
                else is_space_dtype_shape_equiv(env.observation_space, observation_space),
                env.action_space == action_space,
            )
            for env in self.simulation.envs
        ]

    def restarted(self) -> int:
        """The number of restarts of environments."""
        return int(self.simulation.restarts)

    def close(self) -> None:
        """Close the environments, as far as they were made."""
        sim, self.simulation, self.block = self.simulation, None, None
        if sim is not None:  # they were made
            self.restarts = sim.restarts
            sim.at.release()
            sim.close()
