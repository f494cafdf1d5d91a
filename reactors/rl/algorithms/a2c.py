"""Synchronous advantage actor-critic as in PAAC: Clemente et al., 2017 (arXiv 1705.04862).

All environments act with one copy of the parameters, and a few steps of each make one update.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from reactors.rl.algorithms.policy_gradient import PolicyGradient, PolicyGradientLearning, Seen, vitals
from reactors.rl.bounded import Decay, NotNegative, Positive, Share
from reactors.rl.estimates.returns import Course, advantages, normalised
from reactors.rl.networks.layers import RMSProp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors.rl.envs.spaces import Space
    from reactors.rl.networks.layers import Descent


@dataclass(frozen=True, kw_only=True)
class A2C(PolicyGradient):
    """Hyperparameters; the defaults are those of OpenAI Baselines, whose entropy bonus is 0.01, though.

    `A2C.paac()` has those of PAAC's code, for frames.

    >>> A2C.paac().num_envs
    32
    """

    name: ClassVar[str] = "A2C"

    num_envs: int = 16
    """OpenAI Baselines'; the paper has 32."""
    horizon: int = 5
    """t_max of the paper, and its value."""
    gamma: float = 0.99
    """The paper's."""
    lam: Share = 1.0
    """1 makes n-step returns, the paper's; less, generalised advantages."""
    learning_rate: float = 7e-4
    """OpenAI Baselines'; PAAC's grows with the environments, by 0.0007 for each."""
    smoothing: Decay = 0.99
    """RMSProp's decay of squared gradients; the paper's section 5.1."""
    eps: Positive = 1e-5
    """RMSProp's, beside the root of the mean squares; Stable-Baselines3's."""
    eps_in_sqrt: bool = False
    """Let `eps` be under that root, as in TensorFlow 1, which PAAC's code uses. Off, as in torch."""
    initial_scale: NotNegative = 0.0
    """Where RMSProp's mean squares begin. 0, as in torch; 1 in TensorFlow 1."""
    loss_scale: Positive = 1.0
    """Of the whole loss, before the gradient is scaled down. PAAC's code has 5, the steps over which its losses were
    sums once. 1, as in the paper."""
    normalise: bool = False
    """Advantages, in each update. Off, as in the paper."""

    @classmethod
    def paac(cls, **others: Any) -> A2C:
        """Loss, optimizer and network of PAAC's released code for Atari frames; it trains for 80 million steps.

        The learning rate is 0.0007 for each environment (section 5.1), 0.0224 for 32. Layers are initialised as those
        of all policy gradients are here; PAAC's are uniform.
        """
        released: dict[str, Any] = {
            "num_envs": 32, "horizon": 5, "gamma": 0.99, "learning_rate": 0.0007 * others.get("num_envs", 32),
            "smoothing": 0.99, "eps": 0.1, "eps_in_sqrt": True, "initial_scale": 1.0, "loss_scale": 5.0,
            "entropy": 0.02, "value": 0.25, "max_grad_norm": 3.0, "reward_clip": 1.0, "torso": "nips",
        }  # fmt: skip
        return cls(**released | others)

    def learning(self, observation_space: Space, action_space: Space, seed: int, device: str = "cpu") -> A2CLearning:
        """Make the learner's networks and update."""
        return A2CLearning(self, observation_space, action_space, seed, device)


class A2CLearning(PolicyGradientLearning):
    """The policy gradient with n-step advantages, a value loss and an entropy bonus, by RMSProp (algorithm 1)."""

    def __init__(self, config: A2C, observation_space: Space, action_space: Space, seed: int, device: str) -> None:
        super().__init__(config, observation_space, action_space, seed, device)
        self.config = config

    def optimizer_of(self, config: A2C) -> RMSProp:
        """RMSProp over all weights, with PAAC's settings."""
        return RMSProp(
            self.flat, config.learning_rate, config.smoothing, config.eps, eps_in_sqrt=config.eps_in_sqrt,
            initial_scale=config.initial_scale,
        )  # fmt: skip

    def learn(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """One update from a round's experience."""
        config = self.config
        batch = self.prepare(batch, config)
        course = Course.of(batch)
        features = self.net.features(self.seen(batch, course))
        estimates = self.net.values(features)
        values, following = course.split(estimates)
        found = advantages(batch["reward"], values, following, course, config.gamma, config.lam)
        returns, found, n = (found + values).flatten(), found.flatten(), found.numel()
        worth = normalised(found) if config.normalise else found
        log_prob, entropy = self.net.judge(features[:n], batch["choice"].flatten(0, 1))
        policy_loss = -(log_prob * worth).mean()
        value_loss = torch.nn.functional.mse_loss(estimates[:n], returns)
        loss = policy_loss + config.value / self.net.scale**2 * value_loss
        if config.entropy:
            loss = loss - config.entropy * entropy
        yield from self.descend(config.loss_scale * loss, config.max_grad_norm)
        seen = Seen(features[:n], log_prob, batch["log_prob"].flatten(), estimates[:n], returns, found)
        figures = vitals(self.net, self.flat, seen) | {
            "losses/policy_loss": policy_loss, "losses/value_loss": value_loss, "losses/entropy": entropy
        }  # fmt: skip
        self.learned(batch)
        return {name: x.item() for name, x in figures.items()} | {"charts/learning_rate": self.learning_rate}
