"""Some environments of a vector environment, in one place: stepped, reset and asked as Gymnasium has it.

What `gymnasium.vector` says of its sub-environments holds here: the three modes of automatic resets, what goes into
infos, what may be called by name. A `Group` knows nothing of reactors; `lockstep.Rows` is one around it.
"""

from __future__ import annotations

import contextlib
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from gymnasium.error import ResetNeeded
from gymnasium.spaces.utils import is_space_dtype_shape_equiv
from gymnasium.vector import AutoresetMode
from numpy import ndarray

from reactors.rl.errors import SimulationError
from reactors.rl.spaces import memory, rows, writer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reactors.rl.spaces import Space
    from reactors.rl.whereabouts import Whereabouts

RESERVED = ("reset", "step", "close")  # not to be called behind the vector environment's back
Infos = list[tuple[int, Any]]  # which environment, what it said


class Group:
    """Environments `first` and up, made by `makers`; `room` is how many rows blocks for them have."""

    def __init__(
        self,
        makers: Sequence[Callable[[], Any]],
        first: int,
        room: int,
        observation_space: Space,
        mode: AutoresetMode,
        where: Whereabouts,
        *,
        restarting: bool,
    ) -> None:
        self.makers, self.first, self.room, self.mode = list(makers), first, room, mode
        self.observation_space, self.restarting = observation_space, restarting
        self.own = slice(first, first + len(self.makers))
        self.number, self.where = first // room, where
        self.restarts = 0

    def make(self) -> None:
        """Make the environments."""
        n = len(self.makers)
        where = memory(self.observation_space)
        plain = where.dtype is not None and where.dtype.names is None
        self.fast, self.form = (where.dtype, where.shape) if plain else (None, None)
        self.write = writer(self.observation_space)
        # The observations as they are now: a masked reset leaves most of them.
        self.latest = rows(where, self.room if where.dtype is not None else n)
        self.seeds: list[int | None] = [None] * n
        self.envs: list[Any] = [None] * n
        self.steps: list[Callable[[Any], Any]] = [self.not_reset] * n
        self.at = self.where.at
        for i in range(n):
            try:
                self.envs[i] = self.makers[i]()
            except Exception as error:
                raise self.failed(i, "be made", error) from error

    def step(self, actions: Any, rows: Any, rewards: Any, ended: Any) -> Infos:
        """Step them all into rows; `ended` is (2, rows): terminated, truncated. What infos there are."""
        fast, form, at, number = self.fast, self.form, self.at, self.number
        ended.fill(False)
        infos: Infos = []
        for i, (step, action) in enumerate(zip(self.steps, actions, strict=True)):
            at[number] = i + 1
            try:
                obs, rewards[i], terminated, truncated, info = step(action)
                if terminated or truncated:
                    ended[:, i] = terminated, truncated
                    obs, info = self.end(i, obs, info, infos)
            except Exception as error:  # noqa: BLE001 - any code runs in an environment
                rewards[i], ended[:, i] = 0.0, (False, True)
                obs, info = self.made_again(i, error, infos)
            if obs.__class__ is ndarray and obs.dtype is fast and obs.shape == form:
                rows[i] = obs
            else:
                self.put(rows, i, obs)
            if info:
                infos.append((self.first + i, info))
        at[number] = 0
        self.latest = rows
        return infos

    def step_one(self, i: int, action: Any) -> tuple[int, Any, float, bool, bool, Infos]:
        """Step one of them: its index, its observation as the only row, reward, terminated, truncated, infos."""
        infos: Infos = []
        self.at[self.number] = i + 1
        try:
            obs, reward, terminated, truncated, info = self.steps[i](action)
            if terminated or truncated:
                obs, info = self.end(i, obs, info, infos)
        except Exception as error:  # noqa: BLE001 - any code runs in an environment
            reward, terminated, truncated = 0.0, False, True
            obs, info = self.made_again(i, error, infos)
        if isinstance(self.latest, ndarray) and self.latest.base is not None:
            self.latest = self.latest.copy()  # it was lent for one step of all
        self.put(self.latest, i, obs)
        if info:
            infos.append((self.first + i, info))
        self.at[self.number] = 0
        row = self.latest[i : i + 1]
        return self.first + i, row.copy(), float(reward), bool(terminated), bool(truncated), infos

    def end(self, i: int, obs: Any, info: Any, infos: Infos) -> tuple[Any, Any]:
        """An episode is over: what to answer, and how the next one begins."""
        if self.mode is AutoresetMode.SAME_STEP:
            kept = obs.copy() if isinstance(obs, ndarray) else deepcopy(obs)  # the reset may write over it
            infos.append((self.first + i, {"final_obs": kept, "final_info": info}))
            return self.envs[i].reset()  # type: ignore[no-any-return]
        if self.mode is AutoresetMode.NEXT_STEP:
            self.steps[i] = partial(self.begin, i)
        else:
            self.steps[i] = partial(self.refuse, i)
        return obs, info

    def begin(self, i: int, _action: Any) -> tuple[Any, float, bool, bool, Any]:
        """In place of a step: the next episode."""
        obs, info = self.envs[i].reset()
        self.steps[i] = self.envs[i].step
        return obs, 0.0, False, False, info

    def not_reset(self, _action: Any) -> NoReturn:
        """In place of a step before the first reset."""
        raise ResetNeeded("Cannot call env.step() before calling env.reset()")

    def refuse(self, i: int, _action: Any) -> NoReturn:
        """In place of a step that must not be."""
        raise SimulationError(
            f"{self.named(i)} is stepped though its episode is over; reset it before, with "
            'options={"reset_mask": terminated | truncated}, or choose another autoreset_mode',
            *self.which(i),
        )

    def put(self, rows: Any, i: int, obs: Any) -> None:
        """Put an observation into its row; an error where it is none of its space."""
        try:
            self.write(rows, i, obs)
        except (ValueError, TypeError) as error:
            raise SimulationError(f"{self.named(i)} gave a wrong observation: {error}", *self.which(i)) from error

    # ---- orders ----

    def reset(self, seeds: list[int | None], options: Any, mask: list[bool] | None) -> tuple[Any, Infos]:
        """Reset all, or those of the mask; observations and infos."""
        rows = self.latest.copy()
        infos: Infos = []
        for i, seed in enumerate(seeds[self.own]):
            if mask is not None and not mask[self.first + i]:
                continue
            if seed is not None:
                self.seeds[i] = seed
            self.steps[i] = self.envs[i].step
            self.at[self.number] = i + 1
            try:
                obs, info = self.envs[i].reset(seed=seed, options=options)
            except Exception as error:
                raise self.failed(i, "reset", error) from error
            self.put(rows, i, obs)
            infos.append((self.first + i, info))
        self.at[self.number] = 0
        self.latest = rows
        return rows, infos

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """A method's results, or an attribute's values."""
        if name in RESERVED:
            raise ValueError(f"`{name}` of the sub-environments cannot be called by name; use {name}() itself")
        found = [env.get_wrapper_attr(name) for env in self.envs]
        return [each(*args, **kwargs) if callable(each) else each for each in found]

    def assign(self, name: str, values: list[Any]) -> None:
        """Set an attribute of each."""
        for i, env in enumerate(self.envs):
            env.set_wrapper_attr(name, values[self.first + i])

    def each(self, which: list[int], function: Callable[..., Any], args: tuple[Any, ...]) -> list[tuple[int, Any]]:
        """What a function says of some of the environments, wherever those are."""
        return [
            (i, function(self.envs[i - self.first], *args)) for i in which if i in range(self.own.start, self.own.stop)
        ]

    def compare(self, observation_space: Space, action_space: Space, alike: bool) -> list[tuple[bool, bool]]:
        """Whether their spaces are these, or at least of the same form."""
        return [
            (
                env.observation_space == observation_space
                if alike
                else is_space_dtype_shape_equiv(env.observation_space, observation_space),
                env.action_space == action_space,
            )
            for env in self.envs
        ]

    def restarted(self) -> int:
        """How many environments were made anew."""
        return self.restarts

    def obey(self, order: tuple[Any, ...]) -> Any:
        """Call the method that an order names; what it gives, or the exception that it raises."""
        verb, *arguments = order
        try:
            return getattr(self, verb)(*arguments)
        except SimulationError:
            raise
        except Exception as error:  # noqa: BLE001 - the environments go on
            error.__traceback__ = None
            return error

    # ---- what goes wrong ----

    def which(self, i: int) -> tuple[int, int | None]:
        """Index and seed of the environment of row i."""
        return self.first + i, self.seeds[i]

    def named(self, i: int) -> str:
        """The environment of row i, for messages."""
        index, seed = self.which(i)
        return f"environment {index} (seed {seed})"

    def failed(self, i: int, what: str, error: Exception) -> SimulationError:
        """What to raise."""
        if isinstance(error, SimulationError):
            return error
        verb = "could not be made" if what == "be made" else f"raised in {what}"
        return SimulationError(f"{self.named(i)} {verb}: {type(error).__name__}: {error}", *self.which(i))

    def made_again(self, i: int, error: Exception, infos: Infos) -> tuple[Any, Any]:
        """In the place of an environment that failed, a new one; or the error."""
        failed = self.failed(i, "step", error)
        if not self.restarting:
            raise failed from error
        with contextlib.suppress(Exception):
            self.envs[i].close()
        try:
            self.envs[i] = self.makers[i]()
            self.restarts += 1
            seed = None if self.seeds[i] is None else int(self.seeds[i] or 0) + self.restarts
            obs, info = self.envs[i].reset(seed=seed)
        except Exception as again:  # noqa: BLE001 - likewise
            raise self.failed(i, "step, and then its successor in reset", again) from error
        told = {"restarted": str(failed)}
        last = self.latest[i].copy() if isinstance(self.latest, ndarray) else self.latest[i]
        if self.mode is AutoresetMode.SAME_STEP:
            infos.append((self.first + i, {"final_obs": last, "final_info": told}))
            self.steps[i] = self.envs[i].step
            return obs, {**info, **told}
        return self.end(i, last, told, infos)

    def close(self) -> None:
        """Close them all."""
        envs, self.envs = self.envs, []
        for env in envs:
            if env is not None:
                env.close()
