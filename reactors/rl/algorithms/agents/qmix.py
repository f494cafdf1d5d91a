"""QMIX: Rashid et al., 2018 (arXiv 1803.11485)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import nn

from reactors.errors import ParameterError
from reactors.rl.algorithms.agents.team_values import TeamQNetwork
from reactors.rl.algorithms.agents.vdn import VDN, RecurrentVDNLearning, VDNLearning
from reactors.rl.bounded import Count
from reactors.rl.envs.agents.cast import width
from reactors.rl.envs.spaces import is_frames
from reactors.rl.networks.layers import mlp

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from reactors.rl.algorithms.agents.idqn import IDQNLearning
    from reactors.rl.envs.agents.cast import Team
    from reactors.rl.envs.spaces import Space


@dataclass(frozen=True, kw_only=True)
class QMIX(VDN):
    """Hyperparameters: those of `VDN`, and of the network that mixes the agents' values depending on the state.

    The state is the environment's `state()`, or without one the joint observations of all agents.

    >>> QMIX(mixing=8).central
    True
    """

    name: ClassVar[str] = "QMIX"
    central: ClassVar[bool] = True

    mixing: Count = 32
    """Units of the layer that mixes, and of the one that finds its last bias. PyMARL's."""
    normalise_state: bool = False
    """Let the mixer see each state less the mean of its numbers, over their deviation (Ba et al., 2016, arXiv
    1607.06450), for weights that grow with the state overestimate without end. On in the preset for MPE, whose states
    have no bounds; not for states of one or two numbers. Off, as in the paper."""

    def check_team(self, team: Team, action_space: Space) -> None:
        """Also refuse states that the mixer cannot take."""
        if team.state is not None and is_frames(team.state):
            raise ParameterError(
                f"the mixer of {self.name} sees vectors, and states of the environment are frames, {team.state}; let "
                "its state() give a vector, or take rl.VDN, which needs none"
            )
        super().check_team(team, action_space)

    def learning(self, observation_space: Any, action_space: Space, seed: int, device: str = "cpu") -> IDQNLearning:
        """The learner's networks and update for a team."""
        del seed  # it is only used for the initial weights; nothing else is random
        kind = RecurrentQMIXLearning if self.recurrent else QMIXLearning
        return kind(self, observation_space, action_space, device)


class Mixer(nn.Module):
    """From the values of agents to the value of their team, monotonic in each of them.

    It has two layers whose weights are absolute values of linear functions of the state (section 4.2, figure 2).

    >>> Mixer(agents=3, state=5, units=8)(torch.zeros(2, 3), torch.zeros(2, 5)).shape
    torch.Size([2])
    """

    def __init__(self, agents: int, state: int, units: int, *, normalise: bool = False) -> None:
        super().__init__()
        self.shape, self.normalise = (agents, units), normalise
        self.first, self.first_bias = nn.Linear(state, agents * units), nn.Linear(state, units)
        self.second, self.second_bias = nn.Linear(state, units), mlp([state, units, 1], nn.ReLU)

    def forward(self, values: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        """The team's value (n,), from its agents' values (n, agents) and the states (n, size)."""
        if self.normalise:
            state = nn.functional.layer_norm(state, state.shape[1:])
        weights = self.first(state).abs().unflatten(1, self.shape)
        inner = (values[:, :, None] * weights).sum(1) + self.first_bias(state)
        outer = (nn.functional.elu(inner) * self.second(state).abs()).sum(1, keepdim=True)
        found: torch.Tensor = (outer + self.second_bias(state)).squeeze(1)
        return found


class MixedQNetwork(TeamQNetwork):
    """The network of a team's agents, and the mixer of their values."""

    def __init__(self, config: QMIX, team: Team, action_space: Space) -> None:
        super().__init__(config, team, action_space)
        assert team.state is not None
        self.mixer = Mixer(len(team.members), width(team.state), config.mixing, normalise=config.normalise_state)

    def mixed(self, values: torch.Tensor, state: torch.Tensor | None) -> torch.Tensor:
        """The team's value (n,)."""
        assert state is not None
        found: torch.Tensor = self.mixer(values, state.flatten(1))
        return found

    def learned(self) -> Iterator[nn.Parameter]:
        """All parameters, those of the acting network first."""
        return chain(super().learned(), self.mixer.parameters())


class QMIXLearning(VDNLearning):
    """VDN's loss with a mixed value; actors need no mixer."""

    def network(self, observation_space: Any, action_space: Space) -> Any:
        """Make a network to be trained."""
        return MixedQNetwork(self.config, observation_space, action_space)

    def weights(self) -> NDArray[np.float32]:
        """The weights of the acting network."""
        return self.flat.fetch(sum(p.numel() for p in self.net.acting.parameters()))


class RecurrentQMIXLearning(RecurrentVDNLearning, QMIXLearning):
    """QMIX for recurrent networks: learns from sequences of joint steps of a group."""
