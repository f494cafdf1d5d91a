"""Deep Q-learning: Mnih et al., Nature 2015, with improvements that "Rainbow" (Hessel et al., 2018) found to help.

Double Q-learning (van Hasselt et al., 2016), a dueling head (Wang et al., 2016), n-step returns, and prioritized replay
(Schaul et al., 2016) can each be switched on or off.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import numpy as np
import torch
from torch import nn

from reactors.errors import ArgumentError
from reactors.rl.algorithms.off_policy import FromSequences, OffPolicy
from reactors.rl.algorithms.q_learning import epsilon
from reactors.rl.bounded import Count, Layers, Positive, Rate, Share
from reactors.rl.contract.algorithm import Learning, Policy
from reactors.rl.contract.recurrent import RecurrentPolicy
from reactors.rl.encoding.state import count
from reactors.rl.estimates.returns import Course, within_sequences
from reactors.rl.networks.layers import Adam, Flat, Inference, Torso, descend, in_a_row, inputs_of, mlp, torso
from reactors.rl.networks.normalising import normaliser
from reactors.rl.networks.recurrent import Recurrent, RecurrentInference, Stretch, seen_first, width_of
from reactors.rl.networks.vitals import biases, dead, deviation, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from reactors.rl.contract.recurrent import States
    from reactors.rl.envs.spaces import Space
    from reactors.rl.networks.layers import Descent

LOOK_EVERY = 16
"""Updates from one round with all figures to the next: with a small network these cost a fifth of an update."""


@dataclass(frozen=True, kw_only=True)
class DQN(FromSequences, OffPolicy):
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
    """Let the learning rate fall linearly to 0 over the run. Off, as in Mnih et al., 2015."""
    target_every: Count = 2_500
    """Updates between copies of the network into its target. 10,000 steps: Stable-Baselines3's."""
    tau: Rate = 1.0
    """How far the target moves towards the network then: all the way, as in Mnih et al., 2015."""
    exploration_initial: Share = 1.0
    """Epsilon at first: Mnih et al., 2015."""
    exploration_fraction: Share = 0.1
    """Share of the run in which epsilon falls to `exploration_final`. Stable-Baselines3's."""
    exploration_final: Share = 0.05
    """Epsilon from there on. Stable-Baselines3's."""
    anneal_beta: bool = False
    """Let `beta` rise linearly to 1 over the run, by environment steps, as in Schaul et al., 2016, section 3.4 (arXiv
    1511.05952). By default it stays."""
    double: bool = True
    """Double DQN: the network chooses the next action, and the target network values it. On, as in Rainbow."""
    dueling: bool = False
    """Values of states and advantages of actions have outputs of their own. Off, as in Mnih et al., 2015."""
    max_grad_norm: Positive = 10.0
    """The gradient is scaled down to this norm. Stable-Baselines3's."""
    normalise_observations: bool = False
    """Subtract the running mean from observations, divide by the running deviation, and clip to plus or minus 10.
    The statistics are of what was learned from. For frames, a torso sees each pixel less its mean, in quarters of the
    range. Off, as in Mnih et al., 2015."""
    hidden: Layers = (64, 64)
    """Layers for vectors. Stable-Baselines3's."""
    torso: Torso = None
    """"nips", "nature", "small" or "minatar", or a function of the observation space that makes a `torch.nn.Module`
    with an int `features`; by default what fits the size of frames, and none for vectors."""
    total_steps: Count = field(default=50_000, init=False)
    """Over which exploration and the learning rate are scheduled; `rl.train` sets it."""

    alone: ClassVar[tuple[str, ...]] = ("normalise_observations",)

    def __post_init__(self) -> None:
        """Also refuse a schedule of importance weights where there are none."""
        super().__post_init__()
        if self.anneal_beta and not self.prioritized:
            raise ArgumentError(
                f"anneal_beta of {type(self).__name__} is True, and replay is sampled uniformly, without beta; say "
                "prioritized=True, or leave anneal_beta out"
            )

    def beta_at(self, steps: int) -> float:
        """Also rises, if `anneal_beta`."""
        return self.beta + (1 - self.beta) * min(1.0, steps / self.total_steps) if self.anneal_beta else self.beta

    def policy(self, observation_space: Space, action_space: Space) -> EpsilonGreedy:
        """Make a policy for an actor."""
        if self.recurrent:
            net = RecurrentQNetwork(self, observation_space, action_space)
            return RecurrentEpsilonGreedy(self, net, action_space)
        return EpsilonGreedy(self, QNetwork(self, observation_space, action_space), action_space)

    def learning(self, observation_space: Space, action_space: Space, seed: int, device: str = "cpu") -> DQNLearning:
        """Make the learner's networks and update."""
        del seed  # it is only used for the initial weights; nothing else is random
        if self.recurrent:
            return RecurrentDQNLearning(self, observation_space, action_space, device)
        return DQNLearning(self, observation_space, action_space, device)


class QNetwork(nn.Module):
    """From observations to the values of all actions.

    With `dueling`, value and advantages are separate outputs of one linear layer: Q = V + A - mean A. With `through`,
    this torso replaces the one from the hyperparameters; it normalises observations itself.
    """

    def __init__(self, config: DQN, observation_space: Space, action_space: Space, through: Any = None) -> None:
        super().__init__()
        assert isinstance(action_space, gym.spaces.Discrete)
        self.dueling = config.dueling
        self.torso, self.normalise = self.first(config, observation_space, through)
        outputs = int(action_space.n) + config.dueling
        inner = [inputs_of(observation_space), *config.hidden]
        if self.torso is not None:
            inner = [self.torso.features, *getattr(self.torso, "hidden", ())]
        self.head = mlp([*inner, outputs], nn.ReLU)
        self.acting: nn.Module = in_a_row(self.normalise, self.torso, self.head)

    def first(self, config: DQN, observation_space: Space, through: Any) -> tuple[Any, Any]:
        """The torso, and the normalising layer before it."""
        if through is not None:
            return through, None
        normalise = normaliser(observation_space) if config.normalise_observations else None
        return torso(config.torso, observation_space), normalise

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        """The Q-values of all actions."""
        return self.values(self.acting(obs.flatten(1).float() if self.torso is None else obs))

    def learned(self) -> Iterator[nn.Parameter]:
        """All parameters, those of the acting part first."""
        return self.acting.parameters()

    def values(self, q: torch.Tensor) -> torch.Tensor:
        """The Q-values from the output of the last layer."""
        return q[:, :1] + q[:, 1:] - q[:, 1:].mean(1, keepdim=True) if self.dueling else q


class EpsilonGreedy(Policy):
    """The best action, or with probability epsilon a random one."""

    def __init__(self, config: DQN, net: QNetwork, action_space: Space, infer: Any = None) -> None:
        assert isinstance(action_space, gym.spaces.Discrete)
        self.config = config
        self.infer: Any = infer or Inference(net.acting)
        self.size = self.infer.size
        self.n, self.start = int(action_space.n), int(action_space.start)

    def load(self, weights: NDArray[np.float32]) -> None:
        """Take new weights."""
        self.infer.load(weights)

    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """The best actions, or with probability epsilon random ones."""
        return self.explored(self.greedy(observations), rng, steps), {}

    def explored(
        self, chosen: NDArray[Any], rng: np.random.Generator, steps: int, allowed: NDArray[np.bool_] | None = None
    ) -> NDArray[Any]:
        """These actions, or with probability epsilon random ones that are `allowed`, bool (n, actions)."""
        config = self.config
        share = epsilon(
            steps, config.exploration_fraction * config.total_steps, config.exploration_final,
            config.exploration_initial,
        )  # fmt: skip
        random = rng.random(len(chosen)) < share
        if allowed is None:
            return np.where(random, rng.integers(self.start, self.start + self.n, len(chosen)), chosen)
        return np.where(random, np.where(allowed, rng.random(allowed.shape), -1).argmax(1) + self.start, chosen)

    def greedy(self, observations: NDArray[Any]) -> NDArray[Any]:
        """The best actions."""
        return self.best(self.infer(observations))

    def best(self, outputs: NDArray[Any], allowed: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        """The best actions by the outputs of the network, among those that are `allowed`.

        The value that all actions have in common does not matter.
        """
        values = outputs[:, 1:] if self.config.dueling else outputs
        best: NDArray[Any] = (values if allowed is None else np.where(allowed, values, -np.inf)).argmax(1) + self.start
        return best


class DQNLearning(Learning):
    """Learns by one gradient step at a time on the temporal-difference error (Huber loss)."""

    loss: Any = staticmethod(nn.functional.smooth_l1_loss)

    def __init__(self, config: DQN, observation_space: Space, action_space: Space, device: str) -> None:
        self.config, self.device = config, device
        self.net = self.network(observation_space, action_space).to(device)
        self.target = deepcopy(self.net).requires_grad_(False)
        self.observed: Any = None if self.net.normalise is None else self.net.normalise.statistics()
        self.flat, self.old = Flat(self.net.learned()), Flat(self.target.learned())
        self.optimizer = Adam(self.flat, config.learning_rate)
        self.units = biases(self.net.acting)[:-1]  # of hidden layers
        self.start = int(getattr(action_space, "start", 0))
        self.updates = 0

    def network(self, observation_space: Space, action_space: Space) -> QNetwork:
        """Make a network to be trained."""
        return QNetwork(self.config, observation_space, action_space)

    def weights(self) -> NDArray[np.float32]:
        """The weights of the acting network."""
        return self.flat.fetch()

    @property
    def flats(self) -> tuple[Flat]:
        """There is one optimizer."""
        return (self.flat,)

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next update."""
        config = self.config
        if not config.anneal:
            return config.learning_rate
        done = self.updates / max(1, config.updates_in(config.total_steps)) if self.progress is None else self.progress
        return config.learning_rate * max(0.0, 1 - done)

    def learn(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """One update; `errors` are the absolute temporal-difference errors."""
        config = self.config
        with torch.no_grad():
            discount = batch.get("discount", config.gamma) * ~batch["terminated"]
            goal = torch.addcmul(batch["reward"], discount, self.following(batch))
        values = self.net(batch["obs"])
        q = self.chosen(values, batch)
        if config.prioritized:
            loss = (self.loss(q, goal, reduction="none") * batch["weights"]).mean()
        else:
            loss = self.loss(q, goal)
        yield from self.descend(loss, batch["obs"])
        figures = self.figures(loss, values, q, goal)
        return figures | {"errors": (q.detach() - goal).abs()} if config.prioritized else figures

    def following(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """The value of the next observations, by the target network."""
        seen = batch["next_obs"]
        values: torch.Tensor = self.target(seen)
        if not self.config.double:
            return values.amax(1)
        return values.gather(1, self.net(seen).argmax(1, keepdim=True)).squeeze(1)

    def chosen(self, values: torch.Tensor, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """The values of the chosen actions, from those of all actions."""
        return values.gather(1, (batch["action"] - self.start)[:, None]).squeeze(1)

    def descend_along(
        self, values: torch.Tensor, q: torch.Tensor, goal: torch.Tensor, batch: Mapping[str, torch.Tensor],
        obs: torch.Tensor,
    ) -> Descent:  # fmt: skip
        """One update on the errors of steps of sequences (steps, sequences); `errors` has one for each sequence."""
        config = self.config
        losses = self.loss(q, goal, reduction="none").mean(0)
        loss = (losses * batch["weights"]).mean() if config.prioritized else losses.mean()
        yield from self.descend(loss, obs)
        figures = self.figures(loss, values, q, goal)
        wrong = (q.detach() - goal).abs()
        errors = config.eta * wrong.amax(0) + (1 - config.eta) * wrong.mean(0)
        return figures | {"errors": errors} if config.prioritized else figures

    def descend(self, loss: torch.Tensor, obs: torch.Tensor) -> Iterator[Flat]:
        """One step of the optimizer, then updates of the target and of the normalisation."""
        config = self.config
        self.optimizer.learning_rate = self.learning_rate
        yield from descend(loss, self.flat, self.optimizer, config.max_grad_norm)
        self.updates += 1
        if self.updates % config.target_every == 0:
            self.old.weights.data.lerp_(self.flat.weights.data, config.tau)
        if self.net.normalise is not None and self.target.normalise is not None:
            self.observed.add(obs.cpu().numpy())
            self.net.normalise.follow(self.observed)
            self.target.normalise.follow(self.observed)

    def figures(self, loss: torch.Tensor, values: torch.Tensor, q: torch.Tensor, goal: torch.Tensor) -> dict[str, Any]:
        """Figures of an update, from the values of all actions, those of the chosen ones, and their goals."""
        q = q.detach()
        found = {
            "losses/td_loss": loss.detach(), "losses/q_values": q, "losses/grad_norm": self.flat.grad_norm,
            "charts/learning_rate": self.optimizer.learning_rate,
        }  # fmt: skip
        a_round = self.config.updates
        looks = (self.updates - a_round) % LOOK_EVERY < a_round
        return found | self.vitals(values.detach(), q, goal) if looks else found

    def vitals(self, values: torch.Tensor, q: torch.Tensor, goal: torch.Tensor) -> dict[str, Callable[[], Any]]:
        """What tells a network that learns from one that does not, computed where it is logged."""
        found: dict[str, Callable[[], Any]] = {
            "losses/td_error": lambda: nn.functional.l1_loss(q, goal), "policy/spread": lambda: spread(values),
            "values/spread": lambda: deviation(q.flatten()),
        }  # fmt: skip
        return found | ({"network/dead": lambda: dead(self.units)} if self.units else {})

    def state_dict(self) -> dict[str, Any]:
        """Both networks, the state of the optimizer, the number of updates, and the normalisation statistics."""
        return {
            "net": self.net.state_dict(), "target": self.target.state_dict(),
            "optimizer": self.optimizer.state_dict(), "updates": self.updates,
            **({} if self.observed is None else {"observed": self.observed.state_dict()}),
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a `state_dict`."""
        self.net.load_state_dict(state["net"])
        self.target.load_state_dict(state["target"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.updates = count(state["updates"])
        if self.observed is not None:
            self.observed.load_state_dict(state["observed"])


# ---- one that remembers, and learns from sequences, as in R2D2 ----


class RecurrentQNetwork(QNetwork):
    """The torso, or the layers `hidden`; a GRU; and a linear layer on its states."""

    def __init__(self, config: DQN, observation_space: Space, action_space: Space, through: Any = None) -> None:
        nn.Module.__init__(self)
        assert isinstance(action_space, gym.spaces.Discrete)
        self.dueling, self.width = config.dueling, width_of(config.recurrent)
        self.torso, self.normalise = self.first(config, observation_space, through)
        sizes = [inputs_of(observation_space), *config.hidden]
        before, inputs = seen_first(self.normalise, self.torso, sizes, nn.ReLU)
        self.head = mlp([self.width, int(action_space.n) + config.dueling])
        self.recurrent = Recurrent(before, inputs, self.width, self.head, flattens=self.torso is None)
        self.acting = self.recurrent

    def forward(self, obs: Any) -> torch.Tensor:
        """The Q-values of all actions, after each observation of a `Stretch`."""
        return self.values(self.head(self.recurrent.states(obs)))

    def after(self, batch: Mapping[str, torch.Tensor], state: torch.Tensor) -> torch.Tensor:
        """The state behind all steps (steps, sequences) that begin with this one, without gradients."""
        return self.recurrent.after(batch["obs"], state, Course.of(batch).going)


class RecurrentEpsilonGreedy(EpsilonGreedy, RecurrentPolicy):
    """`EpsilonGreedy` with recurrent states; it also returns the `state` before each choice."""

    def __init__(self, config: DQN, net: RecurrentQNetwork, action_space: Space) -> None:
        super().__init__(config, net, action_space, RecurrentInference(net.recurrent))
        self.width = net.width

    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int, states: States | None = None
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """The best actions, or with probability epsilon random ones."""
        states = self.given(states, len(observations))
        before = states.copy()
        return self.explored(self.greedy(observations, states), rng, steps), {"state": before}

    def greedy(self, observations: NDArray[Any], states: States | None = None) -> NDArray[Any]:
        """The best actions."""
        return self.best(self.infer(observations, self.given(states, len(observations))))


class RecurrentDQNLearning(DQNLearning):
    """One gradient step at a time on the errors of all steps of sequences except the burn-in (R2D2, section 3)."""

    net: RecurrentQNetwork
    target: RecurrentQNetwork

    def network(self, observation_space: Space, action_space: Space) -> RecurrentQNetwork:
        """Make a network to be trained."""
        return RecurrentQNetwork(self.config, observation_space, action_space)

    def learn(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """One update; a sequence's `errors` are `eta` times the greatest of its steps plus 1 - `eta` times the mean."""
        config, names = self.config, ("obs", "action", "reward", "next_obs", "terminated", "truncated")
        along = {name: batch[name].transpose(0, 1) for name in names}  # steps, sequences
        mine = theirs = batch["state"]
        if config.burn_in:
            before = {name: each[: config.burn_in] for name, each in along.items()}
            mine, theirs = self.net.after(before, mine), self.target.after(before, theirs)
            along = {name: each[config.burn_in :] for name, each in along.items()}
        course = Course.of(along)
        seen = Stretch(course.obs, mine, course.going, course.apart)
        values = self.net(seen)
        with torch.no_grad():
            worth = self.target(seen._replace(state=theirs))
            best = worth.gather(1, values.argmax(1, keepdim=True)) if config.double else worth.amax(1, True)
            following = course.split(best.squeeze(1))[1]
            goal = within_sequences(along["reward"], following, course.alive, course.going, config.gamma, config.n_step)
        actions = along["action"].flatten() - self.start
        values = values[: len(actions)]
        q = values.gather(1, actions[:, None]).view_as(goal)
        return (yield from self.descend_along(values, q, goal, batch, along["obs"].flatten(0, 1)))
