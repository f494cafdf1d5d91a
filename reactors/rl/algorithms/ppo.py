"""Proximal policy optimisation: Schulman et al., 2017 (arXiv 1707.06347), with the details of its reference code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from reactors.rl.algorithms.policy_gradient import (
    PolicyGradient,
    PolicyGradientLearning,
    Seen,
    explained_variance,
    vitals,
)
from reactors.rl.bounded import Count, Positive, Share
from reactors.rl.estimates.returns import Course, advantages, normalised

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors.rl.envs.spaces import Space
    from reactors.rl.networks.layers import Descent


@dataclass(frozen=True, kw_only=True)
class PPO(PolicyGradient):
    """Hyperparameters; the defaults are those of RL Zoo for CartPole-v1.

    >>> PPO(epochs=4).epochs
    4
    """

    name: ClassVar[str] = "PPO"
    shared: ClassVar[tuple[str, ...]] = ("num_envs", "batch_size")

    num_envs: int = 8
    """RL Zoo's for CartPole-v1."""
    horizon: int = 32
    """RL Zoo's for CartPole-v1."""
    gamma: float = 0.98
    """RL Zoo's for CartPole-v1."""
    lam: Share = 0.8
    """Lambda of the generalised advantages. RL Zoo's for CartPole-v1."""
    learning_rate: float = 1e-3
    """RL Zoo's for CartPole-v1."""
    epochs: Count = 20
    """Passes over a round's experience. RL Zoo's for CartPole-v1."""
    batch_size: Count = 256
    """Steps in a minibatch. RL Zoo's for CartPole-v1."""
    clip: Positive = 0.2
    """Of the ratio of probabilities; falls with the learning rate. RL Zoo's for CartPole-v1."""
    normalise: bool = True
    """Advantages, in each minibatch of two or more. On, as in the reference code."""

    def learning(self, observation_space: Space, action_space: Space, seed: int, device: str = "cpu") -> PPOLearning:
        """One for the learner."""
        return PPOLearning(self, observation_space, action_space, seed, device)


class PPOLearning(PolicyGradientLearning):
    """The clipped surrogate (equation 7), a value loss and an entropy bonus (equation 9), by Adam."""

    def __init__(self, config: PPO, observation_space: Space, action_space: Space, seed: int, device: str) -> None:
        super().__init__(config, observation_space, action_space, seed, device)
        self.config = config

    def learn(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """All epochs over a round's experience."""
        config = self.config
        batch = self.prepare(batch, config)
        course = Course.of(batch)
        with torch.no_grad():
            values, following = course.split(self.net.values(self.net.features(course.obs)))
        found = advantages(batch["reward"], values, following, course, config.gamma, config.lam)
        returns = found + values
        n = returns.numel()
        size = min(config.batch_size, n)
        obs, choices = course.obs[:n], batch["choice"].flatten(0, 1)
        parts = obs, choices, batch["log_prob"].flatten(), found.flatten(), returns.flatten()
        figures: dict[str, Any] = {}
        for epoch in range(config.epochs):
            order = torch.from_numpy(self.rng.permutation(n)).to(self.device)
            shuffled = [part[order] for part in parts]
            for first in range(0, n - size + 1, size):
                last = epoch == config.epochs - 1 and first + 2 * size > n
                figures = yield from self.update(*(part[first : first + size] for part in shuffled), tell=last)
        figures["losses/explained_variance"] = explained_variance(returns, values)  # of all that was played
        return {name: float(x) for name, x in figures.items()} | {"charts/learning_rate": self.learning_rate}

    def update(
        self,
        obs: torch.Tensor,
        actions: torch.Tensor,
        before: torch.Tensor,
        advantage: torch.Tensor,
        returns: torch.Tensor,
        *,
        tell: bool,
    ) -> Descent:
        """One minibatch; figures if they are wanted."""
        config, clip = self.config, self.config.clip * self.left
        if config.normalise:
            advantage = normalised(advantage)
        features = self.net.features(obs)
        log_prob, entropy = self.net.judge(features, actions)
        logs = log_prob - before
        ratio = logs.exp()
        surrogate = torch.min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
        values = self.net.values(features)
        value_loss = torch.nn.functional.mse_loss(values, returns)
        loss = config.value / self.net.scale**2 * value_loss - surrogate
        if config.entropy:
            loss = loss - config.entropy * entropy
        yield from self.descend(loss, config.max_grad_norm)
        if not tell:
            return {}
        with torch.no_grad():
            return {
                "losses/policy_loss": -surrogate.detach(),
                "losses/value_loss": value_loss.detach(),
                "losses/entropy": entropy.detach(),
                "losses/clipfrac": ((ratio - 1).abs() > clip).float().mean(),
                **vitals(self.net, self.flat, Seen(features, log_prob, before, values, returns, advantage)),
            }
