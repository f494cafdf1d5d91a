"""Proximal policy optimisation: Schulman et al., 2017 (arXiv 1707.06347), with the details of its reference code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import torch

from reactors.errors import ArgumentError
from reactors.rl.algorithms.policy_gradient import (
    PolicyGradient,
    PolicyGradientLearning,
    Seen,
    explained_variance,
    vitals,
)
from reactors.rl.bounded import Count, Positive, Share
from reactors.rl.estimates.returns import Course, advantages, normalised
from reactors.rl.networks.recurrent import Stretch, sequences

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from reactors.rl.envs.spaces import Space
    from reactors.rl.networks.layers import Descent, Flat


@dataclass(frozen=True, kw_only=True)
class PPO(PolicyGradient):
    """Hyperparameters; the defaults are the paper's for MuJoCo (table 3), and Stable-Baselines3's.

    >>> PPO(epochs=4).epochs
    4
    """

    name: ClassVar[str] = "PPO"
    alone: ClassVar[tuple[str, ...]] = (*PolicyGradient.alone, "target_kl")
    shared: ClassVar[tuple[str, ...]] = ("num_envs", "batch_size")

    num_envs: int = 8
    """Chosen here: the paper has one environment for MuJoCo, and 8 for Atari."""
    horizon: int = 256
    """With 8 environments, the 2,048 steps of table 3."""
    gamma: float = 0.99
    """Table 3."""
    lam: Share = 0.95
    """Lambda of the generalised advantages. Table 3."""
    learning_rate: float = 3e-4
    """Table 3."""
    anneal: bool = False
    """Off, as in table 3; on in the paper's for Atari."""
    epochs: Count = 10
    """Passes over a round's experience. Table 3."""
    batch_size: Count = 64
    """Steps in a minibatch; all of a round, if it has no more. Table 3."""
    clip: Positive = 0.2
    """Clipping range of the ratio of probabilities. Section 6.1."""
    anneal_clip: bool = True
    """Let the clipping range fall with the learning rate if `anneal`. On, as the paper has it for Atari (table 5)."""
    clip_value: Positive | None = None
    """Clip values in the value loss to the old ones plus or minus this times their scale; the larger of the clipped and
    the unclipped error counts. The scale is `value_scale`, or what `normalise_values` divides by. By default values are
    not clipped; 0.2 in the reference code."""
    target_kl: Positive | None = None
    """Skip the rest of a round's minibatches when the KL divergence from the policy that acted, by Schulman's estimate,
    exceeds 1.5 times this. By default no minibatch is skipped; OpenAI's Spinning Up has 0.01."""
    normalise: bool = True
    """Advantages, in each minibatch of two or more. On, as in the reference code."""
    sequence: Count = 16
    """Of a recurrent policy: steps of a sequence, through which the gradient goes back. A minibatch has as many as make
    up `batch_size`, each of one environment. Chosen here; 20 in RLlib (`max_seq_len`)."""

    def __post_init__(self) -> None:
        """Refuse sequences that do not divide a round, or a minibatch."""
        super().__post_init__()
        for name in ("horizon", "batch_size"):
            if self.recurrent and getattr(self, name) % self.sequence:
                raise ArgumentError(
                    f"sequence of {type(self).__name__} is {self.sequence}, and {name} {getattr(self, name)}; let it "
                    "divide that, for a recurrent policy learns from whole sequences"
                )

    def learning(self, observation_space: Space, action_space: Space, seed: int, device: str = "cpu") -> PPOLearning:
        """Make the learner's networks and update."""
        return PPOLearning(self, observation_space, action_space, seed, device)


class PPOLearning(PolicyGradientLearning):
    """The clipped surrogate loss (equation 7), a value loss and an entropy bonus (equation 9), by Adam."""

    def __init__(self, config: PPO, observation_space: Space, action_space: Space, seed: int, device: str) -> None:
        super().__init__(config, observation_space, action_space, seed, device)
        self.config = config
        self.last: Last

    def learn(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """All epochs on a round's experience."""
        config = self.config
        batch = self.prepare(batch, config)
        course = Course.of(batch)
        with torch.no_grad():
            values, following = course.split(self.net.values(self.net.features(self.seen(batch, course))))
        found = advantages(batch["reward"], values, following, course, config.gamma, config.lam)
        returns = found + values
        n = returns.numel()
        size = min(config.batch_size, n)
        if self.recurrent:
            learned = batch["obs"], batch["choice"], batch["log_prob"], found, returns, values
            minibatches = self.minibatches_of_sequences(learned, batch["state"], course.going, size)
        else:
            obs, choices = course.obs[:n], batch["choice"].flatten(0, 1)
            parts = obs, choices, batch["log_prob"].flatten(), found.flatten(), returns.flatten(), values.flatten()
            minibatches = self.minibatches(parts, size)
        for minibatch in minibatches:
            if not (yield from self.update(*minibatch)):
                break
        figures = self.figures()
        figures["losses/explained_variance"] = explained_variance(returns, values)  # over the whole round
        self.learned(batch)
        return {name: float(x) for name, x in figures.items()} | {"charts/learning_rate": self.learning_rate}

    def minibatches(self, parts: Sequence[torch.Tensor], size: int) -> Iterator[list[torch.Tensor]]:
        """The minibatches of all epochs, each epoch shuffled separately."""
        n = len(parts[0])
        for _ in range(self.config.epochs):
            order = torch.from_numpy(self.rng.permutation(n)).to(self.device)
            shuffled = [part[order] for part in parts]
            for first in range(0, n - size + 1, size):
                yield [part[first : first + size] for part in shuffled]

    def minibatches_of_sequences(
        self, parts: Sequence[torch.Tensor], state: torch.Tensor, going: torch.Tensor, size: int
    ) -> Iterator[list[Any]]:
        """The same for parts (steps, environments, ...), cut into sequences; the first part has the observations."""
        length = self.config.sequence
        cut, first, along = (
            [sequences(each, length) for each in parts],
            sequences(state, length)[0],
            sequences(going, length),
        )
        n, each = first.shape[0], size // length
        for _ in range(self.config.epochs):
            order = torch.from_numpy(self.rng.permutation(n)).to(self.device)
            for at in range(0, n - each + 1, each):
                chosen = order[at : at + each]
                obs, *others = (part[:, chosen].flatten(0, 1) for part in cut)
                yield [Stretch(obs, first[chosen], along[:, chosen]), *others]

    def update(
        self,
        obs: Any,
        actions: torch.Tensor,
        before: torch.Tensor,
        advantage: torch.Tensor,
        returns: torch.Tensor,
        values_before: torch.Tensor,
    ) -> Generator[Flat, None, bool]:
        """Update on one minibatch; returns whether there may be another one."""
        config = self.config
        worth = normalised(advantage) if config.normalise else advantage
        features = self.net.features(obs)
        log_prob, entropy = self.net.judge(features, actions)
        logs = log_prob - before
        ratio = logs.exp()
        surrogate = self.surrogate(ratio, worth).mean()
        values = self.net.values(features)
        value_loss = self.value_loss(values, values_before, returns)
        loss = config.value / self.net.scale**2 * value_loss - surrogate
        if config.entropy:
            loss = loss - config.entropy * entropy
        self.last = Last(
            -surrogate.detach(), value_loss.detach(), entropy.detach(), ratio.detach(),
            Seen(*(each.detach() for each in (features, log_prob, before, values, returns, advantage))),
        )  # fmt: skip
        if config.target_kl is not None and float((ratio.detach() - 1 - logs.detach()).mean()) > 1.5 * config.target_kl:
            return False
        yield from self.descend(loss, config.max_grad_norm)
        return True

    def surrogate(self, ratio: torch.Tensor, advantage: torch.Tensor) -> torch.Tensor:
        """What is to be as great as possible, for each step of a minibatch: equation 7."""
        clip = self.clip
        return torch.min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)

    def value_loss(self, values: torch.Tensor, before: torch.Tensor, returns: torch.Tensor) -> torch.Tensor:
        """The mean squared error; with `clip_value`, the larger one of the value's and the clipped value's."""
        if self.config.clip_value is None:
            return torch.nn.functional.mse_loss(values, returns)
        within = self.config.clip_value * self.net.scale
        near = before + (values - before).clamp(-within, within)
        return torch.maximum((values - returns) ** 2, (near - returns) ** 2).mean()

    @property
    def clip(self) -> float:
        """The clip range of the ratio in this round."""
        return self.config.clip * (self.left if self.config.anneal_clip else 1.0)

    def figures(self) -> dict[str, Any]:
        """Figures of the last minibatch."""
        last = self.last
        return {
            "losses/policy_loss": last.policy_loss, "losses/value_loss": last.value_loss,
            "losses/entropy": last.entropy,
            "losses/clipfrac": ((last.ratio - 1).abs() > self.clip).float().mean(),
            **vitals(self.net, self.flat, last.seen),
        }  # fmt: skip


class Last(NamedTuple):
    """The results of the last minibatch."""

    policy_loss: torch.Tensor
    value_loss: torch.Tensor
    entropy: torch.Tensor
    ratio: torch.Tensor
    seen: Seen
