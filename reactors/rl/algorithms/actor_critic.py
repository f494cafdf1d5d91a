"""What policy-gradient algorithms share: a policy of categorical or normal actions, and a value function."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import torch
from torch import nn

from reactors.rl.algorithms.algorithm import Policy
from reactors.rl.networks import Inference, flat, mlp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Space = gym.Space[Any]
LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


class ActorCritic(nn.Module):
    """Two networks for vectors, or heads on one convolutional torso for frames.

    `actor` gives logits of a `Discrete` space, or the mean of a normal distribution in a `Box`, whose standard
    deviation is a parameter of its own.
    """

    def __init__(self, observation_space: Space, action_space: Space, hidden: Sequence[int]) -> None:
        super().__init__()
        self.discrete = isinstance(action_space, gym.spaces.Discrete)
        n = int(action_space.n) if isinstance(action_space, gym.spaces.Discrete) else int(action_space.shape[0])  # type: ignore[index]
        inputs = math.prod(observation_space.shape or ())
        self.actor = mlp([inputs, *hidden, n], gain=0.01)
        self.critic = mlp([inputs, *hidden, 1], gain=1.0)
        self.log_std = nn.Parameter(torch.zeros(0 if self.discrete else n))

    def value(self, obs: torch.Tensor) -> torch.Tensor:
        """The value of each observation."""
        values: torch.Tensor = self.critic(obs.flatten(1))[:, 0]
        return values

    def evaluate(self, obs: torch.Tensor, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logarithms of the probabilities of actions, and entropies."""
        outputs = self.actor(obs.flatten(1))
        if self.discrete:
            logs = torch.log_softmax(outputs, 1)
            return logs.gather(1, actions[:, None])[:, 0], -(logs.exp() * logs).sum(1)
        deviation = (actions - outputs) / self.log_std.exp()
        log_prob = (-0.5 * deviation**2 - self.log_std - LOG_SQRT_2PI).sum(1)
        entropy = (self.log_std + 0.5 + LOG_SQRT_2PI).sum().expand(len(obs))
        return log_prob, entropy


def acting_weights(net: ActorCritic) -> NDArray[np.float32]:
    """What `ActorPolicy` loads."""
    return np.concatenate([flat(net.actor), net.log_std.detach().cpu().numpy()])


class ActorPolicy(Policy):
    """Draws from the distribution that the actor network gives, and remembers the action's `log_prob`."""

    def __init__(self, net: ActorCritic, action_space: Space) -> None:
        self.infer = Inference(net.actor)
        self.discrete, self.space = net.discrete, action_space
        self.size = self.infer.size + len(net.log_std)
        self.start = int(action_space.start) if isinstance(action_space, gym.spaces.Discrete) else 0

    def load(self, weights: NDArray[np.float32]) -> None:
        """Take on new weights."""
        self.infer.load(weights[: self.infer.size])
        self.log_std = weights[self.infer.size :].copy()

    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """A draw for each."""
        del steps
        outputs = self.infer(observations.reshape(len(observations), -1))
        if not self.discrete:
            noise = rng.standard_normal(outputs.shape, np.float32)
            log_prob = (-0.5 * noise**2 - self.log_std - np.float32(LOG_SQRT_2PI)).sum(1)
            return outputs + np.exp(self.log_std) * noise, {"log_prob": log_prob}
        outputs -= outputs.max(1, keepdims=True)
        odds = np.exp(outputs)
        sums = odds.cumsum(1)
        total = sums[:, -1]
        chosen = (sums < (rng.random(len(odds), np.float32) * total)[:, None]).sum(1)
        rows = np.arange(len(odds))
        return chosen + self.start, {"log_prob": outputs[rows, chosen] - np.log(total)}

    def greedy(self, observations: NDArray[Any]) -> NDArray[Any]:
        """The most probable action, or the mean."""
        outputs = self.infer(observations.reshape(len(observations), -1))
        best: NDArray[Any] = outputs.argmax(1) + self.start if self.discrete else outputs
        return best


def advantages(
    net: ActorCritic, batch: Any, gamma: float, lam: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Generalised advantages, returns and values of (steps, environments) of experience (Schulman et al., 2016).

    A truncated episode goes on in the value of its true next observation; a terminated one is worth nothing more.
    """
    steps, envs = batch["reward"].shape
    with torch.no_grad():
        values = net.value(batch["obs"].flatten(0, 1)).reshape(steps, envs)
        following = torch.empty_like(values)
        following[:-1] = values[1:]
        following[-1] = net.value(batch["next_obs"][-1])
        cut = batch["truncated"].clone()
        cut[-1] = False  # it has its true next observation already
        if cut.any():
            following[cut] = net.value(batch["next_obs"][cut])
    alive = (~batch["terminated"]).float()
    going = alive * (~batch["truncated"]).float()
    deltas = batch["reward"] + gamma * alive * following - values
    found = torch.empty_like(values)
    last = torch.zeros(envs)
    decay = gamma * lam * going
    for t in range(steps - 1, -1, -1):
        last = deltas[t] + decay[t] * last
        found[t] = last
    return found, found + values, values
