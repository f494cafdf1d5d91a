"""What do the networks of a group of agents see?

An actor sees one agent's observation and which agent it is; a central critic sees the state and which agent it is. All
network inputs of an agent's step travel as one vector, *packed*, from the batch to the loss.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import torch

from reactors.rl.algorithms.actor_critic import ACTIVATIONS, Activation, ActorCritic, ActorPolicy, seeing
from reactors.rl.algorithms.agents.looking import looking
from reactors.rl.envs.agents.cast import n_actions, width
from reactors.rl.envs.spaces import is_frames
from reactors.rl.networks.layers import Chain, Inference, mlp
from reactors.rl.networks.vitals import FORBIDDEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from reactors.rl.envs.agents.cast import Team
    from reactors.rl.envs.spaces import Space
    from reactors.rl.networks.layers import Torso


class Sight:
    """The network inputs, float32 (n, size), from records (n,) described by `Team.seen`.

    >>> from reactors.rl.envs.agents.cast import Team
    >>> team = Team("all", (0, 1), ("a", "b"), gym.spaces.Discrete(3))
    >>> rows = np.array([(2, 1, 0)], team.seen(gym.spaces.Discrete(2)))
    >>> Sight(team, ids=True)(rows).tolist()
    [[0.0, 0.0, 1.0, 0.0, 1.0]]
    """

    def __init__(self, team: Team, *, ids: bool) -> None:
        self.start: int | None = None
        if isinstance(team.observation_space, gym.spaces.Discrete):
            self.start = int(team.observation_space.start)
        self.width = width(team.observation_space)
        self.ids = len(team.members) if ids and len(team.members) > 1 else 0
        self.size = self.width + self.ids

    @property
    def space(self) -> gym.spaces.Box:
        """The input vectors as an observation space."""
        return gym.spaces.Box(-np.inf, np.inf, (self.size,), np.float32)

    def __call__(self, rows: NDArray[Any]) -> NDArray[np.float32]:
        """The inputs for choosing actions."""
        return self.of(rows["obs"], rows["agent"])

    def of(self, obs: NDArray[Any], agent: NDArray[Any]) -> NDArray[np.float32]:
        """The inputs for observations (n, ...) of agents (n,)."""
        n = len(obs)
        found = np.zeros((n, self.size), np.float32)
        if self.start is None:
            found[:, : self.width] = obs.reshape(n, self.width)
        else:
            found[np.arange(n), obs.reshape(n) - self.start] = 1
        if self.ids:
            found[np.arange(n), self.width + agent] = 1
        return found


class TeamNetwork(ActorCritic):
    """Actor and critic of a team, for `packed` vectors: the actor's inputs, the critic's, and the action mask.

    The critic is central if the team has a `state`. The first `known` features are the actor's. Values are `shift` +
    `scale` times the network's output, so that returns of any size are learned alike. Logits of actions that are not
    allowed are `FORBIDDEN`. Frames are seen through a torso that actor and critic share; a central critic has its own
    torso if states are frames.
    """

    def __init__(
        self, team: Team, action_space: Space, hidden: Sequence[int], kind: Torso, *, ids: bool, activation: Activation,
        scale: float, log_std: float, normalise: bool,
    ) -> None:  # fmt: skip
        sight = Sight(team, ids=ids)
        through = looking(kind, team.observation_space, hidden, behind=sight.ids, normalise=normalise, make=seeing)
        super().__init__(
            sight.space, action_space, hidden, scale=scale, activation=activation, log_std=log_std,
            normalise=normalise and through is None, through=through,
        )  # fmt: skip
        self.see(team, action_space, ids=ids)
        self.known = sight.size
        if through is not None:
            self.known, self.normalise = through.features, through.normalise
        if team.state is not None:
            self.judge_centrally(team.state, kind, 0, hidden, activation, scale)

    def judge_centrally(
        self, state: Space, kind: Torso, before: int, hidden: Sequence[int], activation: Activation, scale: float
    ) -> None:
        """Make a central critic, whose inputs are `before` numbers, the state, and which agent it is."""
        ids, how = self.sight.ids, kind if is_frames(state) else None
        through = looking(how, state, hidden, before=before, behind=ids, make=seeing)
        if through is None:
            sizes = [before + width(state) + ids, *hidden, 1]
            self.scale, self.critic = scale, mlp(sizes, ACTIVATIONS[activation], gain=1 / scale)
        else:
            head = mlp([through.features, *through.hidden, 1], ACTIVATIONS[activation], gain=1.0)
            self.scale, self.critic = 1.0, Chain(through, *head)

    def see(self, team: Team, action_space: Space, *, ids: bool) -> int:
        """Set up the packed inputs for this team; returns the number of outputs for its actions."""
        self.sight, self.central = Sight(team, ids=ids), team.state is not None
        self.masked = n_actions(action_space) if team.masked else 0
        central = 0 if team.state is None else width(team.state) + self.sight.ids
        self.inputs = self.sight.size + central + self.masked
        self.shift = 0.0
        return self.act_in(action_space)

    def packed(
        self, obs: NDArray[Any], agent: NDArray[Any], state: NDArray[Any] | None, mask: NDArray[Any] | None
    ) -> NDArray[np.float32]:
        """The inputs of n steps, each of one agent: float32 (n, ...)."""
        mine = self.sight.of(obs, agent)
        parts = [mine]
        if self.central:
            assert state is not None
            whole = state.reshape(len(mine), math.prod(state.shape[1:])).astype(np.float32, copy=False)
            parts += [whole, mine[:, self.sight.width :]]
        if self.masked:
            assert mask is not None
            parts.append(mask.astype(np.float32))
        return np.concatenate(parts, 1) if len(parts) > 1 else mine

    def features(self, obs: torch.Tensor) -> torch.Tensor:
        """The packed vectors, with the actor's inputs normalised, if so configured, or replaced by torso features."""
        first = self.normalise if self.torso is None else self.torso
        if first is None:
            return obs
        size = self.sight.size
        return torch.cat([first(obs[:, :size]), obs[:, size:]], 1)

    def outputs(self, features: torch.Tensor) -> torch.Tensor:
        """The outputs of the actor."""
        found: torch.Tensor = self.actor(features[:, : self.known])
        return found.masked_fill(features[:, -self.masked :] == 0, FORBIDDEN) if self.masked else found

    def values(self, features: torch.Tensor) -> torch.Tensor:
        """The value of each step."""
        found: torch.Tensor = self.critic(self.critic_sees(features)).squeeze(1)
        return self.shift + self.scale * found

    def critic_sees(self, features: torch.Tensor) -> torch.Tensor:
        """The part of the features that the critic uses."""
        known = self.known
        return features[:, known : features.shape[1] - self.masked] if self.central else features[:, :known]


class TeamPolicy(ActorPolicy):
    """Chooses allowed actions for the present agents of a team, from their observations."""

    def __init__(self, net: TeamNetwork, action_space: Space) -> None:
        super().__init__(net, action_space, Seeing(Inference(net.acting), net.sight, masked=bool(net.masked)))


class Seeing:
    """A network for inference on records of agents; with `masked`, outputs of forbidden actions are minus infinity."""

    def __init__(self, infer: Any, sight: Sight, *, masked: bool = False) -> None:
        self.infer, self.sight, self.masked, self.size, self.load = infer, sight, masked, infer.size, infer.load

    def __call__(self, rows: NDArray[Any], *states: NDArray[np.float32]) -> NDArray[Any]:
        """The outputs for each record; updates the states of a recurrent network."""
        outputs: NDArray[Any] = self.infer(self.sight(rows), *states)
        if self.masked:
            outputs[~rows["mask"]] = -np.inf
        return outputs


def array(tensor: torch.Tensor) -> NDArray[Any]:
    """A tensor on any device, as an array."""
    found: NDArray[Any] = tensor.cpu().numpy()
    return found
