"""Value decomposition networks: Sunehag et al., 2017 (arXiv 1706.05296)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from torch import nn

from reactors.rl.algorithms.agents.idqn import IDQN, IDQNLearning, RecurrentIDQNLearning

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors.rl.envs.spaces import Space
    from reactors.rl.networks.layers import Descent


@dataclass(frozen=True, kw_only=True)
class VDN(IDQN):
    """Hyperparameters: those of `IDQN`, but steps are those of a whole group.

    A group learns from the sum of its agents' rewards, and its value is the sum of their action values.

    >>> VDN().together
    True
    """

    name: ClassVar[str] = "VDN"
    together: ClassVar[bool] = True
    share: ClassVar[Literal["group"]] = "group"  # type: ignore[misc]  # a group of one has nothing to add up
    without: ClassVar[dict[str, str]] = {
        **IDQN.without,
        "share": "agents of a group always share a network; take rl.IDQN for networks of their own",
    }

    def learning(self, observation_space: Any, action_space: Space, seed: int, device: str = "cpu") -> IDQNLearning:
        """The learner's networks and update for a team."""
        del seed  # it is only used for the initial weights; nothing else is random
        kind = RecurrentVDNLearning if self.recurrent else VDNLearning
        return kind(self, observation_space, action_space, device)


class VDNLearning(IDQNLearning):
    """One gradient step on the squared temporal-difference error of a team's value (section 3)."""

    loss = staticmethod(nn.functional.mse_loss)

    def learn(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """One update from joint transitions (n, agents, ...); absent agents do not contribute."""
        return (yield from super().learn({**batch, "action": batch["action"][batch["acted"]]}))

    def seen(self, batch: Mapping[str, torch.Tensor], which: str) -> torch.Tensor:
        """The inputs of the network for agents that act."""
        acted = batch[f"{which}acted"]
        mask = batch[f"{which}masks"][acted] if self.net.masked else None
        return self.packed(batch[f"{which}obs"][acted], acted.nonzero()[:, 1], mask)

    def following(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """The value of the next observations, by the target network."""
        return self.whole(self.target, super().following(batch), batch, "next_")

    def chosen(self, values: torch.Tensor, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """The values of the team's joint actions."""
        return self.whole(self.net, super().chosen(values, batch), batch, "")


class RecurrentVDNLearning(RecurrentIDQNLearning, VDNLearning):
    """VDN for recurrent networks: learns from sequences of joint steps of a group."""
