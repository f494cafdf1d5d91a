"""How does a vector environment become a reactor?

It has the ports of `rl.Env` with `num_envs`, and `valid`. Underneath is one `gymnasium.vector.VectorEnv` that steps all
of its environments in one call, like those of EnvPool or ALE, or those written in NumPy.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode

import reactors as rx
from reactors.errors import ArgumentError, ParameterError
from reactors.lowlevel import checks, closest, in_words, is_read
from reactors.rl.envs.env import Env, checked_on_error
from reactors.rl.envs.owned import own
from reactors.rl.envs.simulation import seed_of
from reactors.rl.envs.snapshots import snapshot
from reactors.rl.envs.sources import Game, found, maker
from reactors.rl.envs.spaces import array_type, rows
from reactors.rl.envs.vector_simulation import VectorSimulation
from reactors.rl.public import public, refuse_passed_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactors.rl.envs.simulation import OnError
    from reactors.rl.envs.spaces import Space
    from reactors.rl.envs.vector_simulation import Autoreset


@public("rl.BatchedEnv")
class BatchedEnv(Env):
    """A `gymnasium.vector.VectorEnv` as one reactor, made on its worker at the start.

    `env` is one of these, or its name, as in `rl.Env`: an `EnvSpec`, for `gymnasium.make_vec` with `num_envs` and
    `kwargs`; a class of single environments, of which `num_envs` are made; or a function that makes the vector
    environment from `num_envs`, if given, and `kwargs`. If a function has a parameter named `seed`, it gets the seed,
    and `reset` does not: EnvPool needs this. The first environment's seed is derived from the reactor's own, and each
    other one is greater by one, as in vector environments; `seed=` gives another seed, a number or a list.

    The ports are those of `rl.Env` with `num_envs`. They mean the same in every autoreset mode of the vector
    environment, which is read from `metadata["autoreset_mode"]`; if that is missing, give `autoreset_mode=`, or it is
    an error. One difference shows with NEXT_STEP: there, an ended environment begins its next episode in the step after
    the end, and ignores the action. `valid` is False for such a step, and True for all others. The end's `observation`
    is then still the final one, and `transition` has a row for the step that is none: if you read `transition`, read
    `valid`, too.

    `info` is the dict of arrays from the vector environment. `final_info` is never set, because `info` contains it,
    also with DISABLED, where what the reset says is merged into what the step said.

    >>> import reactors.rl as rl
    >>> env = rl.BatchedEnv("CartPole-v1", num_envs=64)
    >>> env.observation.shape, env.valid.shape
    ((64, 4), (64,))

    """

    valid: rx.Output[Any]

    def __init__(
        self,
        env: str | EnvSpec | Callable[..., Any],
        *,
        num_envs: int | None = None,
        seed: int | list[int] | None = None,
        autoreset_mode: Autoreset | None = None,
        observation_space: Space | None = None,
        action_space: Space | None = None,
        on_error: OnError = "raise",
        **kwargs: Any,
    ) -> None:
        self.on_error: OnError = checked_on_error(on_error, self.path)
        self.restarts = 0
        self.autoreset_mode: Autoreset | None = autoreset_mode
        self.make = self._maker(env, num_envs, kwargs)
        self.wants_seed = _takes_seed(self.make)
        self.given_seed = seed
        if num_envs is None or observation_space is None or action_space is None:
            try:
                found = self._found()
            except ParameterError as error:
                refuse_passed_on(self.path, BatchedEnv, kwargs, error.__cause__)
                raise
            num_envs = found[0] if num_envs is None else num_envs
            observation_space = found[1] if observation_space is None else observation_space
            action_space = found[2] if action_space is None else action_space
        self.num_envs = num_envs
        self.valid = rx.Output(shape=(num_envs,), dtype=bool)
        self._declare(observation_space, action_space, self.valid)

    def _maker(self, env: Any, num_envs: int | None, kwargs: dict[str, Any]) -> Callable[..., Any]:
        env = found(env, self.path, "a vector environment")
        if isinstance(env, EnvSpec | Game) or (inspect.isclass(env) and issubclass(env, gym.Env)):
            if num_envs is None:
                misspelt = closest("num_envs", kwargs)
                instead = ", too" if misspelt is None else f", not {misspelt}"
                raise ArgumentError(f"{self.path} is given a single environment; give num_envs{instead}")
            if isinstance(env, EnvSpec):
                return partial(gym.make_vec, env, num_envs=num_envs, **kwargs)
            return partial(gym.vector.SyncVectorEnv, [maker(env, kwargs, self.path)] * num_envs)
        if num_envs is not None:
            kwargs = {"num_envs": num_envs, **kwargs}
        return partial(env, **kwargs) if kwargs else env

    def _found(self) -> tuple[int, Space, Space]:
        """Number and spaces of the environments, from a vector environment that is made and closed again."""
        try:
            make = own(self.make)  # which may carry one that is used later
            probe = make(seed=0) if self.wants_seed else make()
        except Exception as error:
            raise ParameterError(
                f"{self.path}: its vector environment cannot be made here to find its spaces "
                f"({in_words(error)}); fix it, or give num_envs, observation_space and action_space"
            ) from error
        try:
            return probe.num_envs, probe.single_observation_space, probe.single_action_space
        except AttributeError as error:
            raise ParameterError(
                f"{self.path}: what its function makes is a {type(probe).__name__}, which is no vector environment "
                f"({error}); rl.Env takes single ones"
            ) from error
        finally:
            if hasattr(probe, "close"):
                probe.close()

    def make_simulation(self) -> VectorSimulation:  # type: ignore[override]  # what is done with it is overridden, too
        """Make the vector environment; called once, on the worker."""
        seed: Any = seed_of(self.seed, 0) if self.given_seed is None else self.given_seed
        assert self.num_envs is not None
        return VectorSimulation(
            self.make,
            self.num_envs,
            self.observation_space,
            self.action_space,
            seed=seed,
            seed_when_made=self.wants_seed,
            mode=self.autoreset_mode,
            counting=is_read(self.episode),
            telling=is_read(self.valid),
            restarting=self.on_error == "restart",
            thorough=checks(self.observation),
            path=self.path,
        )

    def begin(self) -> None:
        """Make the environments and reset them."""
        self.simulation = sim = self.make_simulation()
        self._tells_next = is_read(self.next_observation)
        self._tells_transition = is_read(self.transition)
        self._check_transition()
        if self._tells_transition and sim.mode is AutoresetMode.NEXT_STEP and not is_read(self.valid):
            raise ParameterError(
                f"{self.transition.where()} is read and {self.valid.where()} is not, but the autoreset_mode of its "
                "vector environment is NextStep, so that not every row is a transition; read valid and leave out rows "
                "where it is False, or make the vector environment with autoreset_mode SameStep or Disabled"
            )
        self._flat = array_type(self.observation_space).dtype is not None
        self._following = None
        if (self._tells_next or self._tells_transition) and not self._flat:
            self._following = rows(array_type(self.observation_space), sim.num_envs)
        flags = (self.reward, self.terminated, self.truncated)
        self._told_ports = [(number, port) for number, port in enumerate(flags) if is_read(port)]
        self._tells_valid, self._tells_info = is_read(self.valid), is_read(self.info)
        self._before = rows(array_type(self.observation_space), sim.num_envs) if self._tells_transition else None
        sim.reset_all()
        self._show()

    def step(self) -> None:
        """Take one action in each environment."""
        sim, actions = self.simulation, self.action.value
        following: Any = self._following
        lent = record = None
        if self._tells_transition:
            record = self.transition.loan()
            record["obs"], record["action"] = self._before, actions
            following = record["next_obs"]
        if self._tells_next and self._flat:
            following = lent = self.next_observation.loan()
        answer = sim.step(actions, following)
        for number, port in self._told_ports:
            slot = port.loan()
            slot[:] = answer[number]
            port.set(slot)
        if record is not None:
            if lent is not None:
                record["next_obs"] = lent
            record["reward"], record["terminated"], record["truncated"] = answer
            self.transition.set(record)
        if self._tells_next:
            self.next_observation.set(lent if self._flat else tuple(following))
        if self._tells_valid:
            slot = self.valid.loan()
            slot[:] = True if sim.valid is None else sim.valid
            self.valid.set(slot)
        self._show()
        if sim.episodes:
            self.episode.set(tuple(sim.episodes))

    def _show(self) -> None:
        sim = self.simulation
        if self._flat:
            slot = self.observation.loan()
            sim.put(slot, sim.observations)
            self.observation.set(slot)
            if self._before is not None:
                self._before[:] = slot
        else:
            self.observation.set(tuple(sim.observations))
        if self._tells_info and sim.infos:
            self.info.set(snapshot(sim.infos))


def _takes_seed(make: Callable[..., Any]) -> bool:
    try:
        return "seed" in inspect.signature(make).parameters
    except (TypeError, ValueError):  # a builtin without a signature
        return False
