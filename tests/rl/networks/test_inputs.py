"""Networks leave the observations that they are given as they are: others read them, too."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import nn

from reactors.errors import ParameterError
from reactors.rl.networks.layers import Chain, Inference, flat, torso

NETWORKS: dict[str, Any] = {
    "ReLU in NumPy": lambda: nn.Sequential(nn.ReLU(), nn.Linear(3, 2)),
    "Tanh in NumPy": lambda: nn.Sequential(nn.Tanh(), nn.Linear(3, 2), nn.ReLU()),
    "in place in torch": lambda: nn.Sequential(nn.Flatten(), nn.ELU(inplace=True), nn.Linear(3, 2)),
    "a chain in torch": lambda: Chain(nn.Flatten(), nn.ReLU(), nn.LayerNorm(3)),
    "ordinary, in torch": lambda: nn.Sequential(nn.Linear(3, 2), nn.ELU(inplace=True)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_inference_does_not_write_into_its_inputs(name: str) -> None:
    net = NETWORKS[name]()
    infer, given = Inference(net), np.array([[-1.0, 0.5, 2.0], [3.0, -4.0, 0.0]], np.float32)
    infer.load(flat(net))
    assert infer.in_numpy == name.endswith("NumPy")
    x, wanted = given.copy(), net(torch.from_numpy(given.copy())).detach().numpy()
    for _ in range(3):
        assert infer(x) == pytest.approx(wanted, abs=1e-6)
        assert x.tobytes() == given.tobytes()


def test_a_network_that_does_not_write_gets_its_inputs_themselves() -> None:
    seen = []

    class Seeing(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            seen.append(x.data_ptr())
            return x + 1

    infer, x = Inference(Seeing()), np.zeros((1, 3), np.float32)
    for _ in range(3):
        infer(x)
    assert seen[0] != seen[1] == seen[2] == x.ctypes.data


def test_a_torso_that_writes_into_observations_is_refused() -> None:
    def make(space: gym.Space[Any]) -> nn.Module:
        made: Any = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(3, 4))
        made.features = 4
        return made

    with pytest.raises(ParameterError, match=r"torso Sequential writes into the observations .* inplace=False"):
        torso(make, gym.spaces.Box(-1, 1, (3,)))
