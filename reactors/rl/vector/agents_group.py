"""A group of environments with many agents on one worker: stepped, reset and called as in `rl.MultiAgentVectorEnv`."""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.rl.envs.agents.masks import MASK, checks_of, mask_of, unmasked, without_mask
from reactors.rl.envs.agents.turns import simulation_of
from reactors.rl.envs.owned import own
from reactors.rl.envs.snapshots import snapshot
from reactors.rl.envs.spaces import WrongValueError, reader, rows_writer, writer
from reactors.rl.vector.share import Infos, Share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import EllipsisType

    from numpy.typing import NDArray

    from reactors.rl.envs.parallel_simulation import ParallelSimulation
    from reactors.rl.envs.simulation import OnError
    from reactors.rl.vector.agents_layout import AgentsLayout
    from reactors.rl.vector.whereabouts import Whereabouts


class AgentsGroup(Share):
    """A share of environments with many agents, whose records have the `layout`."""

    def __init__(
        self,
        makers: Sequence[Callable[[], Any]],
        first: int,
        room: int,
        layout: AgentsLayout,
        where: Whereabouts,
        *,
        on_error: OnError,
    ) -> None:
        super().__init__(makers, first, room, where, on_error=on_error)
        self.layout = layout
        self.simulations: list[ParallelSimulation] = []

    def make(self) -> None:
        """Make all environments of the share, on the worker that steps them."""
        cast, path = self.layout.cast, self.layout.path
        self.who = [*enumerate(cast.agents)]
        self.everyone = [*cast.agents]
        self.number_of = {agent: i for i, agent in enumerate(cast.agents)}
        self.put = [writer(space) for space in cast.observations]
        self.put_together = rows_writer(cast.observations[0]) if self.layout.observations.alike else None
        self.taken = [reader(space) for space in cast.actions]
        self.put_state = None if cast.state is None else writer(cast.state)
        self.at = self.where.at[self.number : self.number + 1]
        for e, make in enumerate(self.makers):
            self.at[0] = e + 1
            self.simulations.append(
                simulation_of(
                    own(make), turns=cast.turns, restarting=self.on_error == "restart", index=self.first + e,
                    path=f"{path}: environment {self.first + e}", with_state=self.layout.with_state,
                    checks=checks_of(cast),
                )
            )  # fmt: skip
        self.at[0] = 0

    # ---- steps ----

    def step(
        self,
        actions: NDArray[Any],
        records: Any,
        rewards: Any,
        terminated: Any,
        truncated: Any,
        _: Callable[[], Any],
    ) -> Infos:
        """Step all environments with a block of actions, and write the results into rows; returns the infos."""
        records[...] = np.zeros((), records.dtype)
        rewards[...], terminated[...], truncated[...] = 0.0, False, False
        observations, next_observations = records["observations"], records["next_observations"]
        chosen = [self.layout.actions.column(actions, i) for i, _ in self.who]
        infos: Infos = []
        for e, simulation in enumerate(self.simulations):
            self.at[0] = e + 1
            given = {}
            for i, agent in self.who:
                if agent in simulation.observations:
                    action, taken = chosen[i][e], self.taken[i]  # of a block that is only for this step
                    given[agent] = action if taken is None else taken(action)
            led_to: dict[Any, Any] = {}
            for agent, observation, reward, dead, cut in simulation.step(given):
                i = self.number_of[agent]
                rewards[e, i] = reward
                if dead:
                    terminated[e, i] = True
                if cut:
                    truncated[e, i] = True
                led_to[agent] = observation
            self._write(next_observations, e, led_to)
            now = simulation.observations
            if [*led_to] == [*now] and all(map(is_, led_to.values(), now.values())):
                observations[e] = next_observations[e]  # as they mostly are
            else:
                self._write(observations, e, now)
            self._look(records, e, simulation)
            infos += self._told(e, simulation)
        self.at[0] = 0
        return infos

    def _look(self, records: Any, e: int, simulation: ParallelSimulation) -> None:
        """Write down who acts next in environment e, and all else that is known but what they see."""
        layout = self.layout
        records["present"][e][self._places(simulation.observations)] = True
        if simulation.episode is not None:
            records["ended"][e] = True
        if layout.cast.masked:
            for i, agent in self.who:
                layout.masks.column(records["action_mask"], i)[e] = self._mask(i, agent, simulation)
        if layout.with_state:
            for name in ("state", "next_state"):
                self._write_state(records[name], e, simulation, getattr(simulation, name))

    def _places(self, agents: Mapping[Any, Any]) -> list[int] | EllipsisType:
        """The places of agents on their axis."""
        return ... if [*agents] == self.everyone else [self.number_of[agent] for agent in agents]

    def _mask(self, i: int, agent: Any, simulation: ParallelSimulation) -> Any:
        if agent not in simulation.observations:
            return True
        _, given = unmasked(simulation.observations[agent], simulation.infos.get(agent, {}))
        mask = mask_of(simulation, agent, given, self.layout.cast.actions[i], masked=True)
        return True if mask is None else mask

    def _write(self, block: Any, e: int, observations: Mapping[Any, Any]) -> None:
        """Write what agents of environment e see into its row, all at once if it lies there as they give it."""
        layout = self.layout
        seen = [*observations.values()]
        if layout.cast.masked:
            seen = [unmasked(each, {})[0] for each in seen]
        if self.put_together is not None and self.put_together(block[e], self._places(observations), seen):
            return
        for agent, each in zip(observations, seen, strict=True):
            i = self.number_of[agent]
            self.put[i](layout.observations.column(block, i), e, each)

    def _write_state(self, block: Any, e: int, simulation: ParallelSimulation, state: Any) -> None:
        assert self.put_state is not None
        try:
            self.put_state(block, e, self.layout.cast.whole(state))
        except WrongValueError as error:
            raise simulation.error(f"its state is {error}") from error

    def _told(self, e: int, simulation: ParallelSimulation) -> Infos:
        """The other infos of environment e, and its episode, if one has ended."""
        said: dict[str, Any] = {}
        for name, infos in (("info", simulation.infos), ("final_info", simulation.final_infos)):
            if infos and (
                found := {agent: rest for agent, info in infos.items() if (rest := self._without_mask(info))}
            ):
                said[name] = found
        if simulation.episode is not None:
            said["episodes"] = simulation.episode._replace(env=self.first + e)
        if simulation.failure:
            said["restarted"] = simulation.failure
        return [(self.first + e, said)] if said else []

    def _without_mask(self, info: Mapping[str, Any]) -> dict[str, Any]:
        return {key: snapshot(value) for key, value in info.items() if key != MASK or not self.layout.cast.masked}

    # ---- orders ----

    def reset(self, seeds: list[int | None]) -> tuple[Any, Infos]:
        """Reset all environments; returns their records and infos."""
        records = np.zeros(self.room, self.layout.dtype)
        infos: Infos = []
        for e, simulation in enumerate(self.simulations):
            self.at[0] = e + 1
            simulation.begin_with(seeds[self.first + e])
            self._write(records["observations"], e, simulation.observations)
            self._look(records, e, simulation)
            infos += self._told(e, simulation)
        self.at[0] = 0
        return records, infos

    def states(self) -> list[Any]:
        """The `state()` of each environment."""
        return [self.layout.cast.whole(each.env.state()) for each in self.simulations]

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The results of a method, or the values of an attribute."""
        found = [getattr(each.env, name) for each in self.simulations]
        return [each(*args, **kwargs) if callable(each) else each for each in found]

    def restarted(self) -> int:
        """The number of restarts of environments."""
        return sum(each.restarts for each in self.simulations)

    def compare(self) -> list[bool]:
        """For each environment, whether its agents and their spaces are those of the cast."""
        cast = self.layout.cast
        return [
            tuple(each.possible) == cast.agents
            and all(
                alike
                for i, agent in self.who
                for alike in (
                    each.env.action_space(agent) == cast.actions[i],
                    without_mask(each.env.observation_space(agent)) == cast.observations[i],
                )
            )
            for each in self.simulations
        ]

    def close(self) -> None:
        """Close the environments, as far as they were made."""
        simulations, self.simulations = self.simulations, []
        if hasattr(self, "at"):
            self.restarts = sum(each.restarts for each in simulations)
            self.at.release()
        for each in simulations:
            each.close()
