"""How good is the policy, without exploration?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.rl.contract.agents import Company
from reactors.rl.contract.chosen import Chosen
from reactors.rl.contract.recurrent import Playing
from reactors.rl.envs.simulation import Simulation, seed_of
from reactors.rl.envs.sources import for_evaluation
from reactors.rl.monitoring.evaluation import Evaluation
from reactors.rl.monitoring.journal_file import AGAINST_CHANCE
from reactors.rl.monitoring.scores import by_chance, scores
from reactors.rl.monitoring.together import play_together
from reactors.rl.rounds import round_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import gymnasium as gym
    from numpy.typing import NDArray

    from reactors.rl.contract.algorithm import Algorithm, Policy


def play(
    policy: Policy, maker: Callable[[], Any], observation_space: Any, action_space: Any, episodes: int, seed: int
) -> Evaluation:
    """What so many greedy episodes come to, each in an environment with a seed of its own."""
    if isinstance(policy, Company):
        return Evaluation.of(play_together(policy, maker, episodes, seed), policy.teams)
    seeds = [seed_of(seed, i) for i in range(episodes)]
    made = [for_evaluation(maker)] * episodes
    sim = Simulation(made, observation_space, action_space, seeds, path="the evaluation", remedy="fix it")
    try:
        sim.reset_all()
        shape = sim.observations.shape
        following, rewards = np.zeros(shape, sim.observations.dtype), np.zeros(episodes)
        terminated, truncated = np.zeros(episodes, bool), np.zeros(episodes, bool)
        returns: list[float | None] = [None] * episodes
        chosen, playing = Chosen(policy, action_space), Playing(policy, episodes)
        while None in returns:
            actions = chosen.checked(playing(sim.observations), episodes, "greedy")
            sim.advance(actions, following, rewards, terminated, truncated)
            playing.ended(terminated, truncated)
            for episode in sim.episodes:
                if returns[episode.env] is None:
                    returns[episode.env] = episode.total
        return Evaluation([each for each in returns if each is not None])
    finally:
        sim.close()


class Evaluator(rx.Reactor):
    """Plays greedy episodes with the weights that it gets: mean, least and greatest return.

    With `opposed`, each group plays more of them against agents that do anything that is allowed: what all agents get
    together says nothing where what one wins the other loses.

    It keeps the `best` weights of those that it has seen, the first ones if others are as good: by the mean return of
    all agents together, or of the group or agent `return_of`; with `opposed` by that against those others. `lowest` and
    `highest` are of `count` evaluations.
    """

    weights = rx.Input(shape="size", dtype=np.float32)
    evaluation = rx.Output(dict)

    def __init__(
        self,
        algorithm: Algorithm,
        maker: Callable[[], Any],
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        size: int,
        *,
        episodes: int,
        opposed: bool = False,
        return_of: str | None = None,
    ) -> None:
        self.opposed, self.return_of = opposed, return_of
        self.algorithm, self.maker, self.size, self.episodes = algorithm, maker, size, episodes
        self.spaces = observation_space, action_space
        self.policy = algorithm.policy(*self.spaces)
        self.best: NDArray[np.float32] | None = None
        self.lowest, self.highest, self.count = math.inf, -math.inf, 0

    @rx.reaction(weights, effects=evaluation)
    def evaluate(self) -> None:
        """Play the episodes."""
        self.policy.load(self.weights.value)
        seed = seed_of(self.seed, round_of(self.tag))
        worth, figures = self.together(seed)
        if self.opposed:
            worth, against = self.against_chance(seed)
            figures |= against
        self.lowest, self.count = min(worth, self.lowest), self.count + 1
        if worth > self.highest:
            self.highest, self.best = worth, self.weights.value.copy()
        self.evaluation.set(figures)

    def together(self, seed: int) -> tuple[float, dict[str, float]]:
        """What the policy is worth, and returns of episodes that it plays for all agents; also each agent's."""
        found = play(self.policy, self.maker, *self.spaces, self.episodes, seed)
        figures = {f"eval/{name}_return": x for name, x in found.figures().items()}
        figures |= {f"eval/agents/{name}/mean_return": float(each) for name, each in found.agents.items()}
        if len(found.groups) > 1:
            figures |= {f"eval/groups/{name}/mean_return": float(each) for name, each in found.groups.items()}
        return float(found.of_one(self.return_of)), figures

    def against_chance(self, seed: int) -> tuple[float, dict[str, float]]:
        """Likewise of an agent of each group, on average, while others act by chance; and the mean over groups."""
        company: Any = self.policy
        table = scores(company, {"random": by_chance(company.cast, company.teams)}, self.maker, self.episodes, seed)
        by_group = {each.group: each.mean_return for each in table}
        found = {AGAINST_CHANCE: float(np.mean([*by_group.values()]))}
        for each in table:
            found[f"eval/random/groups/{each.group}/return"] = each.mean_return
            if each.won is not None:
                found[f"eval/random/groups/{each.group}/won"] = each.won / each.episodes
        return found[AGAINST_CHANCE] if self.return_of is None else by_group[self.return_of], found
