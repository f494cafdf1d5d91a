"""What do several critics of the same sizes compute side by side, and with which gradients?

Both passes are written out, since autograd copies slices and transposes of stacked kernels, and multiplies for the last
layer, of one unit, as for large matrices (docs/decisions/learning.md has what that costs).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.function import once_differentiable

if TYPE_CHECKING:
    from collections.abc import Iterable


def perceptrons(x: torch.Tensor, kernels: Iterable[torch.Tensor], biases: Iterable[torch.Tensor]) -> torch.Tensor:
    """The outputs (networks, n) of several perceptrons, with ReLU between layers and one output each, for x (n, in).

    Every layer has `kernels` (networks, in, out) and `biases` (networks, 1, out). Where none of them needs a gradient,
    only that of `x` is computed.

    >>> kernels, biases = [torch.ones(2, 3, 4), torch.ones(2, 4, 1)], [torch.zeros(2, 1, 4), torch.ones(2, 1, 1)]
    >>> perceptrons(torch.ones(1, 3), kernels, biases)
    tensor([[13.],
            [13.]])
    """
    outputs: torch.Tensor = _Perceptrons.apply(x, *kernels, *biases)  # type: ignore[no-untyped-call]
    return outputs


class _Perceptrons(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, *layers: torch.Tensor) -> torch.Tensor:
        kernels, biases = layers[: len(layers) // 2], layers[len(layers) // 2 :]
        given = [x.expand(len(kernels[0]), -1, -1)]  # to each layer
        for kernel, bias in zip(kernels[:-1], biases[:-1], strict=True):
            given.append(torch.baddbmm(bias, given[-1], kernel).relu_())
        ctx.save_for_backward(*given, *kernels)
        return (given[-1] * kernels[-1].mT).sum(2).add_(biases[-1][:, 0])

    @staticmethod
    @once_differentiable  # what was given to hidden layers is not followed back a second time
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *gradients: torch.Tensor
    ) -> tuple[torch.Tensor | None, ...]:
        n = len(ctx.saved_tensors) // 2
        given, kernels = ctx.saved_tensors[:n], ctx.saved_tensors[n:]
        learned, last = any(ctx.needs_input_grad[1:]), n - 1
        of_kernels: list[torch.Tensor | None] = [None] * n
        of_biases: list[torch.Tensor | None] = [None] * n
        gradient = gradients[0].unsqueeze(2)  # of what the layer makes
        for i in reversed(range(n)):
            if learned:
                of_biases[i] = gradient.sum(1, keepdim=True)
                of_kernels[i] = (
                    (given[i] * gradient).sum(1).unsqueeze(2) if i == last else torch.bmm(given[i].mT, gradient)
                )
            if i or ctx.needs_input_grad[0]:
                gradient = gradient * kernels[i].mT if i == last else torch.bmm(gradient, kernels[i].mT)
            if i:
                gradient = torch.ops.aten.threshold_backward(gradient, given[i], 0)
        return gradient.sum(0) if ctx.needs_input_grad[0] else None, *of_kernels, *of_biases
