"""How do recurrent networks work, in torch for learning and in NumPy for acting?

A gated recurrent unit (Cho et al., 2014, arXiv 1406.1078) sits between the layers for the inputs and those for the
outputs. Its state is zero at the beginning of an episode. For learning, it goes through a sequence from the state that
the actor had at the beginning, and resets the state within the sequence exactly where the actor did: both use the rule
of `forget`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import nn

from reactors.rl.networks.layers import Inference, mlp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

WIDTH = 64  # of a state if `recurrent` is True: as in QMIX (Rashid et al., 2018, arXiv 1803.11485)


def width_of(recurrent: int | bool) -> int:
    """The width of the recurrent state, 0 if there is none.

    >>> width_of(False), width_of(True), width_of(16)
    (0, 64, 16)
    """
    return recurrent * WIDTH if isinstance(recurrent, bool) else recurrent


class GRU(nn.GRUCell):
    """A gated recurrent unit that can go through sequences; initial matrices are orthogonal, biases are zero.

    >>> gru = GRU(3, 2)
    >>> x, first = torch.ones(4, 5, 3), torch.zeros(5, 2)
    >>> going = torch.ones(4, 5)
    >>> states = gru.along(x, first, going)
    >>> states.shape, torch.allclose(states[1], gru(x[1], states[0]), atol=1e-6)
    (torch.Size([4, 5, 2]), True)
    """

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__(inputs, width)
        for matrix in (self.weight_ih, self.weight_hh):
            nn.init.orthogonal_(matrix)
        for bias in (self.bias_ih, self.bias_hh):
            nn.init.zeros_(bias)

    def along(
        self, x: torch.Tensor, state: torch.Tensor, going: torch.Tensor, sees: torch.Tensor | None = None
    ) -> torch.Tensor:
        """The states (steps, sequences, width) after each step of sequences x (steps, sequences, inputs).

        `state` (sequences, width) is the state before the first step. `going` (steps, sequences) is 1 if the next step
        belongs to the same episode, and 0 if that begins with zeros. `sees`, bool (steps, sequences), is False where
        nothing is seen; there, the state stays.
        """
        found = []
        steps = nn.functional.linear(x, self.weight_ih, self.bias_ih), going[..., None]
        for t, (seen, goes_on) in enumerate(zip(*steps, strict=True)):
            reset, update, new = seen.chunk(3, 1)
            was_reset, was_update, was_new = nn.functional.linear(state, self.weight_hh, self.bias_hh).chunk(3, 1)
            proposed = torch.tanh(torch.addcmul(new, torch.sigmoid(reset + was_reset), was_new))
            after = torch.lerp(proposed, state, torch.sigmoid(update + was_update))
            if sees is not None:
                after = torch.where(sees[t][:, None], after, state)
            found.append(after)
            state = after * goes_on
        return torch.stack(found)


class Stretch(NamedTuple):
    """The inputs of a recurrent network for sequences, flat, and the structure of these sequences."""

    obs: torch.Tensor
    """Observations of all steps (steps * sequences, ...), then those true next observations that belong to no step."""
    state: torch.Tensor
    """The state before the first step, as the actor had it, (sequences, width)."""
    going: torch.Tensor
    """1 if the next step belongs to the same episode, (steps, sequences). float32."""
    apart: torch.Tensor | None = None
    """After which steps these next observations come, (steps, sequences). bool."""


def sequences(x: torch.Tensor, length: int) -> torch.Tensor:
    """Cut rows (steps, environments, ...) into sequences of `length` steps, (length, sequences, ...).

    >>> sequences(torch.arange(8).view(4, 2), 2).tolist()  # steps 0 and 1 of two environments, then 2 and 3
    [[0, 1, 4, 5], [2, 3, 6, 7]]
    """
    return x.view(-1, length, *x.shape[1:]).transpose(0, 1).flatten(1, 2)


class Recurrent(nn.Module):
    """`before` maps observations to inputs (n, inputs), then comes a GRU, then `head` maps its states to outputs.

    Its parameters are in this order, and `RecurrentInference` takes them in it.
    """

    def __init__(self, before: nn.Sequential, inputs: int, width: int, head: nn.Module, *, flattens: bool) -> None:
        super().__init__()
        self.before, self.gru, self.head = before, GRU(inputs, width), head
        self.width, self.flattens = width, flattens

    def states(self, seen: Stretch) -> torch.Tensor:
        """The states after each observation, flat as the observations are, (n, width)."""
        inputs = self.before(seen.obs.flatten(1).float() if self.flattens else seen.obs)
        steps, sequences = seen.going.shape
        n = steps * sequences
        states = self.gru.along(inputs[:n].view(steps, sequences, -1), seen.state, seen.going)
        found = states.flatten(0, 1)
        if seen.apart is None:
            return found
        following: torch.Tensor = self.gru(inputs[n:], states[seen.apart])
        return torch.cat([found, following])

    def after(self, obs: torch.Tensor, state: torch.Tensor, going: torch.Tensor) -> torch.Tensor:
        """The state behind all these steps (steps, sequences, ...) that begin with this one, without gradients."""
        with torch.no_grad():
            states = self.states(Stretch(obs.flatten(0, 1), state, going))
        return states[-len(state) :] * going[-1][:, None]


def seen_first(
    normalise: nn.Module | None,
    torso: nn.Module | None,
    sizes: Sequence[int],
    activation: type[nn.Module],
    *,
    gain: float | None = None,
) -> tuple[nn.Sequential, int]:
    """The layers before a GRU, a torso or linear layers with activations, and the number of their outputs."""
    first = [] if normalise is None else [normalise]
    if torso is not None:
        features: Any = torso.features
        return nn.Sequential(*first, torso), features
    layers = [*mlp(sizes, activation, gain=gain), activation()] if len(sizes) > 1 else []
    return nn.Sequential(*first, *layers), sizes[-1]


class RecurrentInference:
    """A `Recurrent` for inference: weights come as one vector; inputs, outputs and states are NumPy arrays.

    >>> net = Recurrent(nn.Sequential(nn.Linear(4, 8), nn.Tanh()), 8, 3, nn.Linear(3, 2), flattens=True)
    >>> fast = RecurrentInference(net)
    >>> fast.load(nn.utils.parameters_to_vector(net.parameters()).detach().numpy())
    >>> x, states = np.ones((5, 4), np.float32), np.zeros((5, 3), np.float32)
    >>> _, outputs = fast(x, states), fast(x, states)  # of which the second knows of the first
    >>> twice = Stretch(torch.ones(10, 4), torch.zeros(5, 3), torch.ones(2, 5))
    >>> bool(np.allclose(outputs, net.head(net.states(twice)[5:]).detach(), atol=1e-6))
    True
    """

    def __init__(self, net: Recurrent) -> None:
        self.before, self.head = Inference(net.before), Inference(net.head)
        self.width, self.inputs = net.width, net.gru.input_size
        self.size = sum(p.numel() for p in net.parameters())

    def load(self, weights: NDArray[np.float32]) -> None:
        """Copy these weights into the network."""
        first, last = self.before.size, self.size - self.head.size
        self.before.load(weights[:first])
        self.head.load(weights[last:])
        width, n = 3 * self.width, 3 * self.width * self.inputs
        middle = weights[first:last]
        self.kernel = middle[:n].reshape(width, self.inputs).T.copy()
        self.again = middle[n : n + width * self.width].reshape(width, self.width).T.copy()
        self.bias, self.bias_again = middle[-2 * width : -width].copy(), middle[-width:].copy()

    def __call__(self, x: NDArray[Any], states: NDArray[np.float32]) -> NDArray[Any]:
        """The outputs for a batch of inputs; updates `states` (n, width) in place."""
        width = self.width
        seen = self.before(x) @ self.kernel
        seen += self.bias
        was = states @ self.again
        was += self.bias_again
        gates = _sigmoid(seen[:, : 2 * width] + was[:, : 2 * width])
        new = np.tanh(seen[:, 2 * width :] + gates[:, :width] * was[:, 2 * width :])
        new += gates[:, width:] * (states - new)
        states[...] = new
        return self.head(new)


def _sigmoid(x: NDArray[Any]) -> NDArray[np.float32]:
    """Computed by tanh, which does not overflow."""
    found: NDArray[np.float32] = np.tanh(x * np.float32(0.5))
    found += np.float32(1)
    found *= np.float32(0.5)
    return found
