"""Deep Q-learning: Mnih et al., Nature 2015, with what "Rainbow" (Hessel et al., 2018) found to help.

Double Q-learning (van Hasselt et al., 2016), a dueling head (Wang et al., 2016), n-step returns, and prioritized replay
(Schaul et al., 2016), each a switch.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import numpy as np
import torch
from torch import nn

from reactors.rl.algorithms.off_policy import OffPolicy
from reactors.rl.algorithms.q_learning import epsilon
from reactors.rl.bounded import Count, Layers, Positive, Rate, Share
from reactors.rl.contract.algorithm import Learning, Policy
from reactors.rl.encoding.state import count
from reactors.rl.networks.layers import Adam, Flat, Inference, Torso, descend, in_a_row, inputs_of, mlp, torso
from reactors.rl.networks.normalising import normaliser

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from reactors.rl.envs.spaces import Space
    from reactors.rl.networks.layers import Descent


@dataclass(frozen=True, kw_only=True)
class DQN(OffPolicy):
    """Hyperparameters; the defaults are Stable-Baselines3's, most of which are those of Mnih et al., 2015.

    >>> DQN(dueling=True).dueling
    True
    """

    name: ClassVar[str] = "DQN"
    continuous: ClassVar[bool] = False

    num_envs: int = 4
    """Chosen here; one in the paper."""
    horizon: int = 4
    """Steps of each environment in a round, from one update to the next in the paper."""
    gamma: float = 0.99
    """Mnih et al., 2015, Extended Data Table 1."""
    batch_size: int = 32
    """Mnih et al., 2015, Extended Data Table 1."""
    updates_per_step: float = 0.25
    """An update every 4 steps: Mnih et al., 2015, Extended Data Table 1."""
    learning_rate: Positive = 1e-4
    """Adam's; falls linearly to 0 over the run if `anneal`. Stable-Baselines3's."""
    anneal: bool = False
    """Let the learning rate fall. Off, as in Mnih et al., 2015."""
    target_every: Count = 2_500
    """Updates between copies of the network into its target. 10,000 steps: Stable-Baselines3's."""
    tau: Rate = 1.0
    """How far the target moves towards the network then: all the way, as in Mnih et al., 2015."""
    exploration_initial: Share = 1.0
    """Epsilon at first: Mnih et al., 2015."""
    exploration_fraction: Share = 0.1
    """Of the run, in which epsilon falls to `exploration_final`. Stable-Baselines3's."""
    exploration_final: Share = 0.05
    """Epsilon from there on. Stable-Baselines3's."""
    double: bool = True
    """The network chooses the next action, and its target says what that is worth. On, as in Rainbow."""
    dueling: bool = False
    """Values of states and advantages of actions have outputs of their own. Off, as in Mnih et al., 2015."""
    max_grad_norm: Positive = 10.0
    """The gradient is scaled down to this norm. Stable-Baselines3's."""
    normalise_observations: bool = False
    """Let networks see observations less their running mean, over their running deviation, within 10 on either side; of
    frames, each pixel less its mean, in quarters of the range. The statistics are of what was learned from. Off, as in
    Mnih et al., 2015."""
    hidden: Layers = (64, 64)
    """Layers for vectors. Stable-Baselines3's."""
    torso: Torso = None
    """"nips", "nature", "small" or "minatar", or a function of the observation space that makes a `torch.nn.Module`
    with an int `features`; by default what fits the size of frames, and none for vectors."""
    total_steps: Count = field(default=50_000, init=False)
    """Over which exploration and the learning rate are scheduled; `rl.train` sets it."""

    alone: ClassVar[tuple[str, ...]] = ("normalise_observations",)

    def policy(self, observation_space: Space, action_space: Space) -> EpsilonGreedy:
        """One for an actor."""
        return EpsilonGreedy(self, QNetwork(self, observation_space, action_space), action_space)

    def learning(self, observation_space: Space, action_space: Space, seed: int, device: str = "cpu") -> DQNLearning:
        """One for the learner."""
        del seed  # it is for the weights of the networks, and nothing else is random
        return DQNLearning(self, observation_space, action_space, device)


class QNetwork(nn.Module):
    """Observations to the values of all actions.

    With `dueling`, values and advantages apart, which is one linear layer's difference: Q = V + A - mean A.
    """

    def __init__(self, config: DQN, observation_space: Space, action_space: Space) -> None:
        super().__init__()
        assert isinstance(action_space, gym.spaces.Discrete)
        self.dueling = config.dueling
        self.torso: Any = torso(config.torso, observation_space)
        outputs = int(action_space.n) + config.dueling
        inner = [inputs_of(observation_space), *config.hidden] if self.torso is None else [self.torso.features]
        self.normalise = normaliser(observation_space) if config.normalise_observations else None
        self.head = mlp([*inner, outputs], nn.ReLU)
        self.acting = in_a_row(self.normalise, self.torso, self.head)

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        """Q of every action."""
        q: torch.Tensor = self.acting(obs.flatten(1).float() if self.torso is None else obs)
        return q[:, :1] + q[:, 1:] - q[:, 1:].mean(1, keepdim=True) if self.dueling else q


class EpsilonGreedy(Policy):
    """The best action, or now and then any."""

    def __init__(self, config: DQN, net: QNetwork, action_space: Space) -> None:
        assert isinstance(action_space, gym.spaces.Discrete)
        self.config, self.infer = config, Inference(net.acting)
        self.size = self.infer.size
        self.n, self.start = int(action_space.n), int(action_space.start)

    def load(self, weights: NDArray[np.float32]) -> None:
        """Take on new weights."""
        self.infer.load(weights)

    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """The best actions, or with probability epsilon any."""
        config = self.config
        chosen = self.greedy(observations)
        share = epsilon(
            steps, config.exploration_fraction * config.total_steps, config.exploration_final,
            config.exploration_initial,
        )  # fmt: skip
        random = rng.random(len(chosen)) < share
        return np.where(random, rng.integers(self.start, self.start + self.n, len(chosen)), chosen), {}

    def greedy(self, observations: NDArray[Any]) -> NDArray[Any]:
        """The best actions: the value that all have in common does not matter."""
        values = self.infer(observations)
        best: NDArray[Any] = (values[:, 1:] if self.config.dueling else values).argmax(1) + self.start
        return best


class DQNLearning(Learning):
    """One gradient step on the temporal-difference error (Huber loss) at a time."""

    def __init__(self, config: DQN, observation_space: Space, action_space: Space, device: str) -> None:
        self.config, self.device = config, device
        self.net = QNetwork(config, observation_space, action_space).to(device)
        self.target = deepcopy(self.net).requires_grad_(False)
        self.observed: Any = None if self.net.normalise is None else self.net.normalise.statistics()
        self.flat, self.old = Flat(self.net.acting.parameters()), Flat(self.target.acting.parameters())
        self.optimizer = Adam(self.flat, config.learning_rate)
        self.start = int(getattr(action_space, "start", 0))
        self.updates = 0

    def weights(self) -> NDArray[np.float32]:
        """The weights of the network that acts."""
        return self.flat.fetch()

    @property
    def flats(self) -> tuple[Flat]:
        """There is one optimizer."""
        return (self.flat,)

    @property
    def learning_rate(self) -> float:
        """Of the next update."""
        config = self.config
        done = self.updates / max(1, config.updates_in(config.total_steps)) if config.anneal else 0.0
        return config.learning_rate * max(0.0, 1 - done)

    def learn(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """One update; `errors` are the absolute temporal-difference errors."""
        config, net, following = self.config, self.net, batch["next_obs"]
        with torch.no_grad():
            values = self.target(following)
            best = values.gather(1, net(following).argmax(1, keepdim=True)) if config.double else values.amax(1, True)
            discount = batch.get("discount", config.gamma) * ~batch["terminated"]
            goal = torch.addcmul(batch["reward"], discount, best.squeeze(1))
        q = net(batch["obs"]).gather(1, (batch["action"] - self.start)[:, None]).squeeze(1)
        if config.prioritized:
            loss = (nn.functional.smooth_l1_loss(q, goal, reduction="none") * batch["weights"]).mean()
        else:
            loss = nn.functional.smooth_l1_loss(q, goal)
        self.optimizer.learning_rate = self.learning_rate
        yield from descend(loss, self.flat, self.optimizer, config.max_grad_norm)
        self.updates += 1
        if self.updates % config.target_every == 0:
            self.old.weights.data.lerp_(self.flat.weights.data, config.tau)
        if self.net.normalise is not None and self.target.normalise is not None:
            self.observed.add(batch["obs"].cpu().numpy())
            self.net.normalise.follow(self.observed)
            self.target.normalise.follow(self.observed)
        figures = {
            "losses/td_loss": loss.detach(), "losses/q_values": q.detach(), "losses/grad_norm": self.flat.grad_norm,
            "charts/learning_rate": self.optimizer.learning_rate,
        }  # fmt: skip
        return figures | {"errors": (q.detach() - goal).abs()} if config.prioritized else figures

    def state_dict(self) -> dict[str, Any]:
        """Both networks, the state of the optimizer, the count of updates, and what numbers are normalised by."""
        return {
            "net": self.net.state_dict(), "target": self.target.state_dict(),
            "optimizer": self.optimizer.state_dict(), "updates": self.updates,
            **({} if self.observed is None else {"observed": self.observed.state_dict()}),
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self.net.load_state_dict(state["net"])
        self.target.load_state_dict(state["target"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.updates = count(state["updates"])
        if self.observed is not None:
            self.observed.load_state_dict(state["observed"])
