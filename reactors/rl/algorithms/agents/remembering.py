"""How do recurrent actors and critics of a group work, for each agent's own steps?

A gated recurrent unit that all agents share processes an agent's inputs; while an agent waits, its state stays. A
central critic sees the agent's recurrent state and the environment's state: a critic that sees the latter alone is
biased for recurrent actors (Lyu et al., "A Deeper Understanding of State-Based Critics in Multi-Agent Reinforcement
Learning", 2022, arXiv 2201.01221).
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
    """Sequences of agents' own steps, padded to the same length."""

    obs: torch.Tensor
    """Packed vectors, flat, (steps * sequences, ...); those after the end of a sequence have no meaning."""
    state: torch.Tensor
    """The recurrent state before the first step, (sequences, width)."""
    going: torch.Tensor
    """1 where the next own step belongs to the same episode, (steps, sequences). float32."""
    there: torch.Tensor
    """Where a sequence has a step, (steps, sequences). bool."""


class RecurrentTeamNetwork(TeamNetwork):
    """Layers of the `hidden` sizes, or a torso, then a GRU with a state of `width` numbers, then both heads.

    Features are the recurrent states, followed by the packed inputs after the actor's. A central critic has its own
    layers for both.
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
        """The recurrent states after all existing steps, (n, width)."""
        states = self.recurrent.states(Stretch(strands.obs[:, : self.sight.size], strands.state, strands.going))
        return states[strands.there.flatten()]

    def joined(self, states: torch.Tensor, obs: torch.Tensor) -> torch.Tensor:
        """Features: recurrent states, and the rest of the packed vectors."""
        return torch.cat([states, obs[:, self.sight.size :]], 1)

    def features(self, obs: Any) -> torch.Tensor:
        """The features of all existing steps of `Strands`."""
        assert isinstance(obs, Strands)
        return self.joined(self.remembered(obs), obs.obs[obs.there.flatten()])

    def once(self, obs: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        """The features of single packed vectors, each with its own recurrent state before it."""
        return self.joined(self.recurrent.gru(self.recurrent.before(obs[:, : self.sight.size]), state), obs)

    def critic_sees(self, features: torch.Tensor) -> torch.Tensor:
        """The features without masks."""
        return features[:, : features.shape[1] - self.masked]


class RecurrentTeamPolicy(RecurrentActorPolicy):
    """Chooses allowed actions for the present agents of a team, from their observations and recurrent states."""

    kept: ClassVar[str] = MEMORY

    def __init__(self, net: RecurrentTeamNetwork, action_space: Space) -> None:
        seeing = Seeing(RecurrentInference(net.recurrent), net.sight, masked=bool(net.masked))
        super().__init__(net, action_space, seeing)
