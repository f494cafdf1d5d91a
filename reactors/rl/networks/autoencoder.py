"""What if the policy sees a small code of the observation, from which the observation can be made again?

The improved IMPALA (RLDM 2019) puts an auto-encoder into the policy's graph. Its layers are not published; here the
encoder is the torso of actor and critic, and the error of its decoder a loss of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from reactors.rl.networks.layers import Torso, inputs_of, mlp, torso

if TYPE_CHECKING:
    import gymnasium as gym

FRAMES = 84, 84
"""Sides of the frames that the NIPS torso was made for."""


def numbers(obs: torch.Tensor) -> torch.Tensor:
    """Observations as float32; bytes become 0 to 1."""
    return obs.float() / 255 if obs.dtype == torch.uint8 else obs.float()


class Encoder(nn.Module):
    """Observations to `features` numbers from -1 to 1: by a torso and a layer, or without a torso by two layers.

    `kind` is as for `networks.torso`; None is the NIPS torso for 84x84 frames, and no torso for all else.
    """

    def __init__(
        self, observation_space: gym.Space[object], features: int, hidden: tuple[int, ...], kind: Torso = None
    ) -> None:
        super().__init__()
        self.features, self.hidden = features, hidden
        if kind is None and (observation_space.shape or ())[1:] == FRAMES:
            kind = "nips"
        seeing: Any = None if kind is None else torso(kind, observation_space)
        sizes = [inputs_of(observation_space), 64] if seeing is None else [seeing.features]
        self.torso, self.code = seeing, nn.Sequential(*mlp([*sizes, features]), nn.Tanh())

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        """The code of a batch of observations."""
        found: torch.Tensor = self.code(numbers(obs).flatten(1) if self.torso is None else self.torso(obs))
        return found


class Decoder(nn.Module):
    """Codes to observations: the layers backwards that the encoder has by default."""

    def __init__(self, observation_space: gym.Space[object], features: int) -> None:
        super().__init__()
        shape: tuple[int, ...] = observation_space.shape or ()
        frames = shape[0] if len(shape) == 3 and shape[1:] == FRAMES else 0
        self.frames = frames > 0
        self.net: nn.Module = mlp([features, 64, inputs_of(observation_space)])
        if self.frames:
            self.net = nn.Sequential(
                nn.Linear(features, 2592), nn.ReLU(), nn.Unflatten(1, (32, 9, 9)),
                nn.ConvTranspose2d(32, 16, 4, 2), nn.ReLU(), nn.ConvTranspose2d(16, frames, 8, 4),
            )  # fmt: skip

    def loss(self, codes: torch.Tensor, obs: torch.Tensor) -> torch.Tensor:
        """The mean squared error of what it makes of codes, where `obs` is what the encoder saw; bytes are 0 to 1."""
        wanted = numbers(obs)
        return nn.functional.mse_loss(self.net(codes), wanted if self.frames else wanted.flatten(1))
