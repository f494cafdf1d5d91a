"""The common part of algorithms that learn from a replay buffer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from reactors.errors import ArgumentError, ParameterError
from reactors.rl.bounded import Count, Natural, Positive, Share
from reactors.rl.contract.algorithm import Algorithm
from reactors.rl.contract.rows import experience_dtype
from reactors.rl.networks.recurrent import width_of
from reactors.rl.replay.buffer import ReplayBuffer
from reactors.rl.replay.sequences import Sequences, sequence_dtype

if TYPE_CHECKING:
    import gymnasium as gym


@dataclass(frozen=True, kw_only=True)
class OffPolicy(Algorithm):
    """Hyperparameters of algorithms that learn from a replay buffer."""

    on_policy: ClassVar[bool] = False
    shared: ClassVar[tuple[str, ...]] = ("batch_size",)

    capacity: Count = 100_000
    """Transitions that the replay buffer holds. A tenth of what papers have, because a checkpoint holds them all."""
    learning_starts: Natural = 1_000
    """Environment steps before the first update. Usual."""
    batch_size: Count = 64
    """Transitions in an update. Usual."""
    updates_per_step: Positive = 1.0
    """The ratio of updates to environment steps, kept exactly: PAL's throttle. 1 is usual."""
    n_step: Count = 1
    """Steps of a return. 1, as in the papers on DQN, DDPG, TD3 and SAC."""
    prioritized: bool = False
    """Sample by temporal-difference error. Off, as in those papers."""
    alpha: Share = 0.6
    """Exponent of the priorities in sampling; 0 samples uniformly. Schaul et al., 2016, for proportional priorities."""
    beta: Share = 0.4
    """Exponent of the importance weights; 1 corrects the bias of sampling in full. 0.4 is
    where Schaul et al., 2016, begin."""

    fanout: Literal[2, 4, 8, 16, 32, 64] = 16
    """Children of each node in the tree of priorities: K in PAL (arXiv 2110.01101), section IV. 16 float32 fill a
    cache line."""

    reward_clip: Positive | None = None
    """Clip rewards to plus or minus this before they are stored, as is usual for Atari (Mnih et al., 2013). By default
    they are not clipped."""
    frame_stack: Count | None = None
    """The number of frames in an observation, along its first axis; each frame is stored once. By default observations
    and next observations are stored whole."""

    def check(self, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> None:
        """Also refuse observations with another number of frames."""
        super().check(observation_space, action_space)
        shape = observation_space.shape or ()
        if self.frame_stack is not None and (len(shape) < 2 or shape[0] != self.frame_stack):
            raise ParameterError(
                f"frame_stack of {self.name} is {self.frame_stack}, and the environment's observations are of shape "
                f"{shape}; leave it out, or stack frames with gymnasium.wrappers.FrameStackObservation"
            )

    @property
    def stretch(self) -> tuple[int, int] | None:
        """The length and the period of sequences, if these are stored instead of transitions.

        None if transitions are stored.
        """
        return None

    def beta_at(self, steps: int) -> float:
        """The exponent of the importance weights after so many environment steps; by default always `beta`."""
        del steps
        return self.beta

    @property
    def updates(self) -> int:
        """The updates in a round. If the ratio gives no whole number, it is rounded up, and some rounds have none."""
        return max(1, math.ceil(self.updates_per_step * self.horizon * self.num_envs - 1e-9))

    @property
    def enough(self) -> int:
        """Environment steps before the first update: `learning_starts`, and those of first returns, or sequences."""
        steps = self.n_step if self.stretch is None else self.stretch[0]
        return max(self.learning_starts, steps * self.num_envs)

    def due(self, learnable: int) -> int:
        """The updates that are due after this many steps, of rounds with enough experience."""
        return self.updates * math.floor((self.updates_per_step * learnable + 1e-6) / self.updates)

    def updates_in(self, steps: int) -> int:
        """Updates in a run of so many environment steps: the ratio counts from the first round with enough of them."""
        a_round = self.horizon * self.num_envs
        rounds, before = max(1, steps // a_round), math.ceil(self.enough / a_round) - 1
        return self.due(a_round * max(0, rounds - before))


if TYPE_CHECKING:
    BesideOffPolicy = OffPolicy
else:  # a subclass of OffPolicy would repeat its defaults, and so override those of Continuous
    BesideOffPolicy = object


@dataclass(frozen=True, kw_only=True)
class FromSequences(BesideOffPolicy):
    """Hyperparameters of recurrent networks that learn from sequences; a mixin, to be named before `OffPolicy`."""

    recurrent: Count | bool = False
    """Numbers that the network remembers of an episode: the state of a gated recurrent unit (Cho et al., 2014, arXiv
    1406.1078) after the torso, or after the layers `hidden`. True is 64, as in QMIX's networks (arXiv 1803.11485). Then
    replay has sequences, and `batch_size` counts those, as in R2D2 (Kapturowski et al., ICLR 2019). By default nothing.
    """
    sequence: Count = 40
    """Of a recurrent network: steps of a sequence that are learned from. R2D2's, table 2 and section 3."""
    burn_in: Natural = 40
    """Of a recurrent network: steps before these, which only bring the stored state up to date. R2D2's value."""
    eta: Share = 0.9
    """Of a recurrent network: the priority of a sequence is eta times the largest error of its steps, plus 1 - eta
    times their mean error. R2D2's, section 2.3."""

    def __post_init__(self) -> None:
        """Refuse frames that are kept once of sequences, which are kept whole."""
        super().__post_init__()
        if self.recurrent and self.frame_stack is not None:
            raise ArgumentError(
                f"frame_stack of {type(self).__name__} is {self.frame_stack}, and a recurrent network learns from "
                "sequences, which are kept whole; leave it out"
            )

    @property
    def stretch(self) -> tuple[int, int] | None:
        """Of a recurrent network: sequences overlap by their first steps, from which nothing is learned."""
        return (self.burn_in + self.sequence, self.sequence) if self.recurrent else None

    def remembered(self, action_space: gym.Space[Any]) -> dict[str, Any]:
        """Of a recurrent network, the state when an action was chosen."""
        width = width_of(self.recurrent)
        return {**super().remembered(action_space), **({"state": np.dtype((np.float32, (width,)))} if width else {})}


def memory_of(algorithm: OffPolicy, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> ReplayBuffer:
    """The replay buffer for an algorithm."""
    return buffer_of(algorithm, experience_dtype(algorithm, observation_space, action_space), algorithm.num_envs)


def buffer_of(algorithm: OffPolicy, dtype: Any, streams: int) -> ReplayBuffer:
    """The replay buffer for steps of this dtype, from this many streams."""
    by_priority: Any = {name: getattr(algorithm, name) for name in ("alpha", "beta", "fanout")}
    how: Any = {"prioritized": algorithm.prioritized, **(by_priority if algorithm.prioritized else {})}
    if algorithm.stretch is not None:
        length, period = algorithm.stretch
        return ReplayBuffer(-(-algorithm.capacity // period), sequence_dtype(dtype, length), **how)
    return ReplayBuffer(
        algorithm.capacity, dtype, **how, n_step=algorithm.n_step,
        gamma=algorithm.gamma, num_envs=streams, frame_stack=algorithm.frame_stack,
    )  # fmt: skip


def sequences_of(algorithm: OffPolicy, step: Any, environments: int) -> Sequences | None:
    """Cuts steps of this dtype into sequences, if the algorithm stores sequences; otherwise None."""
    return None if algorithm.stretch is None else Sequences(step, environments, *algorithm.stretch)
