"""What policy-gradient algorithms share: a policy of categorical or normal actions, and a value function."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import gymnasium as gym
import numpy as np
import torch
from torch import nn

from reactors.rl.contract.algorithm import Policy
from reactors.rl.envs.spaces import within
from reactors.rl.networks.layers import Inference, Torso, in_a_row, inputs_of, mlp, torso
from reactors.rl.networks.normalising import normaliser

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from reactors.rl.envs.spaces import Space

LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
Activation: TypeAlias = Literal["tanh", "relu"]
ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU}


class ActorCritic(nn.Module):
    """Two networks for vectors, or linear heads on one torso, as for frames.

    `actor` gives logits of a `Discrete` space, or the mean of a normal distribution in a `Box`, whose standard
    deviation is a parameter of its own, whose logarithm begins at `log_std`. With `normalise` both see observations by
    their running mean and deviation, frames by the mean. `acting` is what of it chooses actions. What a critic that is
    a network of its own gives is multiplied by `scale`, and begins as small as without. All layers begin orthogonal, as
    in PPO's reference code, but for those of a torso that a function makes.
    """

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        hidden: Sequence[int],
        kind: Torso = None,
        *,
        scale: float = 1.0,
        activation: Activation = "tanh",
        log_std: float = 0.0,
        normalise: bool = False,
    ) -> None:
        super().__init__()
        self.discrete = isinstance(action_space, gym.spaces.Discrete)
        n = int(action_space.n) if isinstance(action_space, gym.spaces.Discrete) else int(action_space.shape[0])  # type: ignore[index]
        self.start = int(action_space.start) if isinstance(action_space, gym.spaces.Discrete) else 0
        seeing: Any = torso(kind, observation_space)
        if seeing is not None and not callable(kind):  # what a function makes begins as its author wants
            seeing.orthogonal()
        self.torso = seeing
        inputs: Any = inputs_of(observation_space) if self.torso is None else self.torso.features
        between = hidden if self.torso is None else getattr(self.torso, "hidden", ())
        self.normalise = normaliser(observation_space) if normalise else None
        self.actor = mlp([inputs, *between, n], ACTIVATIONS[activation], gain=0.01)
        self.scale = scale if self.torso is None else 1.0
        self.critic = mlp([inputs, *between, 1], ACTIVATIONS[activation], gain=1 / self.scale)
        self.log_std = nn.Parameter(torch.full((0 if self.discrete else n,), float(log_std)))
        self.acting = in_a_row(self.normalise, self.torso, self.actor)

    def parameters_in_order(self) -> list[nn.Parameter]:
        """Those that act, which `ActorPolicy` loads, before those that do not."""
        acting = [*self.acting.parameters(), self.log_std]
        known = {id(p) for p in acting}
        return [*acting, *(p for p in self.parameters() if id(p) not in known)]

    @property
    def acting_size(self) -> int:
        """How many weights act."""
        return sum(p.numel() for p in self.acting.parameters()) + len(self.log_std)

    def features(self, obs: torch.Tensor) -> torch.Tensor:
        """What both heads see of observations."""
        seen: torch.Tensor = obs.flatten(1).float() if self.torso is None else obs
        seen = seen if self.normalise is None else self.normalise(seen)
        return seen if self.torso is None else self.torso(seen)

    def values(self, features: torch.Tensor) -> torch.Tensor:
        """The value of each."""
        found: torch.Tensor = self.critic(features).squeeze(1)
        return found if self.scale == 1 else self.scale * found

    def judge(self, features: torch.Tensor, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logarithms of the probabilities of actions, and the mean entropy."""
        outputs = self.actor(features)
        if self.discrete:
            logs = torch.log_softmax(outputs, 1)
            entropy = (logs.exp() * logs).sum() / -len(logs)
            return logs.gather(1, actions[:, None] - self.start).squeeze(1), entropy
        deviation = (actions - outputs) / self.log_std.exp()
        log_prob = (-0.5 * deviation**2 - self.log_std - LOG_SQRT_2PI).sum(1)
        return log_prob, (self.log_std + 0.5 + LOG_SQRT_2PI).sum()


class ActorPolicy(Policy):
    """Draws from the distribution that the actor network gives, and remembers the action's `log_prob`.

    A continuous action goes to the environment clipped to the space's bounds; `draw` is what it was before that, to
    which the probability belongs.
    """

    def __init__(self, net: ActorCritic, action_space: Space) -> None:
        self.infer = Inference(net.acting)
        self.discrete, self.start, self.size = net.discrete, net.start, net.acting_size
        self.box = action_space if isinstance(action_space, gym.spaces.Box) else None

    def load(self, weights: NDArray[np.float32]) -> None:
        """Take on new weights."""
        self.infer.load(weights[: self.infer.size])
        self.log_std = weights[self.infer.size :].copy()

    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """A draw for each."""
        del steps
        outputs = self.infer(observations)
        if self.box is not None:
            noise = rng.standard_normal(outputs.shape, np.float32)
            log_prob = (-0.5 * noise**2 - self.log_std - np.float32(LOG_SQRT_2PI)).sum(1)
            draw = outputs + np.exp(self.log_std) * noise
            return within(self.box, draw), {"log_prob": log_prob, "draw": draw}
        outputs -= outputs.max(1, keepdims=True)
        odds = np.exp(outputs)
        sums = odds.cumsum(1)
        total = sums[:, -1]
        chosen = (sums < (rng.random(len(odds), np.float32) * total)[:, None]).sum(1)
        rows = np.arange(len(odds))
        return chosen + self.start, {"log_prob": outputs[rows, chosen] - np.log(total)}

    def greedy(self, observations: NDArray[Any]) -> NDArray[Any]:
        """The most probable action, or the mean."""
        outputs = self.infer(observations)
        best: NDArray[Any] = outputs.argmax(1) + self.start if self.box is None else within(self.box, outputs)
        return best
