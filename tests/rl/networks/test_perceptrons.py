"""Critics side by side: their outputs, and gradients written out by hand."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import nn

from reactors.rl.networks.perceptrons import perceptrons


@pytest.mark.parametrize("networks", [1, 3])
@pytest.mark.parametrize("sizes", [(3, 1), (3, 4, 1), (3, 5, 4, 1)], ids=str)
def test_they_are_those_of_networks_one_by_one(networks: int, sizes: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    every = [[nn.Linear(a, b) for a, b in pairwise(sizes)] for _ in range(networks)]
    kernels = [torch.stack([layer.weight.detach().T for layer in layers]) for layers in zip(*every, strict=True)]
    biases = [torch.stack([layer.bias.detach()[None] for layer in layers]) for layers in zip(*every, strict=True)]
    x = torch.randn(6, 3)
    for net, found in zip(every, perceptrons(x, kernels, biases), strict=True):
        wanted = nn.Sequential(*[each for layer in net for each in (layer, nn.ReLU())][:-1])(x)
        torch.testing.assert_close(found[:, None], wanted)


@pytest.mark.parametrize("learned", ["all", "kernels", "x"])
@pytest.mark.parametrize("networks", [1, 3])
@pytest.mark.parametrize("sizes", [(3, 1), (3, 4, 1), (3, 5, 4, 1)], ids=str)
def test_gradients_are_those_of_finite_differences(sizes: tuple[int, ...], networks: int, learned: str) -> None:
    torch.manual_seed(1)
    parts = list(pairwise(sizes))
    x = torch.randn(6, 3, dtype=torch.double, requires_grad=learned != "kernels")
    layers = [torch.randn(networks, a, b, dtype=torch.double) for a, b in parts]
    layers += [torch.randn(networks, 1, b, dtype=torch.double) for _, b in parts]
    for each in layers:
        each.requires_grad_(learned != "x")
    n = len(parts)
    assert torch.autograd.gradcheck(lambda x, *every: perceptrons(x, every[:n], every[n:]), (x, *layers))
