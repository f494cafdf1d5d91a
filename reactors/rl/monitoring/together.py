"""How good are the policies of many agents together, without exploration?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from reactors.rl.contract.agents import PlayingTogether
from reactors.rl.envs.agents.masks import seen_by
from reactors.rl.envs.agents.turns import simulation_of
from reactors.rl.envs.simulation import seed_of
from reactors.rl.monitoring.evaluation import Evaluation

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from reactors.rl.contract.agents import Company
    from reactors.rl.envs.agents.cast import Cast
    from reactors.rl.envs.parallel_simulation import ParallelSimulation
    from reactors.rl.episode import Episode


class Players(Protocol):
    """Who chooses for all agents in n environments, as `PlayingTogether` does."""

    def __call__(self, observations: Sequence[Mapping[Any, Any]], /) -> Sequence[Mapping[Any, Any]]:
        """The actions of all who see something, by environment and agent."""
        ...

    def ended(self, env: int, agents: Container[Any] | None = None, /) -> None:
        """Hear whose episodes are over in an environment; by default those of all agents."""
        ...


def play_together(company: Company, make: Callable[[], Any], episodes: int, seed: int) -> list[Episode]:
    """So many greedy episodes, each in an environment with a seed of its own, in their order."""
    return played(company.cast, make, episodes, seed, PlayingTogether(company, episodes))


def played(
    cast: Cast,
    make: Callable[[], Any],
    episodes: int,
    seed: int,
    playing: Players,
) -> list[Episode]:
    """So many episodes, each in an environment with a seed of its own, in their order."""
    simulations = [simulation_of(make, seed=seed_of(seed, i), path="the evaluation") for i in range(episodes)]
    found: list[Episode | None] = [None] * episodes
    try:
        for simulation in simulations:
            simulation.reset()
        while None in found:
            chosen = playing([seen_by(each, cast) if found[i] is None else {} for i, each in enumerate(simulations)])
            for i in [i for i, episode in enumerate(found) if episode is None]:
                found[i], gone = advance(simulations[i], chosen[i])
                playing.ended(i, gone)
    finally:
        for simulation in simulations:
            simulation.close()
    return [each for each in found if each is not None]


def watch_together(
    company: Company,
    env: Any,
    episodes: int,
    seed: int,
    shown: Callable[[int], None] = lambda _: None,
    playing: Callable[[int], Players] | None = None,
) -> Evaluation:
    """Greedy episodes one after another in an environment, which is closed then; what they come to.

    `shown` is called with the number of the episode when it has begun, and after each step. `playing` gives who
    chooses for all in an episode; by default the company does.
    """
    found = []
    simulation = simulation_of(lambda: env, seed=seed, path="the episode", stays=True)
    try:
        for number in range(episodes):
            simulation.begin_with(seed_of(seed, number))
            shown(number)
            episode, together = None, PlayingTogether(company, 1) if playing is None else playing(number)
            while episode is None:
                (actions,) = together([seen_by(simulation, company.cast)])
                episode, gone = advance(simulation, actions)
                together.ended(0, gone)
                shown(number)
            found.append(episode)
    finally:
        simulation.close()
    return Evaluation.of(found, company.teams)


def episode_of(company: Company, env: Any, seed: int) -> Iterator[bool]:
    """Play a greedy episode in an environment that shows itself; whether it is over, first and after each step."""
    simulation = simulation_of(lambda: env, seed=seed, path="the episode", stays=True)
    playing = PlayingTogether(company, 1)
    simulation.reset()
    episode = None
    yield False
    while episode is None:
        (actions,) = playing([seen_by(simulation, company.cast)])
        episode, gone = advance(simulation, actions)
        playing.ended(0, gone)
        yield episode is not None


def advance(simulation: ParallelSimulation, actions: Mapping[Any, Any]) -> tuple[Episode | None, Container[Any] | None]:
    """Step an environment; the episode, if one ended, and agents whose episodes have ended, None if all have."""
    outcomes = simulation.step(actions)
    if simulation.episode is not None:
        return simulation.episode, None
    return None, {each.agent for each in outcomes if each.terminated or each.truncated}
