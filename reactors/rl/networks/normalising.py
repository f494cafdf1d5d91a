"""How do networks handle inputs of very different scales, and frames that are nearly the same?

Inputs are normalised by their running mean and deviation, frames by the mean alone. The statistics are of all
observations so far, from all environments. They are stored with the weights, so they are sent, saved and served
together, and an actor normalises with exactly the statistics that the learner had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from gymnasium import spaces
from torch import nn

from reactors.rl.encoding.state import StateError, count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gymnasium import Space
    from numpy.typing import NDArray

CLIP = 10.0
"""What is normalised lies within this on either side: OpenAI Baselines, `VecNormalize`."""
WIDEST = 2.0**16
"""What has wider bounds, as those of a dtype, has none that say how bright a frame is."""


class Normalise(nn.Module):
    """Observations, as vectors (n, size), minus their mean, divided by their deviation; both are set, and not learned.

    >>> layer, moments = Normalise(1), RunningMoments(1)
    >>> moments.add(np.array([[1.0], [3.0]]))
    >>> layer.follow(moments)
    >>> layer(torch.tensor([[4.0], [50.0]])).tolist()
    [[2.0], [10.0]]
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.mean = nn.Parameter(torch.zeros(size), requires_grad=False)
        self.scale = nn.Parameter(torch.ones(size), requires_grad=False)

    def statistics(self) -> RunningMoments:
        """New statistics to follow."""
        return RunningMoments(self.size)

    def follow(self, moments: RunningMoments) -> None:
        """Normalise with these statistics from now on."""
        self.mean.data.copy_(torch.from_numpy(moments.mean))
        self.scale.data.copy_(torch.from_numpy(1 / np.sqrt(moments.variance + 1e-8)))

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The normalised observations, float32."""
        return ((input.flatten(1).float() - self.mean) * self.scale).clamp(-CLIP, CLIP)


class Centre(nn.Module):
    """Frames (n, *shape) minus their mean, in quarters of their range; without a mean they are 0 to 1.

    Otherwise, convolutions see mostly what is the same in all frames. Their units are then always 0, or never, and what
    moves hardly counts.

    >>> layer = Centre((1, 1, 2), whole=255)
    >>> layer(torch.tensor([[[[255, 51]]]], dtype=torch.uint8)).flatten().numpy().round(3).tolist()
    [1.0, 0.20000000298023224]
    >>> mean = layer.statistics()
    >>> mean.add(np.array([[[[100, 0]]], [[[200, 0]]]], np.uint8))
    >>> layer.follow(mean)
    >>> layer(torch.tensor([[[[150, 51]]]], dtype=torch.uint8)).flatten().numpy().round(3).tolist()
    [0.0, 0.800000011920929]
    """

    def __init__(self, shape: tuple[int, ...], whole: float) -> None:
        super().__init__()
        self.shape, self.whole = shape, whole
        self.mean = nn.Parameter(torch.zeros(shape), requires_grad=False)
        self.scale = nn.Parameter(torch.full((1,), 1 / whole), requires_grad=False)

    def statistics(self) -> RunningMean:
        """New statistics to follow."""
        return RunningMean(self.shape)

    def follow(self, mean: RunningMean) -> None:
        """Subtract this mean from now on."""
        self.mean.data.copy_(torch.from_numpy(mean.mean))
        self.scale.data.fill_(4 / self.whole)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The centred frames, float32."""
        return torch.add(input, self.mean, alpha=-1).mul_(self.scale)  # `-` takes no bools


def normaliser(observation_space: Space[Any]) -> Normalise | Centre:
    """The first layer of a network that normalises observations: a `Centre` for frames, otherwise a `Normalise`."""
    shape = observation_space.shape or ()
    if len(shape) == 3:
        return Centre(shape, _range(observation_space))
    return Normalise(int(np.prod(shape)))


def _range(observation_space: Space[Any]) -> float:
    """How far apart the values of frames can be; of those without bounds, 1 is taken."""
    if not isinstance(observation_space, spaces.Box):
        return 1.0
    apart = float(observation_space.high.max()) - float(observation_space.low.min())
    return apart if 0 < apart < WIDEST else 1.0


def normalised(x: NDArray[Any], mean: NDArray[np.float32], scale: NDArray[np.float32]) -> NDArray[Any]:
    """The output of `Normalise` for x, in NumPy."""
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
        """The variance of all rows so far; 1 if there are none."""
        return self.squares / self.count if self.count else np.ones_like(self.squares)

    def add(self, rows: NDArray[Any]) -> None:
        """Add rows, (n, size) in any shape, one or more."""
        rows = rows.reshape(len(rows), -1).astype(np.float64)
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
        """Resume from a `state_dict`."""
        if not (state["squares"] >= 0).all():
            raise StateError(f"{state!r} is of no mean and variance")
        self.count = count(state["count"])
        self.mean[:], self.squares[:] = state["mean"], state["squares"]


class RunningMean:
    """The mean of all frames so far, float64 (*shape); sums of bytes are exact."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.count = 0
        self.sums = np.zeros(shape)

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean of all frames so far; 0 if there are none."""
        return self.sums / max(1, self.count)

    def add(self, frames: NDArray[Any]) -> None:
        """Add frames, (n, *shape)."""
        self.sums += frames.sum(0, dtype=np.uint32 if frames.dtype == np.uint8 else np.float64)
        self.count += len(frames)

    def state_dict(self) -> dict[str, Any]:
        """Count and sums."""
        return {"count": self.count, "sums": self.sums}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a `state_dict`."""
        self.count = count(state["count"])
        self.sums[:] = state["sums"]


class RewardScale:
    """Divides rewards by the deviation of the discounted return, for which it keeps a running sum per environment.

    This is what OpenAI Baselines' `VecNormalize` does. The mean is not subtracted, so rewards keep their sign.

    >>> scale = RewardScale(1, gamma=0.5)
    >>> scale(np.array([[2.0], [2.0]]), np.array([[False], [False]])).ravel().round(3).tolist()
    [4.0, 4.0]
    """

    def __init__(self, environments: int, gamma: float) -> None:
        self.gamma, self.sums, self.moments = gamma, np.zeros(environments), RunningMoments(1)

    def __call__(self, rewards: NDArray[Any], ended: NDArray[np.bool_]) -> NDArray[np.float32]:
        """The scaled rewards of a round, from `rewards` (steps, environments), and where episodes ended."""
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
        """Resume from a `state_dict`."""
        self.sums = np.array(state["sums"])
        self.moments.load_state_dict(state["moments"])
