"""How does an environment, or a row of environments, become a reactor?

Actions come in, and at the same tag their results go out: observations, rewards, ends. Learners never see how an
environment is reset: `observation` is always what to act on next, `next_observation` is always what the action led to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.errors import ArgumentError, ParameterError
from reactors.lowlevel import checks, is_read, offered
from reactors.rl.envs.simulation import Simulation, seed_of
from reactors.rl.envs.snapshots import snapshot
from reactors.rl.envs.sources import checked_seeds, is_row, makers, spaces_of
from reactors.rl.envs.spaces import OBJECT, ArrayType, array_type, rows
from reactors.rl.public import public, refuse_passed_on
from reactors.rl.replay.transition import transition_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reactors.rl.envs.simulation import OnError
    from reactors.rl.envs.sources import Source
    from reactors.rl.envs.spaces import Space
    from reactors.rl.episode import Episode

UNMADE = "fix it, or give observation_space and action_space if it can be made on its worker alone"


@public("rl.Env")
class Env(rx.Reactor):
    """One Gymnasium environment, or `num_envs` of them in a row, made on its worker at the start.

    `env` is a name, an `EnvSpec`, a class or function that makes an environment, or a list of k of these. `kwargs` go
    to `gymnasium.make`, or to the function. Apply wrappers in the function, as usual. A name is a registered id,
    `module:Id` or `module:Name`, `FILE:Name` for a class or function of a file, `atari:Game` for `rl.atari(Game)`, or
    `minatar:game` for `rl.minatar(game)`.

    With `num_envs=None`, values are those of one environment; with `num_envs=k`, all have a leading axis of length k.

    =================== ================================================================= =======================
    `action`            in: the action                                                    as the action space says
    `observation`       what to act on next; after an end, the first of the next episode  as the space says
    `reward`            float64, as in Gymnasium                                          ()
    `terminated`        the episode ended by the rules of the environment                 bool, ()
    `truncated`         the episode was cut off                                           bool, ()
    `next_observation`  what the action led to: the final observation at an end           as the space says
    `transition`        all of these as records: `rl.transition_dtype`                    ()
    `episode`           tuple of `rl.Episode`, of those that ended at this tag            objects
    `info`              for `observation`: a dict, or with num_envs {index: dict}         objects
    `final_info`        the same for `next_observation` where an episode ended            objects
    =================== ================================================================= =======================

    At the start, only `observation` is set, and `info` if there is any. `episode`, `info` and `final_info` are absent
    if there is nothing to report. An output that no reaction reads costs nothing: `next_observation` and `transition`
    are set only if a reaction reads them.

    Spaces `Box`, `Discrete`, `MultiDiscrete` and `MultiBinary` give array ports; `Tuple` and `Dict` of these give ports
    of structured records (`rl.spaces`); other spaces give ports of objects, tuples of objects with `num_envs`.

    Environment i is seeded at its first reset and never again, with a number derived from the reactor's own seed and i.
    `seed=s` replaces this number by s + i, as in Gymnasium's vector environments; a list has one seed for each, or
    None.

    To find the spaces, one environment is made in the caller, unless both spaces are given. With `on_error="restart"`,
    an environment that raises an exception or returns an invalid result is made again. Its episode is truncated at the
    state before the action, the `rl.Episode` is marked, and `restarts` counts it. The default is to raise an
    `rl.SimulationError` with index and seed.

    >>> import gymnasium as gym, reactors as rx, reactors.rl as rl
    >>> class Random(rx.Reactor):
    ...     observation, reward = rx.Input(shape=(4,), dtype="f4"), rx.Input(shape=(), dtype="f8")
    ...     action = rx.Output(shape=(), dtype="i8")
    ...     def __init__(self):
    ...         self.total = 0.0
    ...     @rx.reaction(observation, uses=reward, effects=action)
    ...     def act(self):
    ...         self.total += self.reward.value if self.reward.is_present else 0
    ...         self.action.set(self.rng.integers(2))
    >>> class Play(rx.Reactor):
    ...     def __init__(self):
    ...         self.env, self.policy = rl.Env("CartPole-v1"), Random()
    ...         self.env.observation >> self.policy.observation
    ...         self.env.reward >> self.policy.reward
    ...         rx.connect(self.policy.action, self.env.action, after="1 us")
    >>> main = Play()
    >>> rx.run(main, fast=True, timeout="100 us").tags
    101
    >>> float(main.policy.total)
    100.0
    """

    action: rx.Input[Any]
    observation: rx.Output[Any]
    reward: rx.Output[Any]
    terminated: rx.Output[Any]
    truncated: rx.Output[Any]
    next_observation: rx.Output[Any]
    transition: rx.Output[Any]
    episode: rx.Output[tuple[Episode, ...]]
    info: rx.Output[dict[Any, Any]]
    final_info: rx.Output[dict[Any, Any]]

    def __init__(
        self,
        env: Source | Sequence[Source],
        *,
        num_envs: int | None = None,
        seed: int | Sequence[int | None] | None = None,
        observation_space: Space | None = None,
        action_space: Space | None = None,
        on_error: OnError = "raise",
        **kwargs: Any,
    ) -> None:
        self.makers = makers(env, num_envs, kwargs, self.path)
        self.num_envs = len(self.makers) if num_envs is not None or is_row(env) else None
        self.env_seeds = checked_seeds(seed, len(self.makers), self.path)
        self.on_error: OnError = checked_on_error(on_error, self.path)
        self.restarts = 0
        if observation_space is None or action_space is None:
            try:
                found = spaces_of(self.makers[0], self.path, remedy=UNMADE)
            except ParameterError as error:
                refuse_passed_on(self.path, Env, kwargs, error.__cause__)
                raise
            observation_space = found[0] if observation_space is None else observation_space
            action_space = found[1] if action_space is None else action_space
        self._declare(observation_space, action_space)

    def _declare(self, observation_space: Space, action_space: Space, *more: rx.Output[Any]) -> None:
        """Declare the ports for the spaces, `more` of them, and the reactions."""
        self.observation_space, self.action_space = observation_space, action_space
        self.simulation: Any = None
        self._declare_ports()
        arrays = (self.observation, self.reward, self.terminated, self.truncated, self.next_observation)
        effects = (*arrays, self.transition, self.episode, self.info, self.final_info, *more)
        for port in effects:
            offered(port)
        self.add_reaction(rx.startup, self.begin, effects=(self.observation, self.info))
        self.add_reaction(self.action, self.step, effects=effects)
        self.add_reaction(rx.shutdown, self.close)

    def _declare_ports(self) -> None:
        """Declare the ports for the spaces; with `num_envs`, each value is for all environments."""
        obs, act = array_type(self.observation_space), array_type(self.action_space)
        self.action = rx.Input(**self._port(act))
        self.observation = rx.Output(**self._port(obs))
        self.next_observation = rx.Output(**self._port(obs))
        self.reward = rx.Output(**self._port(ArrayType(np.dtype(np.float64), ())))
        self.terminated = rx.Output(**self._port(ArrayType(np.dtype(bool), ())))
        self.truncated = rx.Output(**self._port(ArrayType(np.dtype(bool), ())))
        record = OBJECT
        if obs.dtype is not None and act.dtype is not None:
            record = ArrayType(transition_dtype(self.observation_space, self.action_space), ())
        self.transition = rx.Output(**self._port(record))
        self.episode = rx.Output(tuple)
        self.info, self.final_info = rx.Output(dict), rx.Output(dict)

    def _port(self, where: ArrayType) -> dict[str, Any]:
        if where.dtype is None:
            return {} if self.num_envs is None else {"type": tuple}
        lead = () if self.num_envs is None else (self.num_envs,)
        return {"shape": (*lead, *(where.shape or ())), "dtype": where.dtype}

    def make_simulation(self) -> Simulation:
        """Make the environments; called once, on the worker. A subclass may make them in another way."""
        return Simulation(
            self.makers,
            self.observation_space,
            self.action_space,
            [seed_of(self.seed, i) if given is None else given for i, given in enumerate(self.env_seeds)],
            on_error=self.on_error,
            path=self.path,
            thorough=checks(self.observation),
        )

    def begin(self) -> None:
        """Make the environments and reset them."""
        self.simulation = self.make_simulation()
        self._following = rows(array_type(self.observation_space), len(self.makers))
        self._block = _as_it_is if self.num_envs is not None else _with_axis
        self._tells_next = is_read(self.next_observation)
        self._lends_next = self._tells_next and self.next_observation.dtype is not None
        self._tells_transition, self._tells_info = is_read(self.transition), is_read(self.info)
        self._check_transition()
        self.simulation.reset_all()
        self._show()

    def _check_transition(self) -> None:
        if self._tells_transition and self.transition.dtype is None:
            raise ParameterError(
                f"{self.transition.where()} is read, but values of {self.observation_space} and {self.action_space} "
                "have no fixed size, so no record can hold them; connect the single ports, or wrap the environment"
            )

    def step(self) -> None:
        """Take one action in each environment."""
        sim, block = self.simulation, self._block
        actions = self.action.value
        if self.num_envs is None:
            actions = actions[None] if isinstance(actions, np.ndarray) else (actions,)
        rewards, terminated, truncated = self.reward.loan(), self.terminated.loan(), self.truncated.loan()
        lent = self.next_observation.loan() if self._lends_next else None
        following = self._following if lent is None else block(lent)
        if self._tells_transition:
            record = self.transition.loan()
            sim.record(block(record), actions, block(rewards))
            terminated[...], truncated[...] = record["terminated"], record["truncated"]
            if lent is not None:
                lent[...] = record["next_obs"]
            self.transition.set(record)
        else:
            sim.advance(actions, following, block(rewards), block(terminated), block(truncated))
        self.reward.set(rewards)
        self.terminated.set(terminated)
        self.truncated.set(truncated)
        if self._tells_next:
            self.next_observation.set(self._shown(following) if lent is None else lent)
        self._show()
        if sim.episodes:
            self.episode.set(tuple(sim.episodes))
            self.restarts = sim.restarts
            if sim.final_infos:
                self.final_info.set(self._shown(sim.final_infos))

    def _show(self) -> None:
        """Send what to act on next."""
        sim = self.simulation
        self.observation.set(self._shown(sim.observations))
        if sim.infos:
            infos = self._shown(sim.infos)
            self.info.set(snapshot(infos) if self._tells_info else infos)

    def _shown(self, values: Any) -> Any:
        """The form on a port for values of all environments: a block, a list, or a dict by index."""
        if self.num_envs is None:
            return values[0]
        return tuple(values) if isinstance(values, list) else values

    def close(self) -> None:
        """Close the environments at the end of the run."""
        simulation, self.simulation, self._following = self.simulation, None, None
        if simulation is not None:  # it could be made
            self.restarts = simulation.restarts
            simulation.close()


def checked_on_error(given: OnError, path: str) -> OnError:
    """A valid `on_error`; for any other value, an error names the valid ones."""
    if given not in {"raise", "restart"}:
        raise ArgumentError(f'on_error of {path} is {given!r}; write "raise" or "restart"')
    return given


def _as_it_is(slot: Any) -> Any:
    return slot


def _with_axis(slot: Any) -> Any:
    return slot[None]
