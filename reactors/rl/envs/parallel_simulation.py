"""How does one step a PettingZoo parallel environment, whose agents come and go?

As `Simulation` for one environment with many agents: it knows nothing of reactors, resets when no agent is left, and
tells what breaks with the seed of the environment. An agent that has ended is gone, as PettingZoo has it, also if the
environment goes on to list it: it may come again once it was not listed for a step. What an agent is given that waits,
and has not ended, belongs to its last action.
"""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reactors.lowlevel import in_words
from reactors.rl.envs.owned import Claim, claim
from reactors.rl.envs.simulation import seed_of
from reactors.rl.envs.snapshots import snapshot
from reactors.rl.envs.spaces import WrongValueError
from reactors.rl.episode import Episode
from reactors.rl.errors import SimulationError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from reactors.rl.envs.spaces import Check


class Outcome(NamedTuple):
    """What an action led to, for an agent that acted, or that waits and is told something."""

    agent: Any
    observation: Any
    reward: float
    terminated: bool
    truncated: bool


class ParallelSimulation:
    """A parallel environment made by `make`; `seed` goes to its first reset, `index` is its number in errors.

    `checks` has for each agent what raises `WrongValueError` for an observation that is none of its space.

    With `stays`, it stays where an episode has ended, so that this can be seen, until `begin_with` begins the next.

    >>> import pettingzoo
    >>> sim = ParallelSimulation(lambda: pettingzoo.make("parallel", "classic/rps_v2", max_cycles=2), seed=1)
    >>> sim.reset()
    >>> [outcome.reward for outcome in sim.step({"player_0": 0, "player_1": 1})]
    [-1.0, 1.0]
    >>> _ = sim.step({"player_0": 0, "player_1": 1})
    >>> sim.episode.returns, sorted(sim.observations)
    ((-2.0, 2.0), ['player_0', 'player_1'])
    >>> sim.close()

    Attributes:
        observations: what to act on next, by agent: of those that are there.
        infos: what the environment said beside them, by agent; only what is not empty.
        final_infos: likewise at the last step, of those that are not there any more.
        waiting: what they saw last who were there, are not now, and have not ended.
        ended: who has ended, and is listed by the environment all the same.
        steady: whether all possible agents acted in the last step and act next.
        episode: the one that ended in the last step, if one did.
        failure: what was wrong in the last step with an environment that was made again; "" if nothing was.
        first_failure: what was wrong the first time that it was made again.
        restarts: how often the environment was made again.
        state: what `state()` of the environment gives, with `with_state`.
        next_state: likewise, what the last step led to; another one than `state` where an episode ended.
    """

    def __init__(
        self,
        make: Callable[[], Any],
        *,
        seed: int | None = None,
        restarting: bool = False,
        path: str = "the simulation",
        with_state: bool = False,
        index: int = 0,
        stays: bool = False,
        checks: Mapping[Any, Check] | None = None,
    ) -> None:
        self.stays, self.checks = stays, checks
        self.make, self.seed, self.restarting, self.path = make, seed, restarting, path
        self.with_state, self.index = with_state, index
        self.state: Any = None
        self.next_state: Any = None
        self.observations: dict[Any, Any] = {}
        self.infos: dict[Any, Any] = {}
        self.final_infos: dict[Any, Any] = {}
        self.waiting: dict[Any, Any] = {}
        self.ended: list[Any] = []
        self.episode: Episode | None = None
        self.steady = False
        self.failure = self.first_failure = ""
        self.restarts = self.steps = self._began = self._number = 0
        self._fresh = seed
        self._claim: Claim | None = None
        self.env: Any = self._opened()
        self.possible: list[Any] = list(self.env.possible_agents)
        self._returns = dict.fromkeys(self.possible, 0.0)

    def reset(self) -> None:
        """Begin an episode of all agents."""
        self._began, self._returns = self.steps, dict.fromkeys(self.possible, 0.0)
        self.waiting, self.ended, self.steady = {}, [], False
        seed, self._fresh = self._fresh, None
        try:
            self._reset(seed)
            self._look()
            if not self.observations:
                raise ValueError("no agent is there after reset")  # noqa: TRY301 - reported as what goes wrong within
            self._check_seen(self.observations)
        except Exception as error:
            raise self._error("reset", error) from error

    def step(self, actions: Mapping[Any, Any]) -> list[Outcome]:
        """Step all agents; `actions` has one for each that is there. When no agent is left, the next episode begins."""
        self.steps += 1
        self.episode, self.failure, self.final_infos, self.steady = None, "", {}, False
        there, before = list(self.observations), self.observations
        for agent in actions:
            if agent not in self.observations:
                raise SimulationError(
                    f"{self.path}: an action for agent {agent!r}, which is not there; those that act now are "
                    f"{', '.join(map(repr, there))}",
                    self.index,
                    self.seed,
                )
        if self.restarting:  # a step that fails may have written over them
            before = snapshot(before)
        try:
            outcomes, left, infos = self._advance(actions, there)
            self._check_seen({outcome.agent: outcome.observation for outcome in outcomes} | left)
            self._check_rewards(outcomes)
            final_infos = said(infos, {outcome.agent for outcome in outcomes if outcome.agent not in left})
            infos = said(infos, left)
            self._look()
        except Exception as error:
            failed = self._error("step", error)
            if not self.restarting:
                raise failed from error
            self.failure = str(failed)
            self.first_failure = self.first_failure or self.failure
            outcomes = [Outcome(agent, before[agent], 0.0, False, True) for agent in there]
            led_to = self.state
            self._end(failed=True)
            self._make_again()
            self.next_state = led_to
            return outcomes
        for outcome in outcomes:
            self._returns[outcome.agent] += outcome.reward
        self.final_infos = final_infos
        if left:
            self.observations, self.infos = left, infos
            self.steady = len(left) == len(there) == len(self.possible)
        else:
            self._end(failed=False)
            if not self.stays:  # the next episode may be written into the same arrays
                outcomes = [outcome._replace(observation=snapshot(outcome.observation)) for outcome in outcomes]
                self.final_infos = snapshot(self.final_infos)
                led_to = self.next_state
                self._begin_next()
                self.next_state = led_to
        return outcomes

    def close(self) -> None:
        """Close the environment; a second time nothing happens."""
        env, self.env, self._claim = self.env, None, None
        if env is not None:
            env.close()

    def begin_with(self, seed: int | None) -> None:
        """Begin an episode with this seed, wherever another one is; with None, as an environment resets itself."""
        if self.steps != self._began:
            self._number += 1
        if seed is not None:
            self.seed = self._fresh = seed
        self.episode, self.failure, self.final_infos = None, "", {}
        self._begin_next()

    def error(self, fact: str) -> SimulationError:
        """Of something in an answer that is wrong."""
        return SimulationError(f"{self.path} {self._at()}: {fact}", self.index, self.seed)

    def everything(self) -> dict[Any, Any]:
        """What agents see now, also those that do not act next, where that can be known."""
        return self.observations

    # ---- parts ----

    def _reset(self, seed: int | None) -> None:
        observations, infos = self.env.reset(seed=seed)
        self.observations = {agent: observations[agent] for agent in self.env.agents}
        self.infos = said(infos, self.observations)

    def _advance(self, actions: Mapping[Any, Any], there: list[Any]) -> tuple[list[Outcome], dict[Any, Any], Any]:
        """A step: what came of it, what those see who act next, and what the environment says beside that."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        outcomes = [
            Outcome(agent, observations[agent], float(rewards[agent]), bool(terminated[agent]), bool(truncated[agent]))
            for agent in there
        ]
        for agent, seen in self.waiting.items():
            dead, cut = bool(terminated.get(agent, False)), bool(truncated.get(agent, False))
            if agent in rewards or dead or cut:
                led_to = observations[agent] if cut else observations.get(agent, seen)
                outcomes.append(Outcome(agent, led_to, float(rewards.get(agent, 0.0)), dead, cut))
        ends = [outcome.agent for outcome in outcomes if outcome.terminated or outcome.truncated]
        if not (ends or self.waiting or self.ended) and self.env.agents == there:  # as in most steps
            return outcomes, {agent: observations[agent] for agent in there}, infos
        over = {*self.ended, *ends}
        self.ended = [agent for agent in self.env.agents if agent in over]
        left = {agent: observations[agent] for agent in self.env.agents if agent not in over}
        known = (*self.waiting.items(), *self.observations.items())
        self.waiting = {agent: seen for agent, seen in known if agent not in left and agent not in over}
        return outcomes, left, infos

    def _opened(self) -> Any:
        try:
            env = self.make()
        except Exception as error:
            raise SimulationError(
                f"{self.path} (seed {self.seed}) cannot be made: {in_words(error)}", self.index, self.seed
            ) from error
        try:
            self._claim = claim(env, f"that of {self.path}")
        except ValueError as error:
            raise SimulationError(f"the environment of {self.path} {error}", self.index, self.seed) from None
        return env

    def _begin_next(self) -> None:
        try:
            self.reset()
        except SimulationError as error:
            if not self.restarting:
                raise
            self.first_failure = self.first_failure or str(error)
            self._make_again()

    def _make_again(self) -> None:
        self.restarts += 1
        self.seed = self._fresh = None if self.seed is None else seed_of(self.seed, self._number)
        self.open_again()
        self.reset()

    def open_again(self) -> None:
        """Make an environment in place of one that can no longer be used as it is."""
        with contextlib.suppress(Exception):  # it is broken
            self.close()
        self.env = self._opened()

    def _end(self, *, failed: bool) -> None:
        returns = tuple(self._returns[agent] for agent in self.possible)
        length = self.steps - self._began
        self.episode = Episode(0, self._number, sum(returns), length, self.seed, failed, returns)
        self._number, self._began = self._number + 1, self.steps

    def _look(self) -> None:
        if self.with_state:
            self.state = self.next_state = np.array(self.env.state())

    def _check_seen(self, observations: Mapping[Any, Any]) -> None:
        for agent, seen in observations.items():
            if agent not in self._returns:
                raise ValueError(f"agent {agent!r} is there, whom possible_agents does not list")
            if self.checks is not None:
                try:
                    self.checks[agent](seen)
                except WrongValueError as error:
                    raise WrongValueError(f"the observation of agent {agent!r} is {error}") from error

    def _check_rewards(self, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            if math.isnan(outcome.reward):
                raise ValueError(f"the reward of agent {outcome.agent!r} is nan, which is no number")

    def _at(self) -> str:
        return f"(seed {self.seed}, episode {self._number}, step {self.steps - self._began})"

    def _error(self, what: str, error: Exception) -> SimulationError:
        remedy = "" if self.restarting else '; fix it, or restart it with on_error="restart"'
        if isinstance(error, KeyError) and self.env is not None and error.args[:1] and error.args[0] in self.possible:
            fact = f"gave no answer for agent {error.args[0]!r} in {what}, or was given no action of it"
            if error.args[0] in self.ended:  # whose answers are not looked at
                fact = f"wants an action of agent {error.args[0]!r}, which has ended, but is still in its agents"
                remedy = "; let agents leave where they end"
        elif isinstance(error, WrongValueError):
            fact = f"answered {what} wrongly: {error}"
        else:
            fact = f"failed in {what}: {in_words(error)}"
        return SimulationError(f"{self.path} {self._at()} {fact}{remedy}", self.index, self.seed)


def said(infos: Any, agents: Collection[Any]) -> dict[Any, dict[str, Any]]:
    """What infos say of agents, where they say anything."""
    return {agent: dict(info) for agent, info in (infos or {}).items() if info and agent in agents}
