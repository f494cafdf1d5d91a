"""Independent Q-learning: Tan, 1993, with DQN as in Tampuu et al., 2017 (arXiv 1511.08779)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from reactors.rl.algorithms.agents.looking import check_looks, normalised_part
from reactors.rl.algorithms.agents.team_network import array
from reactors.rl.algorithms.agents.team_values import RecurrentTeamEpsilonGreedy, TeamEpsilonGreedy, TeamQNetwork
from reactors.rl.algorithms.dqn import DQN, DQNLearning
from reactors.rl.bounded import Count, Layers, Natural, Positive
from reactors.rl.contract.agents import MultiAgent
from reactors.rl.estimates.returns import within_sequences
from reactors.rl.networks.normalising import RunningMoments
from reactors.rl.replay.sequences import MEMORY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reactors.rl.envs.agents.cast import Team
    from reactors.rl.envs.spaces import Space
    from reactors.rl.networks.layers import Descent, Flat


@dataclass(frozen=True, kw_only=True)
class IDQN(MultiAgent, DQN):  # type: ignore[misc]
    """Hyperparameters; the defaults are those of PyMARL (arXiv 1902.04043), the code of QMIX's authors, or of DQN.

    >>> IDQN(share=None, dueling=True).dueling
    True
    """

    name: ClassVar[str] = "IDQN"
    frame_stack: ClassVar[None] = None  # type: ignore[misc]  # replay has whole observations of agents
    without: ClassVar[dict[str, str]] = {"frame_stack": "replay keeps whole observations of agents; leave it out"}

    num_envs: Count = 8
    """Chosen here; PyMARL has one."""
    horizon: Count = 25
    """Steps of each environment in a round. Chosen here: an episode of MPE."""
    capacity: Count = 100_000
    """A group has a buffer of its own; each transition is an agent's own step, with VDN and QMIX a step of the group. A
    tenth of what papers have, because a checkpoint holds them all."""
    learning_starts: Natural = 1_000
    """The same however many agents there are. Usual."""
    batch_size: Count = 128
    """Each is an agent's own step, with VDN and QMIX a step of the group. Chosen here; PyMARL has those of 32 whole
    episodes."""
    updates_per_step: Positive = 0.1
    """Chosen here; PyMARL has an update for each episode."""
    learning_rate: Positive = 5e-4
    """Adam's; falls linearly to 0 over the run if `anneal`. PyMARL's, of RMSProp."""
    target_every: Count = 200
    """Updates between copies of the network into its target. PyMARL's, which counts episodes, with an update each."""
    hidden: Layers = (64, 64)
    """Those of the network that chooses. PyMARL's are a layer of 64 and a gated recurrent unit of 64."""
    reward_clip: Positive | None = None
    """Clipped is what an agent is given from one of its steps to the next, with VDN and QMIX the sum over a group. By
    default it is not."""
    sequence: Count = 25
    """They are an agent's own, with VDN and QMIX a group's. Chosen here: an episode of MPE; PyMARL has whole
    episodes."""
    burn_in: Natural = 5
    """Chosen here."""
    standardise_rewards: bool = False
    """Subtract their running mean from rewards, and divide by their running deviation, of all drawn so far: as in
    EPyMARL (arXiv 2006.07869), where it is on. Where an episode may end early, it makes other goals: an end is worth
    the mean. Off, as in PyMARL."""

    def check_team(self, team: Team, action_space: Space) -> None:
        """Also refuse what a team cannot use."""
        check_looks(self, team)
        super().check_team(team, action_space)

    def team_policy(self, team: Team, action_space: Space) -> TeamEpsilonGreedy:
        """The policy for a team."""
        kind = RecurrentTeamEpsilonGreedy if self.recurrent else TeamEpsilonGreedy
        return kind(self, TeamQNetwork(self, team, action_space), action_space)

    def learning(self, observation_space: Any, action_space: Space, seed: int, device: str = "cpu") -> IDQNLearning:
        """The learner's networks and update for a team."""
        del seed  # it is only used for the initial weights; nothing else is random
        kind = RecurrentIDQNLearning if self.recurrent else IDQNLearning
        return kind(self, observation_space, action_space, device)


class IDQNLearning(DQNLearning):
    """DQN's loss on each agent's own steps."""

    net: Any
    target: Any
    config: Any

    def __init__(self, config: IDQN, team: Any, action_space: Space, device: str) -> None:
        super().__init__(config, team, action_space, device)
        self.rewarded = RunningMoments(1) if config.standardise_rewards else None

    def network(self, observation_space: Any, action_space: Space) -> Any:
        """Make a network to be trained."""
        return TeamQNetwork(self.config, observation_space, action_space)

    def learn(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """One update."""
        seen = {f"{which}obs": self.seen(batch, which) for which in ("", "next_")}
        return (yield from super().learn({**batch, **seen, "reward": self.standardised(batch["reward"])}))

    def standardised(self, reward: torch.Tensor) -> torch.Tensor:
        """The rewards to learn from, standardised if configured."""
        if self.rewarded is None:
            return reward
        self.rewarded.add(array(reward).reshape(-1, 1))
        return (reward - float(self.rewarded.mean[0])) / float(np.sqrt(self.rewarded.variance[0] + 1e-8))

    def seen(self, batch: Mapping[str, torch.Tensor], which: str) -> torch.Tensor:
        """The inputs of the network at agents' own steps, or with "next_" at the next ones."""
        return self.packed(batch[f"{which}obs"], batch["agent"], batch[f"{which}masks"] if self.net.masked else None)

    def packed(self, obs: torch.Tensor, agent: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Observations, agents and masks as inputs of the network."""
        seen = self.net.packed(array(obs), array(agent), None if mask is None else array(mask))
        return torch.from_numpy(seen).to(self.device)

    def whole(self, net: Any, values: torch.Tensor, batch: Mapping[str, torch.Tensor], which: str) -> torch.Tensor:
        """Group values (...), from the `values` of agents that act, or act "next_", in a batch (..., agents)."""
        acted, state = batch[f"{which}acted"], batch.get(f"{which}state")
        each, last = values.new_zeros(acted.shape), acted.ndim - 2
        each[acted] = values
        found: torch.Tensor = net.mixed(each.flatten(0, last), None if state is None else state.flatten(0, last))
        return found.view(acted.shape[:-1])

    def descend(self, loss: torch.Tensor, obs: torch.Tensor) -> Iterator[Flat]:
        """One step of the optimizer; the normaliser sees the inputs without masks."""
        if self.net.normalise is not None:
            obs = normalised_part(obs, self.net.normalise)
        return super().descend(loss, obs)

    def state_dict(self) -> dict[str, Any]:
        """Also the mean and deviation of rewards."""
        found = super().state_dict()
        return found if self.rewarded is None else {**found, "rewarded": self.rewarded.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a `state_dict`."""
        super().load_state_dict(state)
        if self.rewarded is not None:
            self.rewarded.load_state_dict(state["rewarded"])


# ---- one that remembers, and learns from sequences ----


class RecurrentIDQNLearning(IDQNLearning):
    """IDQN for recurrent networks: learns from sequences of steps, of agents that act and agents that wait.

    The loss covers all steps of a sequence except the burn-in. A single agent's step is treated as the step of a group
    of one.
    """

    def learn(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """One update; `errors` has one error for each sequence."""
        config = self.config
        along, memory = self.joint(batch), batch[MEMORY] if config.together else batch[MEMORY][:, None]
        mine = theirs = memory
        if config.burn_in:
            before = {name: each[: config.burn_in] for name, each in along.items()}
            mine, theirs = (self.after(net, before, memory) for net in (self.net, self.target))
            along = {name: each[config.burn_in :] for name, each in along.items()}
        acted, follows = along["acted"], along["next_acted"]
        seen, led_to = self.seen(along, ""), self.seen(along, "next_")
        goes_on = going(along)
        states = self.net.along(seen, acted, goes_on, mine)
        q = self.net.worth(states[acted], seen)
        taken = q.gather(1, along["action"][acted][:, None] - self.start).squeeze(1)
        lives = (~along["terminations"])[..., None]
        with torch.no_grad():
            old = self.target.along(seen, acted, goes_on, theirs)
            worth = self.target.once(led_to, (old * lives)[follows])
            judge = self.net.once(led_to, (states.detach() * lives)[follows]) if config.double else worth
            best = worth.gather(1, judge.argmax(1, keepdim=True)).squeeze(1)
            following = self.whole(self.target, best, along, "next_")
            alive = (~along["terminated"]).float()
            goal = within_sequences(
                self.standardised(along["reward"]), following, alive, alive * ~along["truncated"], config.gamma,
                config.n_step,
            )  # fmt: skip
        return (yield from self.descend_along(q, self.whole(self.net, taken, along, ""), goal, batch, seen))

    def after(self, net: Any, along: Mapping[str, torch.Tensor], memory: torch.Tensor) -> torch.Tensor:
        """The recurrent state after all of these steps, without gradients."""
        goes_on = going(along)
        with torch.no_grad():
            found: torch.Tensor = net.along(self.seen(along, ""), along["acted"], goes_on, memory)
        return found[-1] * goes_on[-1][..., None]

    def joint(self, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The batch by step: fields (steps, sequences, ...), those of agents (steps, sequences, agents, ...)."""
        found = {name: each.transpose(0, 1) for name, each in batch.items() if name != MEMORY and each.ndim > 1}
        if self.config.together:
            acted = found["acted"]
            return {**found, "agent": torch.arange(acted.shape[2], device=acted.device).expand(acted.shape)}
        of_one = {name: found.pop(name)[:, :, None] for name in [*found] if name not in OF_A_GROUP}
        there = torch.ones_like(of_one["agent"], dtype=torch.bool)
        ends = {f"{name[:-2]}ions": found[name][:, :, None] for name in ("terminated", "truncated")}
        return {**found, **of_one, **ends, "acted": there, "next_acted": there}

    def seen(self, batch: Mapping[str, torch.Tensor], which: str) -> torch.Tensor:
        """The inputs of the network for agents that act at these steps, or at the "next_" ones."""
        acted = batch[f"{which}acted"]
        mask = batch[f"{which}masks"][acted] if self.net.masked else None
        return self.packed(batch[f"{which}obs"][acted], batch["agent"][acted], mask)


OF_A_GROUP = "reward", "terminated", "truncated"


def going(along: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """1 where an agent's episode continues after a step, and its memory with it, 0 where it ends. float32."""
    return (~(along["terminations"] | along["truncations"])).float()
