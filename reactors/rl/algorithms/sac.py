"""Soft actor-critic with learned temperature: Haarnoja et al., 2018 (arXiv 1812.05905)."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import nn

from reactors.rl.algorithms.algorithm import Learning, Policy, seeded
from reactors.rl.algorithms.continuous import Bounds, Continuous, Critics, vectors
from reactors.rl.algorithms.hyperparameters import Positive
from reactors.rl.networks import Adam, Flat, Inference, inputs_of, mlp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from reactors.rl.algorithms.continuous import Space

LEAST, MOST = -20.0, 2.0
"""Bounds of the logarithm of the standard deviation, as in the authors' code."""


@dataclass(frozen=True, kw_only=True)
class SAC(Continuous):
    """Hyperparameters; the defaults are Stable-Baselines3's, with RL Zoo's learning rate for Pendulum-v1.

    >>> SAC(temperature=0.2).temperature
    0.2
    """

    name: ClassVar[str] = "SAC"

    gamma: float = 0.99
    learning_starts: int = 100
    temperature: Positive | None = None
    """Weight of the entropy; learned by default."""
    target_entropy: float | None = None
    """What it is learned for; minus the number of actions by default (appendix D)."""

    def policy(self, observation_space: Space, action_space: Space) -> SquashedPolicy:
        """One for an actor."""
        return SquashedPolicy(self, actor_network(self, observation_space, action_space), action_space)

    def learning(self, observation_space: Space, action_space: Space, seed: int, device: str = "cpu") -> SACLearning:
        """One for the learner."""
        return SACLearning(self, observation_space, action_space, seed, device)


def actor_network(config: SAC, observation_space: Space, action_space: Space) -> nn.Sequential:
    """Observations to means and logarithms of standard deviations."""
    return mlp([inputs_of(observation_space), *config.hidden, 2 * Bounds(action_space).size], nn.ReLU)


class SquashedPolicy(Policy):
    """Draws from a normal distribution and squashes that into the bounds; random actions until `learning_starts`."""

    def __init__(self, config: SAC, actor: nn.Module, action_space: Space) -> None:
        self.infer, self.bounds, self.config = Inference(actor), Bounds(action_space), config
        self.size = self.infer.size

    def load(self, weights: NDArray[np.float32]) -> None:
        """Take on new weights."""
        self.infer.load(weights)

    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """A draw for each."""
        n, size = len(observations), self.bounds.size
        if steps < self.config.learning_starts:
            return self.bounds.outwards(rng.uniform(-1, 1, (n, size)).astype(np.float32)), {}
        outputs = self.infer(observations)
        noise = np.exp(np.clip(outputs[:, size:], LEAST, MOST)) * rng.standard_normal((n, size), np.float32)
        return self.bounds.outwards(np.tanh(outputs[:, :size] + noise)), {}

    def greedy(self, observations: NDArray[Any]) -> NDArray[Any]:
        """The mean, squashed."""
        return self.bounds.outwards(np.tanh(self.infer(observations)[:, : self.bounds.size]))


class SACLearning(Learning):
    """Algorithm 1, but for acting: two critics, the actor, and the temperature, each by Adam."""

    def __init__(self, config: SAC, observation_space: Space, action_space: Space, seed: int, device: str) -> None:
        self.config, self.bounds = config, Bounds(action_space)
        seeded(seed)
        self.noise = torch.Generator(device).manual_seed(seed)
        self.actor = actor_network(config, observation_space, action_space).to(device)
        self.critics = Critics(2, inputs_of(observation_space) + self.bounds.size, config.hidden).to(device)
        self.target = deepcopy(self.critics).requires_grad_(False)
        self.flat = Flat(self.actor.parameters()), Flat(self.critics.parameters())
        self.old = Flat(self.target.parameters())
        first = 1.0 if config.temperature is None else config.temperature
        self.log_temperature = nn.Parameter(torch.tensor([math.log(first)], device=device))
        wanted = config.target_entropy
        self.target_entropy = -float(self.bounds.size) if wanted is None else wanted
        self.temper = Flat([self.log_temperature])
        self.optimizers = [Adam(each, config.learning_rate) for each in (*self.flat, self.temper)]

    def weights(self) -> NDArray[np.float32]:
        """The actor's."""
        found: NDArray[np.float32] = self.flat[0].weights.detach().cpu().numpy().copy()
        return found

    def act(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Actions between -1 and 1, and the logarithms of their probabilities (appendix C)."""
        mean, log_std = self.actor(obs).chunk(2, 1)
        log_std = log_std.clamp(LEAST, MOST)
        noise = torch.empty_like(mean).normal_(generator=self.noise)
        draw = torch.addcmul(mean, log_std.exp(), noise)
        # log(1 - tanh(u)^2) = 2 (log 2 - u - softplus(-2u)), which does not lose digits where tanh is near 1
        squash = 2 * (math.log(2) - draw - nn.functional.softplus(-2 * draw))
        constant = 0.5 * math.log(2 * math.pi)
        return draw.tanh(), (-0.5 * noise.square() - log_std - constant - squash).sum(1)

    def learn(self, batch: Mapping[str, torch.Tensor]) -> dict[str, Any]:
        """One update; `errors` are the absolute temporal-difference errors, the mean of both critics."""
        config = self.config
        obs, following = vectors(batch["obs"]), vectors(batch["next_obs"])
        temperature = self.log_temperature.detach().exp()
        discount: Any = batch.get("discount", config.gamma)
        with torch.no_grad():  # equations 5 and 3
            actions, log_prob = self.act(following)
            best = torch.addcmul(self.target(following, actions).amin(0), temperature, log_prob, value=-1)
            goal = torch.addcmul(batch["reward"], discount * ~batch["terminated"], best)
        errors = self.critics(obs, self.bounds.inwards(batch["action"])) - goal
        losses = errors.square() * batch["weights"] if config.prioritized else errors.square()
        critic_loss = 0.5 * losses.mean(1).sum()
        self.descend(1, critic_loss)
        self.critics.requires_grad_(False)
        actions, log_prob = self.act(obs)  # equation 7
        actor_loss = (temperature * log_prob - self.critics(obs, actions).amin(0)).mean()
        self.descend(0, actor_loss)
        self.critics.requires_grad_(True)
        if config.temperature is None:  # equation 18, by the logarithm, as in the authors' code
            self.temper.weights.grad = -(log_prob.detach().mean() + self.target_entropy).view(1)
            self.optimizers[2].step()
        self.old.weights.data.lerp_(self.flat[1].weights.data, config.tau)
        figures = {
            "losses/qf_loss": critic_loss.detach(), "losses/actor_loss": actor_loss.detach(),
            "losses/alpha": temperature, "losses/entropy": -log_prob.detach(),
        }  # fmt: skip
        return figures | {"errors": errors.detach().abs().mean(0)} if config.prioritized else figures

    def descend(self, which: int, loss: torch.Tensor) -> None:
        """One step of an optimizer."""
        self.flat[which].clear()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizers[which].step()

    def state_dict(self) -> dict[str, Any]:
        """Networks, optimizers, temperature, generator."""
        return {
            "actor": self.actor.state_dict(), "critics": self.critics.state_dict(), "target": self.target.state_dict(),
            "log_temperature": self.log_temperature.detach().clone(),
            "optimizers": [each.state_dict() for each in self.optimizers], "noise": self.noise.get_state(),
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from there."""
        for name in ("actor", "critics", "target"):
            getattr(self, name).load_state_dict(state[name])
        with torch.no_grad():
            self.log_temperature.copy_(state["log_temperature"])
        for optimizer, its in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(its)
        self.noise.set_state(state["noise"])
