"""Steps of optimizers, as their papers write them, on one vector of parameters in float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Vector = np.ndarray[Any, np.dtype[np.float64]]


@dataclass
class Adam:
    """Kingma and Ba, 2015 (arXiv 1412.6980), algorithm 1."""

    eps: float
    beta1: float = 0.9
    beta2: float = 0.999
    t: int = 0
    m: Any = 0.0
    v: Any = 0.0

    def step(self, theta: Vector, g: Vector, alpha: float) -> Vector:
        self.t += 1
        self.m = self.beta1 * self.m + (1 - self.beta1) * g
        self.v = self.beta2 * self.v + (1 - self.beta2) * g**2
        m_hat = self.m / (1 - self.beta1**self.t)
        v_hat = self.v / (1 - self.beta2**self.t)
        return theta - alpha * m_hat / (np.sqrt(v_hat) + self.eps)


@dataclass
class RMSProp:
    """Tieleman and Hinton, 2012, lecture 6.5; `inner` is under the root, which TensorFlow has instead of `eps`."""

    eps: float
    decay: float
    inner: float = 0.0
    mean_square: Any = 0.0

    def step(self, theta: Vector, g: Vector, alpha: float) -> Vector:
        self.mean_square = self.decay * self.mean_square + (1 - self.decay) * g**2
        return theta - alpha * g / (np.sqrt(self.mean_square + self.inner) + self.eps)


def clipped(g: Vector, norm: float) -> Vector:
    """Pascanu et al., 2013 (arXiv 1211.5063), algorithm 1."""
    size = np.linalg.norm(g)
    return g * norm / size if size > norm else g
