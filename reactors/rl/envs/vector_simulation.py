"""How is a vector environment stepped, so that its users need not know how it resets itself?

Gymnasium's vector environments reset their environments in one of three ways (`AutoresetMode`). This makes one of them:
`observations` is what to act on next, `following` gets what the actions led to, and `valid` says which of the steps
count. Only with NEXT_STEP there are others: the step after an end ignores its action and begins the next episode.
"""

from __future__ import annotations

import contextlib
from math import isnan
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from reactors.errors import ParameterError
from reactors.lowlevel import in_words
from reactors.rl.envs.owned import Claim, claim
from reactors.rl.envs.simulation import seed_of
from reactors.rl.envs.snapshots import snapshot
from reactors.rl.envs.spaces import Space, array_type, reader, rows
from reactors.rl.episode import Episode
from reactors.rl.errors import SimulationError
from reactors.rl.replay.transition import write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

Autoreset: TypeAlias = Literal["NextStep", "SameStep", "Disabled"] | AutoresetMode


def mode_of(env: Any, given: Autoreset | None, path: str) -> AutoresetMode:
    """How a vector environment resets itself: as it says, or else as `given` says.

    >>> import gymnasium as gym
    >>> mode_of(gym.make_vec("CartPole-v1", num_envs=2), None, "main.env")
    <AutoresetMode.NEXT_STEP: 'NextStep'>
    """
    said = (getattr(env, "metadata", None) or {}).get("autoreset_mode")
    if said is None and given is None:
        raise ParameterError(
            f'{path}: {env!r} has no metadata["autoreset_mode"], and to guess how it resets itself would spoil '
            'transitions; give autoreset_mode="NextStep", "SameStep" or "Disabled"'
        )
    try:
        modes = [mode if isinstance(mode, AutoresetMode) else AutoresetMode(mode) for mode in (said, given) if mode]
    except ValueError as error:
        raise ParameterError(f'{path}: {error}; an autoreset_mode is "NextStep", "SameStep" or "Disabled"') from None
    if len(set(modes)) > 1:
        raise ParameterError(f"{path}: {env!r} says autoreset_mode {modes[0].value!r}, and is given {modes[1].value!r}")
    return modes[0]


def _chosen(which: NDArray[np.bool_], these: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
    return np.where(which.reshape(-1, *(1,) * (these.ndim - 1)), these, others)


def _is_mask(key: str, infos: Mapping[str, Any]) -> bool:
    """Whether it says which environments have the info of that name, as Gymnasium writes it."""
    return key[:1] == "_" and key[1:] in infos


def _merged(infos: Mapping[str, Any], newer: Mapping[str, Any]) -> dict[str, Any]:
    """Infos, with those of environments that have newer ones in their places."""
    found = dict(infos)
    for key, value in newer.items():
        before: Any = infos.get(key)
        mask: Any = newer.get(f"_{key}")
        if _is_mask(key, newer):
            found[key] = value if before is None else np.logical_or(before, value)
        elif isinstance(value, dict) and isinstance(before, dict):
            found[key] = _merged(before, value)
        elif mask is not None and isinstance(value, np.ndarray) and value.shape == np.shape(before):
            found[key] = _chosen(mask, value, before)
        else:
            found[key] = value
    return found


def _of(infos: Mapping[str, Any], which: NDArray[np.bool_]) -> dict[str, Any]:
    """The infos of some environments, where they are told with masks."""
    return {
        key: _of(value, which) if isinstance(value, dict) else value & which if _is_mask(key, infos) else value
        for key, value in infos.items()
    }


class VectorSimulation:
    """A vector environment, made by `make`, whose spaces are those of a single one.

    With `telling`, `valid` is kept; with `counting`, `episodes` has those that ended in the last step. With
    `restarting`, the whole is made again when it raises or answers wrongly, and all episodes are truncated. `seed` goes
    to the first reset, or to `make`. `path` is how errors name it.

    >>> import gymnasium as gym
    >>> make = lambda: gym.make_vec("CartPole-v1", num_envs=2)
    >>> probe = make()
    >>> sim = VectorSimulation(make, 2, probe.single_observation_space, probe.single_action_space, seed=1)
    >>> sim.reset_all()
    >>> rewards, terminated, truncated = sim.step(np.array([0, 1]))
    >>> rewards, sim.observations.shape, sim.valid
    (array([1., 1.], dtype=float32), (2, 4), None)
    >>> sim.close()
    """

    def __init__(
        self,
        make: Callable[..., Any],
        num_envs: int,
        observation_space: Space,
        action_space: Space,
        *,
        seed: Any = None,
        seed_when_made: bool = False,
        mode: Autoreset | None = None,
        counting: bool = True,
        telling: bool = True,
        restarting: bool = False,
        thorough: bool = False,
        path: str = "the simulation",
    ) -> None:
        self.make, self.num_envs, self.path, self.seed = make, num_envs, path, seed
        self._seed_when_made = seed_when_made
        self.counting, self.telling, self.restarting, self.thorough = counting, telling, restarting, thorough
        self._given_mode: Autoreset | None = mode
        where = array_type(observation_space)
        self._dtype, self._shape = where.dtype, (num_envs, *(where.shape or ()))
        self._plain = where.dtype is not None and where.dtype.names is None
        self.observation_space = observation_space
        self._action = reader(action_space)
        self._room = where
        self.infos: dict[str, Any] = {}
        self.episodes: list[Episode] = []
        self.valid: NDArray[np.bool_] | None = None  # None: all steps count
        self.restarts = self.steps = 0
        self._totals = np.zeros(num_envs)
        self._began = np.zeros(num_envs, np.int64)
        self._numbers = np.zeros(num_envs, np.int64)
        self._over: NDArray[np.bool_] | None = None  # those whose next step is none
        self._last: Any = None  # what was to act on, kept to be able to break off there
        self.env: Any = None
        self._claim: Claim | None = None
        self._open()

    def _open(self) -> None:
        try:
            self.env = self.make(seed=self.seed) if self._seed_when_made else self.make()
        except Exception as error:
            raise self._error(f"cannot be made: {in_words(error)}", error) from error
        try:
            self._claim = claim(self.env, f"the vector environment of {self.path}")
        except ValueError as error:
            raise self._error(str(error)) from None
        self.mode = mode_of(self.env, self._given_mode, self.path)
        self.looking = self.telling or self.counting or self.restarting or self.mode is not AutoresetMode.NEXT_STEP
        if self.env.num_envs != self.num_envs:
            raise self._error(f"has {self.env.num_envs} environments, and was said to have {self.num_envs}")

    def reset_all(self) -> None:
        """Begin an episode of every environment."""
        answer = None
        try:
            answer = self.env.reset() if self._seed_when_made else self.env.reset(seed=self.seed)
            obs, self.infos = answer
            self.observations = self._checked(obs)
        except Exception as error:
            raise self._error(self._fault("reset", answer, error), error) from error
        self._keep()

    def step(self, actions: Any, following: Any = None) -> tuple[Any, Any, Any]:
        """Step all; rewards, terminated and truncated, as the environment gave them, each of length k.

        `following` is room for the true next observations, if they are wanted.
        """
        self.steps += 1
        answer = None
        try:
            answer = self.env.step(actions if self._action is None else self._action(actions))
            obs, rewards, terminated, truncated, self.infos = answer
            obs = self._checked(obs)
            self._check_rewards(rewards)
            over = None
            if self.looking and (np.count_nonzero(terminated) or np.count_nonzero(truncated)):
                over = np.logical_or(terminated, truncated)
            if following is not None:
                self.put(following, obs)
            if over is not None:
                obs = self._settled(obs, over, following)
        except Exception as error:
            if not self.restarting:
                raise self._error(self._fault("step", answer, error), error) from error
            return self._made_again(following)
        self.observations = obs
        if self.mode is AutoresetMode.NEXT_STEP:
            self.valid = None if self._over is None else np.logical_not(self._over)
            self._over = over
        if self.counting:
            self._count(rewards, over)
        self._keep()
        return rewards, terminated, truncated

    def put(self, block: Any, values: Any) -> None:
        """Write a batch as the environment gives it into a block of our own."""
        if self._plain:
            block[...] = values
        elif self._dtype is None:
            block[:] = values
        else:
            write(block, values)

    def close(self) -> None:
        """Close the environments; a second time nothing happens."""
        env, self.env, self._claim = self.env, None, None
        if env is not None:
            env.close()

    # ---- parts ----

    def _settled(self, obs: Any, over: NDArray[np.bool_], following: Any) -> Any:
        """What to act on next, where episodes have ended: here or at once, as the environment does it."""
        if self.mode is AutoresetMode.SAME_STEP:
            if following is not None:
                final = self.infos.get("final_obs")
                if final is None:
                    raise ValueError(
                        "no final_obs in its infos, though episodes ended and its autoreset_mode is SameStep"
                    )
                for i in over.nonzero()[0]:
                    self.put(following[i : i + 1], [final[i]] if self._dtype is None else final[i])
        elif self.mode is AutoresetMode.DISABLED:
            said = snapshot(self.infos)  # the reset may write into them
            fresh, infos = self.env.reset(options={"reset_mask": over})
            fresh = self._checked(fresh)
            final = {"final_info": _of(said, over), "_final_info": over} if said else {}
            self.infos = {**final, **_merged(said, infos)}
            return _chosen(over, fresh, obs) if self._plain else fresh
        return obs

    def _count(self, rewards: Any, over: NDArray[np.bool_] | None) -> None:
        """Sums and lengths of episodes. A step that does not count has reward 0 and is no step."""
        np.add(self._totals, rewards, self._totals)
        if self.valid is not None:
            began = np.logical_not(self.valid)
            self._began[began] = self.steps
            self._totals[began] = 0.0
        if self.episodes:
            self.episodes = []
        if over is None:
            return
        for i in over.nonzero()[0].tolist():
            length = self.steps - int(self._began[i])
            self.episodes.append(Episode(i, int(self._numbers[i]), float(self._totals[i]), length, self._seed_of(i)))
        self._numbers[over] += 1
        self._began[over] = self.steps
        self._totals[over] = 0.0

    def _seed_of(self, i: int) -> int | None:
        if self.seed is None:
            return None
        return self.seed + i if isinstance(self.seed, int) else self.seed[i]

    def _keep(self) -> None:
        if self.restarting:
            if self._last is None:
                self._last = rows(self._room, self.num_envs)
            self.put(self._last, self.observations)

    def _check_rewards(self, rewards: Any) -> None:
        if rewards.shape != self._shape[:1]:
            raise ValueError(f"rewards of shape {rewards.shape}, which is not {self._shape[:1]}")
        if isnan(np.dot(rewards, rewards)):  # only where a reward is, and quicker than to look at each
            i = int(np.isnan(rewards).argmax())
            raise SimulationError("its reward is nan, which is no number", i)

    def _checked(self, obs: Any) -> Any:
        dtype = self._dtype
        if self._plain and not (obs.__class__ is np.ndarray and obs.dtype == dtype and obs.shape == self._shape):
            obs = np.asarray(obs)
            if obs.shape != self._shape or dtype is None or not np.can_cast(obs.dtype, dtype, "same_kind"):
                raise ValueError(
                    f"observations of shape {obs.shape} and dtype {obs.dtype}, "
                    f"which are not of shape {self._shape} and dtype {dtype}"
                )
        if self.thorough and self._plain:
            for i, each in enumerate(obs):
                if not self.observation_space.contains(each):
                    fault = f"{each!r} for environment {i}, which {self.observation_space} does not contain"
                    raise SimulationError(fault, i)
        return obs

    def _made_again(self, following: Any) -> tuple[Any, Any, Any]:
        with contextlib.suppress(Exception):  # it is broken
            self.close()
        self.restarts += 1
        if self.seed is not None:
            first = self.seed if isinstance(self.seed, int) else self.seed[0]
            self.seed = seed_of(first, self.restarts)
        self._open()
        everyone = np.ones(self.num_envs, bool)
        self.valid = None if self._over is None else np.logical_not(self._over)
        ended = everyone if self.valid is None else self.valid.copy()
        nothing = np.zeros(self.num_envs)
        if following is not None:
            self.put(following, self._last)
        if self.counting:
            self._count(nothing, ended)
            self.episodes = [each._replace(failed=True) for each in self.episodes]
        self._over = None
        self.reset_all()
        return nothing, np.zeros(self.num_envs, bool), ended

    # ---- what breaks ----

    def _fault(self, what: str, answer: Any, error: Exception) -> str:
        if answer is None:
            return f"raised in {what}: {in_words(error)}"
        wanted = 2 if what == "reset" else 5
        if not isinstance(answer, tuple) or len(answer) != wanted:
            given = f"{len(answer)} values" if isinstance(answer, tuple) else f"one {type(answer).__name__}"
            return f"answered {what} wrongly: it gave {given} instead of {wanted}"
        why = error if type(error) in {ValueError, SimulationError} else in_words(error)
        return f"answered {what} wrongly: {why}"

    def _error(self, fact: str, error: Exception | None = None) -> SimulationError:
        index = self._index(error)
        seed = self.seed if isinstance(self.seed, int) else None
        subject = f"its vector environment (seed {self.seed}, step {self.steps})"
        if index >= 0:
            seed = self._seed_of(index)
            subject = f"environment {index} (seed {seed}, step {self.steps}) of its vector environment"
        return SimulationError(f"{self.path}: {subject} {fact}", index, seed)

    def _index(self, error: Exception | None) -> int:
        """Which of the environments is meant, as far as that can be known; -1 for all."""
        if isinstance(error, SimulationError):  # found here
            return error.index
        if self.num_envs == 1:
            return 0
        trace = None if error is None else error.__traceback__
        while trace is not None:  # it steps them in a loop of its own
            found = trace.tb_frame.f_locals
            if isinstance(found.get("self"), SyncVectorEnv) and isinstance(found.get("i"), int):
                return int(found["i"])
            trace = trace.tb_next
        return -1
