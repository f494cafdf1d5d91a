"""Independent Q-learning: Tan, 1993, with DQN as in Tampuu et al., 2017 (arXiv 1511.08779)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import numpy as np
import torch

from reactors.errors import ParameterError
from reactors.rl.algorithms.actor_critic import FORBIDDEN
from reactors.rl.algorithms.agents.team_network import Seeing, Sight, array, check_sight
from reactors.rl.algorithms.dqn import DQN, DQNLearning, EpsilonGreedy, QNetwork
from reactors.rl.bounded import Count, Layers, Positive
from reactors.rl.contract.agents import MultiAgent
from reactors.rl.envs.agents.cast import n_actions
from reactors.rl.networks.layers import Inference
from reactors.rl.networks.normalising import RunningMoments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from reactors.rl.envs.agents.cast import Team
    from reactors.rl.envs.spaces import Space
    from reactors.rl.networks.layers import Descent


@dataclass(frozen=True, kw_only=True)
class IDQN(MultiAgent, DQN):  # type: ignore[misc]
    """Hyperparameters; the defaults are those of PyMARL (arXiv 1902.04043), QMIX's authors' code, or DQN's.

    >>> IDQN(share=None, dueling=True).dueling
    True
    """

    name: ClassVar[str] = "IDQN"

    num_envs: Count = 8
    """Chosen here; PyMARL has one."""
    horizon: Count = 25
    """Steps of each environment in a round. Chosen here: an episode of MPE."""
    batch_size: Count = 128
    """Own steps in an update. Chosen here; PyMARL has those of 32 whole episodes."""
    updates_per_step: Positive = 0.1
    """The ratio of updates to environment steps. Chosen here; PyMARL has an update for each episode."""
    learning_rate: Positive = 5e-4
    """Adam's; falls linearly to 0 over the run if `anneal`. PyMARL's, of RMSProp."""
    target_every: Count = 200
    """Updates between copies of the network into its target. PyMARL's, which counts episodes, with an update each."""
    hidden: Layers = (64, 64)
    """Layers of the network that chooses. PyMARL's are a layer of 64 and a gated recurrent unit of 64."""
    standardise_rewards: bool = False
    """Learn from rewards less their running mean, over their running deviation, of all that were drawn so far: as in
    EPyMARL (arXiv 2006.07869), where it is on. Where an episode may end early, it makes other goals: an end is worth
    the mean. Off, as in PyMARL."""

    def check_team(self, team: Team, action_space: Space) -> None:
        """Also refuse what a team cannot have."""
        check_sight(self, team)
        if self.frame_stack is not None:
            raise ParameterError(f"frame_stack of {self.name} is for single agents; leave it out")
        super().check_team(team, action_space)

    def team_policy(self, team: Team, action_space: Space) -> TeamEpsilonGreedy:
        """What acts for a team."""
        return TeamEpsilonGreedy(self, TeamQNetwork(self, team, action_space), action_space)

    def learning(self, observation_space: Any, action_space: Space, seed: int, device: str = "cpu") -> IDQNLearning:
        """What learns for a team."""
        del seed  # it is for the weights of the networks, and nothing else is random
        return IDQNLearning(self, observation_space, action_space, device)


class TeamQNetwork(QNetwork):
    """What an agent sees to the values of its actions, for vectors that are `packed`: what it sees, and its mask.

    Actions that are not allowed are worth `FORBIDDEN`.
    """

    def __init__(self, config: IDQN, team: Team, action_space: Space) -> None:
        sight = Sight(team, ids=config.agent_ids)
        super().__init__(config, gym.spaces.Box(-np.inf, np.inf, (sight.size,), np.float32), action_space)
        self.sight, self.masked = sight, n_actions(action_space) if team.masked else 0

    def packed(self, obs: NDArray[Any], agent: NDArray[Any], mask: NDArray[Any] | None) -> NDArray[np.float32]:
        """What is seen of n steps of agents, of which each is of one: float32 (n, ...)."""
        mine = self.sight.of(obs, agent)
        return mine if mask is None else np.concatenate([mine, mask.astype(np.float32)], 1)

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        """Q of every action."""
        size = self.sight.size
        q = super().forward(obs[:, :size])
        return q.masked_fill(obs[:, size:] == 0, FORBIDDEN) if self.masked else q


class TeamEpsilonGreedy(EpsilonGreedy):
    """For those of a team that are there, the best action that is allowed to each, or now and then any of these."""

    def __init__(self, config: IDQN, net: TeamQNetwork, action_space: Space) -> None:
        super().__init__(config, net, action_space, Seeing(Inference(net.acting), net.sight))
        self.masked = bool(net.masked)

    def allowed(self, observations: NDArray[Any]) -> NDArray[np.bool_] | None:
        """Masks, if there are any."""
        return observations["mask"] if self.masked else None

    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """The best actions, or with probability epsilon any."""
        return self.explored(self.greedy(observations), rng, steps, self.allowed(observations)), {}

    def greedy(self, observations: NDArray[Any]) -> NDArray[Any]:
        """The best actions."""
        return self.best(self.infer(observations), self.allowed(observations))


class IDQNLearning(DQNLearning):
    """DQN's loss over own steps of agents."""

    net: Any
    target: Any
    config: Any

    def __init__(self, config: IDQN, team: Any, action_space: Space, device: str) -> None:
        super().__init__(config, team, action_space, device)
        self.rewarded = RunningMoments(1) if config.standardise_rewards else None

    def network(self, observation_space: Any, action_space: Space) -> TeamQNetwork:
        """One that learns."""
        return TeamQNetwork(self.config, observation_space, action_space)

    def learn(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """One update."""
        seen = {f"{which}obs": self.seen(batch, which) for which in ("", "next_")}
        return (yield from super().learn({**batch, **seen, "reward": self.standardised(batch["reward"])}))

    def standardised(self, reward: torch.Tensor) -> torch.Tensor:
        """Rewards as they are learned from."""
        if self.rewarded is None:
            return reward
        self.rewarded.add(array(reward)[:, None])
        return (reward - float(self.rewarded.mean[0])) / float(np.sqrt(self.rewarded.variance[0] + 1e-8))

    def seen(self, batch: Mapping[str, torch.Tensor], which: str) -> torch.Tensor:
        """What agents see at their own steps, or at the "next_" ones."""
        mask = array(batch[f"{which}masks"]) if self.net.masked else None
        seen = self.net.packed(array(batch[f"{which}obs"]), array(batch["agent"]), mask)
        return torch.from_numpy(seen).to(self.device)

    def descend(self, loss: torch.Tensor, q: torch.Tensor, obs: torch.Tensor) -> Descent:
        """One step of the optimizer; what is seen is normalised without masks."""
        return (yield from super().descend(loss, q, obs[:, : self.net.sight.size]))

    def state_dict(self) -> dict[str, Any]:
        """Also the rewards' mean and deviation."""
        found = super().state_dict()
        return found if self.rewarded is None else {**found, "rewarded": self.rewarded.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        super().load_state_dict(state)
        if self.rewarded is not None:
            self.rewarded.load_state_dict(state["rewarded"])
