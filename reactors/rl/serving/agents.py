"""What is a batch to the policies of many agents?

Each group has a part of it, with the observations of its agents from all who ask, and is called once.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reactors.errors import ArgumentError
from reactors.rl.contract.agents import actions_of
from reactors.rl.contract.recurrent import RecurrentPolicy
from reactors.rl.envs.agents.cast import some
from reactors.rl.envs.agents.observed import ObservedByAgents
from reactors.rl.envs.spaces import reader
from reactors.rl.serving.sessions import Sessions
from reactors.rl.serving.single import greedy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from reactors.rl.contract.agents import Company
    from reactors.rl.envs.agents.cast import Team


class Question(NamedTuple):
    """An observation, by the group that answers it and the place of the agent in that; its mask, if there is one."""

    team: int
    agent: int
    observation: NDArray[Any]
    mask: NDArray[np.bool_] | None


class ManyAgents:
    """Takes observations of agents of a `company`, by name, and answers a batch by one call for each group in it.

    In a batch, as it goes through the program and into logs, a group has (places, agents, observations, masks): which
    of the requests are its own, int64 (n,), of which of its agents, int32 (n,), what they see, (n, ...), and what is
    allowed, bool (n, actions), or None where nothing is forbidden.
    """

    def __init__(self, company: Company, most: int) -> None:
        self.company, self.observed = company, ObservedByAgents(company.cast)
        self.sessions = [
            Sessions(policy, most * len(team.members)) if isinstance(policy, RecurrentPolicy) else None
            for team, policy in zip(company.teams, company.policies, strict=True)
        ]
        self.seats = {i: (t, j) for t, team in enumerate(company.teams) for j, i in enumerate(team.members)}

    @property
    def remembers(self) -> bool:
        """Whether it has to know whose episode an observation is of."""
        return any(each is not None for each in self.sessions)

    def checked(self, observation: Any, agent: object, path: str) -> Question:
        """One observation, as `ObservedByAgents.checked`."""
        if agent is None:
            names = [str(each) for each in self.company.cast.agents]
            raise ArgumentError(
                f"{path} answers for many agents; name the one that sees this, as in request(observation, "
                f"agent={names[0]!r}); there are {some(names)}"
            )
        return Question(*self.seats[self.observed.place(agent, path)], *self.observed.checked(agent, observation, path))

    def gathered(self, asked: Sequence[Question]) -> tuple[Any, ...]:
        """The part of each group, None where none of its agents is asked for."""
        return tuple(self._part(t, team, asked) for t, team in enumerate(self.company.teams))

    def _part(self, t: int, team: Team, asked: Sequence[Question]) -> tuple[Any, ...] | None:
        places = [i for i, each in enumerate(asked) if each.team == t]
        if not places:
            return None
        mine = [asked[i] for i in places]
        masks = None
        if team.masked and any(each.mask is not None for each in mine):
            shape = next(each.mask.shape for each in mine if each.mask is not None)
            masks = np.stack([np.ones(shape, bool) if each.mask is None else each.mask for each in mine])
        agents = np.array([each.agent for each in mine], np.int32)
        return np.array(places, np.int64), agents, np.stack([each.observation for each in mine]), masks

    def answers(self, parts: tuple[Any, ...], *sessions: Any) -> list[Any]:
        """The actions for a batch, each as the environment takes it."""
        found: dict[int, Any] = {}
        for team, policy, known, part in zip(
            self.company.teams, self.company.policies, self.sessions, parts, strict=True
        ):
            if part is None:
                continue
            space = actions_of(self.company.cast, team)
            places, agents, observations, masks = part
            rows = np.zeros(len(places), team.seen(space))
            rows["obs"], rows["agent"], rows["env"] = observations, agents, places
            if team.masked:
                rows["mask"] = True if masks is None else masks
            names: tuple[Any, ...] = ()
            if known is not None:
                said, first = sessions
                names = [(said[i], int(agent)) for i, agent in zip(places, agents, strict=True)], first[places]
            taken = reader(space) or copy
            found |= dict(zip(places.tolist(), map(taken, greedy(policy, known, rows, *names)), strict=True))
        return [found[i] for i in range(len(found))]
