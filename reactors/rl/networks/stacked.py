"""How are many networks of one architecture evaluated together?

Their parameters are stacked, one row for each network, and a layer of all networks is one product. Chains of linear
layers are evaluated in NumPy, where a small product costs less than a call of torch; other modules in torch, by
`torch.func`. A network's outputs do not depend on which others are evaluated with it.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from reactors.errors import ParameterError
from reactors.rl.networks.layers import IN_NUMPY, flat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class StackedChains:
    """Chains of linear layers, ReLU and Tanh, for inputs that are vectors."""

    def __init__(self, networks: Sequence[nn.Module]) -> None:
        chain: Any = networks[0]
        self.steps: list[Any] = []  # kernels (networks, in, out) with biases (networks, out), or what follows them
        for layer in chain:
            if isinstance(layer, nn.Linear):
                shape = len(networks), layer.in_features, layer.out_features
                bias = None if getattr(layer, "bias", None) is None else np.empty((shape[0], shape[2]), np.float32)
                self.steps.append((np.empty(shape, np.float32), bias))
            else:
                self.steps.append(IN_NUMPY[type(layer)])
        for i, network in enumerate(networks):
            self.load(i, flat(network))

    def load(self, i: int, weights: NDArray[np.float32]) -> None:
        """Copy these weights into network i."""
        at = 0
        for step in self.steps:
            if isinstance(step, tuple):
                kernels, biases = step
                _, inputs, outputs = kernels.shape
                kernels[i] = weights[at : at + inputs * outputs].reshape(outputs, inputs).T
                at += inputs * outputs
                if biases is not None:
                    biases[i] = weights[at : at + outputs]
                    at += outputs

    def weights(self, i: int) -> NDArray[np.float32]:
        """The weights of network i, as one vector."""
        parts = []
        for step in self.steps:
            if isinstance(step, tuple):
                parts += [step[0][i].T.ravel()] if step[1] is None else [step[0][i].T.ravel(), step[1][i]]
        return np.concatenate(parts)

    def __call__(self, x: NDArray[Any], which: Sequence[int] | None = None) -> NDArray[np.float32]:
        """The outputs of all networks for inputs (networks, in); with `which`, only those networks and inputs."""
        x = x.astype(np.float32, copy=False)
        for step in self.steps:
            if isinstance(step, tuple):
                kernels, biases = step
                if which is None:
                    x = np.matmul(x[:, None], kernels)[:, 0]
                else:
                    rows = np.empty((len(which), kernels.shape[2]), np.float32)
                    for k, i in enumerate(which):
                        np.matmul(x[k : k + 1], kernels[i], out=rows[k : k + 1])
                    x = rows
                if biases is not None:
                    x += biases if which is None else biases[which]
            else:
                x = step(x)
        return x


class StackedModules:
    """Any modules whose state does not change from call to call."""

    def __init__(self, networks: Sequence[nn.Module]) -> None:
        self.parameters, self.buffers = stack_module_state([*networks])
        self.network = copy.deepcopy(networks[0]).eval()
        self.parameters = {name: stacked.detach() for name, stacked in self.parameters.items()}

    def load(self, i: int, weights: NDArray[np.float32]) -> None:
        """Copy these weights into network i."""
        at = 0
        for stacked in self.parameters.values():
            row = stacked[i]
            row.copy_(torch.tensor(weights[at : at + row.numel()]).view_as(row))
            at += row.numel()

    def weights(self, i: int) -> NDArray[np.float32]:
        """The weights of network i, as one vector."""
        found: NDArray[np.float32] = torch.cat([stacked[i].flatten() for stacked in self.parameters.values()]).numpy()
        return found

    def __call__(self, x: NDArray[Any], which: Sequence[int] | None = None) -> NDArray[np.float32]:
        """The outputs of all networks for inputs (networks, ...); with `which`, only those networks and inputs."""
        x = x.astype(np.float32, copy=False) if x.dtype == np.float64 else x
        parameters, buffers = self.parameters, self.buffers
        if which is not None:
            rows = torch.tensor([*which])
            parameters = {name: stacked[rows] for name, stacked in parameters.items()}
            buffers = {name: stacked[rows] for name, stacked in buffers.items()}
        with torch.no_grad():
            found: NDArray[np.float32] = vmap(self._one)(parameters, buffers, torch.tensor(x)).numpy()
        return found

    def _one(self, parameters: Any, buffers: Any, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = functional_call(self.network, (parameters, buffers), (x[None],))
        return result[0]


def stacked(networks: Sequence[nn.Module], vectors: bool) -> StackedChains | StackedModules:
    """These networks as one; `vectors` says whether each input is a vector.

    Raises `ParameterError` if they differ in architecture, or are not float32 and on the CPU.

    >>> nets = [nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)) for _ in range(3)]
    >>> both = stacked(nets, vectors=True), stacked(nets, vectors=False)
    >>> x = np.ones((3, 4), np.float32)
    >>> [bool(np.allclose(every(x)[2], nets[2](torch.ones(4)).detach(), atol=1e-6)) for every in both]
    [True, True]
    """
    for i, network in enumerate(networks):
        for name, parameter in network.named_parameters():
            if parameter.dtype != torch.float32 or parameter.device.type != "cpu":
                raise ParameterError(
                    f"{name} of network {i} is {parameter.dtype} on {parameter.device}; networks that are evaluated as "
                    "one have torch.float32 on the CPU: convert it with network.float().cpu()"
                )
        if _architecture(network) != _architecture(networks[0]):
            raise ParameterError(
                f"network {i} is {network}, and network 0 is {networks[0]}; let all have one architecture, or give "
                "those that differ to reactors of their own"
            )
    first = networks[0]
    chain = [*first] if isinstance(first, nn.Sequential) else []
    linear_first = vectors and bool(chain) and type(chain[0]) is nn.Linear
    in_numpy = linear_first and all(type(layer) in {nn.Linear, *IN_NUMPY} for layer in chain)
    return StackedChains(networks) if in_numpy else StackedModules(networks)


def _architecture(network: nn.Module) -> Any:
    return str(network), [(name, *value.shape) for name, value in network.state_dict().items()]
