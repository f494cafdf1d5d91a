"""How do agents of a group choose by the values of what they may do, and what are those to their group?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import torch
from torch import nn

from reactors.rl.algorithms.actor_critic import FORBIDDEN
from reactors.rl.algorithms.agents.looking import looking
from reactors.rl.algorithms.agents.team_network import Seeing, Sight
from reactors.rl.algorithms.dqn import EpsilonGreedy, QNetwork, RecurrentQNetwork
from reactors.rl.contract.recurrent import RecurrentPolicy
from reactors.rl.envs.agents.cast import n_actions
from reactors.rl.networks.layers import Inference
from reactors.rl.networks.recurrent import RecurrentInference
from reactors.rl.replay.sequences import MEMORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reactors.rl.contract.recurrent import States
    from reactors.rl.envs.agents.cast import Team
    from reactors.rl.envs.spaces import Space


class TeamQNetwork(nn.Module):
    """What an agent sees to the values of its actions, for vectors that are `packed`: what it sees, and its mask.

    `inner` is a network for what it sees alone. Actions that are not allowed are worth `FORBIDDEN`.
    """

    def __init__(self, config: Any, team: Team, action_space: Space) -> None:
        super().__init__()
        self.sight = Sight(team, ids=config.agent_ids)
        self.masked = n_actions(action_space) if team.masked else 0
        through = looking(
            config.torso,
            team.observation_space,
            config.hidden,
            behind=self.sight.ids,
            normalise=config.normalise_observations,
        )
        kind: Any = RecurrentQNetwork if config.recurrent else QNetwork
        self.inner = kind(config, self.sight.space, action_space, through)

    @property
    def acting(self) -> Any:
        """What of it chooses actions."""
        return self.inner.acting

    @property
    def normalise(self) -> Any:
        """What normalises what is seen, if anything does."""
        return (self.inner.torso or self.inner).normalise

    def learned(self) -> Iterator[nn.Parameter]:
        """All parameters, first those of what acts."""
        found: Iterator[nn.Parameter] = self.inner.learned()
        return found

    def packed(self, obs: NDArray[Any], agent: NDArray[Any], mask: NDArray[Any] | None) -> NDArray[np.float32]:
        """What is seen of n steps of agents, of which each is of one: float32 (n, ...)."""
        mine = self.sight.of(obs, agent)
        return mine if mask is None else np.concatenate([mine, mask.astype(np.float32)], 1)

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        """Q of every action."""
        return self.allowed(self.inner(obs[:, : self.sight.size]), obs)

    def allowed(self, q: torch.Tensor, obs: torch.Tensor) -> torch.Tensor:
        """Q, where a mask lets it be."""
        return q.masked_fill(obs[:, self.sight.size :] == 0, FORBIDDEN) if self.masked else q

    def mixed(self, values: torch.Tensor, state: torch.Tensor | None) -> torch.Tensor:
        """A group's value (n,), of those of its agents' actions (n, agents), 0 for those that are absent: their sum."""
        del state
        return values.sum(1)

    # ---- one that remembers ----

    def along(self, obs: torch.Tensor, acted: torch.Tensor, going: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """What agents remember after each step, (steps, sequences, agents, width), of what those see that `acted`.

        Those are bool (steps, sequences, agents), and of them is `obs`; `memory` (sequences, agents, width) is that
        before the first step, and `going` is 0 where an agent's episode ends, after which it begins with zeros.
        """
        recurrent = self.inner.recurrent
        seen = recurrent.before(obs[:, : self.sight.size])
        inputs = seen.new_zeros(*acted.shape, seen.shape[1])
        inputs[acted] = seen
        x, goes_on, sees = (each.flatten(1, 2) for each in (inputs, going, acted))
        found: torch.Tensor = recurrent.gru.along(x, memory.flatten(0, 1), goes_on, sees)
        return found.view(*acted.shape, -1)

    def worth(self, states: torch.Tensor, obs: torch.Tensor) -> torch.Tensor:
        """Q of every action of those who remember this after what they have seen."""
        return self.allowed(self.inner.values(self.inner.head(states)), obs)

    def once(self, obs: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """Q of every action of those who remember this before what they see."""
        recurrent = self.inner.recurrent
        return self.worth(recurrent.gru(recurrent.before(obs[:, : self.sight.size]), states), obs)


class TeamEpsilonGreedy(EpsilonGreedy):
    """For those of a team that are there, the best action that is allowed to each, or now and then any of these."""

    def __init__(self, config: Any, net: TeamQNetwork, action_space: Space) -> None:
        infer = (RecurrentInference if config.recurrent else Inference)(net.acting)
        super().__init__(config, cast("Any", net), action_space, Seeing(infer, net.sight))
        self.masked = bool(net.masked)

    def allowed(self, observations: NDArray[Any]) -> NDArray[np.bool_] | None:
        """Masks, if there are any."""
        return observations["mask"] if self.masked else None

    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """The best actions, or with probability epsilon any."""
        return self.explored(self.greedy(observations), rng, steps, self.allowed(observations)), {}

    def greedy(self, observations: NDArray[Any]) -> NDArray[Any]:
        """The best actions."""
        return self.best(self.infer(observations), self.allowed(observations))


class RecurrentTeamEpsilonGreedy(TeamEpsilonGreedy, RecurrentPolicy):
    """Likewise, by what each of them remembers."""

    kept: ClassVar[str] = MEMORY

    def __init__(self, config: Any, net: TeamQNetwork, action_space: Space) -> None:
        super().__init__(config, net, action_space)
        self.width = net.inner.width

    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int, states: States | None = None
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """The best actions, or with probability epsilon any."""
        states = self.given(states, len(observations))
        before = states.copy()
        chosen = self.explored(self.greedy(observations, states), rng, steps, self.allowed(observations))
        return chosen, {self.kept: before}

    def greedy(self, observations: NDArray[Any], states: States | None = None) -> NDArray[Any]:
        """The best actions."""
        outputs = self.infer(observations, self.given(states, len(observations)))
        return self.best(outputs, self.allowed(observations))
