"""What does the dataflow need of an algorithm?

An algorithm is a dataclass of hyperparameters that makes two objects: a `Policy` for each actor, and a `Learning` for
each learner. Weights go from the learner to the policies as a flat vector; experience comes back as arrays. Neither
object knows where it runs, or what the others are doing.
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
        """Take new weights; keep a copy, not a view."""

    @abstractmethod
    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """Choose actions for a batch of observations; returns them and what to remember of each choice.

        `steps` is the number of environment steps that all actors have made, for example for an exploration schedule.
        """

    @abstractmethod
    def greedy(self, observations: NDArray[Any]) -> NDArray[Any]:
        """The greedy actions for a batch of observations."""

    def state_dict(self) -> dict[str, Any]:
        """State to resume from other than the weights, such as noise that is correlated from step to step."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:  # noqa: B027 - most policies have nothing else
        """Resume from a `state_dict`."""


class Learning(ABC):
    """Networks, optimizers, and how they learn from a batch."""

    draws: ClassVar[bool] = False
    """Whether `learn` draws random numbers from torch without a generator of its own, as dropout does. If so, each
    learner lends it a generator with the learner's own seed, which costs some microseconds for each operation. If
    not, such draws are refused."""

    progress: float | None = None
    """How much of the run is over, from 0 to 1, where that does not follow from the number of updates: with `adapt`."""

    @property
    def flats(self) -> Sequence[Flat]:
        """The parameters that it optimizes, one `networks.Flat` for each optimizer.

        If it is empty, which is the default, there can be only one learner.
        """
        return ()

    @abstractmethod
    def learn(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """A generator that makes one update, or for an on-policy algorithm all updates from a batch.

        Before each step of an optimizer, it yields the member of `flats` whose gradients are ready. Several learners
        then replace these gradients by their mean; a single learner just continues. `networks.descend` does this for
        one loss. Learners that share a batch must yield the same in the same order, whatever their parts of the batch
        contain.

        It returns figures for the log: numbers, tensors, each of which stands for its mean, and functions that return
        one or the other. Means are computed, and functions called, only for the last update before a row is logged. An
        off-policy batch has fields (n, ...); if replay is prioritized, the figures include `errors`, float32 (n,). An
        on-policy batch has fields (steps, environments, ...).
        """

    def reseed(self, seed: int) -> None:  # noqa: B027 - not all that learns is random
        """Draw random numbers from this seed from now on; several learners with the same networks get a seed each."""

    @abstractmethod
    def weights(self) -> NDArray[np.float32]:
        """The weights that policies need, as one vector."""

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """The whole state to resume from."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a `state_dict`."""

    def break_off(self, broken_off: NDArray[np.bool_]) -> None:  # noqa: B027 - most wait for nothing
        """After `load_state_dict`: these environments begin new episodes, for their state could not be saved.

        What waits for more of their last episodes is to be given up; `broken_off` is bool (environments of a batch,).
        """


@dataclass(frozen=True, kw_only=True)
class Algorithm(ABC):
    """The hyperparameters that all algorithms have.

    All random numbers that `policy` and `learning` draw from torch, above all the initial weights of networks, follow
    from the seed and leave torch's own generator alone. So modules can be made in these methods as anywhere else.
    """

    name: ClassVar[str]
    on_policy: ClassVar[bool]
    discrete: ClassVar[bool] = True
    continuous: ClassVar[bool] = True
    tabular: ClassVar[bool] = False
    shared: ClassVar[tuple[str, ...]] = ("num_envs",)
    """Hyperparameters that several learners divide among themselves."""
    alone: ClassVar[tuple[str, ...]] = ()
    """Hyperparameters that need the whole batch, so that only a single learner can use them."""
    without: ClassVar[dict[str, str]] = {}
    """Hyperparameters of a base that it does not have, and why, or what to take instead."""
    __signature__: ClassVar[Signature] = Signature()

    num_envs: Count = 8
    """Environments of all actors together. Usual."""
    horizon: Count = 32
    """Steps of each environment in a round. Usual."""
    gamma: Share = 0.99
    """Discount. Usual."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Seed the initial weights of networks, also in `policy` and `learning` methods that users write."""
        super().__init_subclass__(**options)
        for name, seeded in (("policy", _seeded_policy), ("learning", _seeded_learning)):
            if name in vars(cls):
                setattr(cls, name, seeded(vars(cls)[name]))

    def __new__(cls, *positional: Any, **named: Any) -> Self:
        """Refuse unknown hyperparameters, and classes whose hyperparameters would be ignored."""
        check_call(cls, positional, named)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Refuse invalid hyperparameters."""
        check(self)

    @classmethod
    def preset(cls, env: str, **others: Any) -> Self:
        """The algorithm with the hyperparameters of an environment's preset; `others` override them.

        `env` is a name, as in `rl.train`; for Atari games it is `atari:GAME`. `rl.presets()` lists all presets, and the
        sources of their numbers. Raises `ParameterError` if there is no preset.

        >>> from reactors import rl
        >>> rl.PPO.preset("CartPole-v1").epochs, rl.PPO.preset("atari:Pong", epochs=3).clip
        (20, 0.1)
        """
        return cls(**needed_preset(cls, env).values | others)

    def _lacks(self, name: str, seen: Mapping[str, object]) -> str:  # noqa: ARG002 - as `lacking.explains` calls it
        """What to add to the message when there is no attribute of this name."""
        return no_attribute(name, [each for each in dir(self) if not each.startswith("_")])

    def scheduled(self, total_steps: int) -> Self:
        """A copy for a run of `total_steps`, over which its schedules go; `rl.train` calls it.

        These are schedules of learning rates and exploration. It sets the field `total_steps`, if the algorithm has
        one.
        """
        if all(field.name != "total_steps" for field in fields(self)):
            return self
        made = copy(self)
        object.__setattr__(made, "total_steps", total_steps)
        check(made)
        return made

    @property
    def has_schedules(self) -> bool:
        """Whether what it learns depends on the field `total_steps`."""
        return any(field.name == "total_steps" for field in fields(self))

    def check(self, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> None:
        """Refuse spaces that it cannot take, and, for networks, torch defaults of another dtype or device."""
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
            raise ParameterError(
                f"{self.name} takes continuous actions, and the environment's are {action_space}; take rl.PPO, or for "
                "many agents rl.IPPO"
            )
        if isinstance(action_space, gym.spaces.Box) and len(action_space.shape) == 1:
            if self.continuous:
                self.check_bounds(action_space)
                return
            raise ParameterError(
                f"{self.name} takes discrete actions, and the environment's are {action_space}; take rl.PPO, or for "
                "many agents rl.IPPO"
            )
        several = isinstance(action_space, gym.spaces.Box) and self.continuous
        raise ParameterError(
            f"{self.name} takes actions of a {' or of a '.join(self.takes())}, and the environment's are "
            f"{action_space}; {'flatten them with' if several else 'make them from such actions by'} "
            "gymnasium.wrappers.TransformAction"
        )

    def part(self, learners: int) -> Self:
        """The hyperparameters for one of several `learners` that share each batch evenly.

        Raises `ParameterError` if a batch cannot be shared in this way.
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
        """The kinds of action spaces that it takes, in words."""
        return ["Discrete"] * self.discrete + ["Box with one axis"] * self.continuous

    def remembered(self, action_space: gym.Space[Any]) -> dict[str, Any]:
        """The dtypes of what `Policy.act` returns besides the actions."""
        del action_space
        return {}

    @abstractmethod
    def policy(self, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> Policy:
        """Make a policy for an actor."""

    @abstractmethod
    def learning(
        self, observation_space: gym.Space[Any], action_space: gym.Space[Any], seed: int, device: str = "cpu"
    ) -> Learning:
        """Make a `Learning` for a learner; its networks are initialised from the seed."""


explains(Algorithm)


def _check_torch(name: str) -> None:
    """Refuse torch defaults with which the networks would not accept what actors send."""
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
        with Seeded(0):  # its initial weights do not matter: it loads others
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
