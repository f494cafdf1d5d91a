"""How do the agents of a group choose by action values, and how do these make up the group's value?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import torch
from torch import nn

from reactors.rl.algorithms.agents.looking import looking
from reactors.rl.algorithms.agents.team_network import Seeing, Sight
from reactors.rl.algorithms.dqn import EpsilonGreedy, QNetwork, RecurrentQNetwork
from reactors.rl.contract.recurrent import RecurrentPolicy
from reactors.rl.envs.agents.cast import n_actions
from reactors.rl.networks.layers import Inference
from reactors.rl.networks.recurrent import RecurrentInference
from reactors.rl.networks.vitals import FORBIDDEN
from reactors.rl.replay.sequences import MEMORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from reactors.rl.contract.recurrent import States
    from reactors.rl.envs.agents.cast import Team
    from reactors.rl.envs.spaces import Space


class TeamQNetwork(nn.Module):
    """From `packed` vectors, an agent's inputs and its action mask, to the values of its actions.

    `inner` is a network for the inputs alone. The values of actions that are not allowed are `FORBIDDEN`.
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
        """The part of the network that chooses actions."""
        return self.inner.acting

    @property
    def normalise(self) -> Any:
        """The layer that normalises the inputs, or None."""
        return (self.inner.torso or self.inner).normalise

    def learned(self) -> Iterator[nn.Parameter]:
        """All parameters, those of the acting network first."""
        found: Iterator[nn.Parameter] = self.inner.learned()
        return found

    def packed(self, obs: NDArray[Any], agent: NDArray[Any], mask: NDArray[Any] | None) -> NDArray[np.float32]:
        """The inputs of n steps, each of one agent: float32 (n, ...)."""
        mine = self.sight.of(obs, agent)
        return mine if mask is None else np.concatenate([mine, mask.astype(np.float32)], 1)

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        """The Q-values of all actions."""
        return self.allowed(self.inner(obs[:, : self.sight.size]), obs)

    def allowed(self, q: torch.Tensor, obs: torch.Tensor) -> torch.Tensor:
        """Q, with forbidden actions masked."""
        return q.masked_fill(obs[:, self.sight.size :] == 0, FORBIDDEN) if self.masked else q

    def mixed(self, values: torch.Tensor, state: torch.Tensor | None) -> torch.Tensor:
        """A group's value (n,): the sum of its agents' action values (n, agents), which are 0 for absent agents."""
        del state
        return values.sum(1)

    # ---- one that remembers ----

    def along(self, obs: torch.Tensor, acted: torch.Tensor, going: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """The recurrent states of agents after each step, (steps, sequences, agents, width).

        `acted`, bool (steps, sequences, agents), says who sees something at a step, and `obs` has the packed vectors of
        these agents. `memory` (sequences, agents, width) is the state before the first step. `going` is 0 where an
        agent's episode ends; its state then begins at zero again.
        """
        recurrent = self.inner.recurrent
        seen = recurrent.before(obs[:, : self.sight.size])
        inputs = seen.new_zeros(*acted.shape, seen.shape[1])
        inputs[acted] = seen
        x, goes_on, sees = (each.flatten(1, 2) for each in (inputs, going, acted))
        found: torch.Tensor = recurrent.gru.along(x, memory.flatten(0, 1), goes_on, sees)
        return found.view(*acted.shape, -1)

    def worth(self, states: torch.Tensor, obs: torch.Tensor) -> torch.Tensor:
        """The Q-values of all actions, from recurrent states after seeing `obs`."""
        return self.allowed(self.inner.values(self.inner.head(states)), obs)

    def once(self, obs: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """The Q-values of all actions, from recurrent states before seeing `obs`."""
        recurrent = self.inner.recurrent
        return self.worth(recurrent.gru(recurrent.before(obs[:, : self.sight.size]), states), obs)


class TeamEpsilonGreedy(EpsilonGreedy):
    """Epsilon-greedy choice among the allowed actions, for the present agents of a team."""

    def __init__(self, config: Any, net: TeamQNetwork, action_space: Space) -> None:
        infer = (RecurrentInference if config.recurrent else Inference)(net.acting)
        super().__init__(config, cast("Any", net), action_space, Seeing(infer, net.sight))
        self.masked = bool(net.masked)

    def allowed(self, observations: NDArray[Any]) -> NDArray[np.bool_] | None:
        """The action masks, if there are any."""
        return observations["mask"] if self.masked else None

    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """The best actions, or with probability epsilon any allowed ones."""
        return self.explored(self.greedy(observations), rng, steps, self.allowed(observations)), {}

    def greedy(self, observations: NDArray[Any]) -> NDArray[Any]:
        """The best actions."""
        return self.best(self.infer(observations), self.allowed(observations))


class RecurrentTeamEpsilonGreedy(TeamEpsilonGreedy, RecurrentPolicy):
    """`TeamEpsilonGreedy` with a recurrent state for each agent."""

    kept: ClassVar[str] = MEMORY

    def __init__(self, config: Any, net: TeamQNetwork, action_space: Space) -> None:
        super().__init__(config, net, action_space)
        self.width = net.inner.width

    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int, states: States | None = None
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """The best actions, or with probability epsilon any allowed ones."""
        states = self.given(states, len(observations))
        before = states.copy()
        chosen = self.explored(self.greedy(observations, states), rng, steps, self.allowed(observations))
        return chosen, {self.kept: before}

    def greedy(self, observations: NDArray[Any], states: States | None = None) -> NDArray[Any]:
        """The best actions."""
        outputs = self.infer(observations, self.given(states, len(observations)))
        return self.best(outputs, self.allowed(observations))
