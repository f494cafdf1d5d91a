"""What do policies and critics compute, in torch where they learn and in NumPy where they act?

For one observation, or a few, NumPy evaluates a small network several times faster than torch does, whose calls cost
more than the arithmetic. So a network that is a chain of linear layers acts in NumPy, from a flat vector of weights
that travels over a port; any other acts in torch.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[Any]"
_NUMPY: dict[type[nn.Module], Callable[[Array], Array]] = {
    nn.ReLU: lambda x: np.maximum(x, 0, out=x),
    nn.Tanh: lambda x: np.tanh(x, out=x),
}


def mlp(sizes: Sequence[int], activation: type[nn.Module] = nn.Tanh, *, gain: float | None = None) -> nn.Sequential:
    """Linear layers of these sizes with an activation between them.

    With `gain`, weights are orthogonal with gain sqrt(2), the last layer's with `gain`, and biases zero, as is usual
    for policy gradients (Engstrom et al., "Implementation Matters in Deep RL", 2020).

    >>> mlp([4, 8, 2])
    Sequential(
      (0): Linear(in_features=4, out_features=8, bias=True)
      (1): Tanh()
      (2): Linear(in_features=8, out_features=2, bias=True)
    )
    """
    layers: list[nn.Module] = []
    for i, (before, after) in enumerate(pairwise(sizes)):
        linear = nn.Linear(before, after)
        if gain is not None:
            nn.init.orthogonal_(linear.weight, 2**0.5 if i < len(sizes) - 2 else gain)
            nn.init.zeros_(linear.bias)
        layers += [linear] if i == len(sizes) - 2 else [linear, activation()]
    return nn.Sequential(*layers)


class NipsTorso(nn.Sequential):
    """Convolutions of Mnih et al., 2013, as in PAAC (1705.04862, section 4): 84x84 frames to 256 features."""

    features = 256

    def __init__(self, frames: int = 4) -> None:
        super().__init__(
            nn.Conv2d(frames, 16, 8, 4), nn.ReLU(),
            nn.Conv2d(16, 32, 4, 2), nn.ReLU(),
            nn.Flatten(), nn.Linear(2592, 256), nn.ReLU(),
        )  # fmt: skip

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Bytes are made numbers from 0 to 1."""
        result: torch.Tensor = super().forward(input.float() / 255 if input.dtype == torch.uint8 else input)  # type: ignore[no-untyped-call]
        return result


class NatureTorso(nn.Sequential):
    """Convolutions of Mnih et al., Nature 2015: 84x84 frames to 512 features."""

    features = 512

    def __init__(self, frames: int = 4) -> None:
        super().__init__(
            nn.Conv2d(frames, 32, 8, 4), nn.ReLU(),
            nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
            nn.Conv2d(64, 64, 3, 1), nn.ReLU(),
            nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(),
        )  # fmt: skip

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Bytes are made numbers from 0 to 1."""
        result: torch.Tensor = super().forward(input.float() / 255 if input.dtype == torch.uint8 else input)  # type: ignore[no-untyped-call]
        return result


def flat(net: nn.Module) -> NDArray[np.float32]:
    """All parameters of a network as one vector."""
    with torch.no_grad():
        vector: NDArray[np.float32] = nn.utils.parameters_to_vector(net.parameters()).cpu().numpy()
    return vector


def _has_bias(layer: nn.Module) -> bool:
    return type(layer) is nn.Linear and isinstance(layer.bias, nn.Parameter)


class Inference:
    """A network where it acts: weights come as the vector that `flat` makes, inputs and outputs are NumPy arrays.

    >>> net = mlp([4, 8, 2])
    >>> fast = Inference(net)
    >>> fast.load(flat(net))
    >>> x = np.ones((3, 4), np.float32)
    >>> bool(np.allclose(fast(x), net(torch.from_numpy(x)).detach().numpy(), atol=1e-6))
    True
    """

    def __init__(self, net: nn.Module) -> None:
        self.net = net
        self.size = sum(p.numel() for p in net.parameters())
        chain = [*net] if isinstance(net, nn.Sequential) else []
        self.in_numpy = bool(chain) and all(type(layer) in _NUMPY or _has_bias(layer) for layer in chain)
        self._steps: list[Any] = []

    def load(self, weights: NDArray[np.float32]) -> None:
        """Take on these weights, of which a copy is made."""
        if not self.in_numpy:
            with torch.no_grad():
                nn.utils.vector_to_parameters(torch.tensor(weights), self.net.parameters())
            return
        at, self._steps = 0, []
        chain: Any = self.net
        for layer in chain:
            if isinstance(layer, nn.Linear):
                n, m = layer.out_features, layer.in_features
                kernel = weights[at : at + n * m].reshape(n, m).T.copy()
                at += n * m
                bias = weights[at : at + n].copy()
                at += n
                self._steps.append((kernel, bias))
            else:
                self._steps.append(_NUMPY[type(layer)])

    def __call__(self, x: Array) -> Array:
        """The outputs for a batch of inputs."""
        if not self.in_numpy:
            with torch.inference_mode():
                result: Array = self.net(torch.from_numpy(np.ascontiguousarray(x))).numpy()
            return result
        for step in self._steps:
            if isinstance(step, tuple):
                x = x @ step[0]
                x += step[1]
            else:
                x = step(x)
        return x
