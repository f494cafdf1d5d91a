"""What do policies and critics compute, in torch for learning and in NumPy for acting?

For one observation, or a few, NumPy evaluates a small network several times faster than torch, whose calls cost more
than the arithmetic. So a network that is a chain of linear layers acts in NumPy, from a flat vector of weights that
travels over a port; any other network acts in torch.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.optim.adam import adam

from reactors.errors import ArgumentError, ParameterError, ReactorWarning
from reactors.rl.networks.normalising import Normalise, normalised
from reactors.rl.networks.transfer import Download
from reactors.rl.networks.trial import tried, written

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[Any]"
IN_NUMPY: dict[type[nn.Module], Callable[[Array], Array]] = {
    nn.ReLU: lambda x: np.maximum(x, 0, out=x),
    nn.Tanh: lambda x: np.tanh(x, out=x),
}


class Chain(nn.Sequential):
    """Layers one after the other, without the cost of module calls for linear layers and ReLU."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The output of the last layer."""
        x, own = input, False
        for layer in self:
            if type(layer) is nn.Linear:
                x, own = nn.functional.linear(x, layer.weight, layer.bias), True
            elif type(layer) is nn.ReLU:
                x = torch.relu_(x) if own else torch.relu(x)  # in place where a linear layer has just made it
            else:
                x, own = layer(x), False
        return x


def mlp(sizes: Sequence[int], activation: type[nn.Module] = nn.Tanh, *, gain: float | None = None) -> Chain:
    """Linear layers of these sizes with an activation between them.

    With `gain`, weights are orthogonal with gain sqrt(2), those of the last layer with `gain`, and biases are zero, as
    is usual for policy gradients (Engstrom et al., "Implementation Matters in Deep RL", 2020).

    >>> mlp([4, 8, 2])
    Chain(
      (0): Linear(in_features=4, out_features=8, bias=True)
      (1): Tanh()
      (2): Linear(in_features=8, out_features=2, bias=True)
    )
    """
    layers: list[nn.Module] = []
    for i, (before, after) in enumerate(pairwise(sizes)):
        linear = nn.Linear(before, after)
        if gain is not None:
            _orthogonal(linear, 2**0.5 if i < len(sizes) - 2 else gain)
        layers += [linear] if i == len(sizes) - 2 else [linear, activation()]
    return Chain(*layers)


def in_a_row(normalise: nn.Module | None, torso: nn.Module | None, head: Chain) -> nn.Sequential:
    """These parts as one network; without a torso, flat enough for `Inference` to use NumPy."""
    if normalise is None and torso is None:
        return head
    before = [] if normalise is None else [normalise]
    return nn.Sequential(*before, *head) if torso is None else nn.Sequential(*before, torso, head)


def _orthogonal(layer: nn.Linear | nn.Conv2d, gain: float) -> None:
    bias: Any = layer.bias
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(bias)


class _Convolutions(nn.Sequential):
    """Convolutions of (filters, size, stride), then a linear layer with `features` outputs; bytes are scaled to 0 to 1.

    `side` is the side of square frames, or their height and width; with `last`, channels are the last axis.
    """

    def __init__(
        self,
        frames: int,
        side: int | tuple[int, int],
        convolutions: Sequence[tuple[int, int, int]],
        features: int,
        last: bool = False,
    ) -> None:
        layers: list[nn.Module] = []
        height, width = (side, side) if isinstance(side, int) else side
        for filters, size, stride in convolutions:
            layers += [nn.Conv2d(frames, filters, size, stride), nn.ReLU()]
            frames, height, width = filters, (height - size) // stride + 1, (width - size) // stride + 1
        super().__init__(*layers, nn.Flatten(), nn.Linear(frames * height * width, features), nn.ReLU())
        self.features, self.last = features, last

    def orthogonal(self) -> None:
        """Initialise the weights as `mlp` does with a gain."""
        for layer in self:
            if isinstance(layer, nn.Linear | nn.Conv2d):
                _orthogonal(layer, 2**0.5)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """From frames (n, frames, height, width), or (n, height, width, frames), to features."""
        # oneDNN computes the gradients of kernels much faster if channels are next to each other
        training = torch.is_grad_enabled() and input.device.type == "cpu"
        layout = torch.channels_last if training else torch.contiguous_format
        frames = input.movedim(-1, 1) if self.last else input
        x: Any = frames.to(torch.float32, memory_format=layout)
        if input.dtype == torch.uint8:
            x = x.div_(255)
        for layer in self:
            x = layer(x)
        result: torch.Tensor = x
        return result


class NipsTorso(_Convolutions):
    """Convolutions of Mnih et al., 2013, as in PAAC (1705.04862, section 4): 84x84 frames to 256 features."""

    def __init__(self, frames: int = 4, side: int | tuple[int, int] = 84, last: bool = False) -> None:
        super().__init__(frames, side, [(16, 8, 4), (32, 4, 2)], 256, last)


class NatureTorso(_Convolutions):
    """Convolutions of Mnih et al., Nature 2015: 84x84 frames to 512 features."""

    def __init__(self, frames: int = 4, side: int | tuple[int, int] = 84, last: bool = False) -> None:
        super().__init__(frames, side, [(32, 8, 4), (64, 4, 2), (64, 3, 1)], 512, last)


class SmallTorso(_Convolutions):
    """Convolutions of RLlib for 42x42 frames, without padding: to 256 features.

    The first stride is two pixels, where the networks for 84x84 frames have four, so that objects three pixels wide are
    not lost.
    """

    def __init__(self, frames: int = 4, side: int | tuple[int, int] = 42, last: bool = False) -> None:
        super().__init__(frames, side, [(16, 4, 2), (32, 4, 2)], 256, last)


class MinAtarTorso(_Convolutions):
    """The convolution of MinAtar (Young and Tian, 2019, arXiv 1903.03176): small frames to 128 features."""

    def __init__(self, frames: int = 4, side: int | tuple[int, int] = 10, last: bool = False) -> None:
        super().__init__(frames, side, [(16, 3, 1)], 128, last)


_FROM = {"nature": 64, "small": 20}  # pixels
MANY = 20_000_000
"""Weights of a torso above which an update takes seconds on a core. That of 84x84 frames has 1.7 million."""
TORSOS = {"nips": NipsTorso, "nature": NatureTorso, "small": SmallTorso, "minatar": MinAtarTorso}
Torso: TypeAlias = str | Callable[[gym.Space[Any]], nn.Module] | None  # read by `reactors train`, too


def torso(kind: Torso, observation_space: gym.Space[Any]) -> nn.Module | None:
    """The part of a network that turns observations into features; its `features` is their number.

    `kind` is a name in `TORSOS`, for frames (channels, height, width) or pictures (height, width, colours), or a
    function from the observation space to any module. None chooses by the size of frames: "nature" from 64 pixels,
    "small" from 20, "minatar" below; for other observations, there is no torso then.

    Raises `ParameterError` for a module that does not take these observations, or does not return as many `features` as
    it says. The same holds for a module whose outputs depend on more than its parameters and each single observation,
    as with dropout, batch normalisation, or constants that are drawn when it is made.

    >>> import gymnasium as gym
    >>> torso("nips", gym.spaces.Box(0, 255, (4, 84, 84), np.uint8)).features
    256
    """
    shape = list(observation_space.shape or ())
    if isinstance(kind, nn.Module):
        raise ParameterError(
            f"the torso is a module, {type(kind).__name__}, and every actor needs one of its own; give a function of "
            "the observation space that makes it"
        )
    if callable(kind):
        return tried(kind, observation_space)
    if kind is None and len(shape) != 3:
        return None
    last = len(shape) == 3 and _is_picture(*shape)
    frames, *sides = (shape[2], *shape[:2]) if last else shape or [0]
    name = next((each for each, side in _FROM.items() if min(sides) >= side), "minatar") if kind is None else kind
    if name not in TORSOS:
        raise ParameterError(f"there is no torso {name!r}; there are {', '.join(TORSOS)}, or a function that makes one")
    least = {"nips": 20, "nature": 36, "small": 10, "minatar": 3}[name]
    if len(sides) != 2 or min(sides) < least:
        raise ParameterError(
            f"the torso {name!r} takes frames (channels, height, width), or pictures (height, width, colours), with "
            f"sides of {least} or more, and the observations are of shape {tuple(shape)}; choose another torso, or "
            "resize them with gymnasium.wrappers"
        )
    made = TORSOS[name](frames, (sides[0], sides[1]), last)
    weights = sum(each.numel() for each in made.parameters())
    if weights > MANY:
        warnings.warn(
            f"the torso {name!r} has {weights / 1e6:,.0f} million weights for observations of shape {tuple(shape)}, "
            "most of them behind its last convolution; make observations smaller, with "
            "gymnasium.wrappers.ResizeObservation, or of many agents with supersuit.resize_v1, or give a torso of "
            "yours",
            ReactorWarning,
            stacklevel=2,
        )
    return made


def _is_picture(first: int, second: int, third: int) -> bool:
    """Whether channels come last, as in most libraries: colours, planes of a board, many of a square one."""
    return first > 4 and (third <= 4 or first == second != third)


def inputs_of(observation_space: gym.Space[Any]) -> int:
    """The number of values in an observation."""
    return math.prod(observation_space.shape or ())


class Flat:
    """The parameters of networks as one vector, and their gradients as another; they become views of these.

    So a step of an optimizer, a norm, or a copy is one operation, for any number of layers.

    >>> net = mlp([4, 8, 2])
    >>> every = Flat(net.parameters())
    >>> net(torch.ones(1, 4)).sum().backward()
    >>> bool((every.weights.grad[-2:] == 1).all())  # the biases of the last layer
    True
    >>> every.clear()
    >>> bool((net[2].bias.grad == 0).all())
    True
    """

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        all_ = list(parameters)
        self.weights = nn.Parameter(torch.cat([p.detach().flatten() for p in all_]))
        self.weights.grad = torch.zeros_like(self.weights)
        at = 0
        for p in all_:
            part = slice(at, at + p.numel())
            p.data = self.weights.data[part].view_as(p)
            p.grad = self.weights.grad[part].view_as(p)
            at += p.numel()
        self.download: Download | None = None
        self._norm: torch.Tensor | None = None  # the norm before gradients were scaled down

    def clear(self) -> None:
        """Set all gradients to 0."""
        assert self.weights.grad is not None
        self.weights.grad.zero_()
        self._norm = None

    def fetch(self, n: int | None = None) -> NDArray[np.float32]:
        """The weights, or the first n of them, as a new array."""
        weights = self.weights.detach()[:n]
        if weights.is_cuda:
            self.download = self.download or Download(weights.device)
            return self.download(weights)
        found: NDArray[np.float32] = weights.numpy().copy()
        return found

    def clip(self, most: float) -> None:
        """Scale the gradients down to a norm of at most `most`."""
        grad = self.weights.grad
        assert grad is not None
        norm = self._norm = torch.linalg.vector_norm(grad)
        grad.mul_((most / (norm + 1e-6)).clamp_(max=1.0))

    @property
    def grad_norm(self) -> torch.Tensor:
        """The norm of the gradients, as it was before `clip`."""
        assert self.weights.grad is not None
        return torch.linalg.vector_norm(self.weights.grad) if self._norm is None else self._norm


class Adam:
    """Adam (Kingma and Ba, 2015) on one vector: `torch.optim.Adam` without its overhead."""

    def __init__(self, flat: Flat, learning_rate: float, eps: float = 1e-8) -> None:
        self.weights, self.learning_rate, self.eps = flat.weights, learning_rate, eps
        self.first, self.second = torch.zeros_like(self.weights.data), torch.zeros_like(self.weights.data)
        self.steps = torch.zeros((), device=self.weights.device)

    def step(self) -> None:
        """Take a step along the negative gradient."""
        assert self.weights.grad is not None
        adam(
            [self.weights.data], [self.weights.grad], [self.first], [self.second], [], [self.steps],
            lr=self.learning_rate, beta1=0.9, beta2=0.999, eps=self.eps, weight_decay=0.0, amsgrad=False,
            maximize=False, fused=True,
        )  # fmt: skip

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Both moments, and the number of steps."""
        return {"first": self.first, "second": self.second, "steps": self.steps}

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Resume from a `state_dict`."""
        for name, mine in self.state_dict().items():
            mine.copy_(state[name])


class RMSProp:
    """RMSProp (Tieleman and Hinton, 2012) on one vector; by default as in `torch.optim.RMSprop`.

    TensorFlow 1's version has `eps_in_sqrt` and an `initial_scale` of 1.
    """

    def __init__(
        self,
        flat: Flat,
        learning_rate: float,
        smoothing: float,
        eps: float,
        *,
        eps_in_sqrt: bool = False,
        initial_scale: float = 0.0,
    ) -> None:
        self.weights, self.learning_rate, self.smoothing, self.eps = flat.weights, learning_rate, smoothing, eps
        self.eps_in_sqrt = eps_in_sqrt
        self.squares = torch.full_like(self.weights.data, initial_scale)

    def step(self) -> None:
        """Take a step along the negative gradient."""
        grad = self.weights.grad
        assert grad is not None
        self.squares.mul_(self.smoothing).addcmul_(grad, grad, value=1 - self.smoothing)
        root = self.squares.add(self.eps).sqrt_() if self.eps_in_sqrt else self.squares.sqrt().add_(self.eps)
        self.weights.data.addcdiv_(grad, root, value=-self.learning_rate)

    def state_dict(self) -> dict[str, torch.Tensor]:
        """The mean of squares."""
        return {"squares": self.squares}

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Resume from a `state_dict`."""
        self.squares.copy_(state["squares"])


Descent: TypeAlias = Generator[Flat, None, dict[str, Any]]
"""An update, or several: it yields parameters whose gradients are ready, before each step, and returns figures."""


def descend(
    loss: torch.Tensor, flat: Flat, optimizer: Adam | RMSProp, max_grad_norm: float | None = None
) -> Iterator[Flat]:
    """One step of an optimizer; first it yields its `Flat`, whose gradients the caller may change.

    >>> net = mlp([1, 1])
    >>> every = Flat(net.parameters())
    >>> [bool(each is every) for each in descend(net(torch.ones(1, 1)).sum(), every, Adam(every, 0.1))]
    [True]
    """
    if not getattr(loss, "requires_grad", False):
        raise ArgumentError(
            "networks.descend is given a loss without a gradient; compute it from the parameters of a Flat, outside of "
            "torch.no_grad() and without detach() or item()"
        )
    flat.clear()
    loss.backward()  # type: ignore[no-untyped-call]
    yield flat
    if max_grad_norm is not None:
        flat.clip(max_grad_norm)
    optimizer.step()


def alone(descent: Descent) -> dict[str, Any]:
    """Run all of a descent with its own gradients, as a single learner does; returns the figures."""
    while True:
        try:
            next(descent)
        except StopIteration as end:
            figures: dict[str, Any] = end.value
            return figures


def flat(net: nn.Module) -> NDArray[np.float32]:
    """All parameters of a network as one vector."""
    with torch.no_grad():
        vector: NDArray[np.float32] = nn.utils.parameters_to_vector(net.parameters()).cpu().numpy()
    return vector


class Inference:
    """A network for inference: weights come as the vector that `flat` makes, inputs and outputs are NumPy arrays.

    It sets the network to eval mode.

    >>> net = mlp([4, 8, 2])
    >>> fast = Inference(net)
    >>> fast.load(flat(net))
    >>> x = np.ones((3, 4), np.float32)
    >>> bool(np.allclose(fast(x), net(torch.from_numpy(x)).detach().numpy(), atol=1e-6))
    True
    """

    def __init__(self, net: nn.Module) -> None:
        self.net = net.eval()
        self.size = sum(p.numel() for p in net.parameters())
        chain = [*net] if isinstance(net, nn.Sequential) else []
        known = {nn.Linear, Normalise, *IN_NUMPY}
        self.in_numpy = isinstance(net, nn.Sequential) and all(type(layer) in known for layer in chain)
        self._steps: list[Any] = []
        self._writes: bool | None = None  # whether it writes into its inputs, as a first layer in place does

    def load(self, weights: NDArray[np.float32]) -> None:
        """Copy these weights into the network."""
        if not self.in_numpy:
            with torch.no_grad():
                nn.utils.vector_to_parameters(torch.tensor(weights), self.net.parameters())
            return
        at, self._steps = 0, []
        chain: Any = self.net
        for layer in chain:
            if isinstance(layer, nn.Linear):
                n, m = layer.out_features, layer.in_features
                kernel = weights[at : at + n * m].reshape(n, m).T.copy()
                at += n * m
                given: Any = layer.bias
                bias = np.float32(0) if given is None else weights[at : at + n].copy()
                at += 0 if given is None else n
                self._steps.append((kernel, bias))
            elif isinstance(layer, Normalise):
                mean, scale = (weights[at + i * layer.size : at + (i + 1) * layer.size].copy() for i in range(2))
                at += 2 * layer.size
                self._steps.append(partial(normalised, mean=mean, scale=scale))
            else:
                self._steps += [IN_NUMPY[type(layer)]] if self._steps else [np.array, IN_NUMPY[type(layer)]]

    def __call__(self, x: Array) -> Array:
        """The outputs for a batch of inputs, which stay as they are."""
        if not self.in_numpy:
            return self._in_torch(x)
        x = x.reshape(len(x), -1).astype(np.float32, copy=False)
        for step in self._steps:
            if isinstance(step, tuple):
                x = x @ step[0]
                x += step[1]
            else:
                x = step(x)
        return x

    def _in_torch(self, x: Array) -> Array:
        """The same of a network that is no chain; the first time on a copy, which tells whether it has to be one."""
        seen = torch.from_numpy(np.ascontiguousarray(x) if self._writes is False else np.array(x, order="C"))
        with torch.no_grad() if self._writes is None else torch.inference_mode():
            result: Array = self.net(seen).numpy()
        if self._writes is None:
            self._writes = written(seen) > 0
        return result
