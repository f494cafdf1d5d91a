"""How is training with many agents one graph?

As `dataflow.program` has it, round by round, with a group for each team: actors play whole environments with the
policies of all, each group learns from what its agents did, and the weights of all reach the actors `lag` rounds later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.errors import ParameterError
from reactors.lowlevel import did_you_mean
from reactors.rl.contract.agents import actions_of
from reactors.rl.contract.conformance import check_learning, check_policy
from reactors.rl.dataflow.agents.acting import TeamActing
from reactors.rl.dataflow.agents.actor import AgentsActor
from reactors.rl.dataflow.agents.elo import Elo
from reactors.rl.dataflow.agents.group import AgentGroup, Joined
from reactors.rl.dataflow.agents.rollout import AgentsRollout
from reactors.rl.dataflow.program import ALONE, LEAD, Training, per_actor
from reactors.rl.envs.agents.cast import some
from reactors.rl.learning.latest import Latest
from reactors.rl.monitoring.agent_returns import AgentReturns
from reactors.rl.monitoring.journal import Journal
from reactors.rl.opponents import Past
from reactors.rl.rounds import ROUND, STOP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from reactors.rl.checkpoints.checkpoint import Saving
    from reactors.rl.checkpoints.files import Saved
    from reactors.rl.checkpoints.stateful import Stateful
    from reactors.rl.contract.agents import MultiAgent
    from reactors.rl.envs.agents.cast import Cast, Team
    from reactors.rl.learning.learners import Learners
    from reactors.rl.options import Options
    from reactors.rl.replay.buffer import ReplayBuffer


class AgentsTraining(Training):
    """An algorithm for many agents, trained by actors in environments that `maker` makes, as the options say."""

    def __init__(
        self,
        algorithm: MultiAgent,
        maker: Callable[[], Any],
        cast: Cast,
        _: Any,
        options: Options,
        *,
        learners: Learners = ALONE,
        journal: Path | None = None,
        views: Path | None = None,
        saving: Saving | None = None,
        saved: Saved | None = None,
    ) -> None:
        actors, lag = options.actors, options.late
        num_envs = per_actor(algorithm, actors, 1)
        self.free, self.memory, self.adapts = options.mode == "free", None, False
        teams = algorithm.teams(cast)
        past = Past.of(options.opponents)
        if past is not None:
            check_opponents(algorithm, teams, "rl.train")
            if past.chance == 1 and options.stop_at is not None and options.return_of is None:
                raise ParameterError(
                    f"stop_at of rl.train is {options.stop_at:g}, the return of all agents together, and with chance=1 "
                    "of rl.Past past policies play in every episode; name a group or an agent with return_of"
                )
        if options.return_of is not None:
            check_return_of(options.return_of, teams, only_groups=past is not None and options.eval_every is not None)
        spaces: list[tuple[Any, Any]] = [(team, actions_of(cast, team)) for team in teams]
        device = learners.devices[0]
        initial = []
        for team, action_space in spaces:
            learning = algorithm.learning(team, action_space, options.seed, device)
            initial.append(check_learning(algorithm, learning))
            check_policy(algorithm, team, action_space, learning, initial[-1], num_envs * len(team.members))
        size = sum(map(len, initial))
        newest = [Latest(len(each)) if self.free else None for each in initial]
        steps = algorithm.horizon * algorithm.num_envs

        def rollout(i: int) -> AgentsRollout:
            return AgentsRollout(algorithm, maker, num_envs, i * num_envs, cast, options.on_error)

        def acting(_: int) -> TeamActing:
            return TeamActing(algorithm, cast, initial, lag=lag, newest=newest, past=past)

        self.actors: Any = self._actors(actors, rollout, acting)
        arguments = {"seed": options.seed, "device": device, "lag": lag}
        self.groups = {
            team.name: self._group(algorithm, team, action_space, actors, weights, {**arguments, "newest": latest})
            for (team, action_space), weights, latest in zip(spaces, initial, newest, strict=True)
        }
        groups = [*self.groups.values()]
        for i, group in enumerate(groups):
            rx.connect([actor.segments[i] for actor in self.actors], group.segments)
        whole: Any = groups[0].weights
        if len(groups) > 1:
            self.joined = Joined([group.size for group in groups])
            rx.connect([group.weights for group in groups], self.joined.parts)
            whole = self.joined.weights
        if not self.free:
            rx.connect(whole, self.actors.weights, after=lag * ROUND, broadcast=True)
        figures = [group.figures for group in groups]
        if past is not None:
            figures.append(self._rate(past, LEAD if self.free else lag, alike=algorithm.alike(cast)))
        self.journal = Journal(
            actors, actors, steps, learners=len(figures), capacity=getattr(algorithm, "capacity", 0),
            stop_at=options.stop_at, stop_after=options.slack * ROUND + STOP, file=journal, tell=options.tell,
            agents=AgentReturns([str(agent) for agent in cast.agents], {team.name: team.members for team in teams}),
            return_of=options.return_of,
        )  # fmt: skip
        rx.connect(self.actors.episodes, self.journal.episodes)
        rx.connect(self.actors.figures, self.journal.times)
        rx.connect(figures, self.journal.figures)
        noted_later = max(1, (options.eval_every or 0) // 2) * ROUND if self.free else None
        self._look_on(algorithm, maker, (cast, cast.actions), options, views, whole, size, after=noted_later)
        if options.serve is not None:
            self._answer(options.serve, np.concatenate(initial) if saved is None else saved.weights(size), whole)
        if saved is not None:
            self._go_on(saved)
        if saving is not None:
            self._save(saving, options.slack, steps)

    def _actors(self, n: int, rollout: Callable[[int], Any], acting: Callable[[int], Any]) -> rx.Bank[Any]:
        """The actors, as a bank; a subclass may take others."""
        return rx.bank(n, AgentsActor, rollout, acting)

    def _group(
        self, algorithm: MultiAgent, team: Team, action_space: Any, actors: int, weights: NDArray[np.float32],
        arguments: Mapping[str, Any],
    ) -> Any:  # fmt: skip
        """A team, whose first weights these are, as a reactor; likewise."""
        return AgentGroup(algorithm, team, action_space, actors, {**arguments, "size": len(weights)})

    def _rate(self, past: Past, lag: int, *, alike: bool) -> Any:
        """Elo of what is learned and of its past, by which opponents may be chosen; its figures."""
        self.elo = Elo(past, [*self.groups], len(self.actors), lag, alike=alike)
        rx.connect(self.actors.results, self.elo.results)
        if past.choose == "elo":
            rx.connect(self.elo.ratings, self.actors.ratings, after=lag * ROUND, broadcast=True)
        return self.elo.figures

    def _stateful(self) -> dict[str, Stateful]:
        found: dict[str, Stateful] = {f"actors[{i}]": each for i, each in enumerate(self.actors)}
        found |= {name: getattr(self, name) for name in ("journal", "elo") if hasattr(self, name)}
        for group in self.groups.values():
            found |= group.lasting
        return found

    def _ports_to_save(self) -> tuple[list[Any], list[Any]]:
        own: list[Any] = [*self.actors, self.journal, *([self.elo] if hasattr(self, "elo") else [])]
        saves, states = [each.save for each in own], [each.state for each in own]
        for group in self.groups.values():
            saves += [*group.saves]
            states += [*group.states]
        return saves, states

    @property
    def whose_weights(self) -> list[str]:
        """The names of those whose weights, one behind the other, act."""
        return [f"groups[{name}].learner" for name in self.groups]

    def final_weights(self) -> NDArray[np.float32]:
        """Those of all groups, when the run is over."""
        return np.concatenate([group.learner.learning.weights() for group in self.groups.values()])

    @property
    def memories(self) -> list[ReplayBuffer]:
        """Buffers whose memory goes when the run is over."""
        return [group.experience.buffer for group in self.groups.values() if hasattr(group, "experience")]

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """There are none, without `adapt`."""
        return []

    def learner_paths(self) -> list[list[str]]:
        """Of each group, those whose work is its learner's."""
        return [[f"main.{name}" for name in group.lasting] for group in self.groups.values()]


def check_return_of(name: str, teams: Sequence[Team], *, only_groups: bool) -> None:
    """Refuse a name of no group and no agent; with opponents, evaluations are of groups."""
    groups, agents = [team.name for team in teams], [agent for team in teams for agent in team.agents]
    if name not in groups and only_groups and name in agents:
        raise ParameterError(
            f"return_of of rl.train is the agent {name!r}, but with opponents evaluations are of groups; write one of "
            f"{some(groups)}"
        )
    if name not in {*groups, *agents}:
        known = [*dict.fromkeys([*groups, *agents])]
        raise ParameterError(
            f"return_of of rl.train is {name!r}, which is no group and no agent"
            f"{did_you_mean(name, known) or f'; there are {some(known)}'}"
        )


def check_opponents(algorithm: MultiAgent, teams: Sequence[Team], path: str) -> None:
    """Refuse opponents where there is one side."""
    (first, *others), name = teams, algorithm.name
    if others:
        return
    if len(first.members) == 1:
        raise ParameterError(
            f"opponents of {path}: {first.agents[0]!r} is alone, and plays against no one; leave it out"
        )
    if algorithm.together:
        raise ParameterError(
            f"opponents of {path}: a group of {name} learns what it does together, and all agents are one group; "
            "write groups={...} with one for each side, or take rl.IDQN, which plays against itself"
        )
