"""How is a trained policy used and saved?"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import ArgumentError
from reactors.lowlevel import did_you_mean, explains
from reactors.rl.contract.agents import Company, PlayingTogether
from reactors.rl.contract.recurrent import Playing
from reactors.rl.envs.agents.observed import ObservedByAgents
from reactors.rl.envs.observed import Observed
from reactors.rl.monitoring.evaluator import play
from reactors.rl.monitoring.scores import scores
from reactors.rl.public import public
from reactors.rl.runs.past_policies import choosing, past_in
from reactors.rl.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from reactors.rl.contract.algorithm import Algorithm, Policy
    from reactors.rl.envs.sources import Source
    from reactors.rl.monitoring.evaluation import Evaluation
    from reactors.rl.monitoring.scores import Choosing, Scores
    from reactors.rl.runs.past_policies import Against, PastPolicy


_OF_OTHERS = {"predict", "act", "action", "get_action", "compute_action", "compute_single_action", "forward"}


@dataclass(frozen=True)
class TrainedPolicy:
    """A `policy` and its `weights`, with the algorithm that made it, its environment and the environment's spaces.

    Call it with one observation, an array or array-like, to get the greedy action; `policy.greedy` takes a batch. A
    recurrent policy remembers the calls since the last `reset`, which begins an episode. With many agents, call it with
    a dict of observations, by agent, of the agents that are present; it returns a dict of their actions, and
    `policy.greedy` the same of batches (n, ...). An observation may be a dict with an `action_mask`, as in PettingZoo.

    Raises `ValueMismatchError` for an observation of another shape, or of a dtype that does not convert,
    `NotFiniteError` for one with a number that is not finite, and `ArgumentError` for an unknown agent.
    """

    algorithm: Algorithm
    policy: Policy
    weights: NDArray[np.float32]
    make: Callable[[], Any]
    spaces: tuple[Any, Any]
    config: dict[str, Any]
    earlier: Callable[[], tuple[PastPolicy, ...]] = field(default=tuple, kw_only=True, repr=False)
    """Gives `past`."""

    def _lacks(self, name: str, seen: Mapping[str, object]) -> str:  # noqa: ARG002 - as `lacking.explains` calls it
        """What to add to the message when there is no attribute of this name."""
        if name in _OF_OTHERS:
            return "; call it with one observation, or policy.greedy of it with a batch"
        return did_you_mean(name, [each for each in dir(self) if not each.startswith("_")])

    def __repr__(self) -> str:
        name, env, seed = self.algorithm.name, self.config["env"], self.config.get("seed")
        return f"<trained policy: {name} in {env}, seed {seed}, {len(self.weights):,} weights>"

    def evaluate(self, episodes: int = 10, seed: int = 0) -> Evaluation:
        """The mean return of greedy episodes, a float; with many agents, its `groups` and `agents` have theirs.

        Raises `ArgumentError` for fewer than one episode.

        >>> from reactors import rl
        >>> small = rl.IPPO(num_envs=2, horizon=32, epochs=1, hidden=(8,))
        >>> found = rl.train(small, "classic/tictactoe_v3", total_steps=64).evaluate(episodes=4)
        >>> float(found), found.agents["player_1"] + found.agents["player_2"]
        (0.0, 0.0)
        """
        _check_numbers("evaluate", episodes, seed)
        return play(self.policy, self.make, *self.spaces, episodes, seed)

    @cached_property
    def past(self) -> tuple[PastPolicy, ...]:
        """The pool of past policies at the end of a run with `opponents`, the oldest first."""
        return self.earlier()

    def against(self, opponents: Against = None, *, episodes: int = 100, seed: int = 0) -> Scores:
        """Evaluate each group against opponents: returns a list of `Score`, which prints as a table.

        An opponent is "random", which plays any allowed action, "past", which stands for all of `past`, one of these,
        or what `rl.train` or `rl.load` returns for another run, which plays by its own algorithm, groups and memory.
        Give several as a list, or with names in a dict; by default, "random" and "past". The group plays greedily, its
        opponents as in training. If all agents are one group, each of them in turn plays against the others. The same
        seed gives the same result. Raises `ArgumentError` for anything else as an opponent, for one that was trained
        with other agents, observations or actions than there are here, and for a single-agent policy.

        >>> from reactors import rl
        >>> small = rl.IPPO(num_envs=2, horizon=32, epochs=1, hidden=(8,))
        >>> done = rl.train(small, "classic/tictactoe_v3", total_steps=256, opponents=rl.Past(every=2))
        >>> [(each.opponent, each.episodes) for each in done.against(episodes=4)]
        [('random', 4), ('round 0', 4), ('round 2', 4)]
        """
        _check_numbers("against", episodes, seed)
        company, found = opposing(self, opponents)
        return scores(company, found, self.make, episodes, seed)

    def __call__(self, observation: Any) -> Any:
        """The greedy action for one observation."""
        who, several = f"the policy of {self.algorithm.name}", "of a batch, policy.greedy gives all actions"
        if isinstance(self._playing, PlayingTogether):
            return self._playing([ObservedByAgents(self._playing.company.cast).all(observation, who, several)])[0]
        taken = Observed(self.spaces[0]).checked(observation, who, several)
        return self._playing(taken[None])[0]

    def reset(self) -> None:
        """Begin an episode: a recurrent policy forgets what came before."""
        if isinstance(self._playing, PlayingTogether):
            self._playing.ended(0)
        else:
            over = np.ones(1, bool)
            self._playing.ended(over, over)

    @cached_property
    def _playing(self) -> Playing | PlayingTogether:
        return PlayingTogether(self.policy, 1) if isinstance(self.policy, Company) else Playing(self.policy, 1)

    def save(self, folder: str | Path) -> Path:
        """Save it to a new folder, as a run with `out=` does: `load`, `reactors eval` and `reactors play` read it.

        Raises `RunFolderError` if there is a run in the folder already.
        """
        run = RunFolder(folder)
        with run.held():
            run.begin(self.config)
            run.keep(self.weights)
        return run.path


explains(TrainedPolicy)


def opposing(trained: TrainedPolicy, given: Against) -> tuple[Company, dict[str, list[Choosing]]]:
    """The policy of all groups, and how its given opponents choose, by name.

    Raises `ArgumentError` for anything that is no opponent, and for the policy of a single agent.
    """
    company = trained.policy
    if not isinstance(company, Company) or len(company.cast.agents) < 2:
        raise ArgumentError(f"against: {trained.algorithm.name} has one agent here, and no opponents")
    return company, choosing(company, trained.past, given, repr(trained))


def _check_numbers(of: str, episodes: object, seed: object) -> None:
    for name, value, least in (("episodes", episodes, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ArgumentError(f"{name} of {of} is {value!r}; write a whole number, {least} or more")


@public("rl.load")
def load(
    folder: str | Path,
    *,
    algorithm: Algorithm | type[Algorithm] | None = None,
    env: Source | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
) -> TrainedPolicy:
    """Load the policy from a run's folder or from `Trained.save`; if a run has not ended, from its last checkpoint.

    Loading never runs code just because the folder names it. Give an algorithm of your own again, as it was given to
    `rl.train` or as its class, unless its file is already imported. The environment is found by its name if it is
    registered, or if it is of a class or a package that Python can import; if a function made it, give it again. Raises
    `RunFolderError` if the environment is not found, and for a folder that is not of a run, or is damaged.

    >>> import tempfile
    >>> from reactors import rl
    >>> done = rl.train(rl.PPO(num_envs=4, horizon=16, epochs=1), "CartPole-v1", total_steps=64)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = rl.load(done.save(folder))
    >>> again.evaluate(3) == done.evaluate(3)
    True
    """
    return loaded(RunFolder(folder, algorithm=algorithm, env=env, env_kwargs=env_kwargs))


def loaded(run: RunFolder) -> TrainedPolicy:
    """The policy in a folder that is already open."""
    return TrainedPolicy(
        run.algorithm, run.policy(), run.weights, run.maker(), run.spaces, run.config, earlier=partial(past_in, run)
    )
