"""Twin delayed deep deterministic policy gradient: Fujimoto et al., 2018 (arXiv 1802.09477)."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import nn

from reactors.rl.algorithms.algorithm import Learning, seeded
from reactors.rl.algorithms.continuous import Bounds, Continuous, Critics, DeterministicPolicy, vectors
from reactors.rl.algorithms.hyperparameters import Count, NotNegative
from reactors.rl.networks import Adam, Chain, Flat, inputs_of, mlp

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from reactors.rl.algorithms.continuous import Space


@dataclass(frozen=True, kw_only=True)
class TD3(Continuous):
    """Hyperparameters; defaults are RL Zoo's for Pendulum-v1, with networks of the same sizes as SAC's.

    >>> TD3(policy_delay=1).policy_delay
    1
    """

    name: ClassVar[str] = "TD3"

    gamma: float = 0.98
    noise: NotNegative = 0.1
    """Standard deviation of the noise on actions, of which -1 and 1 are the bounds."""
    critics: Count = 2
    """The least of whose values counts (section 4.2)."""
    policy_delay: Count = 2
    """Updates of the critics for one of the actor and of all targets (section 5.2)."""
    target_noise: NotNegative = 0.2
    """Standard deviation of the noise that smooths the target policy (section 5.3)."""
    target_clip: NotNegative = 0.5
    """The most that this noise may be."""

    def policy(self, observation_space: Space, action_space: Space) -> DeterministicPolicy:
        """One for an actor."""
        actor = actor_network(self, observation_space, action_space)
        return DeterministicPolicy(actor, action_space, noise=self.noise, learning_starts=self.learning_starts)

    def learning(self, observation_space: Space, action_space: Space, seed: int, device: str = "cpu") -> TD3Learning:
        """One for the learner."""
        return TD3Learning(self, observation_space, action_space, seed, device)


def actor_network(config: Continuous, observation_space: Space, action_space: Space) -> nn.Sequential:
    """Observations to actions between -1 and 1."""
    sizes = [inputs_of(observation_space), *config.hidden, Bounds(action_space).size]
    return Chain(*mlp(sizes, nn.ReLU), nn.Tanh())


class TD3Learning(Learning):
    """Algorithm 1, but for acting."""

    def __init__(self, config: TD3, observation_space: Space, action_space: Space, seed: int, device: str) -> None:
        self.config, self.bounds = config, Bounds(action_space)
        seeded(seed)
        self.noise = torch.Generator(device).manual_seed(seed)
        self.actor = actor_network(config, observation_space, action_space).to(device)
        self.critics = Critics(config.critics, inputs_of(observation_space) + self.bounds.size, config.hidden).to(
            device
        )
        self.target_actor = deepcopy(self.actor).requires_grad_(False)
        self.target_critics = deepcopy(self.critics).requires_grad_(False)
        self.flat = Flat(self.actor.parameters()), Flat(self.critics.parameters())
        self.old = Flat(self.target_actor.parameters()), Flat(self.target_critics.parameters())
        self.optimizers = [Adam(each, config.learning_rate) for each in self.flat]
        self.updates = 0
        self.actor_loss = torch.tensor(0.0)

    def weights(self) -> NDArray[np.float32]:
        """The actor's."""
        found: NDArray[np.float32] = self.flat[0].weights.detach().cpu().numpy().copy()
        return found

    def learn(self, batch: Mapping[str, torch.Tensor]) -> dict[str, Any]:
        """One update; `errors` are the absolute temporal-difference errors, the mean of all critics."""
        config = self.config
        obs, following = vectors(batch["obs"]), vectors(batch["next_obs"])
        discount: Any = batch.get("discount", config.gamma)
        with torch.no_grad():
            actions = self.target_actor(following)
            if config.target_noise:
                noise = torch.empty_like(actions).normal_(0, config.target_noise, generator=self.noise)
                actions = (actions + noise.clamp_(-config.target_clip, config.target_clip)).clamp_(-1, 1)
            best = self.target_critics(following, actions).amin(0)
            goal = torch.addcmul(batch["reward"], discount * ~batch["terminated"], best)
        errors = self.critics(obs, self.bounds.inwards(batch["action"])) - goal
        losses = errors.square() * batch["weights"] if config.prioritized else errors.square()
        critic_loss = losses.mean(1).sum()
        self.descend(1, critic_loss)
        self.updates += 1
        if self.updates % config.policy_delay == 0:
            self.critics.requires_grad_(False)
            actor_loss = -self.critics(obs, self.actor(obs))[0].mean()
            self.descend(0, actor_loss)
            self.actor_loss = actor_loss.detach()
            self.critics.requires_grad_(True)
            for old, flat in zip(self.old, self.flat, strict=True):
                old.weights.data.lerp_(flat.weights.data, config.tau)
        figures = {"losses/qf_loss": critic_loss.detach(), "losses/actor_loss": self.actor_loss}
        return figures | {"errors": errors.detach().abs().mean(0)} if config.prioritized else figures

    def descend(self, which: int, loss: torch.Tensor) -> None:
        """One step of an optimizer."""
        self.flat[which].clear()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizers[which].step()

    def state_dict(self) -> dict[str, Any]:
        """Networks, optimizers, generator, updates."""
        return {
            "actor": self.actor.state_dict(), "critics": self.critics.state_dict(),
            "target_actor": self.target_actor.state_dict(), "target_critics": self.target_critics.state_dict(),
            "optimizers": [each.state_dict() for each in self.optimizers],
            "noise": self.noise.get_state(), "updates": self.updates, "actor_loss": float(self.actor_loss),
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from there."""
        for name in ("actor", "critics", "target_actor", "target_critics"):
            getattr(self, name).load_state_dict(state[name])
        for optimizer, its in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(its)
        self.noise.set_state(state["noise"])
        self.updates, self.actor_loss = state["updates"], torch.tensor(state["actor_loss"])
