"""How does one step k environments in a loop, for next to nothing, and survive those that break?

A `Simulation` knows nothing of reactors: it has environments, steps them into arrays that it is given, and resets those
whose episodes are over. All that can be wrong with an environment is found here, and named with its index and seed.
`rl.Env` is a reactor around one.
"""

from __future__ import annotations

import contextlib
from hashlib import blake2b
from math import isnan
from numbers import Number
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from gymnasium.error import ResetNeeded
from numpy import ndarray

from reactors.lowlevel import in_words
from reactors.rl._rows import walk
from reactors.rl.envs.owned import Claim, claim
from reactors.rl.envs.snapshots import snapshot
from reactors.rl.envs.spaces import Space, WrongValueError, array_type, reader, rows, writer
from reactors.rl.episode import Episode
from reactors.rl.errors import SimulationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import gymnasium as gym

OnError: TypeAlias = Literal["raise", "restart"]


def seed_of(seed: int, *numbers: int) -> int:
    """A seed derived from another one and some numbers; 31 bits, which all simulators take.

    >>> seed_of(7, 0), seed_of(7, 1)
    (832369889, 603973904)
    """
    text = ":".join(map(str, (seed, *numbers)))
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest()) >> 1


class NotANumberError(ValueError):
    """A reward that is none, in words."""


class ResetError(Exception):
    """Carries out of a step what the reset raised that took its place."""

    def __init__(self, error: SimulationError) -> None:
        super().__init__()
        self.error = error


class Simulation:
    """k environments, made by k functions, with what to act on next in `observations`.

    `seeds` has one for each environment, for its first reset. With `on_error="restart"` an environment that raises or
    answers wrongly in `step` or `reset` is made again, with a new seed, and its episode truncated; with "raise" the
    error comes out. `path` is how errors name the whole, and `first` is the number they give to the first environment;
    `thorough` has all that goes in and out checked by its space, and `nan_rewards` takes a reward of NaN for one. `at`
    is memory in which the place of the one that is being stepped or reset is noted, from 1, for others to read.

    >>> import gymnasium as gym
    >>> probe = gym.make("CartPole-v1")
    >>> sim = Simulation([lambda: gym.make("CartPole-v1")] * 2, probe.observation_space, probe.action_space, [1, 2])
    >>> sim.reset_all()
    >>> rewards, terminated, truncated = np.zeros(2), np.zeros(2, bool), np.zeros(2, bool)
    >>> following = np.zeros((2, 4), np.float32)
    >>> sim.advance(np.array([0, 1]), following, rewards, terminated, truncated)
    >>> rewards, bool((sim.observations == following).all())
    (array([1., 1.]), True)
    >>> sim.close()

    Attributes:
        observations: what to act on next, (k, ...); a list where the space has no fixed size.
        infos: what the environments said beside `observations`, by index; only what is not empty.
        final_infos: likewise beside the last observation of episodes that ended in the last step.
        ended: the places of those whose episodes ended in the last step, in order.
        last: what environments observed at an end, by place, as they gave it, where that is more than their row has.
        episodes: those that ended in the last step.
        calls: what is called to step each.
        broken: what was wrong with environments that have to be made again, by place.
        restarts: how often an environment was made again.
        first_failure: what was wrong with the first that had to be made again.
    """

    def __init__(
        self,
        makers: Sequence[Callable[[], gym.Env[Any, Any]]],
        observation_space: Space,
        action_space: Space,
        seeds: Sequence[int | None],
        *,
        on_error: OnError = "raise",
        remedy: str = 'fix it, or restart it with on_error="restart"',
        path: str = "the simulation",
        thorough: bool = False,
        nan_rewards: bool = False,
        first: int = 0,
        at: memoryview | None = None,
    ) -> None:
        self.makers, self.seeds, self.path, self.thorough = list(makers), list(seeds), path, thorough
        self.first, self.at = first, memoryview(bytearray(4)).cast("I") if at is None else at
        self.observation_space, self.action_space = observation_space, action_space
        self.restarting, self.remedy, self.nan_rewards = on_error == "restart", remedy, nan_rewards
        where = array_type(observation_space)
        self._storable = where.dtype is not None and not thorough  # by C, where an observation is a row as it is
        self._write = writer(observation_space)
        self._action = reader(action_space)
        self._is_array = array_type(action_space).dtype is not None
        k = len(self.makers)
        self.observations = rows(where, k)
        self.infos: dict[int, Any] = {}
        self.final_infos: dict[int, Any] = {}
        self.episodes: list[Episode] = []
        self.restarts = 0
        self.first_failure = ""
        self.steps = 0
        self.ended: list[int] = []
        self.last: dict[int, Any] = {}
        self.broken: dict[int, str] = {}
        self._totals = np.zeros(k)
        self._began = [0] * k  # the step at which the episode began
        self._numbers = [0] * k
        self._fresh = list(self.seeds)  # seeds for the next reset, where there is one
        self.envs: list[Any] = []
        self._claims: list[Claim | None] = [None] * k
        try:
            for i in range(k):
                self.envs.append(self._made(i))
        except SimulationError:
            self.close()
            raise
        self.calls: list[Callable[[Any], Any]] = [env.step for env in self.envs]

    # ---- stepping ----

    def advance(self, actions: Any, following: Any, rewards: Any, terminated: Any, truncated: Any) -> None:
        """Step all environments; those whose episodes end are reset, too.

        `following` gets the true next observations, a terminal one where an episode ends; all are of length k.
        `observations` has afterwards what to act on next.
        """
        self.step(self._taken(actions), following, rewards, terminated, truncated)
        self.settle(following)

    def record(self, rows: Any, actions: Any, rewards: Any) -> None:
        """As `advance`, into `rows`, records of transitions or a dict of such columns, of length k.

        `rewards` (k,) has them as the environments gave them, where the records round them.
        """
        rows["obs"][...] = self.observations
        taken = rows["action"]
        taken[...] = actions
        self.advance(taken, rows["next_obs"], rewards, rows["terminated"], rows["truncated"])
        rows["reward"][...] = rewards

    def step(self, actions: Sequence[Any], following: Any, rewards: Any, terminated: Any, truncated: Any) -> None:
        """Step all environments, each with its action, and reset none; `ended` says whose episodes are over."""
        calls, at, totals = self.calls, self.at, self._totals
        block = following if self._storable else None
        self.steps += 1
        if self.ended:
            self.ended = []
        if self.infos:
            self.infos = {}
        i, k = 0, len(calls)
        while i < k:
            try:
                uncommon = walk(calls, actions, i, block, rewards, totals, terminated, truncated, self.ended, at)
            except Exception as error:
                if not at[0]:  # it is not one of them
                    raise
                i = at[0] - 1
                self._break(i, actions, error, None, following, rewards, terminated, truncated)
            else:
                if uncommon is None:
                    return
                i, answer = uncommon
                self._take(i, answer, following, rewards, terminated, truncated)
            i += 1
        at[0] = 0

    def step_one(self, i: int, action: Any, following: Any, rewards: Any, terminated: Any, truncated: Any) -> None:
        """Step environment i alone, into row i."""
        self.steps += 1
        self.ended, self.infos = [], {}
        terminated[i] = truncated[i] = False
        self.at[0] = i + 1
        try:
            answer = self.calls[i](action)
        except Exception as error:  # noqa: BLE001 - any code runs in an environment
            self._break(i, {i: action}, error, None, following, rewards, terminated, truncated)
        else:
            self._take(i, answer, following, rewards, terminated, truncated)
        self.at[0] = 0

    def settle(self, following: Any) -> None:
        """Make `following` what to act on next; environments whose episodes have ended are reset."""
        self.observations[:] = following
        if self.episodes:
            self.episodes = []
        if self.final_infos:
            self.final_infos = {}
        for i in self.ended:
            total, length = float(self._totals[i]), self.steps - self._began[i]
            self.episodes.append(Episode(i, self._numbers[i], total, length, self.seeds[i], i in self.broken))
            if i in self.infos:
                self.final_infos[i] = snapshot(self.infos.pop(i))  # the reset may write into it
            self.reset(i)

    def reset(
        self, i: int, *, seed: int | None = None, options: dict[str, Any] | None = None, into: Any = None
    ) -> None:
        """Begin an episode of environment i, for which it is made again if it is broken.

        Its first observation is row i of `into`, or of `observations`.
        """
        self.at[0] = i + 1
        if self.steps != self._began[i]:
            self._numbers[i] += 1
        self._began[i], self._totals[i] = self.steps, 0.0
        if seed is not None:
            self.seeds[i] = self._fresh[i] = seed
        into = self.observations if into is None else into
        answer = None
        if i not in self.broken:
            try:
                answer = self._reset(i, options)
                self._begin(i, answer, into)
            except Exception as error:  # noqa: BLE001 - any code runs in an environment
                self._failed(i, "reset", error, answer)
            else:
                return
        if i in self.broken:
            self.rebuild(i)
        answer = None
        try:
            answer = self._reset(i, options)
            self._begin(i, answer, into)
        except Exception as error:
            raise self._error(i, "reset", error, answer, ", just after it was restarted") from error

    def reset_all(self) -> None:
        """Begin an episode of every environment."""
        self.infos = {}
        for i in range(len(self.envs)):
            self.reset(i)

    def close(self) -> None:
        """Close all environments; a second time nothing happens."""
        envs, self.envs, self.calls = self.envs, [], []
        self._claims = [None] * len(self._claims)
        for i, env in enumerate(envs):
            try:
                env.close()
            except Exception as error:
                if not self.restarting:
                    raise self._error(i, "close", error, None) from error

    # ---- parts ----

    def _take(self, i: int, answer: Any, following: Any, rewards: Any, terminated: Any, truncated: Any) -> None:
        """An answer of any kind."""
        try:
            obs, reward, over, cut, info = answer
            rewards[i] = reward
            if isnan(rewards[i]) and not self.nan_rewards:
                raise NotANumberError(f"its reward is {reward}, which is no number")  # noqa: TRY301 - as all that is wrong
            if self.thorough:
                self._check(obs)
            self._write(following, i, obs)
            if over or cut:
                terminated[i], truncated[i] = over, cut
                self.ended.append(i)
                self.last[i] = obs
            if info:
                self.infos[i] = dict(info)  # some environments go on writing into it
            self._totals[i] += reward
        except Exception as error:  # noqa: BLE001 - what is wrong with it is found out
            self._break(i, None, error, answer, following, rewards, terminated, truncated)

    def _break(
        self,
        i: int,
        actions: Any,
        error: Exception,
        answer: Any,
        following: Any,
        rewards: Any,
        terminated: Any,
        truncated: Any,
    ) -> None:
        """An episode that ends because its environment failed, if that is not the end of all."""
        if isinstance(error, ResetError):
            found = error.error
            del error.error
            error.__cause__ = error.__context__ = None  # or each would keep the other
            raise found from found.__cause__
        self._failed(i, "step", error, answer, "" if actions is None else self._action_fault(actions[i]))
        following[i] = self.observations[i]
        rewards[i], terminated[i], truncated[i] = 0.0, False, True
        self.infos.pop(i, None)
        if i not in self.ended:
            self.ended.append(i)

    def _taken(self, actions: Any) -> Any:
        """The actions one by one, as the space has them; copied, for an environment may keep or change its action."""
        if len(actions) != len(self.calls):
            raise SimulationError(f"{self.path}: {len(actions)} actions for {len(self.calls)} environments")
        if self._is_array:
            actions = actions.copy()
        if self._action is not None:
            actions = [*map(self._action, actions)]
        return self._contained(list(actions)) if self.thorough else actions

    def _contained(self, actions: list[Any]) -> list[Any]:
        for i, action in enumerate(actions):
            if not self.action_space.contains(action):
                raise SimulationError(
                    f"{self.path}: the action for environment {self.first + i} is {action!r}, which its action space "
                    f"{self.action_space} does not contain",
                    self.first + i,
                    self.seeds[i],
                )
        return actions

    def _reset(self, i: int, options: dict[str, Any] | None) -> Any:
        seed, self._fresh[i] = self._fresh[i], None
        return self.envs[i].reset(seed=seed, options=options)

    def _begin(self, i: int, answer: Any, into: Any) -> None:
        obs, info = answer
        if self.thorough:
            self._check(obs)
        self._write(into, i, obs)
        if info:
            self.infos[i] = dict(info)

    def _check(self, obs: Any) -> None:
        if not self.observation_space.contains(obs):
            raise WrongValueError(f"{obs!r}, which its observation space {self.observation_space} does not contain")

    def _made(self, i: int) -> Any:
        index, seed = self.first + i, self.seeds[i]
        self._claims[i] = None
        try:
            env = self.makers[i]()
        except Exception as error:
            fact = f"{self.path}: environment {index} (seed {seed}) cannot be made: {in_words(error)}"
            raise SimulationError(fact, index, seed) from error
        try:
            self._claims[i] = claim(env, f"environment {index} of {self.path}")
        except ValueError as error:
            raise SimulationError(f"{self.path}: environment {index} {error}", index, seed) from None
        return env

    # ---- what breaks ----

    def _action_fault(self, action: Any) -> str:
        """What was wrong with the action at which an environment raised, if anything was."""
        try:
            wrong = not self.action_space.contains(action)
        except Exception:  # noqa: BLE001 - a space of the user's own, too
            return ""
        fact = f"its action was {action!r}, which its action space {self.action_space} does not contain"
        return f"; {fact}: give it one that is in there" * wrong

    def _failed(self, i: int, what: str, error: Exception, answer: Any, cause: str = "") -> None:
        """Note that an environment has to be made again; raise, unless that is wanted."""
        failed = self._error(i, what, error, answer, cause=cause)
        if not self.restarting or isinstance(error, ResetNeeded):
            raise failed from error
        self.broken[i] = str(failed)
        self.first_failure = self.first_failure or self.broken[i]

    def rebuild(self, i: int) -> None:
        """Make a broken environment again, with a seed of its own: with its old one it would break again."""
        self.restarts += 1
        seed = self.seeds[i]
        self.seeds[i] = self._fresh[i] = None if seed is None else seed_of(seed, self._numbers[i])
        self.make_again(i)
        del self.broken[i]

    def make_again(self, i: int) -> None:
        """Make an environment again that can no longer be used as it is."""
        with contextlib.suppress(Exception):  # it is broken
            self.envs[i].close()
        self.envs[i] = self._made(i)
        self.calls[i] = self.envs[i].step

    def _error(
        self, i: int, what: str, error: Exception, answer: Any, when: str = "", cause: str = ""
    ) -> SimulationError:
        seed, number, length = self.seeds[i], self._numbers[i], self.steps - self._began[i]
        subject = f"{self.path}: environment {self.first + i} (seed {seed}, episode {number}, step {length})"
        if answer is None:
            fact = f"raised in {what}{when}: {in_words(error)}{cause}"
        else:
            fact = f"answered {what} wrongly{when}: {_fault(what, answer, error)}"
        if not self.restarting and not cause and not isinstance(error, ResetNeeded):
            fact += f"; {self.remedy}"
        return SimulationError(f"{subject} {fact}", self.first + i, seed)


def _fault(what: str, answer: Any, error: Exception) -> str:
    """What is wrong with an answer: its form, or the observation in it."""
    wanted = ["observation", "reward", "terminated", "truncated", "info"]
    if what == "reset":
        wanted = ["observation", "info"]
    if not isinstance(answer, tuple) or len(answer) != len(wanted):
        given = f"{len(answer)} values" if isinstance(answer, tuple) else f"one {type(answer).__name__}"
        return f"it gave {given} instead of ({', '.join(wanted)})"
    if isinstance(error, NotANumberError):
        return str(error)
    if isinstance(error, WrongValueError):
        return f"its observation is {error}"
    if what == "step":
        for name, value in zip(wanted[1:4], answer[1:4], strict=True):
            if not isinstance(value, Number | np.generic) and not (isinstance(value, ndarray) and value.shape == ()):
                return f"its {name} is {value!r}, which is no number"
    return in_words(error)
