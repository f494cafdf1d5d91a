"""Asynchronous PPO: PPO's surrogate loss on IMPALA, from "Accelerating Distributed Deep RL" (RLDM 2019).

Only its abstract is published. The loss is that of RLlib's APPO and of IMPACT (Luo et al., 2020, arXiv 1912.00167): a
target network, updated now and then, stands between the behaviour policy and the policy that learns.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from reactors.rl.algorithms.impala import IMPALA, IMPALALearning
from reactors.rl.bounded import Count, Positive
from reactors.rl.encoding.state import count
from reactors.rl.networks.layers import Flat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors.rl.envs.spaces import Space
    from reactors.rl.networks.layers import Descent


@dataclass(frozen=True, kw_only=True)
class APPO(IMPALA):
    """Hyperparameters; the defaults are RLlib's, unless a field says otherwise.

    >>> APPO(clip=0.4).clip
    0.4
    """

    name: ClassVar[str] = "APPO"

    learning_rate: Positive = 5e-4
    """RLlib's."""
    clip: Positive = 0.2
    """Clipping range of the ratio of probabilities; PPO's value, half of RLlib's."""
    most: Positive = 2.0
    """Upper bound of the importance weight of behaviour to target policy; RLlib's and IMPACT's value."""
    target_every: Count = 4
    """Updates between copies of the network into its target. Chosen here."""
    passes: Count = 2
    """As in RLlib's `pong-appo`."""
    ring: Count = 4
    """As in RLlib's `pong-appo`."""

    def learning(self, observation_space: Space, action_space: Space, seed: int, device: str = "cpu") -> APPOLearning:
        """Make the learner's networks and update."""
        return APPOLearning(self, observation_space, action_space, seed, device)


class APPOLearning(IMPALALearning):
    """The clipped surrogate loss with V-trace advantages, which belong to the target network's policy."""

    config: APPO

    def __init__(self, config: APPO, observation_space: Space, action_space: Space, seed: int, device: str) -> None:
        super().__init__(config, observation_space, action_space, seed, device)
        self.target = deepcopy(self.net).requires_grad_(False)
        self.old = Flat(self.target.parameters_in_order())
        self.updates = 0

    def update(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """One step, and now and then an update of the target."""
        figures = yield from super().update(batch)
        self.updates += 1
        if self.updates % self.config.target_every == 0:
            self.old.weights.data.copy_(self.flat.weights.data[: len(self.old.weights)])
        return figures

    def target_log_prob(self, seen: Any, actions: torch.Tensor, log_prob: torch.Tensor) -> torch.Tensor:
        """The log-probabilities of the actions by the target network."""
        del log_prob
        with torch.no_grad():
            return self.target.judge(self.target.features(seen), actions)[0]

    def policy_loss(
        self, log_prob: torch.Tensor, before: torch.Tensor, target: torch.Tensor, advantages: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The surrogate loss: the ratio to the behaviour policy, times the truncated weight of behaviour to target."""
        clip = self.config.clip
        ratio = (before - target).exp().clamp(max=self.config.most) * (log_prob - before).exp()
        surrogate = torch.min(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
        clipped = ((ratio.detach() - 1).abs() > clip).float().mean()
        return -surrogate, {"losses/clipfrac": clipped}

    def state_dict(self) -> dict[str, Any]:
        """Also the target, and its age."""
        return super().state_dict() | {"target": self.target.state_dict(), "updates": self.updates}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a `state_dict`."""
        super().load_state_dict(state)
        self.target.load_state_dict(state["target"])
        self.updates = count(state["updates"])
