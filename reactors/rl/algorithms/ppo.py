"""Proximal policy optimisation: Schulman et al., 2017 (arXiv 1707.06347), with the details of its reference code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import nn

from reactors.rl.algorithms.actor_critic import ActorCritic, ActorPolicy, Space, acting_weights, advantages
from reactors.rl.algorithms.algorithm import Algorithm, Learning, seeded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class PPO(Algorithm):
    """Hyperparameters; the defaults are those of RL Zoo for CartPole-v1.

    >>> PPO(epochs=4).epochs
    4
    """

    name: ClassVar[str] = "PPO"
    on_policy: ClassVar[bool] = True

    num_envs: int = 8
    horizon: int = 32
    gamma: float = 0.98
    lam: float = 0.8
    """Lambda of the generalised advantages."""
    learning_rate: float = 1e-3
    """Falls linearly to 0 over the run if `anneal`."""
    anneal: bool = True
    epochs: int = 20
    """Passes over a round's experience."""
    batch_size: int = 256
    clip: float = 0.2
    """Of the ratio of probabilities; falls with the learning rate."""
    entropy: float = 0.0
    """Weight of the entropy bonus."""
    value: float = 0.5
    """Weight of the value loss."""
    max_grad_norm: float = 0.5
    normalise: bool = True
    """Advantages, in each minibatch."""
    hidden: tuple[int, ...] = (64, 64)
    total_steps: int = 100_000
    """Over which the learning rate is annealed; `rl.train` sets it."""

    def remembered(self) -> dict[str, Any]:
        """The probability of each action when it was chosen."""
        return {"log_prob": np.float32}

    def policy(self, observation_space: Space, action_space: Space) -> ActorPolicy:
        """One for an actor."""
        return ActorPolicy(ActorCritic(observation_space, action_space, self.hidden), action_space)

    def learning(self, observation_space: Space, action_space: Space, seed: int, device: str = "cpu") -> PPOLearning:
        """One for the learner."""
        return PPOLearning(self, observation_space, action_space, seed, device)


class PPOLearning(Learning):
    """The clipped surrogate (equation 7), a value loss and an entropy bonus (equation 9), by Adam."""

    def __init__(self, config: PPO, observation_space: Space, action_space: Space, seed: int, device: str) -> None:
        self.config, self.device = config, device
        self.rng = seeded(seed)
        self.net = ActorCritic(observation_space, action_space, config.hidden).to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters(), config.learning_rate, eps=1e-5, fused=True)
        self.start = int(getattr(action_space, "start", 0)) if self.net.discrete else 0
        self.steps = 0

    def weights(self) -> NDArray[np.float32]:
        """The actor's."""
        return acting_weights(self.net)

    def learn(self, batch: Mapping[str, torch.Tensor]) -> dict[str, Any]:
        """All epochs over a round's experience."""
        config = self.config
        found, returns, values = advantages(self.net, batch, config.gamma, config.lam)
        left = max(0.0, 1 - self.steps / config.total_steps) if config.anneal else 1.0
        for group in self.optimizer.param_groups:
            group["lr"] = config.learning_rate * left
        clip = config.clip * left
        obs, actions = batch["obs"].flatten(0, 1), batch["action"].flatten(0, 1)
        actions = actions - self.start if self.net.discrete else actions
        before, found, returns = batch["log_prob"].flatten(), found.flatten(), returns.flatten()
        n = len(before)
        self.steps += n
        size = min(config.batch_size, n)
        figures: dict[str, Any] = {}
        for epoch in range(config.epochs):
            order = torch.from_numpy(self.rng.permutation(n))
            for first in range(0, n - size + 1, size):
                rows = order[first : first + size]
                last = epoch == config.epochs - 1 and first + 2 * size > n
                figures = self.update(
                    obs[rows], actions[rows], before[rows], found[rows], returns[rows], clip, tell=last
                )
        spread = returns.var()
        explained = 1 - (returns - values.flatten()).var() / spread if spread > 0 else torch.tensor(float("nan"))
        return {name: float(x) for name, x in figures.items()} | {
            "losses/explained_variance": float(explained), "charts/learning_rate": config.learning_rate * left
        }  # fmt: skip

    def update(
        self,
        obs: torch.Tensor,
        actions: torch.Tensor,
        before: torch.Tensor,
        advantage: torch.Tensor,
        returns: torch.Tensor,
        clip: float,
        *,
        tell: bool,
    ) -> dict[str, torch.Tensor]:
        """One minibatch; figures if they are wanted."""
        config = self.config
        if config.normalise:
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        log_prob, entropy = self.net.evaluate(obs, actions)
        logs = log_prob - before
        ratio = logs.exp()
        surrogate = torch.min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)
        policy_loss, value_loss = -surrogate.mean(), ((self.net.value(obs) - returns) ** 2).mean()
        loss = policy_loss - config.entropy * entropy.mean() + config.value * value_loss
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.net.parameters(), config.max_grad_norm)
        self.optimizer.step()
        if not tell:
            return {}
        with torch.no_grad():
            return {
                "losses/policy_loss": policy_loss.detach(),
                "losses/value_loss": value_loss.detach(),
                "losses/entropy": entropy.mean(),
                "losses/approx_kl": (ratio - 1 - logs).mean(),
                "losses/clipfrac": ((ratio - 1).abs() > clip).float().mean(),
            }

    def state_dict(self) -> dict[str, Any]:
        """Networks, optimizer, generator, how far the annealing is."""
        return {
            "net": self.net.state_dict(), "optimizer": self.optimizer.state_dict(),
            "rng": self.rng.bit_generator.state, "steps": self.steps,
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from there."""
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.rng.bit_generator.state = state["rng"]
        self.steps = state["steps"]
