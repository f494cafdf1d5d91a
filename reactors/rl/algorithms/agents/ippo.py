"""Independent PPO: de Witt et al., 2020 (arXiv 2011.09533), as in the reference code of MAPPO (arXiv 2103.01955)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from reactors.errors import ParameterError
from reactors.rl.algorithms.agents.held_steps import HeldSteps
from reactors.rl.algorithms.agents.looking import check_looks, normalised_part
from reactors.rl.algorithms.agents.remembering import RecurrentTeamNetwork, RecurrentTeamPolicy, Strands
from reactors.rl.algorithms.agents.team_network import TeamNetwork, TeamPolicy, array
from reactors.rl.algorithms.policy_gradient import explained_variance
from reactors.rl.algorithms.ppo import PPO, PPOLearning
from reactors.rl.bounded import Count, Layers, NotNegative, Positive
from reactors.rl.contract.agents import MultiAgent
from reactors.rl.estimates.agents import Presence, agents_advantages, own_rows
from reactors.rl.networks.normalising import RunningMoments
from reactors.rl.networks.recurrent import sequences, width_of
from reactors.rl.replay.sequences import MEMORY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from reactors.rl.algorithms.actor_critic import ActorPolicy
    from reactors.rl.envs.agents.cast import Team
    from reactors.rl.envs.spaces import Space
    from reactors.rl.networks.layers import Descent


@dataclass(frozen=True, kw_only=True)
class IPPO(MultiAgent, PPO):  # type: ignore[misc]
    """Hyperparameters; the defaults are those of Yu et al. for MPE (tables 7 and 8) unless a field says otherwise.

    >>> IPPO(share=None, epochs=4).epochs
    4
    """

    name: ClassVar[str] = "IPPO"
    normalise_rewards: ClassVar[bool] = False  # type: ignore[misc]  # `normalise_values` does as much

    num_envs: Count = 16
    """Chosen here: 128 in table 8, for runs of 20 million steps."""
    horizon: Count = 100
    """Four of the paper's episodes of 25 steps."""
    gamma: float = 0.99
    """Table 7."""
    learning_rate: Positive = 7e-4
    """Table 8."""
    anneal: bool = False
    """Off, as in the reference code."""
    batch_size: Count = 1_600
    """Each is an agent's own step; minibatches of a round are equal, and larger if there are some more steps. Chosen
    here: the paper has all of a round in one."""
    entropy: NotNegative = 0.01
    """Weight of the entropy bonus. The reference code's."""
    value: NotNegative = 1.0
    """Weight of the value loss. The reference code's."""
    max_grad_norm: Positive = 10.0
    """The gradient is scaled down to this norm. Table 7."""
    hidden: Layers = (64, 64)
    """Table 7."""
    sequence: Count = 10
    """They are an agent's own. A minibatch has as many sequences as make up `batch_size`. Table 7, "recurrent data
    chunk length"."""
    normalise_values: bool = True
    """The critic learns returns minus their running mean, divided by their running deviation (table 7, "value
    normalization"). Of all returns so far; the reference code's mean moves very slowly."""

    def check_team(self, team: Team, action_space: Space) -> None:
        """Also refuse what a team cannot use."""
        if self.normalise_values and self.value_scale != 1:
            raise ParameterError(
                f"value_scale of {self.name} is {self.value_scale:g}, but normalise_values scales values by returns; "
                "leave value_scale out, or switch normalise_values off"
            )
        check_looks(self, team)
        super().check_team(team, action_space)

    def team_network(self, team: Team, action_space: Space) -> TeamNetwork:
        """Actor and critic of a team."""
        how: dict[str, Any] = {
            "ids": self.agent_ids, "activation": self.activation, "scale": self.value_scale, "log_std": self.log_std,
            "normalise": self.normalise_observations,
        }  # fmt: skip
        if self.recurrent:
            return RecurrentTeamNetwork(team, action_space, self.hidden, self.torso, width_of(self.recurrent), **how)
        return TeamNetwork(team, action_space, self.hidden, self.torso, **how)

    def network(self, observation_space: Any, action_space: Space) -> TeamNetwork:
        """The same as `team_network`."""
        return self.team_network(observation_space, action_space)

    def team_policy(self, team: Team, action_space: Space) -> ActorPolicy:
        """The policy for a team."""
        net = self.team_network(team, action_space)
        if isinstance(net, RecurrentTeamNetwork):
            return RecurrentTeamPolicy(net, action_space)
        return TeamPolicy(net, action_space)

    def learning(self, observation_space: Any, action_space: Space, seed: int, device: str = "cpu") -> IPPOLearning:
        """The learner's networks and update for a team."""
        kind = RecurrentIPPOLearning if self.recurrent else IPPOLearning
        return kind(self, observation_space, action_space, seed, device)


class IPPOLearning(PPOLearning):
    """PPO's loss on the steps that the agents of a team have made, and on no others."""

    net: Any
    config: IPPO

    def __init__(self, config: IPPO, team: Team, action_space: Space, seed: int, device: str) -> None:
        super().__init__(config, team, action_space, seed, device)  # type: ignore[arg-type]
        self.team = team
        self.returned = RunningMoments(1) if config.normalise_values else None
        remembered = config.remembered(action_space)
        self.kept = ["action" if self.net.discrete else "draw", *(name for name in remembered if name != "draw")]
        self.held = HeldSteps(config.num_envs, team.experience(action_space, remembered), self.net.inputs, self.kept)

    def learn(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """All epochs on a round's experience: joint transitions (steps, environments, agents, ...)."""
        config = self.config
        batch = self.prepare(batch, config)
        names = "acted", "next_acted", "terminations", "truncations"
        played = Presence(*(array(batch[name]) for name in names))
        rewards, clip = array(batch["rewards"]), config.reward_clip
        presence, rewards = self.held.first(played, rewards if clip is None else rewards.clip(-clip, clip))
        acted, beyond = presence.acted, presence.beyond
        finished = (acted & ~presence.unfinished)[acted]
        told: dict[str, float] = {"charts/agents": float(played.acted.sum(2).mean())}
        if not len(finished):  # past policies played all the time, or the group was absent
            return told
        own = self.own_steps(batch, played.acted)
        seen, led_to = own["packed"], self.packed(batch, beyond[1:], "next_")
        with torch.no_grad():
            judged = self.judged(own, led_to, presence)
        values, following = (self.scattered(*each) for each in zip(judged, (acted, beyond), strict=True))
        found = agents_advantages(rewards, values, following, presence, config.gamma, config.lam)[acted]
        self.held.hold(presence, rewards, {name: array(each) for name, each in own.items()})
        if not finished.any():  # all wait
            return told
        before = values[acted]
        returns = found + before
        given_out = (before - self.net.shift) / self.net.scale
        self.follow(returns[finished])
        read_now = self.net.shift + self.net.scale * given_out
        known, *tensors = (torch.from_numpy(each).to(self.device) for each in (finished, found, returns, read_now))
        parts = seen, own[self.kept[0]], own["log_prob"], *tensors
        for minibatch in self.epochs(parts, known):
            if not (yield from self.update(*minibatch)):
                break
        figures = self.figures()
        figures["losses/explained_variance"] = explained_variance(
            torch.from_numpy(returns[finished]), torch.from_numpy(before[finished])
        )
        self.observe(seen[known])
        return told | {name: float(x) for name, x in figures.items()} | {"charts/learning_rate": self.learning_rate}

    def own_steps(self, batch: Mapping[str, torch.Tensor], acted: NDArray[np.bool_]) -> dict[str, torch.Tensor]:
        """What is needed of all own steps, each (n, ...): those held from rounds before, then those of this round."""
        mine = torch.from_numpy(acted)
        found = {"packed": self.packed(batch, acted, ""), **{name: batch[name][mine] for name in self.kept}}
        return {
            name: torch.cat([torch.from_numpy(self.held.rows[name]).to(self.device), each])
            for name, each in found.items()
        }

    def judged(
        self, own: Mapping[str, torch.Tensor], led_to: torch.Tensor, presence: Presence
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The values of observations at own steps, and of next observations, beyond."""
        del presence
        return self.net.values(self.net.features(own["packed"])), self.net.values(self.net.features(led_to))

    def packed(self, batch: Mapping[str, torch.Tensor], where: NDArray[np.bool_], which: str) -> torch.Tensor:
        """The inputs of the network at these places (steps, environments, agents), now or "next_"."""
        steps, envs, agents = at = where.nonzero()
        state = array(batch[f"{which}state"])[steps, envs] if self.net.central else None
        mask = array(batch[f"{which}masks"])[at] if self.net.masked else None
        seen = self.net.packed(array(batch[f"{which}obs"])[at], agents, state, mask)
        return torch.from_numpy(seen).to(self.device)

    def epochs(self, parts: Sequence[torch.Tensor], known: torch.Tensor) -> Iterator[list[Any]]:
        """The minibatches of all epochs, equal ones, from those own steps whose returns are `known`."""
        parts = [part[known] for part in parts]
        return self.minibatches(parts, equal_size(len(parts[0]), self.config.batch_size))

    def scattered(self, values: torch.Tensor, where: NDArray[np.bool_]) -> NDArray[np.float32]:
        """The values in their places, zeros elsewhere."""
        found = np.zeros(where.shape, np.float32)
        found[where] = values.cpu().numpy()
        return found

    def follow(self, returns: NDArray[np.float32]) -> None:
        """Scale the critic's values by the mean and deviation of all returns so far, including these."""
        if self.returned is not None and len(returns):
            self.returned.add(returns[:, None])
            self.scale_values()

    def scale_values(self) -> None:
        """Set the scale of values from the returns so far; this shifts what the critic predicts, as in the paper."""
        if self.returned is not None and self.returned.count:
            self.net.shift = float(self.returned.mean[0])
            self.net.scale = float(np.sqrt(self.returned.variance[0] + 1e-5))

    def observe(self, seen: torch.Tensor) -> None:
        """Add these observations to the statistics that normalise the actor's inputs."""
        if self.net.normalise is not None:
            self.observed.add(array(normalised_part(seen, self.net.normalise)))
            self.net.normalise.follow(self.observed)

    def state_dict(self) -> dict[str, Any]:
        """Also the held steps, and the mean and deviation of returns."""
        found = {**super().state_dict(), "held": self.held.state_dict()}
        return found if self.returned is None else {**found, "returned": self.returned.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a `state_dict`."""
        super().load_state_dict(state)
        self.held.load_state_dict(state["held"])
        if self.returned is not None:
            self.returned.load_state_dict(state["returned"])
            self.scale_values()

    def break_off(self, broken_off: NDArray[np.bool_]) -> None:
        """Also the held steps are given up."""
        super().break_off(broken_off)
        self.held.break_off(broken_off)


def equal_size(n: int, size: int) -> int:
    """The size of equal minibatches of n, as many as there are whole ones of this size: what is left is in them, too.

    >>> equal_size(3_300, 1_600), equal_size(3_100, 1_600), equal_size(100, 1_600)
    (1650, 3100, 100)
    """
    return n // max(1, n // size)


class RecurrentIPPOLearning(IPPOLearning):
    """IPPO for recurrent networks: learns from sequences of own steps.

    Each sequence continues from the recurrent state that its agent had when it acted.
    """

    net: RecurrentTeamNetwork

    def judged(
        self, own: Mapping[str, torch.Tensor], led_to: torch.Tensor, presence: Presence
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The values of observations at own steps of the round, and of next observations, beyond."""
        seen, self.memory = own["packed"], own[MEMORY]
        acted = presence.acted
        rows, going, there = self.own = [
            torch.from_numpy(each).to(self.device) for each in own_rows(acted, presence.ended, self.config.sequence)
        ]
        states = torch.empty_like(self.memory)
        states[rows[there]] = self.net.remembered(Strands(seen[rows.flatten()], self.memory[rows[0]], going, there))
        number = np.cumsum(acted).reshape(acted.shape) - 1
        last = np.take_along_axis(number, presence.last, 0)[presence.beyond]
        after = states[torch.from_numpy(last).to(self.device)]
        return self.net.values(self.net.joined(states, seen)), self.net.values(self.net.once(led_to, after))

    def epochs(self, parts: Sequence[torch.Tensor], known: torch.Tensor) -> Iterator[list[Any]]:
        """The minibatches of all epochs, of as many sequences as make up `batch_size` if all have full length."""
        length = self.config.sequence
        rows, going, there = (sequences(each, length) for each in self.own)
        there = there & known[rows]
        begun = there[0].nonzero().squeeze(1)
        each = equal_size(len(begun), self.config.batch_size // length)
        seen, *others = parts
        for _ in range(self.config.epochs):
            order = begun[torch.from_numpy(self.rng.permutation(len(begun))).to(self.device)]
            for at in range(0, len(begun) - each + 1, each):
                chosen = order[at : at + each]
                mine, known = rows[:, chosen], there[:, chosen]
                strands = Strands(seen[mine.flatten()], self.memory[mine[0]], going[:, chosen], known)
                yield [strands, *(part[mine[known]] for part in others)]
