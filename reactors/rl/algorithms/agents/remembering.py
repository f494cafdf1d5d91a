"""What do actor and critic of a group remember of an episode, each agent by its own steps?

A gated recurrent unit that all agents share stands behind what an agent sees; an agent that waits remembers what it
did. A central critic sees what the agent remembers, and the state: one that sees the state alone is biased where actors
remember (Lyu et al., "A Deeper Understanding of State-Based Critics in Multi-Agent Reinforcement Learning", 2022,
arXiv 2201.01221).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn

from reactors.rl.algorithms.actor_critic import ACTIVATIONS, Activation, RecurrentActorPolicy, seeing
from reactors.rl.algorithms.agents.looking import looking
from reactors.rl.algorithms.agents.team_network import Seeing, TeamNetwork
from reactors.rl.networks.layers import mlp
from reactors.rl.networks.normalising import normaliser
from reactors.rl.networks.recurrent import Recurrent, RecurrentInference, Stretch, seen_first
from reactors.rl.replay.sequences import MEMORY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import ClassVar

    from reactors.rl.envs.agents.cast import Team
    from reactors.rl.envs.spaces import Space
    from reactors.rl.networks.layers import Torso


class Strands(NamedTuple):
    """Own steps of agents in sequences, of which some are shorter than others."""

    obs: torch.Tensor
    """Packed vectors, flat, (steps * sequences, ...); those behind the end of a sequence mean nothing."""
    state: torch.Tensor
    """What was remembered before the first step, (sequences, width)."""
    going: torch.Tensor
    """1 where the next own step is of the same episode, (steps, sequences). float32."""
    there: torch.Tensor
    """Where a sequence has a step, (steps, sequences). bool."""


class RecurrentTeamNetwork(TeamNetwork):
    """Layers of these `hidden` sizes, or a torso, a GRU whose state is `width` numbers, and on it both heads.

    Features are states, and what is packed behind what an actor sees. A central critic has layers of its own for both.
    """

    def __init__(
        self, team: Team, action_space: Space, hidden: Sequence[int], torso: Torso, wide: int, *, ids: bool,
        activation: Activation, scale: float, log_std: float, normalise: bool,
    ) -> None:  # fmt: skip
        nn.Module.__init__(self)
        n = self.see(team, action_space, ids=ids)
        size, kind = self.sight.size, ACTIVATIONS[activation]
        self.torso, self.scale, self.width = None, scale, wide
        through = looking(torso, team.observation_space, (), behind=self.sight.ids, normalise=normalise, make=seeing)
        first = normaliser(self.sight.space) if normalise and through is None else None
        self.normalise = first if through is None else through.normalise
        before, inputs = seen_first(first, through, [size, *hidden], kind, gain=2**0.5)
        self.actor = mlp([wide, n], gain=0.01)
        if team.state is None:
            self.critic = mlp([wide, 1], kind, gain=1 / scale)
        else:
            self.judge_centrally(team.state, torso, wide, hidden, activation, scale)
        self.log_std = nn.Parameter(torch.full((0 if self.discrete else n,), float(log_std)))
        self.recurrent = Recurrent(before, inputs, wide, self.actor, flattens=False)
        self.acting, self.known = self.recurrent, wide

    def remembered(self, strands: Strands) -> torch.Tensor:
        """The states after all steps that are there, (n, width)."""
        states = self.recurrent.states(Stretch(strands.obs[:, : self.sight.size], strands.state, strands.going))
        return states[strands.there.flatten()]

    def joined(self, states: torch.Tensor, obs: torch.Tensor) -> torch.Tensor:
        """Features of what is remembered after packed vectors."""
        return torch.cat([states, obs[:, self.sight.size :]], 1)

    def features(self, obs: Any) -> torch.Tensor:
        """Of all steps of `Strands` that are there."""
        assert isinstance(obs, Strands)
        return self.joined(self.remembered(obs), obs.obs[obs.there.flatten()])

    def once(self, obs: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        """Features of single packed vectors, each seen in a state of its own."""
        return self.joined(self.recurrent.gru(self.recurrent.before(obs[:, : self.sight.size]), state), obs)

    def critic_sees(self, features: torch.Tensor) -> torch.Tensor:
        """All but masks."""
        return features[:, : features.shape[1] - self.masked]


class RecurrentTeamPolicy(RecurrentActorPolicy):
    """Acts for those of a team that are there, by what they see and remember, and only as they are allowed to."""

    kept: ClassVar[str] = MEMORY

    def __init__(self, net: RecurrentTeamNetwork, action_space: Space) -> None:
        seeing = Seeing(RecurrentInference(net.recurrent), net.sight, masked=bool(net.masked))
        super().__init__(net, action_space, seeing)
