"""What is an algorithm, to the dataflow that runs it?

A dataclass of hyperparameters that makes two objects: a `Policy`, of which every actor has one, and a `Learning`, of
which the learner has one. Weights go from one to the other as a flat vector, experience comes back as arrays. Neither
knows where it runs, or what the others do meanwhile.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import torch

from reactors.errors import ArgumentError, ParameterError
from reactors.lowlevel import explains
from reactors.rl.bounded import Count, Share
from reactors.rl.contract.hyperparameters import Signature, check, check_call
from reactors.rl.contract.presets.tables import needed_preset
from reactors.rl.networks.seeded import Seeded
from reactors.rl.synonyms import no_attribute

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

    from reactors.rl.networks.layers import Descent, Flat


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
        """Continue from what `state_dict` gave."""


class Learning(ABC):
    """Networks, optimizers, and what one batch does to them."""

    draws: ClassVar[bool] = False
    """Whether `learn` draws from torch without a generator of its own, as dropout does. Then each learner lends it one,
    from its own seed, which costs some microseconds for each operation. Others are refused such draws."""

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
        """Draw random numbers from this seed from now on: of several learners with the same networks, each its own."""

    @abstractmethod
    def weights(self) -> NDArray[np.float32]:
        """What policies need, as one vector."""

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """All that there is to continue from."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` gave."""


@dataclass(frozen=True, kw_only=True)
class Algorithm(ABC):
    """Hyperparameters that all algorithms have.

    What `policy` and `learning` draw from torch, the first weights of networks above all, follows from the seed and
    leaves torch's own generator alone: modules are made in them as anywhere.
    """

    name: ClassVar[str]
    on_policy: ClassVar[bool]
    discrete: ClassVar[bool] = True
    continuous: ClassVar[bool] = True
    tabular: ClassVar[bool] = False
    shared: ClassVar[tuple[str, ...]] = ("num_envs",)
    """Hyperparameters of which each of several learners has its part."""
    alone: ClassVar[tuple[str, ...]] = ()
    """Hyperparameters that only one learner can have, for they go by all of a batch."""
    __signature__: ClassVar[Signature] = Signature()

    num_envs: Count = 8
    """Environments of all actors together. Usual."""
    horizon: Count = 32
    """Steps of each environment in a round. Usual."""
    gamma: Share = 0.99
    """Discount. Usual."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Networks begin by the seed, also where users write the methods that make them."""
        super().__init_subclass__(**options)
        for name, seeded in (("policy", _seeded_policy), ("learning", _seeded_learning)):
            if name in vars(cls):
                setattr(cls, name, seeded(vars(cls)[name]))

    def __new__(cls, *positional: Any, **named: Any) -> Self:
        """Refuse names that are none of hyperparameters, and classes whose hyperparameters would be ignored."""
        check_call(cls, positional, named)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Refuse hyperparameters that cannot be."""
        check(self)

    @classmethod
    def preset(cls, env: str, **others: Any) -> Self:
        """With hyperparameters that are known to suit an environment, and `others` in the place of some of them.

        `env` is a name, as in `rl.train`; that of Atari's games is `atari:GAME`. `rl.presets()` has all there are, and
        where their numbers are from. Raises `ParameterError` if there is none.

        >>> from reactors import rl
        >>> rl.PPO.preset("CartPole-v1").epochs, rl.PPO.preset("atari:Pong", epochs=3).clip
        (20, 0.1)
        """
        return cls(**needed_preset(cls, env).values | others)

    def _lacks(self, name: str, seen: Mapping[str, object]) -> str:  # noqa: ARG002 - as `lacking.explains` calls it
        """What to add to the message that it has no attribute of this name."""
        return no_attribute(name, [each for each in dir(self) if not each.startswith("_")])

    def scheduled(self, total_steps: int) -> Self:
        """The same for a run of so many steps, over which learning rates and exploration may go; `rl.train` says it.

        They are its field `total_steps`, if it has one.
        """
        if all(field.name != "total_steps" for field in fields(self)):
            return self
        made = copy(self)
        object.__setattr__(made, "total_steps", total_steps)
        check(made)
        return made

    def check(self, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> None:
        """Refuse spaces that it cannot take, and, if it has networks, defaults of torch that these are not made for."""
        if not self.tabular:
            _check_torch(self.name)
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
        several = isinstance(action_space, gym.spaces.Box)
        remedy = "; flatten them with gymnasium.wrappers.TransformAction" if several and self.continuous else ""
        raise ParameterError(
            f"{self.name} takes actions of a {' or of a '.join(self.takes())}, and the environment's are "
            f"{action_space}{remedy}"
        )

    def part(self, learners: int) -> Self:
        """Its hyperparameters for one of so many learners, which share each batch evenly.

        Raises `ParameterError` where that cannot be.
        """
        for name in self.alone:
            if learners > 1 and getattr(self, name):
                raise ParameterError(
                    f"{name} of {self.name} goes by all of a batch, of which {learners} learners have a part each; "
                    "leave it out, or take one learner"
                )
        for name in self.shared:
            if (whole := getattr(self, name)) % learners:
                raise ParameterError(
                    f"{name} of {self.name} is {whole}, which {learners} learners cannot share evenly; let it be a "
                    f"multiple of {learners}, or take other learners"
                )
        made = replace(self, **{name: getattr(self, name) // learners for name in self.shared})
        return made.scheduled(getattr(self, "total_steps", 1))

    def check_bounds(self, action_space: gym.spaces.Box) -> None:
        """Refuse a Box of actions with bounds that it cannot take; by default it takes all."""
        del action_space

    def takes(self) -> list[str]:
        """Kinds of action spaces."""
        return ["Discrete"] * self.discrete + ["Box with one axis"] * self.continuous

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


explains(Algorithm)


def _check_torch(name: str) -> None:
    """Refuse defaults of torch by which networks would be made that do not take what actors send."""
    for what, default, wanted, remedy in (
        ("dtype", torch.get_default_dtype(), "torch.float32", "torch.set_default_dtype(torch.float32)"),
        (
            "device",
            torch.get_default_device(),
            "cpu",
            'torch.set_default_device("cpu"), and device= says where they learn',
        ),
    ):
        if str(default) != wanted:
            raise ArgumentError(
                f"torch's default {what} is {default}, and networks of {name} are made by {wanted}; write {remedy}"
            )


def _seeded_policy(make: Callable[..., Policy]) -> Callable[..., Policy]:
    @wraps(make)
    def policy(self: Algorithm, *spaces: Any, **named: Any) -> Policy:
        with Seeded(0):  # its weights are replaced when it loads some
            return make(self, *spaces, **named)

    return policy


def _seeded_learning(make: Callable[..., Learning]) -> Callable[..., Learning]:
    @wraps(make)
    def learning(
        self: Algorithm, observation_space: Any, action_space: Any, seed: int, *device: str, **named: Any
    ) -> Learning:
        with Seeded(seed):
            return make(self, observation_space, action_space, seed, *device, **named)

    return learning
