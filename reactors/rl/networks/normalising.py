"""How do networks see numbers of very different sizes alike? By their running mean and deviation.

The statistics are of what all environments gave so far. They lie beside the weights, so they travel, are saved and
served with them, and an actor normalises by exactly those that the learner had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from reactors.rl.encoding.state import StateError, count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

CLIP = 10.0
"""What is normalised lies within this on either side: OpenAI Baselines, `VecNormalize`."""


class Normalise(nn.Module):
    """Observations (n, size) less their mean, over their deviation; both are set, and not learned.

    >>> layer = Normalise(2)
    >>> layer.set(np.array([1.0, 0.0]), np.array([4.0, 1.0]))
    >>> layer(torch.tensor([[3.0, 50.0]])).tolist()
    [[1.0, 10.0]]
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.mean = nn.Parameter(torch.zeros(size), requires_grad=False)
        self.scale = nn.Parameter(torch.ones(size), requires_grad=False)

    def set(self, mean: NDArray[np.float64], variance: NDArray[np.float64]) -> None:
        """Normalise by these from now on, float64 (size,)."""
        self.mean.data.copy_(torch.from_numpy(mean))
        self.scale.data.copy_(torch.from_numpy(1 / np.sqrt(variance + 1e-8)))

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The same numbers, normalised."""
        return ((input - self.mean) * self.scale).clamp(-CLIP, CLIP)


def normalised(x: NDArray[Any], mean: NDArray[np.float32], scale: NDArray[np.float32]) -> NDArray[Any]:
    """What `Normalise` makes of x, in NumPy."""
    within: NDArray[Any] = np.clip((x - mean) * scale, np.float32(-CLIP), np.float32(CLIP))
    return within


class RunningMoments:
    """Mean and variance of all rows so far (Chan, Golub and LeVeque, 1979), float64 (size,).

    >>> moments = RunningMoments(1)
    >>> for part in ([[1.0], [2.0]], [[3.0], [4.0], [5.0]]):
    ...     moments.add(np.array(part))
    >>> moments.mean.tolist(), moments.variance.tolist()
    ([3.0], [2.0])
    """

    def __init__(self, size: int) -> None:
        self.count = 0
        self.mean, self.squares = np.zeros(size), np.zeros(size)

    @property
    def variance(self) -> NDArray[np.float64]:
        """Of all so far; 1 before there were any."""
        return self.squares / self.count if self.count else np.ones_like(self.squares)

    def add(self, rows: NDArray[Any]) -> None:
        """Some more rows, (n, size), one or more."""
        rows = rows.astype(np.float64)
        n, mean = len(rows), rows.mean(0)
        apart = mean - self.mean
        total = self.count + n
        self.squares += ((rows - mean) ** 2).sum(0) + apart**2 * (self.count * n / total)
        self.mean += apart * (n / total)
        self.count = total

    def state_dict(self) -> dict[str, Any]:
        """Count, mean and sums of squares."""
        return {"count": self.count, "mean": self.mean, "squares": self.squares}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        if not (state["squares"] >= 0).all():
            raise StateError(f"{state!r} is of no mean and variance")
        self.count = count(state["count"])
        self.mean[:], self.squares[:] = state["mean"], state["squares"]


class RewardScale:
    """Divides rewards by the deviation of the discounted return, of which each environment has a sum that goes on.

    As OpenAI Baselines' `VecNormalize` does it: the mean stays, so that the sign of a reward does.

    >>> scale = RewardScale(1, gamma=0.5)
    >>> scale(np.array([[2.0], [2.0]]), np.array([[False], [False]])).ravel().round(3).tolist()
    [4.0, 4.0]
    """

    def __init__(self, environments: int, gamma: float) -> None:
        self.gamma, self.sums, self.moments = gamma, np.zeros(environments), RunningMoments(1)

    def __call__(self, rewards: NDArray[Any], ended: NDArray[np.bool_]) -> NDArray[np.float32]:
        """The rewards of a round, (steps, environments), and where episodes ended."""
        sums = np.empty(rewards.shape)
        for t, reward in enumerate(rewards):
            sums[t] = self.sums = self.sums * self.gamma + reward
            self.sums = np.where(ended[t], 0.0, self.sums)
        self.moments.add(sums.reshape(-1, 1))
        scaled: NDArray[np.float64] = np.clip(rewards / np.sqrt(self.moments.variance + 1e-8), -CLIP, CLIP)
        return scaled.astype(np.float32)

    def state_dict(self) -> dict[str, Any]:
        """The sums, and their moments."""
        return {"sums": self.sums, "moments": self.moments.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self.sums = np.array(state["sums"])
        self.moments.load_state_dict(state["moments"])
