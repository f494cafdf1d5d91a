"""Independent soft actor-critic: SAC (Haarnoja et al., 2018, arXiv 1812.05905) for each agent's own steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from reactors.errors import ParameterError
from reactors.rl.algorithms.agents.team_network import Seeing, Sight, array
from reactors.rl.algorithms.sac import (
    SAC,
    RecurrentSACLearning,
    RecurrentSquashedPolicy,
    SACLearning,
    SquashedPolicy,
)
from reactors.rl.bounded import Count, Natural, Positive
from reactors.rl.contract.agents import MultiAgent
from reactors.rl.envs.spaces import is_frames
from reactors.rl.replay.sequences import MEMORY, STATE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors.rl.envs.agents.cast import Team
    from reactors.rl.envs.spaces import Space
    from reactors.rl.networks.layers import Descent


@dataclass(frozen=True, kw_only=True)
class ISAC(MultiAgent, SAC):  # type: ignore[misc]
    """Hyperparameters; the defaults are those of `SAC`.

    >>> ISAC(share=None, temperature=0.2).temperature
    0.2
    """

    name: ClassVar[str] = "ISAC"
    frame_stack: ClassVar[None] = None  # type: ignore[misc]  # replay has whole observations of agents
    torso: ClassVar[None] = None  # type: ignore[misc]  # its networks see vectors
    without: ClassVar[dict[str, str]] = {
        "frame_stack": "replay keeps whole observations of agents; leave it out",
        "torso": "its networks see vectors; make vectors of frames with a wrapper, or take rl.IPPO",
    }

    num_envs: Count = 4
    """Chosen here, as for SAC; one in the papers."""
    horizon: Count = 4
    """Steps of each environment in a round; the policy is that much behind its experience. Chosen here, as for SAC."""
    gamma: float = 0.99
    """Stable-Baselines3's."""
    capacity: Count = 200_000
    """A group has a buffer of its own; each transition is an agent's own step. A fifth of what the papers have, because
    a checkpoint holds them all."""
    learning_starts: Natural = 100
    """The same however many agents there are. Stable-Baselines3's."""
    batch_size: Count = 256
    """Each is an agent's own step. Stable-Baselines3's."""
    reward_clip: Positive | None = None
    """Clipped is what an agent is given from one of its steps to the next. By default it is not."""
    sequence: Count = 25
    """They are an agent's own. Chosen here, as for IDQN: an episode of MPE."""
    burn_in: Natural = 5
    """Chosen here, as for IDQN."""

    def check_team(self, team: Team, action_space: Space) -> None:
        """Also refuse what a team cannot use."""
        if is_frames(team.observation_space):
            raise ParameterError(
                f"group {team.name!r} of {self.name}: its networks see vectors, and observations are "
                f"{team.observation_space}; make vectors of them with a wrapper, or take rl.IPPO"
            )
        super().check_team(team, action_space)

    def team_policy(self, team: Team, action_space: Space) -> SquashedPolicy:
        """The policy for a team."""
        kind = RecurrentTeamSquashedPolicy if self.recurrent else TeamSquashedPolicy
        return kind(self, Sight(team, ids=self.agent_ids), action_space)

    def learning(self, observation_space: Any, action_space: Space, seed: int, device: str = "cpu") -> ISACLearning:
        """The learner's networks and update for a team."""
        kind = RecurrentISACLearning if self.recurrent else ISACLearning
        return kind(self, Sight(observation_space, ids=self.agent_ids), action_space, seed, device)


class TeamSquashedPolicy(SquashedPolicy):
    """Chooses actions for the present agents of a team, each from its own observation."""

    def __init__(self, config: ISAC, sight: Sight, action_space: Space) -> None:
        super().__init__(config, config.network(sight.space, action_space), action_space)
        self.infer: Any = Seeing(self.infer, sight)


class RecurrentTeamSquashedPolicy(TeamSquashedPolicy, RecurrentSquashedPolicy):
    """A `TeamSquashedPolicy` with a memory for each agent."""

    kept: ClassVar[str] = MEMORY


class ISACLearning(SACLearning):
    """SAC's losses on each agent's own steps; critics, like actors, see their own agent's observations."""

    def __init__(self, config: ISAC, sight: Sight, action_space: Space, seed: int, device: str) -> None:
        super().__init__(config, sight.space, action_space, seed, device)
        self.sight, self.device = sight, device

    def learn(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """One update of actor, critics and temperature."""
        return (yield from super().learn({**batch, **{name: self.seen(batch, name) for name in ("obs", "next_obs")}}))

    def seen(self, batch: Mapping[str, torch.Tensor], name: str) -> torch.Tensor:
        """What agents see at their own steps, or in sequences of them, (n, ..., size)."""
        agent, obs = array(batch["agent"]), array(batch[name])
        found = self.sight.of(obs.reshape(agent.size, *obs.shape[agent.ndim :]), agent.reshape(-1))
        return torch.from_numpy(found.reshape(*agent.shape, -1)).to(self.device)


class RecurrentISACLearning(ISACLearning, RecurrentSACLearning):
    """The same losses, on sequences of each agent's own steps."""

    def learn(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """One update of actor, critics and temperature."""
        return (yield from super().learn({**batch, STATE: batch[MEMORY]}))
