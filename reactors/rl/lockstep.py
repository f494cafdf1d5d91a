"""The reactors behind `rl.VectorEnv`: rows of environments that all take one step, and the one that gives the beat.

A `Rows` has some of the environments, a few consecutive ones, on its worker. The `Beat` is on the caller's: what it is
told there it sends out, for the next microstep, and what comes back it keeps until the caller looks. Every call is
therefore two tags, with the caller in between, whose own work then runs at the same time as the environments'.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import is_space_dtype_shape_equiv
from numpy import ndarray

import reactors as rx
from reactors.rl.errors import SimulationError
from reactors.rl.spaces import memory, writer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reactors.rl.spaces import Space

OUTCOME = np.dtype([("reward", "f8"), ("terminated", "?"), ("truncated", "?")])
RESERVED = ("reset", "step", "close")  # not to be called behind the vector environment's back


Form = dict[str, Any]  # of a port: shape and dtype, or nothing, and it carries objects


def rows_form(space: Space, room: int) -> Form:
    """A port's form that has so many values of a space."""
    where = memory(space)
    return {} if where.dtype is None else {"shape": (room, *(where.shape or ())), "dtype": where.dtype}


class Rows(rx.Reactor):
    """Environments `first` and up of a vector environment; `room` is as many rows as the largest of such reactors has.

    `actions` are those of all environments, as one block, or as a list where they have no common dtype. `order` is a
    tuple: the name of a method here, and its arguments; what that returns, or raises, is the `reply`.
    """

    order = rx.Input()
    outcome = rx.Output(shape="room", dtype=OUTCOME)
    extras = rx.Output()
    reply = rx.Output()

    def __init__(
        self,
        makers: Sequence[Callable[[], Any]],
        first: int,
        room: int,
        observation_space: Space,
        actions: Form,
        mode: AutoresetMode,
        on_error: str,
    ) -> None:
        self.makers, self.first, self.room, self.mode = list(makers), first, room, mode
        self.observation_space, self.restarting = observation_space, on_error == "restart"
        where = memory(observation_space)
        self.in_block = where.dtype is not None
        self.restarts = 0
        self.actions = rx.Input(**actions)
        self.observations = rx.Output(**rows_form(observation_space, room))
        self.add_reaction(self.actions, self.step, effects=(self.observations, self.outcome, self.extras))
        self.add_reaction(self.order, self.obey, effects=(self.observations, self.reply))

    @rx.reaction(rx.startup)
    def make(self) -> None:
        """Make the environments."""
        n = len(self.makers)
        self.envs: list[Any] = [None] * n
        self.seeds: list[int | None] = [None] * n
        self.over = [False] * n
        self.latest: list[Any] = [None] * n  # observations, where they are objects
        where = memory(self.observation_space)
        plain = where.dtype is not None and where.dtype.names is None
        self.fast, self.form = (where.dtype, where.shape) if plain else (None, None)
        self.write = writer(self.observation_space)
        if self.in_block:  # as they are now: a masked reset leaves most as they were
            self.kept = np.zeros((self.room, *(where.shape or ())), where.dtype)
        for i in range(n):
            try:
                self.envs[i] = self.makers[i]()
            except Exception as error:
                raise self.failed(i, "be made", error) from error

    def step(self) -> None:
        """Step them all, as the mode of automatic resets wants it."""
        n = len(self.envs)
        actions = self.actions.value[self.first : self.first + n]
        if actions.__class__ is ndarray:
            actions = actions.copy()  # environments may keep them, or write into them
        rows = self.observations.loan() if self.in_block else [None] * n
        outcome = self.outcome.loan()
        rewards, terminated, truncated = outcome["reward"], outcome["terminated"], outcome["truncated"]
        terminated[:] = truncated[:] = False
        fast, form, write, over = self.fast, self.form, self.write, self.over
        at_once = self.mode is AutoresetMode.SAME_STEP
        extras: list[tuple[int, Any]] = []
        i = 0
        for env, action in zip(self.envs, actions, strict=True):
            try:
                if over[i]:
                    over[i] = False
                    obs, info = env.reset()
                    rewards[i] = 0.0
                else:
                    obs, rewards[i], ended, cut, info = env.step(action)
                    if ended or cut:
                        terminated[i], truncated[i] = ended, cut
                        if at_once:
                            extras.append((i, {"final_obs": _copied(obs), "final_info": info}))
                            obs, info = env.reset()
                        else:
                            over[i] = True
            except Exception as error:  # noqa: BLE001 - any code runs in an environment
                obs, info = self.made_again(i, error, extras, at_once=at_once)
                rewards[i], terminated[i], truncated[i] = 0.0, False, True
                over[i] = not at_once
            if obs.__class__ is ndarray and obs.dtype is fast and obs.shape == form:
                rows[i] = obs
            else:
                self.put(rows, i, obs)
            if info:
                extras.append((i, info))
            i += 1
        self.tell(rows, outcome, extras)

    def put(self, rows: Any, i: int, obs: Any) -> None:
        """Put an observation into its row; an error where it is none of its space."""
        try:
            self.write(rows, i, obs)
        except (ValueError, TypeError) as error:
            raise SimulationError(f"{self.named(i)} gave a wrong observation: {error}", *self.which(i)) from error

    def tell(self, rows: Any, outcome: Any, extras: list[tuple[int, Any]]) -> None:
        """Set the outputs of a step."""
        if self.in_block:
            self.kept = rows
            self.observations.set(rows)
        else:
            self.latest = rows
            self.observations.set(rows)
        self.outcome.set(outcome)
        if extras:
            self.extras.set([(self.first + i, info) for i, info in extras])

    # ---- orders ----

    def obey(self) -> None:
        """Do what else a vector environment can be asked."""
        verb, *arguments = self.order.value
        try:
            done = getattr(self, verb)(*arguments)
        except SimulationError:
            raise
        except Exception as error:  # noqa: BLE001 - it is the caller's, and the environments go on
            error.__traceback__ = None
            done = error
        self.reply.set(done)

    def reset(self, seeds: list[int | None], options: Any, mask: list[bool] | None) -> list[tuple[int, Any]]:
        """Reset all, or those of the mask; their infos."""
        n = len(self.envs)
        own = slice(self.first, self.first + n)
        rows = self.kept.copy() if self.in_block else [*self.latest]
        infos = []
        for i, seed in enumerate(seeds[own]):
            if mask is not None and not mask[self.first + i]:
                continue
            if seed is not None:
                self.seeds[i] = seed
            self.over[i] = False
            try:
                obs, info = self.envs[i].reset(seed=seed, options=options)
            except Exception as error:
                raise self.failed(i, "reset", error) from error
            self.put(rows, i, obs)
            infos.append((self.first + i, info))
        if self.in_block:
            self.kept = rows
        else:
            self.latest = rows
        self.observations.set(rows)
        return infos

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

    def made_again(self, i: int, error: Exception, extras: list[Any], *, at_once: bool) -> tuple[Any, Any]:
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
        except Exception as again:
            raise self.failed(i, "step, and then its successor in reset", again) from error
        last = self.kept[i].copy() if self.in_block else self.latest[i]
        told = {**info, "restarted": str(failed)}
        if at_once:
            extras.append((i, {"final_obs": last, "final_info": {"restarted": str(failed)}}))
            return obs, told
        return last, told

    @rx.reaction(rx.shutdown)
    def close(self) -> None:
        """Close them all."""
        envs, self.envs = self.envs, []
        for env in envs:
            if env is not None:
                env.close()


def _copied(obs: Any) -> Any:
    """A terminal observation that a reset does not write over."""
    return obs.copy() if isinstance(obs, ndarray) else obs


class Beat(rx.Reactor):
    """Sends out what the caller puts into `next_actions` or `next_order`, and keeps what comes back."""

    turn = rx.LogicalAction()
    order = rx.Output()
    outcome = rx.Input(shape="room", dtype=OUTCOME, width="rows")
    extras = rx.Input(width="rows")
    reply = rx.Input(width="rows")

    next_actions: Any = None
    next_order: Any = None

    def __init__(
        self, rows: int, room: int, num_envs: int, observation_space: Space, actions: Form, *, copy: bool
    ) -> None:
        self.rows, self.room, self.num_envs, self.copy = rows, room, num_envs, copy
        self.batch: Any = None
        self.rewards: Any = None
        self.actions = rx.Output(**actions)
        self.observations = rx.Input(**rows_form(observation_space, room), width=rows)
        self.add_reaction(self.turn, self.send, effects=(self.actions, self.order))
        answers = (self.observations, self.outcome, self.extras, self.reply)
        self.add_reaction(answers, self.gather, effects=self.turn)

    @rx.reaction(rx.startup, effects=turn)
    def begin(self) -> None:
        """Wait for the first call."""
        self.turn.schedule()
        self.pause()

    def send(self) -> None:
        """Pass the caller's wish on."""
        if self.next_order is None:
            self.actions.set(self.next_actions)
        else:
            self.order.set(self.next_order)
        self.next_actions = self.next_order = None
        self.pause()

    def gather(self) -> None:
        """Keep what came, for the caller."""
        n = self.num_envs
        self.replies = [answer.value for answer in self.reply] if self.reply.is_present else []
        self.infos = [info for answer in self.extras if answer.is_present for info in answer.value]
        if self.observations.is_present:
            if self.observations[0].dtype is None:
                self.batch = [obs for rows in self.observations for obs in rows.value][:n]
            else:
                block = self.observations.array
                block = block.reshape(-1, *block.shape[2:])[:n]
                self.batch = block.copy() if self.copy else block
        if self.outcome.is_present:
            outcome = self.outcome.array.reshape(-1)[:n]
            self.rewards = outcome["reward"].copy()
            self.terminated, self.truncated = outcome["terminated"].copy(), outcome["truncated"].copy()
        self.turn.schedule()
        self.pause()
