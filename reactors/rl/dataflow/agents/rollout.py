"""Where does a round of experience come from, if there are many agents in an environment?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.rl.checkpoints.agents import agents_form, agents_state, restore_agents
from reactors.rl.contract.agents import actions_of
from reactors.rl.dataflow.agents.states import States
from reactors.rl.envs.agents.masks import checks_of, mask_of, unmasked
from reactors.rl.envs.agents.turns import simulation_of
from reactors.rl.envs.simulation import seed_of
from reactors.rl.envs.spaces import reader, rows_writer, writer
from reactors.rl.errors import NotFiniteError, SimulationError
from reactors.rl.replay.sequences import MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from reactors.rl.contract.agents import Memories, MultiAgent
    from reactors.rl.dataflow.agents.acting import TeamActing
    from reactors.rl.envs.agents.cast import Cast, Team
    from reactors.rl.envs.parallel_simulation import ParallelSimulation
    from reactors.rl.envs.simulation import OnError
    from reactors.rl.episode import Episode


class AgentsRollout:
    """Environments with many agents, numbered from `first_env`, that are played into the rows of a round.

    There are rows for each team, (horizon, environments) of joint transitions. An agent that is absent has none there:
    `acted` says so, and they are not read, but for what it remembers.
    """

    def __init__(
        self,
        algorithm: MultiAgent,
        make: Callable[[], Any],
        num_envs: int,
        first_env: int,
        cast: Cast,
        on_error: OnError = "raise",
    ) -> None:
        self.make, self.first_env, self.cast, self.on_error = make, first_env, cast, on_error
        self.shape = algorithm.horizon, num_envs
        self.teams = algorithm.teams(cast)
        self.dtypes = [
            team.experience(actions_of(cast, team), algorithm.remembered(actions_of(cast, team))) for team in self.teams
        ]
        self.states: States | None = None
        self.simulations: list[ParallelSimulation] = []
        self.views: list[_TeamRows] = []

    def open(self, seed: int, path: str) -> None:
        """Make the environments, and begin their episodes."""
        self.path = path
        with_state = any(team.state is not None for team in self.teams)
        own_state = with_state and self.cast.state is not None
        self.states = States(self.cast) if with_state else None
        self.simulations = [
            simulation_of(
                self.make, turns=self.cast.turns, seed=seed_of(seed, self.first_env + e),
                restarting=self.on_error == "restart", path=f"{path}: environment {self.first_env + e}",
                with_state=own_state, index=self.first_env + e, checks=checks_of(self.cast),
            )
            for e in range(self.shape[1])
        ]  # fmt: skip
        for simulation in self.simulations:
            simulation.reset()
        self.views = [_TeamRows(self.cast, team, self.shape[1]) for team in self.teams]

    def state_dict(self) -> dict[str, Any]:
        """Of the environments, between two rounds, and who has begun an episode that has not ended."""
        return {
            "simulations": [agents_state(each) for each in self.simulations],
            "alive": [view.alive for view in self.views],
        }

    def form(self) -> dict[str, Any]:
        """What a state has to be like, but for environments, which look for themselves."""
        return {
            "simulations": [agents_form(each) for each in self.simulations], "alive": [v.alive for v in self.views],
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` gave; `unrestored` says why an environment could not.

        `begun` says which of them have begun new episodes, whatever the reason: bool (environments,).
        """
        self.begun, self.unrestored = np.zeros(self.shape[1], np.bool_), ""
        for e, (simulation, each) in enumerate(zip(self.simulations, state["simulations"], strict=True)):
            whole, why = restore_agents(simulation, each)
            self.begun[e], self.unrestored = not whole, self.unrestored or why
            for view, alive in zip(self.views, state["alive"], strict=True):
                view.alive[e] = alive[e] if whole else False

    def broken_off(self, state: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Of what `state_dict` gave: which environments did not tell their state, bool (environments,)."""
        return np.array([not each["env"] for each in state["simulations"]], np.bool_)

    def play(self, acting: TeamActing, rows: Sequence[Any], number: int) -> tuple[Episode, ...]:
        """The whole of round `number`; the episodes that ended in it."""
        episodes: list[Episode] = []
        opponents = acting.opponents
        if self.states is not None:
            self.states.begin()
        for view, each in zip(self.views, rows, strict=True):
            each[...] = np.zeros((), each.dtype)
            view.begin(each, None if opponents is None else opponents.learns)
        for t in range(self.shape[0]):
            for view, team in zip(self.views, acting.teams, strict=True):
                seen = view.see(t, self.simulations)
                view.remember(t, team.memories)
                if len(seen):
                    view.choose(t, *team.act(seen, number))
            of_others = None if opponents is None else opponents.act(self.simulations, number)
            for e, simulation in enumerate(self.simulations):
                self._step(t, e, simulation, {} if of_others is None else of_others[e])
                if simulation.episode is not None:
                    episode = simulation.episode._replace(env=e)
                    episodes.append(episode if opponents is None else opponents.ended(e, episode))
            for view, team in zip(self.views, acting.teams, strict=True):
                team.forget(view.gone)
        for view, each in zip(self.views, rows, strict=True):
            self._check(view, each, number)
            view.end()
        return tuple(episodes)

    def _step(self, t: int, e: int, simulation: ParallelSimulation, actions: dict[Any, Any]) -> None:
        """Step an environment; `actions` are of those whom no team plays that learns."""
        before = None if self.states is None else self.states.before(e, simulation)
        for view in self.views:
            view.give(t, e, actions)
        try:
            outcomes = simulation.step({agent: actions[agent] for agent in simulation.observations})
        except KeyError as error:
            raise SimulationError(
                f"{self.path}: agent {error} is in no group", simulation.index, simulation.seed
            ) from error
        told = {outcome.agent: outcome for outcome in outcomes}
        for view in self.views:
            view.take(t, e, told, simulation)
        if self.states is not None:
            after = self.states.after(e, simulation, told)
            for view in self.views:
                if view.team.state is not None:
                    view.fields["state"][t, e], view.fields["next_state"][t, e] = before, after

    def _check(self, view: _TeamRows, rows: Any, number: int) -> None:
        """Refuse numbers that are none, by agent and step."""
        for name, what in (("obs", "observation"), ("rewards", "reward")):
            field = rows[name]
            if field.dtype.kind == "f" and not np.isfinite(field).all():
                t, e, j, *_ = np.argwhere(~np.isfinite(field))[0]
                raise NotFiniteError(
                    f"{self.path}: the {what} of agent {view.team.agents[j]!r} in environment "
                    f"{self.first_env + int(e)} (seed {self.simulations[e].seed}) is {field[t, e, j]} at its step "
                    f"{number * self.shape[0] + int(t) + 1} in all; fix the environment"
                )

    @property
    def failure(self) -> str:
        """What was wrong with the first environment, in their order, that had to be made again."""
        return next((each.first_failure for each in self.simulations if each.first_failure), "")

    def close(self) -> None:
        """Close the environments; a second time nothing happens."""
        simulations, self.simulations, self.views = self.simulations, [], []
        for each in simulations:
            each.close()


class _TeamRows:
    """One team's rows of a round, while they are written.

    `alive` says who has acted, and whose episode has not ended since, `gone` whose has ended in the last step: bool
    (environments, n).
    """

    def __init__(self, cast: Cast, team: Team, num_envs: int) -> None:
        self.actions = actions = actions_of(cast, team)
        self.team, self.who = team, [(j, cast.agents[i]) for j, i in enumerate(team.members)]
        self.dtype, self.taken = team.seen(actions), reader(actions)
        self.put, self.put_together = writer(team.observation_space), rows_writer(team.observation_space)
        self.members = list(team.members)
        self.alive, self.gone = np.zeros((2, num_envs, len(team.members)), np.bool_)
        self.learns: NDArray[np.bool_] | None = None
        self.fields: dict[str, NDArray[Any]] = {}

    def begin(self, rows: Any, learns: NDArray[np.bool_] | None) -> None:
        """A round, whose rows these are; `learns` says who of each environment plays by what learns, or all do."""
        self.learns, self.fields = learns, {name: rows[name] for name in rows.dtype.names}

    def end(self) -> None:
        """Add up what the team was given, and let go of the rows."""
        self.fields["rewards"].sum(-1, out=self.fields["reward"])
        self.fields = {}

    def see(self, t: int, simulations: Sequence[ParallelSimulation]) -> NDArray[Any]:
        """What those see that are there, as records to act on."""
        obs, acted = self.fields["obs"][t], self.fields["acted"][t]
        learns = None if self.learns is None else self.learns[:, self.members].tolist()
        present = [self._present(simulation, learns and learns[e]) for e, simulation in enumerate(simulations)]
        for e, there in enumerate(present):
            acted[e, ... if there is self.who else [j for j, _ in there]] = True
        envs, agents = self.where = acted.nonzero()
        known = t > 0 and not self.team.masked  # masks of those who act are looked at more closely
        if known:  # what the last step led to, but where an episode begins
            obs[self.where] = self.fields["next_obs"][t - 1][self.where]
        for e, (simulation, there) in enumerate(zip(simulations, present, strict=True)):
            if not known or simulation.episode is not None:
                self._note("", t, e, simulation, there, [simulation.observations[agent] for _, agent in there])
        seen = np.zeros(len(envs), self.dtype)
        seen["obs"], seen["agent"], seen["env"] = obs[envs, agents], agents, envs
        if self.team.masked:
            seen["mask"] = self.fields["masks"][t][envs, agents]
        return seen

    def _present(self, simulation: ParallelSimulation, learns: list[bool] | None) -> list[tuple[int, Any]]:
        """Who of the team acts now, by what learns: of all, or of those who do."""
        if learns is None:
            return self.who if simulation.steady else [x for x in self.who if x[1] in simulation.observations]
        return [x for x in self.who if learns[x[0]] and x[1] in simulation.observations]

    def _note(
        self, which: str, t: int, e: int, simulation: ParallelSimulation, agents: list[tuple[int, Any]],
        seen: list[Any], *, over: bool = False,
    ) -> None:  # fmt: skip
        """Write what agents see, now or "next_", each to its place."""
        block = self.fields[f"{which}obs"][t, e]
        infos = simulation.infos
        if which:  # what is seen now may already be of the next episode
            infos = simulation.final_infos if over else {**simulation.final_infos, **infos}
        masked = self.team.masked
        if masked or infos:
            for i, (j, agent) in enumerate(agents):
                seen[i], given = unmasked(seen[i], infos.get(agent, {}))
                mask = mask_of(simulation, agent, given, self.actions, masked=masked, acts=not which)
                if masked:
                    self.fields[f"{which}masks"][t, e, j] = True if mask is None else mask
        places = ... if len(agents) == len(self.who) else [j for j, _ in agents]
        if self.put_together(block, places, seen):
            return
        for (j, _), each in zip(agents, seen, strict=True):
            self.put(block, j, each)

    def remember(self, t: int, memories: Memories | None) -> None:
        """Write what agents remember, also those that wait: what they do next may be judged by it."""
        if memories is not None and MEMORY in self.fields:
            self.fields[MEMORY][t] = memories

    def choose(self, t: int, actions: NDArray[Any], remembered: Mapping[str, NDArray[Any]]) -> None:
        """What they do, and what the policy remembers of it."""
        for name, values in {"action": actions, **remembered}.items():
            self.fields[name][t][self.where] = values

    def give(self, t: int, e: int, actions: dict[Any, Any]) -> None:
        """The actions in environment e, as it takes them."""
        chosen, acted = self.fields["action"][t, e].copy(), self.fields["acted"][t, e].tolist()
        for j, agent in self.who:
            if acted[j]:
                actions[agent] = self.taken(chosen[j]) if self.taken is not None else chosen[j]

    def take(self, t: int, e: int, told: Mapping[Any, Any], simulation: ParallelSimulation) -> None:
        """What the step of environment e led to."""
        fields, over, n = self.fields, simulation.episode is not None, len(self.who)
        learns = [True] * n if self.learns is None else self.learns[e, self.members].tolist()
        if simulation.steady and all(learns):  # as in most steps; the flags are False already
            self._note("next_", t, e, simulation, self.who, [simulation.observations[agent] for _, agent in self.who])
            fields["rewards"][t, e] = [told[agent].reward for _, agent in self.who]
            self.gone[e], self.alive[e], fields["next_acted"][t, e] = False, True, True
            return
        alive, rewards = self.alive[e].tolist(), [0.0] * n
        gone, terminated, truncated, follows = ([False] * n for _ in range(4))
        agents: list[tuple[int, Any]] = []
        seen: list[Any] = []
        for j, agent in self.who:
            outcome = told.get(agent)
            ended = outcome is not None and (outcome.terminated or outcome.truncated)
            gone[j] = over or ended
            if not learns[j]:
                continue
            stays = not over and agent in simulation.observations
            if stays:
                agents.append((j, agent))
                seen.append(simulation.observations[agent])
            if outcome is not None:
                if not stays:
                    agents.append((j, agent))
                    seen.append(outcome.observation)
                rewards[j], terminated[j], alive[j] = outcome.reward, outcome.terminated, not ended
                truncated[j] = outcome.truncated and not outcome.terminated
            follows[j] = stays or truncated[j]
            if over and alive[j]:  # it is gone without a word
                truncated[j], alive[j] = True, False
        self._note("next_", t, e, simulation, agents, seen, over=over)
        self.gone[e], self.alive[e] = gone, alive
        fields["rewards"][t, e], fields["next_acted"][t, e] = rewards, follows
        fields["terminations"][t, e], fields["truncations"][t, e] = terminated, truncated
        if over:
            broken_off = any(truncated)
            fields["truncated"][t, e], fields["terminated"][t, e] = broken_off, not broken_off
