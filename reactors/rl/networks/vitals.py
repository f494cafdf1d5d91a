"""What tells a network that learns from one that does not?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Sequence

FORBIDDEN = -1e9
"""The logit or the value of an action that is not allowed."""

EDGE = 0.99
"""Beyond this an action between -1 and 1 is saturated: the slope of tanh is less than a fiftieth there."""


def spread(outputs: torch.Tensor) -> torch.Tensor:
    """The distance (n,) between the greatest and the least output of allowed actions, from outputs (n, actions).

    >>> spread(torch.tensor([[1.0, 3.0, FORBIDDEN], [0.0, 1.0, 4.0]]))
    tensor([2., 4.])
    """
    allowed = outputs.masked_fill(outputs <= FORBIDDEN, torch.inf)
    return outputs.amax(1) - allowed.amin(1)


def deviation(x: torch.Tensor) -> torch.Tensor:
    """The standard deviation (...) over the first axis of `x` (n, ...); 0 if n is 1.

    >>> deviation(torch.tensor([[1.0, 0.0], [3.0, 0.0], [5.0, 0.0]]))
    tensor([2., 0.])
    """
    return x.std(0) if len(x) > 1 else x.new_zeros(x.shape[1:])


def saturated(actions: torch.Tensor) -> torch.Tensor:
    """The share of actions, between -1 and 1, that are nearly at a bound.

    >>> saturated(torch.tensor([[0.0, -1.0], [0.5, 0.9]]))
    tensor(0.2500)
    """
    return (actions.abs() > EDGE).float().mean()


def biases(*nets: nn.Module | None) -> list[torch.Tensor]:
    """The biases, one for each unit, of the linear and convolutional layers of these networks, in their order.

    >>> [len(bias) for bias in biases(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)))]
    [4, 2]
    """
    layers = [layer for net in nets if net is not None for layer in net.modules()]
    found = [layer.bias for layer in layers if isinstance(layer, nn.Linear | nn.Conv2d)]
    return [bias for bias in found if bias is not None]  # pyright: ignore[reportUnnecessaryComparison]


def dead(units: Sequence[torch.Tensor]) -> float:
    """The share of units, given by their biases, that no gradient of the last batch has reached.

    A unit with ReLU gets none if its output is 0 for the whole batch.

    >>> net = nn.Sequential(nn.Linear(1, 4), nn.ReLU(), nn.Linear(4, 1))
    >>> with torch.no_grad():
    ...     _ = net[0].weight.zero_(), net[0].bias.copy_(torch.tensor([1.0, 1.0, 1.0, -1.0]))
    >>> net(torch.ones(5, 1)).sum().backward()
    >>> dead(biases(net)[:-1])
    0.25
    """
    gradients = torch.cat([bias.grad.flatten() for bias in units if bias.grad is not None])
    return 1 - int(gradients.count_nonzero()) / len(gradients)
