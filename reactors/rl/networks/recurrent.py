"""What does a network remember of an episode, in torch where it learns and in NumPy where it acts?

A gated recurrent unit (Cho et al., 2014, arXiv 1406.1078) stands between what sees and what decides. Its state is what
it remembers; an episode begins with zeros. Where it learns, it goes over a sequence from the state that the actor had
at its beginning, and forgets inside of it just where the actor did: `forget` has that rule, for both.
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

WIDTH = 64  # of a state where `recurrent` is True: that of QMIX (Rashid et al., 2018, arXiv 1803.11485)


def width_of(recurrent: int | bool) -> int:
    """How many numbers a state has, 0 where there is none.

    >>> width_of(False), width_of(True), width_of(16)
    (0, 64, 16)
    """
    return recurrent * WIDTH if isinstance(recurrent, bool) else recurrent


def forget(states: NDArray[np.float32], terminated: NDArray[np.bool_], truncated: NDArray[np.bool_]) -> None:
    """Begin again with zeros where an episode has just ended; `states` are (environments, width).

    >>> states = np.ones((3, 2), np.float32)
    >>> forget(states, np.array([True, False, False]), np.array([False, False, True]))
    >>> states.tolist()
    [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    """
    states[terminated | truncated] = 0.0


class GRU(nn.GRUCell):
    """A gated recurrent unit that goes over sequences; its matrices begin orthogonal, its biases zero.

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
        """The states after each step of sequences x (steps, sequences, inputs), (steps, sequences, width).

        `state` (sequences, width) is that before the first step. `going` (steps, sequences) is 1 where the next step is
        of the same episode, and 0 where that begins with zeros. A state waits where nothing is seen, which `sees`
        (steps, sequences) says, bool.
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
    """What a recurrent network sees of sequences, flat, and how they hang together."""

    obs: torch.Tensor
    """Of all steps (steps * sequences, ...), and then those true next observations that are no step's."""
    state: torch.Tensor
    """Before the first step, as the actor had it, (sequences, width)."""
    going: torch.Tensor
    """1 where the next step is of the same episode, (steps, sequences). float32."""
    apart: torch.Tensor | None = None
    """After which steps those next observations come, (steps, sequences). bool."""


def sequences(x: torch.Tensor, length: int) -> torch.Tensor:
    """Rows (steps, environments, ...) cut into sequences of so many steps, (length, sequences, ...).

    >>> sequences(torch.arange(8).view(4, 2), 2).tolist()  # steps 0 and 1 of two environments, then 2 and 3
    [[0, 1, 4, 5], [2, 3, 6, 7]]
    """
    return x.view(-1, length, *x.shape[1:]).transpose(0, 1).flatten(1, 2)


class Recurrent(nn.Module):
    """`before`, which makes inputs (n, inputs) of observations, a GRU, and `head`, which makes outputs of its states.

    Its parameters are in this order, in which `RecurrentInference` takes them.
    """

    def __init__(self, before: nn.Sequential, inputs: int, width: int, head: nn.Module, *, flattens: bool) -> None:
        super().__init__()
        self.before, self.gru, self.head = before, GRU(inputs, width), head
        self.width, self.flattens = width, flattens

    def states(self, seen: Stretch) -> torch.Tensor:
        """After each observation, flat as they are, (n, width)."""
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
    """What is before a GRU: the torso, or linear layers of these sizes, each with an activation; how much it makes."""
    first = [] if normalise is None else [normalise]
    if torso is not None:
        features: Any = torso.features
        return nn.Sequential(*first, torso), features
    layers = [*mlp(sizes, activation, gain=gain), activation()] if len(sizes) > 1 else []
    return nn.Sequential(*first, *layers), sizes[-1]


class RecurrentInference:
    """A `Recurrent` where it acts: weights come as one vector, inputs, outputs and states are NumPy arrays.

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
        """Take on these weights, of which a copy is made."""
        first, last = self.before.size, self.size - self.head.size
        self.before.load(weights[:first])
        self.head.load(weights[last:])
        width, n = 3 * self.width, 3 * self.width * self.inputs
        middle = weights[first:last]
        self.kernel = middle[:n].reshape(width, self.inputs).T.copy()
        self.again = middle[n : n + width * self.width].reshape(width, self.width).T.copy()
        self.bias, self.bias_again = middle[-2 * width : -width].copy(), middle[-width:].copy()

    def __call__(self, x: NDArray[Any], states: NDArray[np.float32]) -> NDArray[Any]:
        """The outputs for a batch of inputs, whose `states` (n, width) go on."""
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
    """By tanh, which does not overflow."""
    found: NDArray[np.float32] = np.tanh(x * np.float32(0.5))
    found += np.float32(1)
    found *= np.float32(0.5)
    return found
