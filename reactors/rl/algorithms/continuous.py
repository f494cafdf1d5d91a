"""The common part of algorithms with continuous actions and replay: bounds, a policy, and critics."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import numpy as np
import torch
from torch import nn

from reactors.errors import ParameterError
from reactors.rl.algorithms.off_policy import OffPolicy
from reactors.rl.bounded import Layers, Positive, Rate
from reactors.rl.contract.algorithm import Policy
from reactors.rl.envs.spaces import within
from reactors.rl.networks.layers import Inference, Torso, inputs_of, mlp, torso
from reactors.rl.networks.perceptrons import perceptrons
from reactors.rl.networks.recurrent import Recurrent, seen_first
from reactors.rl.networks.vitals import biases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from reactors.rl.envs.spaces import Space


@dataclass(frozen=True, kw_only=True)
class Continuous(OffPolicy):
    """Hyperparameters that DDPG, TD3 and SAC share; the defaults are those of their papers and Stable-Baselines3."""

    discrete: ClassVar[bool] = False

    num_envs: int = 4
    """Chosen here; one in the papers."""
    horizon: int = 4
    """Steps of each environment in a round; the policy is that much behind its experience. Chosen here."""
    capacity: int = 200_000
    """A fifth of what the papers have, because a checkpoint holds them all."""
    learning_starts: int = 1_000
    """Environment steps before the first update, whose actions are random. Fujimoto et al., 2018, section 6.1, for
    most."""
    batch_size: int = 256
    """Stable-Baselines3's."""
    learning_rate: Positive = 3e-4
    """Of all networks, if the critics have no other one. Haarnoja et al., 2018, table 1, and TD3's released code."""
    critic_learning_rate: Positive | None = None
    """Of the critics, in the place of `learning_rate`; CleanRL has 1e-3 for SAC's."""
    tau: Rate = 0.005
    """How far target networks move towards the networks at an update. Stable-Baselines3's."""
    max_grad_norm: Positive | None = None
    """The gradients of the actor and of the critics are scaled down to this norm, each for itself (Pascanu et al.,
    2013, arXiv 1211.5063). By default they are not, as in the papers."""
    hidden: Layers = (256, 256)
    """Layers of actor and of critics, after the torso if there is one. Stable-Baselines3's for SAC."""
    critic_hidden: Layers | None = None
    """Layers of the critics, in the place of `hidden`."""
    torso: Torso = None
    """"nips", "nature", "small" or "minatar", or a function of the observation space that makes a `torch.nn.Module`
    with an int `features`; by default what fits their size, and none for vectors. The actor has one, which its loss
    trains, and the critics together another, which theirs does, and of which their targets have a copy that follows."""

    @abstractmethod
    def network(self, observation_space: Space, action_space: Space) -> nn.Sequential:
        """The network from observations to actions."""

    @property
    def layers_of_critics(self) -> Layers:
        """`critic_hidden`, or `hidden` without it."""
        return self.hidden if self.critic_hidden is None else self.critic_hidden

    def actor(self, observation_space: Space, outputs: int) -> nn.Sequential:
        """From observations to `outputs` numbers: layers with ReLU between them, after a torso if there is one."""
        seeing: Any = torso(self.torso, observation_space)
        if seeing is None:
            return mlp([inputs_of(observation_space), *self.hidden, outputs], nn.ReLU)
        return nn.Sequential(seeing, *mlp([seeing.features, *self.hidden, outputs], nn.ReLU))

    def recurrent_actor(self, observation_space: Space, outputs: int, width: int) -> Recurrent:
        """The same with a GRU after these layers, whose state has `width` numbers, and a linear layer on its state."""
        return recurrent(self.torso, observation_space, self.hidden, width, mlp([width, outputs]))

    def check_bounds(self, action_space: gym.spaces.Box) -> None:
        """Refuse actions without bounds: they are squashed, or clipped, to the bounds."""
        if not action_space.is_bounded():
            raise ParameterError(
                f"{self.name} takes actions with bounds, and the environment's are {action_space}; wrap it with "
                "gymnasium.wrappers.RescaleAction or a bounded action space"
            )


class ActionBox:
    """A box of actions, and the cube from -1 to 1 that networks use."""

    def __init__(self, action_space: Space) -> None:
        assert isinstance(action_space, gym.spaces.Box)
        self.box = action_space
        half_low, half_high = action_space.low / 2, action_space.high / 2  # of all numbers of a dtype, too
        self.centre, self.scale = half_high + half_low, half_high - half_low
        self.divisor = np.where(self.scale > 0, self.scale, 1)  # a single possible action is the middle of the cube
        self.size = int(action_space.shape[0])

    def outwards(self, actions: NDArray[Any]) -> NDArray[Any]:
        """From the cube to the box."""
        return within(self.box, self.centre + self.scale * actions)

    def inwards(self, actions: torch.Tensor) -> torch.Tensor:
        """From the box to the cube, in float32."""
        centre, scale = (torch.from_numpy(each).to(actions.device) for each in (self.centre, self.divisor))
        return ((actions - centre) / scale).float()


class DeterministicPolicy(Policy):
    """The actor's action plus normal noise; random actions until `learning_starts`."""

    def __init__(self, actor: nn.Module, action_space: Space, *, noise: float, learning_starts: int) -> None:
        self.infer, self.bounds = Inference(actor), ActionBox(action_space)
        self.size, self.noise, self.learning_starts = self.infer.size, np.float32(noise), learning_starts

    def load(self, weights: NDArray[np.float32]) -> None:
        """Take new weights."""
        self.infer.load(weights)

    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """An action for each observation."""
        n = len(observations)
        if steps < self.learning_starts:
            return self.bounds.outwards(rng.uniform(-1, 1, (n, self.bounds.size)).astype(np.float32)), {}
        noise = self.noise * rng.standard_normal((n, self.bounds.size), np.float32)
        return self.bounds.outwards(self.infer(observations) + noise), {}

    def greedy(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Actions without exploration noise."""
        return self.bounds.outwards(self.infer(observations))


class Critics(nn.Module):
    """`n` critics of the same sizes, evaluated together, from observations and actions to values (n, batch).

    They see observations through a torso that all share, if there is one, otherwise as vectors. Layers are initialised
    as in `torch.nn.Linear`.
    """

    def __init__(self, n: int, inputs: int, hidden: Sequence[int], torso: nn.Module | None = None) -> None:
        super().__init__()
        self.torso = torso
        sizes = [inputs, *hidden, 1]
        self.kernels, self.biases = nn.ParameterList(), nn.ParameterList()
        for before, after in pairwise(sizes):
            bound = 1 / math.sqrt(before)
            self.kernels.append(torch.empty(n, before, after).uniform_(-bound, bound))
            self.biases.append(torch.empty(n, 1, after).uniform_(-bound, bound))

    def units(self) -> list[torch.Tensor]:
        """The biases of all hidden layers, the torso's included."""
        return [*biases(self.torso), *self.biases[:-1]]

    def forward(self, obs: torch.Tensor, actions: torch.Tensor, n: int | None = None) -> torch.Tensor:
        """The values of actions by every critic, or by the first n."""
        features = obs if self.torso is None else self.torso(obs)
        x = torch.cat([features, actions], 1)
        if n is None:  # whole: gradients of slices would be copied
            return perceptrons(x, self.kernels, self.biases)
        return perceptrons(x, (each[:n] for each in self.kernels), (each[:n] for each in self.biases))


class RecurrentCritics(nn.Module):
    """`n` critics on the state of one GRU and an action; before the GRU is a torso, or the layers `hidden`.

    Each critic has one hidden layer, as large as the last of `hidden`. The GRU, whose state has `width` numbers, is not
    the actor's: a shared one learns worse (Ni et al., "Recurrent Model-Free RL Can Be a Strong Baseline for Many
    POMDPs", 2022, arXiv 2110.05038).
    """

    torso = None  # they see states, as vectors

    def __init__(
        self, n: int, actions: int, observation_space: Space, hidden: Sequence[int], kind: Torso, width: int
    ) -> None:
        super().__init__()
        self.recurrent = recurrent(kind, observation_space, hidden, width, Critics(n, width + actions, hidden[-1:]))

    def units(self) -> list[torch.Tensor]:
        """The biases of all hidden layers except the GRU."""
        head: Any = self.recurrent.head
        return [*biases(self.recurrent.before), *head.units()]

    def forward(self, states: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """The values of actions in states of the GRU, by every critic."""
        found: torch.Tensor = self.recurrent.head(states, actions)
        return found


def recurrent(kind: Torso, observation_space: Space, hidden: Sequence[int], width: int, head: nn.Module) -> Recurrent:
    """A torso, or layers with ReLU after each; a GRU; and the `head` on its state."""
    seeing: Any = torso(kind, observation_space)
    before, inputs = seen_first(None, seeing, [inputs_of(observation_space), *hidden], nn.ReLU)
    return Recurrent(before, inputs, width, head, flattens=seeing is None)


def vectors(obs: torch.Tensor) -> torch.Tensor:
    """Observations of any shape as float32 (n, size)."""
    return obs.flatten(1).float()
