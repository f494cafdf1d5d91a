"""How do the algorithms of Stable-Baselines3 train on environments that are reactors?

Only this module imports Stable-Baselines3; `rl.sb3` loads it.
"""

from __future__ import annotations

import multiprocessing
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv as Base
from stable_baselines3.common.vec_env.patch_gym import _patch_env

from reactors.errors import ArgumentError
from reactors.rl.envs.owned import is_a
from reactors.rl.envs.sources import makers
from reactors.rl.public import public, refuse_passed_on
from reactors.rl.vector.vector_env import VectorEnv

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn

    from reactors.rl.envs.simulation import OnError
    from reactors.rl.envs.sources import Source
    from reactors.rl.vector.share import Infos
    from reactors.rl.vector.vector_env import Step


class Settings(TypedDict, total=False):
    """What `VecEnv` passes on to `rl.VectorEnv`."""

    shared_memory: bool
    copy: bool
    observation_mode: Literal["same", "different"] | tuple[gym.Space[Any], gym.Space[Any]]
    max_concurrency: int | None
    workers: int | None
    on_error: OnError
    oversubscribe: bool
    isolate: bool
    asynchronous: bool


APART = "apart"  # under which infos come as they were: which environment, what it said


@public("rl.sb3.VecEnv")
class VecEnv(Base):
    """A `VecEnv` of Stable-Baselines3 over an `rl.VectorEnv`, which is its `envs`.

    Use it in place of `DummyVecEnv` or `SubprocVecEnv`. `env_fns` is a list of functions, or a name, spec or function,
    as in `rl.Env`, with `num_envs`. `settings` are those of `rl.VectorEnv`, such as `workers` and `on_error`;
    `start_method` has no effect here. Results are those of `DummyVecEnv`, bit for bit. Raises what `rl.VectorEnv`
    raises.

    >>> from stable_baselines3.common.env_util import make_vec_env
    >>> envs = make_vec_env("CartPole-v1", n_envs=2, seed=0, vec_env_cls=VecEnv, vec_env_kwargs={"workers": 1})
    >>> envs.reset().shape
    (2, 4)
    >>> obs, rewards, dones, infos = envs.step([0, 1])
    >>> rewards, infos[0]
    (array([1., 1.], dtype=float32), {'TimeLimit.truncated': False})
    >>> envs.close()
    >>> VecEnv("CartPole-v1", num_envs=4).num_envs
    4
    """

    def __init__(
        self,
        env_fns: Source | Sequence[Source],
        start_method: str | None = None,
        *,
        num_envs: int | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        multiprocessing.get_context(start_method)  # refuses what is none
        made = [partial(_patched, make) for make in makers(env_fns, num_envs, {}, "rl.sb3.VecEnv")]
        try:
            self.envs = _Apart(made, autoreset_mode=AutoresetMode.SAME_STEP, **settings)
        except ArgumentError as error:
            refuse_passed_on("rl.sb3.VecEnv", VecEnv, settings, error.__cause__, Settings.__annotations__)
            raise
        super().__init__(len(made), self.envs.single_observation_space, self.envs.single_action_space)
        self.metadata = {key: value for key, value in self.envs.metadata.items() if key != "autoreset_mode"}

    def reset(self) -> VecEnvObs:
        """The first observations of all environments; uses up seeds and options that were set before."""
        seeds, options = self._seeds, self._options
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = [{} for _ in seeds]
        if all(each == options[0] for each in options):
            obs, infos = self.envs.reset(seed=seeds, options=options[0])
            listed = infos.get(APART, [])
        else:
            listed = []
            for i, option in enumerate(options):
                alone = {**option, "reset_mask": np.arange(self.num_envs) == i}
                obs, infos = self.envs.reset(seed=seeds, options=alone)
                listed += infos.get(APART, [])
        for i, info in listed:
            self.reset_infos[i] = info
        return obs  # type: ignore[no-any-return]

    def step_async(self, actions: Any) -> None:
        """Send out the actions; other workers begin at once."""
        self.envs.step_async(actions)

    def step_wait(self) -> VecEnvStepReturn:
        """The result of the step."""
        return self._answer(self.envs.step_wait())

    def step(self, actions: Any) -> VecEnvStepReturn:
        """One step of all environments: observations, rewards, dones, and a dict for each."""
        return self._answer(self.envs.step(actions))

    def _answer(self, stepped: Step) -> VecEnvStepReturn:
        obs, rewards, terminated, truncated, given = stepped
        dones = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i, info in given.get(APART, ()):
            if not dones[i]:
                infos[i] = info
            else:
                infos[i] = {**info.pop("final_info"), "terminal_observation": info.pop("final_obs")}
                self.reset_infos[i] = info
        for info, cut in zip(infos, (truncated & ~terminated).tolist(), strict=True):
            info["TimeLimit.truncated"] = cut
        return obs, rewards.astype(np.float32), dones, infos

    def close(self) -> None:
        """Close the environments and end the workers."""
        self.envs.close()

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """An attribute of all environments, or of those with these indices."""
        return self._each(indices, _attribute, attr_name)

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute where an environment or one of its wrappers has it."""
        self._each(indices, _assign, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of the environments."""
        return self._each(indices, _call, method_name, method_args, method_kwargs)

    def env_is_wrapped(
        self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]], indices: VecEnvIndices = None
    ) -> list[bool]:
        """Whether the environments are wrapped by a class."""
        return self._each(indices, _is_wrapped, wrapper_class)

    def get_images(self) -> Sequence[Any]:
        """A frame of every environment; None for each if the render mode gives none."""
        if self.render_mode != "rgb_array":
            warnings.warn(
                f"the render mode is {self.render_mode}, which gives no pictures; make it rgb_array", stacklevel=2
            )
            return [None] * self.num_envs
        return self.env_method("render")

    def _each(self, indices: VecEnvIndices, function: Callable[..., Any], *args: Any) -> list[Any]:
        n, given = self.num_envs, list(self._get_indices(indices))
        for i in given:
            if not -n <= i < n:
                raise IndexError(f"rl.sb3.VecEnv has {n} environments, numbered from 0, and none with index {i}")
        which = [range(n)[i] for i in given]  # negative ones count from the end
        found = self.envs._each(which, function, args)
        return [found[i] for i in which]


class _Apart(VectorEnv):
    """Leaves the infos of the environments unchanged; actions are one for each environment, never a batch of parts.

    Where there are no options, environments are reset without, and not with an empty dict, as by `DummyVecEnv`.
    """

    @staticmethod
    def _passed_on(options: dict[str, Any] | None) -> dict[str, Any] | None:
        return options or None

    @staticmethod
    def _one_by_one(space: gym.Space[Any], actions: Any) -> list[Any]:
        del space
        return list(actions)

    def _infos(self, listed: Infos) -> dict[str, Any]:
        return {APART: listed}


def _patched(make: Callable[..., Any], **kwargs: Any) -> Any:
    return _patch_env(make(**kwargs))


def _is_wrapped(env: Any, kind: type) -> bool:
    while isinstance(env, gym.Wrapper):
        if is_a(env, kind):
            return True
        env = env.env
    return False


def _attribute(env: Any, name: str) -> Any:
    return env.get_wrapper_attr(name)


def _assign(env: Any, name: str, value: Any) -> None:
    env.set_wrapper_attr(name, value)


def _call(env: Any, name: str, args: Any, kwargs: Any) -> Any:
    return env.get_wrapper_attr(name)(*args, **kwargs)
