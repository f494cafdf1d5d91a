"""How good are the policies of many agents together, without exploration?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactors.rl.envs.agents.sources import unmasked
from reactors.rl.envs.parallel_simulation import ParallelSimulation
from reactors.rl.envs.simulation import seed_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactors.rl.contract.agents import Company
    from reactors.rl.episode import Episode


def play_together(company: Company, make: Callable[[], Any], episodes: int, seed: int) -> list[Episode]:
    """So many greedy episodes, each in an environment with a seed of its own, in their order."""
    simulations = [ParallelSimulation(make, seed=seed_of(seed, i), path="the evaluation") for i in range(episodes)]
    found: list[Episode | None] = [None] * episodes
    try:
        for simulation in simulations:
            simulation.reset()
        while None in found:
            going = [i for i, episode in enumerate(found) if episode is None]
            chosen = company.greedy_of([seen_by(simulations[i]) for i in going])
            for i, actions in zip(going, chosen, strict=True):
                simulations[i].step(actions)
                found[i] = simulations[i].episode
    finally:
        for simulation in simulations:
            simulation.close()
    return [each for each in found if each is not None]


def seen_by(simulation: ParallelSimulation) -> dict[Any, Any]:
    """What each agent that is there sees, with its mask."""
    infos = simulation.infos
    return {agent: unmasked(seen, infos.get(agent, {})) for agent, seen in simulation.observations.items()}
