"""Twin delayed deep deterministic policy gradient: Fujimoto et al., 2018 (arXiv 1802.09477)."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import nn

from reactors.rl.algorithms.actor_and_critics import ActorAndCritics
from reactors.rl.algorithms.continuous import ActionBox, Continuous, DeterministicPolicy
from reactors.rl.bounded import Count, NotNegative
from reactors.rl.encoding.state import count
from reactors.rl.networks.layers import Flat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors.rl.envs.spaces import Space
    from reactors.rl.networks.layers import Descent


@dataclass(frozen=True, kw_only=True)
class TD3(Continuous):
    """Hyperparameters; the defaults are those of the paper's released code.

    >>> TD3(policy_delay=1).policy_delay
    1
    """

    name: ClassVar[str] = "TD3"

    gamma: float = 0.99
    """The released code's."""
    noise: NotNegative = 0.1
    """Standard deviation of the noise on actions, whose bounds are -1 and 1. Section 6.1."""
    critics: Count = 2
    """Number of critics; the lowest of their values counts (section 4.2)."""
    policy_delay: Count = 2
    """Updates of the critics for one of the actor and of all targets (section 5.2)."""
    target_noise: NotNegative = 0.2
    """Standard deviation of the noise that smooths the target policy (section 5.3). Section 6.1."""
    target_clip: NotNegative = 0.5
    """Bound of this noise on either side. Section 6.1."""

    def network(self, observation_space: Space, action_space: Space) -> nn.Sequential:
        """From observations to actions between -1 and 1."""
        actor = self.actor(observation_space, ActionBox(action_space).size)
        return type(actor)(*actor, nn.Tanh())

    def policy(self, observation_space: Space, action_space: Space) -> DeterministicPolicy:
        """Make a policy for an actor."""
        actor = self.network(observation_space, action_space)
        return DeterministicPolicy(actor, action_space, noise=self.noise, learning_starts=self.learning_starts)

    def learning(self, observation_space: Space, action_space: Space, seed: int, device: str = "cpu") -> TD3Learning:
        """Make the learner's networks and update."""
        return TD3Learning(self, observation_space, action_space, seed, device)


class TD3Learning(ActorAndCritics):
    """Algorithm 1, without the acting."""

    def __init__(self, config: TD3, observation_space: Space, action_space: Space, seed: int, device: str) -> None:
        super().__init__(config, observation_space, action_space, seed, device, critics=config.critics)
        self.config = config
        self.target_actor = deepcopy(self.actor).requires_grad_(False)
        self.networks["target_actor"] = self.target_actor
        self.flat["target_actor"] = Flat(self.target_actor.parameters())
        self.updates = {"critics": 0, "actor": 0}  # including those that the delay skipped
        self.actor_loss = torch.tensor(0.0)

    @property
    def of_actor(self) -> tuple[Flat]:
        """The target actor, which the critics use."""
        return (self.flat["target_actor"],)

    def is_late(self, half: str) -> bool:
        """Whether this update also updates the actor and all targets."""
        self.updates[half] += 1
        return self.updates[half] % self.config.policy_delay == 0

    def improve_critics(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """Clipped double Q-learning (equation 10) with a smoothed target policy (equation 14)."""
        config, following = self.config, self.inputs(batch["next_obs"])
        with torch.no_grad():
            actions = self.target_actor(following)
            if config.target_noise:
                noise = torch.empty_like(actions).normal_(0, config.target_noise, generator=self.noise)
                actions = (actions + noise.clamp_(-config.target_clip, config.target_clip)).clamp_(-1, 1)
            best = self.target_critics(following, actions).amin(0)
        loss, figures = self.squares(self.inputs(batch["obs"]), batch, best)
        yield from self.descend("critics", loss)
        if self.is_late("critics"):
            self.follow("target_critics", "critics")
        return figures | {"losses/qf_loss": loss.detach()}

    def improve_actor(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """The deterministic policy gradient, by the first critic, in every `policy_delay`-th update."""
        if not self.is_late("actor"):
            return {"losses/actor_loss": self.actor_loss}
        obs = self.inputs(batch["obs"])
        self.train_critics(False)
        actions = self.actor(obs)
        loss = -self.critics(obs, actions, 1).mean()
        yield from self.descend("actor", loss)
        self.train_critics(True)
        self.actor_loss = loss.detach()
        self.follow("target_actor", "actor")
        return {"losses/actor_loss": self.actor_loss, **self.figures_of_actor(actions.detach())}

    def state_dict(self) -> dict[str, Any]:
        """Also the number of updates."""
        return super().state_dict() | {"updates": self.updates, "actor_loss": float(self.actor_loss)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a `state_dict`."""
        super().load_state_dict(state)
        self.updates = {name: count(state["updates"][name]) for name in self.updates}
        self.actor_loss = torch.tensor(state["actor_loss"])
