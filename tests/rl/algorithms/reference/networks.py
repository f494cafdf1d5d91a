"""Networks as functions of one vector of parameters theta, by which the papers differentiate; all in float64."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

Tensor = torch.Tensor


class Step(NamedTuple):
    """One step of an optimizer: losses, the gradient before it is clipped, and the parameters afterwards."""

    losses: dict[str, float]
    gradient: NDArray[np.float64]
    theta: NDArray[np.float64]


def vector(theta: Any) -> Tensor:
    """Parameters by which something will be differentiated."""
    return torch.tensor(theta, dtype=torch.float64, requires_grad=True)


def gradient(loss: Tensor, theta: Tensor) -> NDArray[np.float64]:
    found: NDArray[np.float64] = torch.autograd.grad(loss, theta)[0].numpy()
    return found


def pieces(theta: Tensor, shapes: Sequence[Sequence[int]]) -> list[Tensor]:
    """Theta cut into matrices and biases."""
    return [part.view(*shape) for part, shape in zip(theta.split([*map(math.prod, shapes)]), shapes, strict=True)]


def layers(x: Tensor, weights: Sequence[Tensor], activation: Callable[[Tensor], Tensor]) -> Tensor:
    """Weights are W, b, W, b, ...; the activation is between them."""
    for i in range(0, len(weights), 2):
        x = x @ weights[i].T + weights[i + 1]
        if i + 2 < len(weights):
            x = activation(x)
    return x


@dataclass(frozen=True)
class ActorCritic:
    """pi(a|s) and V(s), networks of their own with one hidden layer of tanh; theta is (actor, log sigma, critic).

    Actions from `start` on have the softmax of what the actor gives; or, where `start` is None, they are normal around
    it. V is `scale` times what the critic gives.
    """

    shapes: Sequence[Sequence[int]]
    start: int | None
    scale: float

    def v(self, theta: Tensor, s: Tensor) -> Tensor:
        return self.scale * layers(s, pieces(theta, self.shapes)[5:], torch.tanh)[:, 0]

    @property
    def whole(self) -> ActorCritic:
        """The same one: it has no sequences."""
        return self

    def outputs(self, theta: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        """What the actor gives, and log sigma."""
        parts = pieces(theta, self.shapes)
        return layers(s, parts[:4], torch.tanh), parts[4]

    def log_pi(self, theta: Tensor, s: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
        """log pi(a|s), and the mean entropy of pi(.|s)."""
        outputs, log_sigma = self.outputs(theta, s)
        if self.start is not None:
            pi = outputs.exp() / outputs.exp().sum(1, keepdim=True)
            chosen = torch.stack([row[int(action) - self.start] for row, action in zip(pi, a, strict=True)])
            return chosen.log(), -(pi * pi.log()).sum(1).mean()
        normal = torch.distributions.Normal(outputs, log_sigma.exp())
        return normal.log_prob(a).sum(1), normal.entropy().sum(1).mean()


def critics(theta: Tensor, shapes: Sequence[Sequence[int]], s: Tensor, a: Tensor) -> list[Tensor]:
    """Q_1(s, a), Q_2(s, a), ...; theta has the matrices of all layers, then their biases, each for all critics."""
    parts = pieces(theta, shapes)
    depth = len(parts) // 2
    found = []
    for j in range(shapes[0][0]):
        x = torch.cat([s, a], 1)
        for layer in range(depth):
            x = x @ parts[layer][j] + parts[depth + layer][j]
            x = torch.relu(x) if layer < depth - 1 else x
        found.append(x[:, 0])
    return found
