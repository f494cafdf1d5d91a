"""What is an algorithm, to the dataflow that runs it?

A dataclass of hyperparameters that makes two objects: a `Policy`, of which every actor has one, and a `Learning`, of
which the learner has one. Weights go from one to the other as a flat vector, experience comes back as arrays. Neither
knows where it runs, or what the others do meanwhile.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import numpy as np

from reactors.errors import ParameterError
from reactors.rl.algorithms.hyperparameters import Count, Share, check

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    import torch
    from numpy.typing import NDArray

    from reactors.rl.networks import Descent, Flat


class Policy(ABC):
    """How an actor chooses actions. `size` is the number of weights that it needs."""

    size: int

    @abstractmethod
    def load(self, weights: NDArray[np.float32]) -> None:
        """Take on new weights, of which it keeps no view."""

    @abstractmethod
    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """Actions for a batch of observations, and what is to be remembered of each choice.

        `steps` is the number of environment steps that all actors have made, by which exploration may be scheduled.
        """

    @abstractmethod
    def greedy(self, observations: NDArray[Any]) -> NDArray[Any]:
        """The actions that it thinks best."""

    def state_dict(self) -> dict[str, Any]:
        """What it has to continue from beside its weights, such as noise that goes on from step to step."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:  # noqa: B027 - most policies have nothing else
        """Continue from there."""


class Learning(ABC):
    """Networks, optimizers, and what one batch does to them."""

    @property
    def flats(self) -> Sequence[Flat]:
        """Parameters whose gradients it descends, one `networks.Flat` for each optimizer.

        Without any, as it is by default, there can be but one learner.
        """
        return ()

    @abstractmethod
    def learn(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """One update, or all that an on-policy algorithm makes of a batch, as a generator.

        Before each step of an optimizer it yields the one of `flats` whose gradients are ready: several learners put
        their mean in their place, and a single one just goes on. `networks.descend` does that for one loss. Learners
        that share a batch must yield the same in the same order, whatever is in their parts of it.

        It returns figures to be logged. A figure that is a tensor stands for its mean, which is asked for only where it
        is logged. An off-policy batch has (n, ...) fields, and the figures have `errors`, float32 (n,), where replay is
        prioritized. An on-policy one has fields (steps, environments, ...).
        """

    def reseed(self, seed: int) -> None:  # noqa: B027 - not all that learns is random
        """Draw random numbers from this seed from now on: of several learners with the same networks, each its own.

        Torch's own generator, of which dropout draws, belongs to all; several learners must not use it.
        """

    @abstractmethod
    def weights(self) -> NDArray[np.float32]:
        """What policies need, as one vector."""

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """All that there is to continue from."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from there."""


@dataclass(frozen=True, kw_only=True)
class Algorithm(ABC):
    """Hyperparameters that all algorithms have."""

    name: ClassVar[str]
    on_policy: ClassVar[bool]
    discrete: ClassVar[bool] = True
    continuous: ClassVar[bool] = True
    tabular: ClassVar[bool] = False
    shared: ClassVar[tuple[str, ...]] = ("num_envs",)
    """Hyperparameters of which each of several learners has its part."""

    num_envs: Count = 8
    """Environments of all actors together. Usual."""
    horizon: Count = 32
    """Steps of each environment in a round. Usual."""
    gamma: Share = 0.99
    """Discount. Usual."""

    def __post_init__(self) -> None:
        """Refuse hyperparameters that cannot be."""
        check(self)

    def check(self, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> None:
        """Refuse spaces that it cannot take."""
        if self.tabular:
            if not isinstance(observation_space, gym.spaces.Discrete):
                raise ParameterError(
                    f"{self.name} keeps a table of all observations, and the environment's are {observation_space}; "
                    "take an environment with a Discrete observation space, or an algorithm with a network"
                )
        elif not isinstance(observation_space, gym.spaces.Box):
            raise ParameterError(
                f"{self.name} takes observations of a Box, and the environment's are {observation_space}; flatten them "
                "with gymnasium.wrappers.FlattenObservation"
            )
        if isinstance(action_space, gym.spaces.Discrete):
            if self.discrete:
                return
            raise ParameterError(f"{self.name} takes continuous actions, and the environment's are {action_space}")
        if isinstance(action_space, gym.spaces.Box) and len(action_space.shape) == 1:
            if self.continuous:
                self.check_bounds(action_space)
                return
            raise ParameterError(f"{self.name} takes discrete actions, and the environment's are {action_space}")
        raise ParameterError(
            f"{self.name} takes actions of a {' or a flat '.join(self.takes())}, and the environment's are "
            f"{action_space}"
        )

    def part(self, learners: int) -> Self:
        """Its hyperparameters for one of so many learners, which share each batch evenly.

        Raises `ParameterError` where that cannot be.
        """
        for name in self.shared:
            if (whole := getattr(self, name)) % learners:
                raise ParameterError(
                    f"{name} of {self.name} is {whole}, which {learners} learners cannot share evenly; let it be a "
                    f"multiple of {learners}, or take other learners"
                )
        return replace(self, **{name: getattr(self, name) // learners for name in self.shared})

    def check_bounds(self, action_space: gym.spaces.Box) -> None:
        """Refuse a Box of actions with bounds that it cannot take; by default it takes all."""
        del action_space

    def takes(self) -> list[str]:
        """Kinds of action spaces."""
        return ["Discrete"] * self.discrete + ["Box"] * self.continuous

    def remembered(self, action_space: gym.Space[Any]) -> dict[str, Any]:
        """Dtypes of what `Policy.act` gives beside the actions."""
        del action_space
        return {}

    @abstractmethod
    def policy(self, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> Policy:
        """One for an actor."""

    @abstractmethod
    def learning(
        self, observation_space: gym.Space[Any], action_space: gym.Space[Any], seed: int, device: str = "cpu"
    ) -> Learning:
        """One for the learner, whose networks are initialised from the seed."""


INITIALISING = Lock()
"""Held while networks are made: initial weights come from torch's one generator, which all threads share."""


def seeded(seed: int) -> np.random.Generator:
    """Torch draws initial weights from this seed from now on; and a NumPy generator of the same, for all else."""
    import torch

    torch.manual_seed(seed)
    return np.random.default_rng(seed)
