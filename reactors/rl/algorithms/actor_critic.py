"""The common part of policy-gradient algorithms: a policy of categorical or normal actions, and a value function."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import gymnasium as gym
import numpy as np
import torch
from torch import nn

from reactors.rl.contract.algorithm import Policy
from reactors.rl.contract.recurrent import RecurrentPolicy
from reactors.rl.envs.spaces import within
from reactors.rl.networks.layers import Inference, Torso, in_a_row, inputs_of, mlp, torso
from reactors.rl.networks.normalising import normaliser
from reactors.rl.networks.recurrent import Recurrent, RecurrentInference, Stretch, seen_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from reactors.rl.contract.recurrent import States
    from reactors.rl.envs.spaces import Space

LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
TINY = np.finfo(np.float32).tiny
Activation: TypeAlias = Literal["tanh", "relu"]
ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU}


class ActorCritic(nn.Module):
    """Separate networks for vectors, or linear heads on one torso, as for frames.

    For a `Discrete` space, `actor` gives logits. For a `Box`, it gives the mean of a normal distribution, whose
    standard deviation is a separate parameter; its logarithm begins at `log_std`. With `normalise`, both heads see
    observations normalised by their running mean and deviation, frames by the mean. `acting` is the part of the network
    that chooses actions. The output of a separate critic network is multiplied by `scale`, but is as small at the
    beginning as without. All layers are initialised orthogonally, as in PPO's reference code, except those of a torso
    that a function makes. With `through`, that is the torso.
    """

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        hidden: Sequence[int],
        kind: Torso = None,
        *,
        scale: float = 1.0,
        activation: Activation = "tanh",
        log_std: float = 0.0,
        normalise: bool = False,
        through: Any = None,
    ) -> None:
        super().__init__()
        n = self.act_in(action_space)
        self.torso = seeing(kind, observation_space) if through is None else through
        inputs: Any = inputs_of(observation_space) if self.torso is None else self.torso.features
        between = hidden if self.torso is None else getattr(self.torso, "hidden", ())
        self.normalise = normaliser(observation_space) if normalise else None
        self.actor = mlp([inputs, *between, n], ACTIVATIONS[activation], gain=0.01)
        self.scale = scale if self.torso is None else 1.0
        self.critic = mlp([inputs, *between, 1], ACTIVATIONS[activation], gain=1 / self.scale)
        self.log_std = nn.Parameter(torch.full((0 if self.discrete else n,), float(log_std)))
        self.acting: nn.Module = in_a_row(self.normalise, self.torso, self.actor)

    def act_in(self, action_space: Space) -> int:
        """The number of outputs for actions of this space."""
        self.discrete = isinstance(action_space, gym.spaces.Discrete)
        self.start = int(getattr(action_space, "start", 0))
        found: Any = action_space.n if isinstance(action_space, gym.spaces.Discrete) else action_space.shape[0]  # type: ignore[index]
        return int(found)

    def parameters_in_order(self) -> list[nn.Parameter]:
        """The parameters of the acting part, which `ActorPolicy` loads, then all others."""
        acting = [*self.acting.parameters(), self.log_std]
        known = {id(p) for p in acting}
        return [*acting, *(p for p in self.parameters() if id(p) not in known)]

    @property
    def acting_size(self) -> int:
        """The number of weights of the acting part."""
        return sum(p.numel() for p in self.acting.parameters()) + len(self.log_std)

    def normalised(self, obs: torch.Tensor) -> torch.Tensor:
        """The observations as the torso sees them; without one as the heads do, vectors."""
        seen: torch.Tensor = obs.flatten(1).float() if self.torso is None else obs
        return seen if self.normalise is None else self.normalise(seen)

    def features(self, obs: torch.Tensor) -> torch.Tensor:
        """The input of both heads for these observations."""
        seen = self.normalised(obs)
        return seen if self.torso is None else self.torso(seen)

    def outputs(self, features: torch.Tensor) -> torch.Tensor:
        """The outputs of the actor: logits, or means."""
        found: torch.Tensor = self.actor(features)
        return found

    def values(self, features: torch.Tensor) -> torch.Tensor:
        """The value of each observation."""
        found: torch.Tensor = self.critic(features).squeeze(1)
        return found if self.scale == 1 else self.scale * found

    def judge(self, features: torch.Tensor, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The log-probabilities of actions, and the mean entropy."""
        outputs = self.outputs(features)
        if self.discrete:
            logs = torch.log_softmax(outputs, 1)
            entropy = (logs.exp() * logs).sum() / -len(logs)
            return logs.gather(1, actions[:, None] - self.start).squeeze(1), entropy
        deviation = (actions - outputs) / self.log_std.exp()
        log_prob = (-0.5 * deviation**2 - self.log_std - LOG_SQRT_2PI).sum(1)
        return log_prob, (self.log_std + 0.5 + LOG_SQRT_2PI).sum()


def seeing(kind: Torso, observation_space: Space) -> Any:
    """The torso; one that a function makes keeps its author's initial weights."""
    found: Any = torso(kind, observation_space)
    if found is not None and not callable(kind):
        found.orthogonal()
    return found


class ActorPolicy(Policy):
    """Samples from the distribution that the actor network gives, and returns the `log_prob` of each action.

    A continuous action is clipped to the bounds of the space for the environment; `draw` is the action before that, and
    the probability belongs to it.
    """

    def __init__(self, net: ActorCritic, action_space: Space, infer: Any = None) -> None:
        self.infer: Any = infer or Inference(net.acting)
        self.discrete, self.start, self.size = net.discrete, net.start, net.acting_size
        self.box = action_space if isinstance(action_space, gym.spaces.Box) else None

    def load(self, weights: NDArray[np.float32]) -> None:
        """Take new weights."""
        self.infer.load(weights[: self.infer.size])
        self.log_std = weights[self.infer.size :].copy()

    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """Sample an action for each observation."""
        del steps
        return self.draw(self.infer(observations), rng)

    def greedy(self, observations: NDArray[Any]) -> NDArray[Any]:
        """The most probable action, or the mean."""
        return self.best(self.infer(observations))

    def draw(self, outputs: NDArray[Any], rng: np.random.Generator) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """Sample from the distributions given by these outputs of the network."""
        if self.box is not None:
            noise = rng.standard_normal(outputs.shape, np.float32)
            log_prob = (-0.5 * noise**2 - self.log_std - np.float32(LOG_SQRT_2PI)).sum(1)
            draw = outputs + np.exp(self.log_std) * noise
            return within(self.box, draw), {"log_prob": log_prob, "draw": draw}
        outputs -= outputs.max(1, keepdims=True)
        odds = np.exp(outputs)
        sums = odds.cumsum(1)
        total = sums[:, -1]
        drawn = np.maximum(rng.random(len(odds), np.float32) * total, TINY)  # 0 would be an action without odds
        chosen = (sums < drawn[:, None]).sum(1)
        rows = np.arange(len(odds))
        return chosen + self.start, {"log_prob": outputs[rows, chosen] - np.log(total)}

    def best(self, outputs: NDArray[Any]) -> NDArray[Any]:
        """The most probable actions of these distributions."""
        best: NDArray[Any] = outputs.argmax(1) + self.start if self.box is None else within(self.box, outputs)
        return best


# ---- those that remember: both are heads of one recurrent unit ----


class RecurrentActorCritic(ActorCritic):
    """The torso, or layers of the `hidden` sizes; a GRU with a state of `width` numbers; two linear heads on it.

    The features are the states of the GRU; observations come as a `Stretch`.
    """

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        hidden: Sequence[int],
        kind: Torso,
        width: int,
        *,
        activation: Activation,
        log_std: float,
        normalise: bool,
    ) -> None:
        nn.Module.__init__(self)
        n = self.act_in(action_space)
        torso = seeing(kind, observation_space)
        self.torso, self.scale, self.width = None, 1.0, width  # features come from the GRU
        self.normalise = normaliser(observation_space) if normalise else None
        sizes = [inputs_of(observation_space), *hidden]
        before, inputs = seen_first(self.normalise, torso, sizes, ACTIVATIONS[activation], gain=2**0.5)
        self.actor, self.critic = mlp([width, n], gain=0.01), mlp([width, 1], gain=1.0)
        self.log_std = nn.Parameter(torch.full((0 if self.discrete else n,), float(log_std)))
        self.recurrent = Recurrent(before, inputs, width, self.actor, flattens=torso is None)
        self.acting = self.recurrent

    def features(self, obs: Any) -> torch.Tensor:
        """The input of both heads after each observation of a `Stretch`."""
        assert isinstance(obs, Stretch)
        return self.recurrent.states(obs)


class RecurrentActorPolicy(ActorPolicy, RecurrentPolicy):
    """`ActorPolicy` with recurrent states; it also returns the state before each choice."""

    def __init__(self, net: Any, action_space: Space, infer: Any = None) -> None:
        super().__init__(net, action_space, infer or RecurrentInference(net.recurrent))
        self.width = net.width

    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int, states: States | None = None
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """Sample an action for each observation."""
        del steps
        states = self.given(states, len(observations))
        before = states.copy()
        actions, remembered = self.draw(self.infer(observations, states), rng)
        return actions, {**remembered, self.kept: before}

    def greedy(self, observations: NDArray[Any], states: States | None = None) -> NDArray[Any]:
        """The most probable action, or the mean."""
        return self.best(self.infer(observations, self.given(states, len(observations))))
