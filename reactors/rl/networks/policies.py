"""How do many agents act in one call, if each has its own weights?

In a bank of agents, each has a reaction that calls its network for one observation: for small networks, the calls cost
far more than the arithmetic. `Policies` has the ports of such a bank, and one reaction.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import reactors as rx
from reactors.errors import ArgumentError, ParameterError
from reactors.lowlevel import is_read, offered
from reactors.rl.networks.layers import flat
from reactors.rl.networks.stacked import stacked
from reactors.rl.public import public

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal, TypeAlias

    from numpy.typing import DTypeLike, NDArray

    Choose: TypeAlias = Callable[[NDArray[Any], np.random.Generator], NDArray[Any]]


def greedy(logits: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """The most likely action of each row."""
    del rng
    chosen: NDArray[Any] = logits.argmax(1)
    return chosen


def sample(logits: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """A random action for each row, from its softmax."""
    chosen: NDArray[Any] = (logits + rng.gumbel(size=logits.shape)).argmax(1)
    return chosen


def plain(outputs: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """The outputs, which are actions already."""
    del rng
    return outputs


CHOICES: dict[Any, Choose] = {"greedy": greedy, "sample": sample, None: plain}


@public("rl.Policies")
class Policies(rx.Reactor):
    """The policies of many agents with the same architecture and different weights, evaluated in one call.

    `networks` has a module for each agent, in eval mode, which maps observations `(n, *shape)` to outputs (n, ...).
    `shape` and `dtype` are those of one agent's observation. `choose` turns the outputs of the present agents into
    actions: "greedy" and "sample" treat them as logits, None leaves them as they are, and a function gets them, with a
    generator, and returns a row for each.

    ================= ============================================================ ==================================
    `observation[i]`  in: what agent i sees; absent if the agent is absent         `shape`, `dtype`
    `observations`    in, instead: the observations of all agents as one block     `(agents, *shape)`, `dtype`
    `weights[i]`      in: new weights of agent i, as `parameters_to_vector`        float32 (size,)
                      returns them; used from this tag on
    `action[i]`       the action of agent i; absent if the agent is absent         as a row that `choose` returns
    `actions`         the actions of all as one block, if all are present          (agents, ...), the same
    ================= ============================================================ ==================================

    Agents without an observation are not evaluated. Raises `ParameterError` for networks that differ in architecture,
    are not float32 and on the CPU, or do not take such an observation.

    >>> import torch
    >>> import reactors.rl as rl
    >>> agents = rl.Policies([torch.nn.Linear(6, 3) for _ in range(4)], shape=(6,))
    >>> agents.observation[3].shape, agents.weights[3].shape, agents.action[3].dtype
    ((6,), (21,), dtype('int64'))
    """

    weights = rx.Input(shape="size", dtype=np.float32, width="agents")

    def __init__(
        self,
        networks: Sequence[torch.nn.Module],
        *,
        shape: tuple[int, ...],
        dtype: DTypeLike = np.float32,
        choose: Literal["greedy", "sample"] | Choose | None = "greedy",
    ) -> None:
        if not networks:
            raise ArgumentError(f"{self.path} is given no networks; give one for each agent")
        if choose not in CHOICES and not callable(choose):
            raise ArgumentError(f"choose of {self.path} is {choose!r}; write 'greedy', 'sample', None or a function")
        chosen: Any = CHOICES.get(choose, choose)
        self.agents, self.choose = len(networks), chosen
        self.shape, self.size = tuple(shape), len(flat(networks[0]))
        trial = self._tried(networks[0], np.zeros((1, *self.shape), dtype))
        self.networks = stacked(networks, vectors=len(self.shape) == 1)
        self.observation = rx.Input(shape=self.shape, dtype=dtype, width=self.agents)
        self.observations = rx.Input(shape=(self.agents, *self.shape), dtype=dtype)
        self.action = rx.Output(shape=trial.shape[1:], dtype=trial.dtype, width=self.agents)
        self.actions = rx.Output(shape=(self.agents, *trial.shape[1:]), dtype=trial.dtype)
        for port in (self.observation, self.observations, self.weights, *self.action, self.actions):
            offered(port)
        self.add_reaction((self.observation, self.observations), self.act, effects=(*self.action, self.actions))

    def _tried(self, network: torch.nn.Module, observation: NDArray[Any]) -> NDArray[Any]:
        """The actions for one observation, as rows."""
        try:
            with torch.inference_mode():
                outputs = copy.deepcopy(network).eval()(torch.from_numpy(observation)).numpy()
        except (RuntimeError, TypeError, ValueError) as error:
            raise ParameterError(
                f"{self.path}: its networks cannot take observations of shape {self.shape} and dtype "
                f"{observation.dtype} ({error}); let their first layer fit"
            ) from error
        rows: Any = self.choose(outputs, np.random.default_rng(0))
        if not isinstance(rows, np.ndarray) or len(rows) != 1:
            raise ArgumentError(
                f"choose of {self.path} makes {type(rows).__name__} of outputs {outputs.shape}; let it return an array "
                "with a row for each of their rows"
            )
        return rows

    def load(self, i: int, weights: NDArray[np.float32]) -> None:
        """Set the weights of agent i, float32 (size,), before the run or in a reaction of a subclass."""
        if weights.shape != (self.size,):
            raise ArgumentError(f"agent {i} of {self.path} has {self.size} weights, and was given {weights.shape}")
        self.networks.load(i, weights)

    def weights_of(self, i: int) -> NDArray[np.float32]:
        """The weights of agent i, float32 (size,)."""
        return self.networks.weights(i)

    @rx.reaction(weights)
    def renew(self) -> None:
        """Take the new weights of some agents."""
        for i in self.weights.present:
            self.networks.load(i, self.weights[i].value)

    def act(self) -> None:
        """One evaluation for all present agents."""
        present = range(self.agents) if self.observations.is_present else self.observation.present
        if len(present) < self.agents:
            self.act_of(present)
            return
        block = self.observations.value if self.observations.is_present else self.observation.array
        actions = self.choose(self.networks(block), self.rng)
        if is_read(self.action[0]):
            rows = self.action.loan()
            rows[...] = actions
            self.action.set(rows)
        if is_read(self.actions):
            self.actions.set(actions)

    def act_of(self, present: Sequence[int]) -> None:
        """One evaluation for some agents."""
        block = np.stack([self.observation[i].value for i in present])
        for i, action in zip(present, self.choose(self.networks(block, present), self.rng), strict=True):
            row = self.action[i].loan()
            row[...] = action
            self.action[i].set(row)
