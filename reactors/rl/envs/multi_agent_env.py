"""How does an environment with many agents become a reactor?

Every port has a channel for each possible agent, which is absent while the agent is. So the policy of an agent that is
gone, or waits for its turn, does not run, and nothing has to be masked.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import reactors as rx
from reactors.errors import ArgumentError, ParameterError, WiringError
from reactors.lowlevel import Ports, in_words, is_read, offered
from reactors.rl.envs.agents.sources import agents_maker
from reactors.rl.envs.agents.turns import simulation_of, takes_turns
from reactors.rl.envs.env import checked_on_error
from reactors.rl.envs.owned import own
from reactors.rl.envs.simulation import seed_of
from reactors.rl.envs.snapshots import snapshot
from reactors.rl.envs.spaces import Space, array_type, checker, reader, writer
from reactors.rl.errors import SimulationError
from reactors.rl.public import public, refuse_passed_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactors.rl.envs.parallel_simulation import ParallelSimulation
    from reactors.rl.envs.simulation import OnError
    from reactors.rl.episode import Episode

_SHAPED = ("action", "observation", "next_observation")  # ports whose values are as the spaces of the agent say
_SCALAR = {"reward": np.float64, "terminated": np.bool_, "truncated": np.bool_}


class AgentPorts(NamedTuple):
    """The ports of one agent."""

    action: rx.Input[Any]
    observation: rx.Output[Any]
    next_observation: rx.Output[Any]
    reward: rx.Output[Any]
    terminated: rx.Output[Any]
    truncated: rx.Output[Any]


class Agents(dict[Any, AgentPorts]):
    """Ports by agent; the error for an unknown agent lists the known ones."""

    def __init__(self, path: str, ports: dict[Any, AgentPorts]) -> None:
        super().__init__(ports)
        self.path = path

    def __missing__(self, name: Any) -> AgentPorts:
        raise WiringError(f"{self.path} has no agent {name!r}; there are {', '.join(map(repr, self))}")


@public("rl.MultiAgentEnv")
class MultiAgentEnv(rx.Reactor):
    """A PettingZoo environment whose agents act at once (parallel) or in turn (AEC), made on its worker at the start.

    `env` is a function that makes one, or a name: an id, for `pettingzoo.make`; a module with a `parallel_env` or an
    `env`, as `mpe2/simple_spread_v3` or `mpe2.simple_spread_v3`; `module:Name` or `FILE:Name`. `kwargs` go to either.

    Ports have a channel for each possible agent; `agents` maps names to indices, and `agent[name]` has an agent's
    ports.

    ===================== ============================================================ ==========================
    `action[i]`           in: the action of agent i; not needed if the agent is absent as its action space says
    `observation[i]`      what it has to act on next; absent if it does not            as its observation space says
    `reward[i]`           absent, like the next three, if it was not in play           float64, ()
    `terminated[i]`       it is gone, by the rules of the environment                  bool, ()
    `truncated[i]`        its episode was cut off                                      bool, ()
    `next_observation[i]` what its action led to: the final observation at its end     as its observation space says
    `episode`             tuple with one `rl.Episode`, when no agent is left           objects
    `info`                for `observation`: {name: dict}, of those that are not empty objects
    ===================== ============================================================ ==========================

    If all agents have the same spaces, all ports are multiports, and `.array` of an input connected to one is a block
    with a row for each agent. Otherwise, `action`, `observation` and `next_observation` are rows of single ports of
    different types; connect them in the same way, by index or by name.

    At the start, only `observation` (and `info`) are set. All agents with an observation have to act at the same tag.
    Where agents act at once, these are all that are in play; where they act in turn, it is one of them, and the others
    get the rewards that its action gives them. When no agent is left, `observation` is the first one of the next
    episode. `seed` goes to the first reset; by default it is derived from the reactor's own. With
    `on_error="restart"`, an environment that fails is made again, and all agents are truncated.

    >>> import reactors.rl as rl
    >>> env = rl.MultiAgentEnv("classic/rps_v2", max_cycles=3)
    >>> env.agents, env.observation[1].shape
    ({'player_0': 0, 'player_1': 1}, ())
    >>> env.agent["player_1"].reward is env.reward[1]
    True
    """

    action: rx.Input[Any]
    observation: rx.Output[Any]
    reward: rx.Output[Any]
    terminated: rx.Output[Any]
    truncated: rx.Output[Any]
    next_observation: rx.Output[Any]
    episode: rx.Output[tuple[Episode, ...]] = rx.Output(tuple)
    info: rx.Output[dict[str, Any]] = rx.Output(dict)

    def __init__(
        self, env: str | Callable[..., Any], *, seed: int | None = None, on_error: OnError = "raise", **kwargs: Any
    ) -> None:
        self.on_error: OnError = checked_on_error(on_error, self.path)
        _check_seed(seed, self.path)
        self.make = agents_maker(env, kwargs, self.path)
        self.given_seed, self.restarts = seed, 0
        self.agents, self.observation_spaces, self.action_spaces = self._probed(kwargs)
        self.equal = all(
            space == spaces[0] for spaces in (self.observation_spaces, self.action_spaces) for space in spaces
        )
        self.simulation: ParallelSimulation | None = None
        self._declare_ports()
        written = (self.observation, self.next_observation, self.reward, self.terminated, self.truncated)
        effects = (*(port for ports in written for port in ports), self.episode, self.info)
        for port in effects:
            offered(port)
        self.add_reaction(rx.startup, self.begin, effects=(*self.observation, self.info))
        self.add_reaction(tuple(self.action), self.step, effects=effects)
        self.add_reaction(rx.shutdown, self.close)

    def _probed(self, kwargs: dict[str, Any]) -> tuple[dict[Any, int], list[Space], list[Space]]:
        """Agents and their spaces, from an environment that is made and closed again."""
        try:
            env = own(self.make)()  # which may carry one that is used later
        except Exception as error:
            refuse_passed_on(self.path, MultiAgentEnv, kwargs, error)
            raise ParameterError(
                f"{self.path}: its environment cannot be made here to find its spaces ({in_words(error)})"
            ) from error
        try:
            agents, self.turns = list(env.possible_agents), takes_turns(env)
            return (
                {agent: i for i, agent in enumerate(agents)},
                [env.observation_space(agent) for agent in agents],
                [env.action_space(agent) for agent in agents],
            )
        except (AttributeError, TypeError) as error:
            if callable(getattr(env, "observation_space", None)) and not hasattr(env, "possible_agents"):
                raise ParameterError(
                    f"{self.path}: what its function makes is a {type(env).__name__} without possible_agents, and each "
                    "agent has ports, which are there before it runs; let possible_agents list them all"
                ) from error
            raise ParameterError(
                f"{self.path}: what its function makes is a {type(env).__name__}, which is no PettingZoo "
                f"environment ({error})"
            ) from error
        finally:
            if hasattr(env, "close"):
                env.close()

    def _declare_ports(self) -> None:
        for name in _SHAPED:
            kind = rx.Input if name == "action" else rx.Output
            spaces = self.action_spaces if name == "action" else self.observation_spaces
            if self.equal:
                setattr(self, name, kind(**_port(spaces[0]), width=len(spaces)))
                continue
            single = [kind(**_port(space)) for space in spaces]
            for i, port in enumerate(single):
                setattr(self, f"{name}_{i}", port)
            setattr(self, name, Ports(single))
        for name, dtype in _SCALAR.items():
            setattr(self, name, rx.Output(shape=(), dtype=dtype, width=len(self.agents)))

    @property
    def agent(self) -> dict[Any, AgentPorts]:
        """The ports of each possible agent, by its name."""
        return Agents(self.path, {name: self._ports(i) for name, i in self.agents.items()})

    def _ports(self, i: int) -> AgentPorts:
        shaped = {name: getattr(self, name)[i] if self.equal else getattr(self, f"{name}_{i}") for name in _SHAPED}
        return AgentPorts(**shaped, **{name: getattr(self, name)[i] for name in _SCALAR})

    # ---- in the run ----

    def begin(self) -> None:
        """Make the environment and reset it."""
        self.simulation = simulation_of(
            self.make,
            turns=self.turns,
            seed=seed_of(self.seed, 0) if self.given_seed is None else self.given_seed,
            restarting=self.on_error == "restart",
            path=self.path,
            checks={name: checker(self.observation_spaces[i]) for name, i in self.agents.items()},
        )
        self._by_agent = self.agent
        self._read = {name: _taken(self.action_spaces[i]) for name, i in self.agents.items()}
        self._write = {
            name: None if array_type(self.observation_spaces[i]).dtype is None else writer(self.observation_spaces[i])
            for name, i in self.agents.items()
        }
        self._tells_next = {name: is_read(ports.next_observation) for name, ports in self._by_agent.items()}
        self._tells_info = is_read(self.info)
        self.simulation.reset()
        self._show(self.simulation)

    def step(self) -> None:
        """Take the actions of all present agents."""
        sim, ports = self.simulation, self._by_agent
        assert sim is not None
        actions = {}
        for name in sim.observations:
            action = ports[name].action
            if not action.is_present:
                raise SimulationError(
                    f"{action.where()} is absent at {self.tag}, though {name!r} is there and others act; let all "
                    "agents that have an observation act at the same tag"
                )
            actions[name] = self._read[name](action.value)
        for outcome in sim.step(actions):
            mine = ports[outcome.agent]
            mine.reward.set(outcome.reward)
            mine.terminated.set(outcome.terminated)
            mine.truncated.set(outcome.truncated)
            if self._tells_next[outcome.agent]:
                self._set(mine.next_observation, outcome.agent, outcome.observation)
        if sim.episode is not None:
            self.episode.set((sim.episode,))
            self.restarts = sim.restarts
        self._show(sim)

    def _show(self, sim: ParallelSimulation) -> None:
        for name, observation in sim.observations.items():
            self._set(self._by_agent[name].observation, name, observation)
        if sim.infos:
            self.info.set(snapshot(sim.infos) if self._tells_info else sim.infos)

    def _set(self, port: Any, name: Any, observation: Any) -> None:
        write = self._write[name]
        if write is None:
            port.set(copy.deepcopy(observation))  # environments may go on writing into what they gave
            return
        slot = port.loan()
        write(slot[None], 0, observation)
        port.set(slot)

    def close(self) -> None:
        """Close the environment."""
        simulation, self.simulation = self.simulation, None
        self._by_agent, self._read, self._write = {}, {}, {}
        if simulation is not None:
            self.restarts = simulation.restarts
            simulation.close()


def _check_seed(seed: Any, path: str) -> None:
    if seed is not None and (not isinstance(seed, int) or seed < 0):
        raise ArgumentError(f"seed of {path} is {seed!r}; give a whole number, 0 or more")


def _port(space: Space) -> dict[str, Any]:
    where = array_type(space)
    return {} if where.dtype is None else {"shape": where.shape, "dtype": where.dtype}


def _taken(space: Space) -> Callable[[Any], Any]:
    """A function that turns a value from a port into what the environment gets."""
    if array_type(space).dtype is None:
        return _as_it_is
    read = reader(space)
    return _copied if read is None else lambda value: read(value[()])


def _as_it_is(value: Any) -> Any:
    return value


def _copied(value: Any) -> Any:
    return value[()] if value.ndim == 0 else value.copy()  # an environment may keep its action
