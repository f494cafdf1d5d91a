"""The common part of policy-gradient algorithms, except for the loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import gymnasium as gym
import numpy as np
import torch

from reactors.errors import ParameterError
from reactors.rl.algorithms.actor_critic import (
    Activation,
    ActorCritic,
    ActorPolicy,
    RecurrentActorCritic,
    RecurrentActorPolicy,
)
from reactors.rl.bounded import Count, Layers, NotNegative, Positive
from reactors.rl.contract.algorithm import Algorithm, Learning
from reactors.rl.encoding.state import count
from reactors.rl.networks.layers import Adam, Flat, Torso, descend
from reactors.rl.networks.normalising import RewardScale
from reactors.rl.networks.recurrent import Stretch, width_of
from reactors.rl.networks.vitals import deviation, spread

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

    from numpy.typing import NDArray

    from reactors.rl.envs.spaces import Space
    from reactors.rl.estimates.returns import Course


@dataclass(frozen=True, kw_only=True)
class PolicyGradient(Algorithm):
    """Hyperparameters of policy-gradient algorithms."""

    on_policy: ClassVar[bool] = True

    learning_rate: Positive = 7e-4
    """Of the optimizer; falls linearly to 0 over the run if `anneal`. That of OpenAI Baselines' A2C."""
    anneal: bool = True
    """Let the learning rate fall linearly to 0 over the run. On, as in OpenAI Baselines."""
    entropy: NotNegative = 0.0
    """Weight of the entropy bonus. Stable-Baselines3's."""
    value: NotNegative = 0.5
    """Weight of the value loss. Stable-Baselines3's."""
    value_scale: Positive = 1.0
    """The critic's output is multiplied by this, and the value loss divided by its square. An update moves a weight
    by about the learning rate however wrong a value is: a critic that must climb to 100 in such steps is late, and
    explains next to nothing of the returns until then. 1 / (1 - gamma) is the value of a reward of 1 in each step;
    PopArt (Hessel et al., 2018, arXiv 1809.04474) finds such a scale as it goes. It is 1 where there is a torso or an
    auto-encoder, which the loss of values has to train as well. 1, as is usual."""
    max_grad_norm: Positive = 0.5
    """The gradient is scaled down to this norm. Stable-Baselines3's."""
    reward_clip: Positive | None = None
    """Clip rewards to plus or minus this, as is usual for Atari (Mnih et al., 2013). By default rewards are not
    clipped."""
    normalise_observations: bool = False
    """Subtract the running mean from observations, divide by the running deviation, and clip to plus or minus 10.
    The statistics are of all environments; they are sent, saved and served with the weights. As in OpenAI Baselines'
    `VecNormalize`. For frames, a torso sees each pixel less its mean, in quarters of the range. Off, as in papers."""
    normalise_rewards: bool = False
    """Divide rewards by the running deviation of the discounted return, and clip them to plus or minus 10; the journal
    has the original returns. As in OpenAI Baselines' `VecNormalize`; off, as in the papers."""
    hidden: Layers = (64, 64)
    """Hidden layers of actor and critic, where there is no torso. Stable-Baselines3's."""
    activation: Activation = "tanh"
    """Activation between these layers: "tanh" or "relu". Stable-Baselines3's."""
    log_std: float = 0.0
    """Initial logarithm of the standard deviation of continuous actions. Stable-Baselines3's."""
    torso: Torso = None
    """"nips", "nature", "small" or "minatar", or a function of the observation space that makes a `torch.nn.Module`
    with an int `features`; by default what fits the size of frames, and none for vectors."""
    recurrent: Count | bool = False
    """Numbers that the policy remembers of an episode: the state of a gated recurrent unit (Cho et al., 2014, arXiv
    1406.1078) after the torso, or after the layers `hidden`; actor and critic are linear heads on it, and `value_scale`
    is 1. True is 64, as in QMIX's networks (arXiv 1803.11485). By default nothing."""
    total_steps: Count = field(default=100_000, init=False)
    """Over which the learning rate is annealed; `rl.train` sets it."""

    alone: ClassVar[tuple[str, ...]] = ("normalise_observations", "normalise_rewards")

    @property
    def has_schedules(self) -> bool:
        """If it anneals."""
        return self.anneal

    def check(self, observation_space: Space, action_space: Space) -> None:
        """Also refuse to normalise vectors that a torso sees."""
        super().check(observation_space, action_space)
        if self.normalise_observations and self.torso is not None and len(observation_space.shape or ()) != 3:
            raise ParameterError(
                f"normalise_observations of {self.name} is for frames, and for vectors without a torso, and here are "
                "vectors with one; leave it out, and let the torso do so"
            )

    def part(self, learners: int) -> Self:
        """Each learner anneals by its own number of steps."""
        return super().part(learners).scheduled(max(1, self.total_steps // learners))

    def remembered(self, action_space: Space) -> dict[str, Any]:
        """When an action is chosen: its log-probability, the action before clipping, and the recurrent state."""
        found: dict[str, Any] = {"log_prob": np.float32}
        if isinstance(action_space, gym.spaces.Box):
            found["draw"] = np.dtype((np.float32, action_space.shape))
        if self.recurrent:
            found["state"] = np.dtype((np.float32, (width_of(self.recurrent),)))
        return found

    def network(self, observation_space: Space, action_space: Space) -> ActorCritic:
        """A network with both heads, the actor's and the critic's."""
        if self.recurrent:
            return RecurrentActorCritic(
                observation_space, action_space, self.hidden, self.torso, width_of(self.recurrent),
                activation=self.activation, log_std=self.log_std, normalise=self.normalise_observations,
            )  # fmt: skip
        return ActorCritic(
            observation_space, action_space, self.hidden, self.torso, scale=self.value_scale,
            activation=self.activation, log_std=self.log_std, normalise=self.normalise_observations,
        )  # fmt: skip

    def policy(self, observation_space: Space, action_space: Space) -> ActorPolicy:
        """Make a policy for an actor."""
        net = self.network(observation_space, action_space)
        if isinstance(net, RecurrentActorCritic):
            return RecurrentActorPolicy(net, action_space)
        return ActorPolicy(net, action_space)


class PolicyGradientLearning(Learning):
    """Network, optimizer and generator, and how a loss is minimised."""

    def __init__(
        self, config: PolicyGradient, observation_space: Space, action_space: Space, seed: int, device: str
    ) -> None:
        self.device = device
        self.rng = np.random.default_rng(seed)
        self.net, self.recurrent = config.network(observation_space, action_space).to(device), bool(config.recurrent)
        self.flat = Flat(self.net.parameters_in_order())
        self.optimizer = self.optimizer_of(config)
        self.learning_rate, self.left, self.steps = config.learning_rate, 1.0, 0
        self.observed: Any = None if self.net.normalise is None else self.net.normalise.statistics()
        self.rewarded = RewardScale(config.num_envs, config.gamma) if config.normalise_rewards else None

    def optimizer_of(self, config: Any) -> Any:
        """Adam, as in the code of Schulman et al."""
        return Adam(self.flat, config.learning_rate, eps=1e-5)

    def weights(self) -> NDArray[np.float32]:
        """The weights that acting needs: torso and actor."""
        return self.flat.fetch(self.net.acting_size)

    @property
    def flats(self) -> tuple[Flat]:
        """There is one optimizer."""
        return (self.flat,)

    def reseed(self, seed: int) -> None:
        """Seed the generator in place, because others share it."""
        self.rng.bit_generator.state = np.random.default_rng(seed).bit_generator.state

    def prepare(self, batch: Mapping[str, torch.Tensor], config: PolicyGradient) -> dict[str, torch.Tensor]:
        """The batch with `choice`, to which `log_prob` belongs, and with the rewards to learn from; anneals."""
        self.left = max(0.0, 1 - self.steps / config.total_steps) if config.anneal else 1.0
        self.learning_rate = config.learning_rate * self.left
        self.optimizer.learning_rate = self.learning_rate
        self.steps += batch["reward"].numel()
        reward, clip = batch["reward"], config.reward_clip
        if clip is not None:  # first, or a single large reward would scale all others down
            reward = reward.clamp(-clip, clip)
        if self.rewarded is not None:
            ended = (batch["terminated"] | batch["truncated"]).cpu().numpy()
            reward = torch.from_numpy(self.rewarded(reward.cpu().numpy(), ended)).to(reward.device)
        return {
            **batch,
            "reward": reward,
            "choice": batch["action"] if self.net.discrete else batch["draw"],
        }

    def learned(self, batch: Mapping[str, torch.Tensor]) -> None:
        """Add a whole batch to the statistics that normalise what actors see with the next weights.

        This cannot happen earlier: the choices in the batch were made with the statistics from before it.
        """
        if self.net.normalise is not None:
            self.observed.add(batch["obs"].flatten(0, 1).cpu().numpy())
            self.net.normalise.follow(self.observed)

    def seen(self, batch: Mapping[str, torch.Tensor], course: Course, *, following: bool = True) -> Any:
        """The inputs of the network for the features of `course.obs`, or of its steps alone."""
        obs = course.obs if following else course.obs[: course.apart.numel()]
        if not self.recurrent:
            return obs
        return Stretch(obs, batch["state"][0], course.going, course.apart if following else None)

    def descend(self, loss: torch.Tensor, max_grad_norm: float) -> Iterator[Flat]:
        """One step of the optimizer."""
        return descend(loss, self.flat, self.optimizer, max_grad_norm)

    def state_dict(self) -> dict[str, Any]:
        """Network, optimizer, generator, the progress of annealing, and the normalisation statistics."""
        statistics = {"observed": self.observed, "rewarded": self.rewarded}
        return {
            "net": self.net.state_dict(), "optimizer": self.optimizer.state_dict(),
            "rng": self.rng.bit_generator.state, "steps": self.steps,
            **{name: each.state_dict() for name, each in statistics.items() if each is not None},
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a `state_dict`."""
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.rng.bit_generator.state = state["rng"]
        self.steps = count(state["steps"])
        if self.observed is not None:
            self.observed.load_state_dict(state["observed"])
        if self.rewarded is not None:
            self.rewarded.load_state_dict(state["rewarded"])

    def break_off(self, broken_off: NDArray[np.bool_]) -> None:
        """The returns of these environments begin again, where they scale rewards."""
        if self.rewarded is not None:
            self.rewarded.sums[broken_off] = 0


# ---- what tells one that learns from one that does not: in every row of the journal ----


class Seen(NamedTuple):
    """The intermediate results of an update's loss, for n steps."""

    features: torch.Tensor
    """What both heads see, (n, features)."""
    log_prob: torch.Tensor
    """Of the actions, by the policy that learns."""
    before: torch.Tensor
    """Likewise, by the policy that acted."""
    values: torch.Tensor
    returns: torch.Tensor
    """What the values are drawn to."""
    advantages: torch.Tensor


def vitals(net: ActorCritic, flat: Flat, seen: Seen) -> dict[str, torch.Tensor]:
    """Figures of the last update in a round.

    `losses/grad_norm` is the norm of the gradient before it is scaled down. `losses/approx_kl` is Schulman's estimate
    of how far the policy has moved from the one that acted (http://joschu.net/blog/kl-approx.html).
    `losses/explained_variance` is how much of the returns the values explain, 1 at best, NaN if all returns are equal.
    `policy/spread` is the distance between the greatest and the least logit, which grows in a policy that learns, or
    the standard deviation of continuous actions, which shrinks. `torso/dead` is the share of a torso's features that
    are 0 for the whole batch.
    """
    with torch.no_grad():
        moved = seen.log_prob - seen.before
        found = {
            "losses/grad_norm": flat.grad_norm,
            "losses/approx_kl": (moved.exp() - 1 - moved).mean(),
            "losses/explained_variance": explained_variance(seen.returns, seen.values),
            "policy/spread": preference(net, seen.features),
            "values/mean": seen.values.mean(),
            "values/spread": deviation(seen.values),
            "advantages/spread": deviation(seen.advantages),
        }
        if net.torso is not None:
            found["torso/dead"] = (seen.features == 0).all(0).float().mean()
    return found


def explained_variance(returns: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """1 - Var[returns - values] / Var[returns]; NaN if the denominator is 0."""
    if returns.numel() < 2 or not (whole := returns.var()) > 0:
        return torch.full((), float("nan"))
    return 1 - (returns - values).var() / whole


def preference(net: ActorCritic, features: torch.Tensor) -> torch.Tensor:
    """How much the actor prefers some actions to others."""
    return spread(net.outputs(features)).mean() if net.discrete else net.log_std.exp().mean()
