"""Who of an environment is played by a past policy, and by which?

An episode against past policies has a side that learns: a group, or, where all agents are one group, one of them. Sides
take turns. All others are played by past policies of theirs, and of what those do there are no rows. Who that is, is
drawn when the episode begins, by the generator of the actor and from the pool that it has then: weights come into an
actor's pool at the tag at which they reach it, so that the pool is the same whatever workers do.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reactors.rl.contract.agents import act_for, by_memory, sides_of
from reactors.rl.dataflow.agents.past_policies import PastPolicies
from reactors.rl.envs.agents.masks import seen_by
from reactors.rl.opponents import BEGIN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from reactors.rl.contract.agents import Memories, MultiAgent
    from reactors.rl.envs.agents.cast import Cast
    from reactors.rl.envs.parallel_simulation import ParallelSimulation
    from reactors.rl.episode import Episode
    from reactors.rl.opponents import Past

Ratings = dict[str, dict[str, Any]]
"""Of each team by name: that of what learns, and by rounds those of past policies: {"learner": x, "past": {50: y}}."""
NONE = -1
"""In the place of a side where all learn, and of a past policy where none plays."""


class Game(NamedTuple):
    """What came of an episode against past policies."""

    team: str  # that learned
    mine: float  # the mean return of those of it that learned
    theirs: float  # and of all others
    against: tuple[tuple[str, int], ...]  # the policies of those: team, and after how many rounds it was like that


class Opponents:
    """The past policies of all teams in an actor, and who is played by them in each of its environments.

    `learns` says which agents are played by what learns, bool (environments, agents); `side` which side that is, and
    `against` by which policy of each team the others are played, int64 (environments, teams). `results` are those of
    a round.
    """

    def __init__(
        self, past: Past, algorithm: MultiAgent, cast: Cast, initial: Sequence[NDArray[np.float32]], *, lag: int
    ) -> None:
        self.past, self.cast, self.lag = past, cast, lag
        self.teams = algorithm.teams(cast)
        self.place = {agent: i for i, agent in enumerate(cast.agents)}
        self.sides = sides_of(self.teams)
        self.steps = algorithm.horizon * algorithm.num_envs
        self.pools = [PastPolicies(past.size, algorithm, cast, *each) for each in zip(self.teams, initial, strict=True)]
        self.ratings: Ratings = {}
        self.results: list[Game] = []

    def open(self, rng: np.random.Generator, environments: int, memories: Sequence[Memories | None]) -> None:
        """Begin an episode in each environment; what agents of each team remember is kept where it is of all others."""
        self.rng, self.memories = rng, memories
        self.matches = np.zeros(environments, np.int64)  # that have begun
        self.side = np.full(environments, NONE)
        self.against = np.full((environments, len(self.teams)), NONE)
        self.learns = np.ones((environments, len(self.cast.agents)), np.bool_)
        for env in range(environments):
            self.begin(env)

    def add(self, team: int, weights: NDArray[np.float32], number: int) -> None:
        """Keep weights that reach a team in round `number`, if it is time to."""
        made, pool, every = number - self.lag + 1, self.pools[team], self.past.every
        if made // every > pool.rounds[-1] // every:
            pool.add(made // every * every, weights, self.against[:, team])

    def begin(self, env: int) -> None:
        """Draw who plays the episode that begins."""
        side, against = NONE, self.against[env]
        against[:] = NONE
        learns = self.learns[env]
        learns[:] = True
        if self.rng.random() < self.past.chance:
            side = (env + int(self.matches[env])) % len(self.sides)
            self.matches[env] += 1
            whose, members = self.sides[side]
            learns[:] = False
            learns[members] = True
            rating = self.ratings.get(self.teams[whose].name, {}).get("learner", BEGIN)
            for i, (team, pool) in enumerate(zip(self.teams, self.pools, strict=True)):
                if not learns[list(team.members)].all():
                    rated = self.ratings.get(team.name, {})
                    known = rated.get("past", {})
                    ratings = [known.get(each, rated.get("learner", BEGIN)) for each in pool.rounds]
                    weights = np.array(self.past.weights(rating, ratings))
                    against[i] = pool.rounds[int(self.rng.choice(len(weights), p=weights / weights.sum()))]
        self.side[env] = side

    def act(self, simulations: Sequence[ParallelSimulation], number: int) -> list[dict[Any, Any]]:
        """In round `number`, what those do that past policies play and that are there, by environment and agent."""
        found: list[dict[Any, Any]] = [{} for _ in simulations]
        there = [
            {
                agent: seen
                for agent, seen in seen_by(simulation, self.cast).items()
                if not self.learns[env, self.place[agent]]
            }
            if self.side[env] != NONE
            else {}
            for env, simulation in enumerate(simulations)
        ]
        if not any(there):
            return found
        for i, (team, pool) in enumerate(zip(self.teams, self.pools, strict=True)):
            playing = self.against[:, i]
            for which in dict.fromkeys(playing[playing != NONE].tolist()):
                seen = [each if playing[env] == which else {} for env, each in enumerate(there)]
                policy = pool.policies[which]
                choose = partial(self._chosen, policy, number)
                act_for(self.cast, team, seen, partial(by_memory, self.memories[i], choose), found)
        return found

    def _chosen(self, policy: Any, number: int, rows: NDArray[Any], *states: NDArray[np.float32]) -> Any:
        return policy.act(rows, self.rng, number * self.steps, *states)[0]

    def ended(self, env: int, episode: Episode) -> Episode:
        """Note the result, and begin the next episode; the one that ended, as one of those that learned alone."""
        side = int(self.side[env])
        if side != NONE:
            learned, returns = self.learns[env].copy(), np.array(episode.returns)
            against = tuple(
                (team.name, int(n)) for team, n in zip(self.teams, self.against[env], strict=True) if n != NONE
            )
            mine, theirs = float(returns[learned].mean()), float(returns[~learned].mean())
            self.results.append(Game(self.teams[self.sides[side][0]].name, mine, theirs, against))
            alone = tuple(x if mine else float("nan") for x, mine in zip(episode.returns, learned, strict=True))
            episode = episode._replace(total=float(returns[learned].sum()), returns=alone)
        self.begin(env)
        return episode

    def state_dict(self) -> dict[str, Any]:
        """Pools, ratings, and who plays episodes that go on."""
        return {
            "pools": [pool.state_dict() for pool in self.pools], "ratings": self.ratings,
            **{name: getattr(self, name).copy() for name in ("matches", "side", "against", "learns")},
        }  # fmt: skip

    def form(self) -> dict[str, Any]:
        """Its state with no ratings in it, since there are more of them in a run that is further on."""
        return {**self.state_dict(), "ratings": {}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self.ratings = state["ratings"]
        for name in ("matches", "side", "against", "learns"):
            getattr(self, name)[...] = state[name]
        for pool, each in zip(self.pools, state["pools"], strict=True):
            pool.load_state_dict(each)
