"""Soft actor-critic with learned temperature: Haarnoja et al., 2018 (arXiv 1812.05905)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import nn

from reactors.rl.algorithms.actor_and_critics import ActorAndCritics
from reactors.rl.algorithms.continuous import ActionBox, Continuous
from reactors.rl.bounded import Positive
from reactors.rl.contract.algorithm import Policy
from reactors.rl.networks.layers import Adam, Flat, Inference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from reactors.rl.envs.spaces import Space
    from reactors.rl.networks.layers import Descent

LEAST, MOST = -20.0, 2.0
"""ActionBox of the logarithm of the standard deviation, as in the authors' code."""


@dataclass(frozen=True, kw_only=True)
class SAC(Continuous):
    """Hyperparameters; the defaults are the paper's (table 1), and Stable-Baselines3's.

    >>> SAC(temperature=0.2).temperature
    0.2
    """

    name: ClassVar[str] = "SAC"

    gamma: float = 0.99
    """Stable-Baselines3's."""
    learning_starts: int = 100
    """Stable-Baselines3's."""
    temperature: Positive | None = None
    """Weight of the entropy; learned by default, as in the paper's section 5."""
    target_entropy: float | None = None
    """The entropy for which the temperature is learned; by default minus the number of actions (appendix D)."""

    def network(self, observation_space: Space, action_space: Space) -> nn.Sequential:
        """From observations to means and log standard deviations."""
        return self.actor(observation_space, 2 * ActionBox(action_space).size)

    def policy(self, observation_space: Space, action_space: Space) -> SquashedPolicy:
        """Make a policy for an actor."""
        return SquashedPolicy(self, self.network(observation_space, action_space), action_space)

    def learning(self, observation_space: Space, action_space: Space, seed: int, device: str = "cpu") -> SACLearning:
        """Make the learner's networks and update."""
        return SACLearning(self, observation_space, action_space, seed, device)


class SquashedPolicy(Policy):
    """Samples from a normal distribution, squashed into the bounds; random actions until `learning_starts`."""

    def __init__(self, config: SAC, actor: nn.Module, action_space: Space) -> None:
        self.infer, self.bounds, self.config = Inference(actor), ActionBox(action_space), config
        self.size = self.infer.size

    def load(self, weights: NDArray[np.float32]) -> None:
        """Take new weights."""
        self.infer.load(weights)

    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """Sample an action for each observation."""
        n, size = len(observations), self.bounds.size
        if steps < self.config.learning_starts:
            return self.bounds.outwards(rng.uniform(-1, 1, (n, size)).astype(np.float32)), {}
        outputs = self.infer(observations)
        noise = np.exp(np.clip(outputs[:, size:], LEAST, MOST)) * rng.standard_normal((n, size), np.float32)
        return self.bounds.outwards(np.tanh(outputs[:, :size] + noise)), {}

    def greedy(self, observations: NDArray[Any]) -> NDArray[Any]:
        """The mean of the normal distribution, squashed into the bounds of the actions."""
        return self.bounds.outwards(np.tanh(self.infer(observations)[:, : self.bounds.size]))


class SACLearning(ActorAndCritics):
    """Algorithm 1, without the acting: two critics, the actor, and the temperature, each optimized by Adam."""

    def __init__(self, config: SAC, observation_space: Space, action_space: Space, seed: int, device: str) -> None:
        super().__init__(config, observation_space, action_space, seed, device, critics=2)
        first = 1.0 if config.temperature is None else config.temperature
        self.log_temperature = nn.Parameter(torch.tensor([math.log(first)], device=device))
        self.flat["temperature"] = Flat([self.log_temperature])
        if config.temperature is None:
            self.optimizers["temperature"] = Adam(self.flat["temperature"], config.learning_rate)
        wanted = config.target_entropy
        self.target_entropy = -float(self.bounds.size) if wanted is None else wanted

    @property
    def of_actor(self) -> tuple[Flat, Flat]:
        """Also the temperature, which belongs to the actor's half."""
        return self.flat["actor"], self.flat["temperature"]

    def act(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Actions between -1 and 1, and their log-probabilities (appendix C)."""
        mean, log_std = self.actor(obs).chunk(2, 1)
        log_std = log_std.clamp(LEAST, MOST)
        noise = torch.empty_like(mean).normal_(generator=self.noise)
        draw = torch.addcmul(mean, log_std.exp(), noise)
        # log(1 - tanh(u)^2) = 2 (log 2 - u - softplus(-2u)), which does not lose digits where tanh is near 1
        squash = 2 * (math.log(2) - draw - nn.functional.softplus(-2 * draw))
        constant = 0.5 * math.log(2 * math.pi)
        return draw.tanh(), (-0.5 * noise.square() - log_std - constant - squash).sum(1)

    def improve_critics(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """Equations 5 and 3, and the moving average of the target's weights."""
        following = self.inputs(batch["next_obs"])
        with torch.no_grad():
            actions, log_prob = self.act(following)
            temperature = self.log_temperature.exp()
            best = torch.addcmul(self.target_critics(following, actions).amin(0), temperature, log_prob, value=-1)
        squares, figures = self.squares(self.inputs(batch["obs"]), batch, best)
        loss = 0.5 * squares
        yield from self.descend("critics", loss)
        self.follow("target_critics", "critics")
        return figures | {"losses/qf_loss": loss.detach()}

    def improve_actor(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """Equation 7; and equation 18 on the log temperature, as in the authors' code."""
        obs = self.inputs(batch["obs"])
        temperature = self.log_temperature.detach().exp()
        self.critics.requires_grad_(False)
        actions, log_prob = self.act(obs)
        loss = (temperature * log_prob - self.critics(obs, actions).amin(0)).mean()
        yield from self.descend("actor", loss)
        self.critics.requires_grad_(True)
        if "temperature" in self.optimizers:
            flat = self.flat["temperature"]
            flat.weights.grad = -(log_prob.detach().mean() + self.target_entropy).view(1)
            yield flat
            self.optimizers["temperature"].step()
        return {
            "losses/actor_loss": loss.detach(), "losses/alpha": temperature, "losses/entropy": -log_prob.detach()
        }  # fmt: skip

    def state_dict(self) -> dict[str, Any]:
        """Also the temperature."""
        return super().state_dict() | {"log_temperature": self.log_temperature.detach().clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a `state_dict`."""
        super().load_state_dict(state)
        with torch.no_grad():
            self.log_temperature.copy_(state["log_temperature"])
