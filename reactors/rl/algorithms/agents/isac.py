"""Independent soft actor-critic: SAC (Haarnoja et al., 2018, arXiv 1812.05905) for each agent's own steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from reactors.errors import ParameterError
from reactors.rl.algorithms.agents.team_network import Seeing, Sight, array
from reactors.rl.algorithms.sac import SAC, SACLearning, SquashedPolicy
from reactors.rl.contract.agents import MultiAgent
from reactors.rl.envs.spaces import is_frames

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

    def check_team(self, team: Team, action_space: Space) -> None:
        """Also refuse what a team cannot use."""
        if self.torso is not None or is_frames(team.observation_space):
            raise ParameterError(
                f"group {team.name!r} of {self.name}: its networks see vectors, and observations are "
                f"{team.observation_space}; leave torso out, and make vectors of them with a wrapper, or take rl.IPPO"
            )
        if self.frame_stack is not None:
            raise ParameterError(f"frame_stack of {self.name} is for single agents; leave it out")
        super().check_team(team, action_space)

    def team_policy(self, team: Team, action_space: Space) -> TeamSquashedPolicy:
        """The policy for a team."""
        return TeamSquashedPolicy(self, Sight(team, ids=self.agent_ids), action_space)

    def learning(self, observation_space: Any, action_space: Space, seed: int, device: str = "cpu") -> ISACLearning:
        """The learner's networks and update for a team."""
        return ISACLearning(self, Sight(observation_space, ids=self.agent_ids), action_space, seed, device)


class TeamSquashedPolicy(SquashedPolicy):
    """Chooses actions for the present agents of a team, each from its own observation."""

    def __init__(self, config: ISAC, sight: Sight, action_space: Space) -> None:
        super().__init__(config, config.network(sight.space, action_space), action_space)
        self.infer: Any = Seeing(self.infer, sight)


class ISACLearning(SACLearning):
    """SAC's losses on each agent's own steps; critics, like actors, see their own agent's observations."""

    def __init__(self, config: ISAC, sight: Sight, action_space: Space, seed: int, device: str) -> None:
        super().__init__(config, sight.space, action_space, seed, device)
        self.sight, self.device = sight, device

    def learn(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """One update of actor, critics and temperature."""
        agent = array(batch["agent"])
        seen = {
            name: torch.from_numpy(self.sight.of(array(batch[name]), agent)).to(self.device)
            for name in ("obs", "next_obs")
        }
        return (yield from super().learn({**batch, **seen}))
