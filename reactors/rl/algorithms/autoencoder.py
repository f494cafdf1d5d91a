"""What if the policy sees a small code of the observation, from which the observation can be told?

The improved IMPALA (RLDM 2019) puts an auto-encoder into the policy's graph. Its layers are not published; here the
encoder is the torso of actor and critic, and the error of its decoder a loss of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from reactors.rl.networks import NipsTorso, inputs_of, mlp

if TYPE_CHECKING:
    import gymnasium as gym


class Encoder(nn.Module):
    """Observations to `features` numbers from -1 to 1, by one hidden layer, or by the NIPS torso for 84x84 frames."""

    def __init__(self, observation_space: gym.Space[object], features: int, hidden: tuple[int, ...]) -> None:
        super().__init__()
        shape = observation_space.shape or ()
        self.features, self.hidden = features, hidden
        frames = NipsTorso(shape[0]) if len(shape) == 3 and shape[1:] == (84, 84) else None
        self.frames = frames is not None
        inputs = inputs_of(observation_space)
        self.net = (
            nn.Sequential(frames, nn.Linear(frames.features, features), nn.Tanh())
            if frames
            else nn.Sequential(*mlp([inputs, 64, features]), nn.Tanh())
        )

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        """The code."""
        code: torch.Tensor = self.net(obs if self.frames else obs.flatten(1).float())
        return code


class Decoder(nn.Module):
    """Codes to observations: the encoder's layers backwards."""

    def __init__(self, observation_space: gym.Space[object], features: int) -> None:
        super().__init__()
        shape: tuple[int, ...] = observation_space.shape or ()
        frames = shape[0] if len(shape) == 3 and shape[1:] == (84, 84) else 0
        self.frames = frames > 0
        self.net: nn.Module = mlp([features, 64, inputs_of(observation_space)])
        if self.frames:
            self.net = nn.Sequential(
                nn.Linear(features, 2592), nn.ReLU(), nn.Unflatten(1, (32, 9, 9)),
                nn.ConvTranspose2d(32, 16, 4, 2), nn.ReLU(), nn.ConvTranspose2d(16, frames, 8, 4),
            )  # fmt: skip

    def loss(self, codes: torch.Tensor, obs: torch.Tensor) -> torch.Tensor:
        """The mean squared error of the observations that it makes of codes; bytes count as 0 to 1."""
        wanted = obs.float() / 255 if obs.dtype == torch.uint8 else obs.float()
        return nn.functional.mse_loss(self.net(codes), wanted if self.frames else wanted.flatten(1))
